//! `allowexec policy test`: runs all examples and cases of a policy, and reports the forms and options that none of them uses.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Value, json};

use super::cases::{self, Case};
use super::{place, rules_of, shown_place, text_of};
use crate::cli::error::CliError;
use crate::cli::{Outcome, print, print_json};
use crate::config::Surroundings;
use crate::policy::rules::texts::{ExampleRun, run_example};
use crate::policy::rules::{Arguments, Expected, Judgement, OptionRule, Origin, PolicySource, Role, Rules};
use crate::text::{counted, escape};

/// The largest file of cases.
const LARGEST_CASES: u64 = 16 * 1024 * 1024;

/// An example or a case that was decided otherwise than expected.
struct Wrong {
    /// Its file and line.
    at: (String, Option<usize>),
    line: String,
    expected: Expected,
    came: Expected,
    why: Option<String>,
}

/// A form or an option that no example and no case uses.
struct Unused {
    at: (String, Option<usize>),
    what: String,
}

/// The result for one policy.
struct Report {
    file: String,
    examples: usize,
    cases: usize,
    wrong: Vec<Wrong>,
    unused: Vec<Unused>,
    /// The policy's warnings, each with the line that it is about.
    warnings: Vec<String>,
}

/// The forms that were used, by their place, and the options, by their place and first spelling.
#[derive(Default)]
struct Used {
    forms: HashSet<Origin>,
    options: HashSet<(Origin, String)>,
}

impl Used {
    fn add(&mut self, judgement: Option<Judgement<'_>>) {
        let Some(matched) = judgement.and_then(|judgement| judgement.matched) else { return };
        self.forms.extend(matched.form.map(|form| form.origin.clone()));
        for reading in &matched.readings {
            if let Role::Option(option) = &reading.role {
                self.options.insert(key(option));
            }
        }
    }
}

pub(super) fn run(files: &[String], case_files: &[String], json: bool) -> Result<Outcome, CliError> {
    let mut cases = Vec::new();
    for file in case_files {
        let wrong = |why: String| CliError::Policy { why };
        let path = Surroundings::of_this_process()?.directory.join(file);
        let text =
            text_of(&path, LARGEST_CASES).map_err(|why| wrong(format!("cannot read the cases `{file}`: {why}")))?;
        let read = cases::parse(&text).map_err(|(line, why)| wrong(format!("{file}:{line}: {why}")))?;
        cases.extend(read.into_iter().map(|case| (file.as_str(), case)));
    }
    let reports: Vec<Report> = files.iter().map(|file| report(file, &cases)).collect::<Result<_, _>>()?;
    let is_good = reports.iter().all(|report| report.wrong.is_empty());
    if json {
        print_json(&json!({"files": reports.iter().map(Report::to_json).collect::<Vec<Value>>()}))?;
    } else {
        print(&reports.iter().map(Report::to_text).collect::<String>())?;
    }
    Ok(if is_good { Outcome::Good } else { Outcome::Bad })
}

fn report(file: &str, cases: &[(&str, Case)]) -> Result<Report, CliError> {
    let rules = rules_of(file)?;
    let (mut used, mut wrong, mut examples) = (Used::default(), Vec::new(), 0);
    for command in rules.iter() {
        for example in &command.examples {
            examples += 1;
            let ExampleRun { came, why, is_as_expected, judgement } = run_example(command, example);
            used.add(judgement);
            if !is_as_expected {
                let (at, line, expected) = (place(&example.origin), example.line.to_string(), example.expected);
                wrong.push(Wrong { at, line, expected, came, why: Some(why).filter(|why| !why.is_empty()) });
            }
        }
    }
    for (name, case) in cases {
        wrong.extend(judge(&rules, case, ((*name).to_owned(), Some(case.line)), &mut used));
    }
    let unused = unused(&rules, file, &used);
    let warnings = rules.warnings().iter().map(ToString::to_string).collect();
    Ok(Report { file: file.to_owned(), examples, cases: cases.len(), wrong, unused, warnings })
}

fn judge(rules: &Rules, case: &Case, at: (String, Option<usize>), used: &mut Used) -> Option<Wrong> {
    let decided = case.decide(rules);
    used.add(decided.judgement);
    let (expected, line) = (case.expected, case.argv.to_string());
    // What can't be told is wrong for the reason alone.
    let came = decided.came.unwrap_or(expected);
    (decided.came != Some(expected)).then_some(Wrong { at, line, expected, came, why: decided.why })
}

fn key(option: &OptionRule) -> (Origin, String) {
    (option.origin.clone(), option.spellings.first().cloned().unwrap_or_default())
}

/// The unused forms and options of this policy itself, without those of profiles that it uses.
fn unused(rules: &Rules, file: &str, used: &Used) -> Vec<Unused> {
    let is_own = |origin: &Origin| match &*origin.source {
        PolicySource::File(name) => name == Path::new(file),
        PolicySource::Profile(name) => name == file,
        PolicySource::Allow | PolicySource::Ask => false,
    };
    let mut unused = Vec::new();
    let mut seen = HashSet::new();
    for level in rules.iter().flat_map(|command| command.level.levels()) {
        let Arguments::Described { options, forms, .. } = &level.arguments else { continue };
        for form in forms.iter().filter(|form| is_own(&form.origin) && !used.forms.contains(&form.origin)) {
            if seen.insert((form.origin.clone(), String::new())) {
                unused.push(Unused { at: place(&form.origin), what: format!("a form of `{}`", level.title()) });
            }
        }
        for option in options.iter().chain(forms.iter().flat_map(|form| form.options.iter())) {
            if is_own(&option.origin) && !used.options.contains(&key(option)) && seen.insert(key(option)) {
                let what = format!("`{}` of `{}`", option.spellings.join(", "), level.title());
                unused.push(Unused { at: place(&option.origin), what });
            }
        }
    }
    unused.sort_by(|one, other| (&one.at, &one.what).cmp(&(&other.at, &other.what)));
    unused
}

impl Report {
    fn to_text(&self) -> String {
        let Self { file, examples, cases, wrong, unused, warnings } = self;
        let cases = if *cases == 0 { String::new() } else { format!(", {}", counted(*cases as u64, "case")) };
        let verdict = if wrong.is_empty() { "all as expected".to_owned() } else { format!("{} wrong", wrong.len()) };
        let mut lines = vec![format!("{file}: {}{cases}: {verdict}", counted(*examples as u64, "example"))];
        for wrong in wrong {
            let what = wrong.expected.unmet(wrong.came, wrong.why.as_deref().unwrap_or_default());
            lines.push(format!("  {}: `{}`: {}", shown_place(&wrong.at), wrong.line, what));
        }
        lines.extend(
            unused.iter().map(|unused| format!("  {}: no example uses {}", shown_place(&unused.at), unused.what)),
        );
        lines.extend(warnings.iter().map(|warning| format!("  {warning}")));
        lines.iter().map(|line| format!("{}\n", escape(line))).collect()
    }

    fn to_json(&self) -> Value {
        let wrong = |wrong: &Wrong| {
            json!({
                "file": wrong.at.0,
                "line": wrong.at.1,
                "command": wrong.line,
                "expected": wrong.expected.name(),
                "came": wrong.came.name(),
                "reason": wrong.why,
            })
        };
        let unused = |unused: &Unused| json!({"file": unused.at.0, "line": unused.at.1, "what": unused.what});
        json!({
            "file": self.file,
            "examples": self.examples,
            "cases": self.cases,
            "wrong": self.wrong.iter().map(wrong).collect::<Vec<Value>>(),
            "warnings": self.warnings,
            "unused": self.unused.iter().map(unused).collect::<Vec<Value>>(),
        })
    }
}
