//! `allowexec check`: what would be decided, by the same code that decides about calls. It runs nothing.

#[cfg_attr(not(all(unix, feature = "lines")), path = "check/no_plan.rs")]
mod plan;

use serde_json::{Value, json};

use super::error::CliError;
use super::workbench::Allowing;
use super::{Outcome, print, print_json};
use crate::config::Config;
use crate::integrity::reach_of;
use crate::policy::{Refusal, Rule, Verdict, is_path, quoted};
use crate::server::{Asked, Parts};
use crate::text::escape;

pub(super) fn run(
    config: &Config,
    directory: Option<&str>,
    command: Vec<String>,
    with_input: bool,
    json: bool,
) -> Result<Outcome, CliError> {
    let parts = Parts::to_decide(config);
    if let [text] = command.as_slice() {
        if let Some(decision) = parts.examine_line(text, directory, with_input) {
            return plan::run(&decision, config, json);
        }
    }
    let verdict = examine(&parts, command, directory, with_input);
    let facts = Facts::new(&verdict, config);
    if json {
        print_json(&facts.to_json())?
    } else {
        print(&facts.to_text())?
    };
    Ok(decision(&verdict).1)
}

/// Examines a command: one word is a command line, several are a program and its arguments.
pub(super) fn examine(parts: &Parts, command: Vec<String>, directory: Option<&str>, with_input: bool) -> Verdict {
    let mut words = command.into_iter();
    let first = words.next().unwrap_or_default();
    let arguments: Vec<String> = words.collect();
    let asked = if arguments.is_empty() { Asked::Line(first) } else { Asked::Words(first, arguments) };
    if with_input { parts.examine_with_input(asked, directory) } else { parts.examine(asked, directory) }
}

/// The decision in a word, and how the subcommand ends.
pub(super) fn decision(verdict: &Verdict) -> (&'static str, Outcome) {
    match &verdict.refusal {
        None => ("allowed", Outcome::Good),
        Some(refusal) if refusal.needs_approval() => ("ask", Outcome::Asks),
        Some(_) => ("refused", Outcome::Bad),
    }
}

/// A decision, ready to be shown.
struct Facts {
    decision: &'static str,
    reason: Option<String>,
    words: Vec<String>,
    rule: Option<String>,
    /// The file, profile or flag that describes the command, and the line; 0 for a flag.
    described: Option<(String, usize)>,
    program: Option<String>,
    directory: Option<String>,
    notes: Vec<String>,
    allowing: Allowing,
}

impl Facts {
    fn new(verdict: &Verdict, config: &Config) -> Self {
        let explanation = &verdict.explanation;
        let rule = explanation.rule.as_ref().map(|rule| match rule {
            Rule::Entry(_) | Rule::Any => format!("{rule}, from the {}", config.allow.source),
            Rule::Described(_) => explanation.described.as_ref().map_or_else(
                || rule.to_string(),
                |described| format!("the rule for `{}` in {}", described.level, described.origin),
            ),
            Rule::Project(_) => rule.to_string(),
        });
        let pattern =
            explanation.literal_pattern.map(|pattern| format!("no shell runs, so {pattern} is passed on literally"));
        let reach = explanation
            .words
            .first()
            .filter(|_| matches!(explanation.rule, Some(Rule::Entry(_) | Rule::Any | Rule::Project(_))))
            .and_then(|word| reach_of(word).map(|reach| format!("`{word}` {}", reach.meaning())));
        let described = explanation.described.as_ref();
        Self {
            decision: decision(verdict).0,
            described: described.map(|described| (described.origin.source.to_string(), described.origin.line)),
            reason: verdict.refusal.as_ref().map(|refusal| match refusal {
                // The text that a call gets is for a model; this one is for the operator.
                Refusal::ProgramNotFound { word, sought } if is_path(sought) => {
                    format!("{} may run, but no executable file is at {}; mend the path, or make it executable", quoted(word), quoted(sought))
                }
                Refusal::ProgramNotFound { word, .. } => format!(
                    "{} may run, but no such program was found in the directories of PATH; install it, or put its directory in \
                     the server's PATH",
                    quoted(word)
                ),
                refused => refused.to_string(),
            }),
            words: explanation.words.clone(),
            rule,
            program: explanation.program.as_ref().map(|path| path.display().to_string()),
            directory: explanation.directory.as_ref().map(|path| path.display().to_string()),
            notes: pattern.into_iter().chain(reach).collect(),
            allowing: match &verdict.refusal {
                Some(Refusal::CommandLine(error)) => Allowing::of_line(error, config),
                _ => Allowing::of(explanation, matches!(decision(verdict).1, Outcome::Bad), config),
            },
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "decision": self.decision,
            "reason": self.reason,
            "words": self.words,
            "rule": self.rule,
            "file": self.described.as_ref().map(|(file, _)| file),
            "line": self.described.as_ref().map(|(_, line)| line).filter(|line| **line > 0),
            "program": self.program,
            "directory": self.directory,
            "notes": self.notes,
            "allowing": self.allowing.to_json(),
        })
    }

    fn to_text(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| format!("{word:?}")).collect();
        let lines = [
            ("reason", self.reason.clone()),
            ("words", Some(words.join(" ")).filter(|words| !words.is_empty())),
            ("rule", self.rule.clone()),
            ("program", self.program.clone()),
            ("directory", self.directory.clone()),
        ];
        let notes = self.notes.iter().map(|note| ("note", Some(note.clone())));
        let ways = self.allowing.rows().into_iter().map(|(name, value)| (name, Some(value)));
        let known = lines.into_iter().chain(notes).chain(ways).filter_map(|(name, value)| Some((name, value?)));
        let lines: String = known.map(|(name, value)| format!("  {name:<11}{}\n", escape(&value))).collect();
        format!("{}\n{lines}", self.decision)
    }
}
