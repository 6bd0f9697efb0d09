//! `allowexec policy suggest`: the narrowest rules for the calls that recorded sessions were refused.
//!
//! Options get the spellings that were seen, numbers their range, words a list of them, paths `path: read`, or `path: write` as the value
//! of an option. What a call does not show is marked for review. Nothing is suggested for programs that run any code, or for calls that name files outside of the
//! project. Each suggestion is loaded before it is printed, with its calls as examples.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use serde_yaml::Value as YamlValue;

use super::change::Settings;
use super::recorded::{self, Recorded};
use super::rule_yaml::{Printed, command};
use super::seen::SeenWords;
use super::widened;
use crate::cli::error::CliError;
use crate::cli::{Outcome, print, print_json};
use crate::config::Config;
use crate::integrity::{Reach, reach_of};
use crate::policy::rules::{
    CommandRule, PolicySource, PolicyText, Rules, describes, profile_describing, profile_names, written,
};
use crate::policy::{CommandLine, Lines};
use crate::server::{Asked, Parts};
use crate::text::{counted, escape};

/// The ways to print what a rule has to get, the narrowest first.
pub(super) const ADDED: [Printed; 2] = [Printed::NewOptions, Printed::NewForm];

/// The same for what widens a rule of the operator's own.
pub(super) const WIDENED: [Printed; 3] = [Printed::All, Printed::NewOptions, Printed::NewForm];

/// Calls for which nothing is suggested, and why.
pub(super) struct Skipped {
    pub what: String,
    pub why: String,
}

pub(super) fn run(config: &Config, transcripts: &[String], json: bool) -> Result<Outcome, CliError> {
    let parts = Parts::new(config);
    let mut calls: Vec<Recorded> = Vec::new();
    for file in transcripts {
        let read = recorded::read(file, &config.surroundings.directory).map_err(|why| CliError::Transcript { why })?;
        calls.extend(read.into_iter().filter(|call| call.was_refused && is_refused(&parts, call)));
    }
    print_rules(config, &calls, "", json)
}

/// Prints the rules for one command: one word is a line, several are a program and its arguments.
pub(in crate::cli) fn run_for(config: &Config, command: &[String], json: bool) -> Result<Outcome, CliError> {
    let words = match command {
        [text] => match CommandLine::parse(text).map(|line| line.words().to_vec()) {
            Ok(words) if !words.first().is_some_and(|first| is_assignment(first)) => words,
            Ok(_) | Err(_) => return print_for_line(config, text, json),
        },
        words => words.to_vec(),
    };
    let call = recorded(words);
    let is_refused = is_refused(&Parts::to_decide(config), &call);
    print_rules(config, if is_refused { std::slice::from_ref(&call) } else { &[] }, "", json)
}

/// Prints the rules for the commands of a line, which is read as if lines were on.
fn print_for_line(config: &Config, text: &str, json: bool) -> Result<Outcome, CliError> {
    let mut reads = config.clone();
    let are_off = reads.lines.value == Lines::Off;
    if are_off {
        reads.lines.value = Lines::On;
    }
    let parts = Parts::to_decide(&reads);
    let Some(decision) = parts.examine_line(text, None, false) else {
        let refusal = parts.examine(Asked::Line(text.to_owned()), None).refusal;
        return Err(CliError::Policy { why: refusal.map_or_else(String::new, |refusal| refusal.to_string()) });
    };
    let calls = decision.lacking().into_iter().map(recorded);
    let mut before = String::new();
    if are_off {
        before.push_str(
            "# It is a line as shells read it: `lines: on` in the configuration (`--lines on`) lets calls be that.\n",
        );
    }
    let names = decision.variables();
    if !names.is_empty() {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        before.push_str(&format!(
            "# It sets variables: `line_env: [{names}]` in the configuration, or `env: {{accept: …}}` in a rule, lets it do that.\n"
        ));
    }
    for (words, why) in decision.standing() {
        before.push_str(&format!("# {}: nothing suggested: {}\n", escape(&written(&words)), escape(&why)));
    }
    print_rules(config, &calls.collect::<Vec<_>>(), &before, json)
}

/// A call that was refused.
pub(super) fn recorded(words: Vec<String>) -> Recorded {
    Recorded { at: String::new(), words, cwd: None, was_refused: true }
}

/// Whether a shell would read the word in front of a command as a variable.
pub(super) fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
    };
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

fn print_rules(config: &Config, calls: &[Recorded], before: &str, json: bool) -> Result<Outcome, CliError> {
    let (known, count) = (of_profiles(), calls.len());
    let parts = Parts::to_decide(config);
    let (described, calls): (Vec<Recorded>, Vec<Recorded>) =
        calls.iter().cloned().partition(|call| is_described(&config.rules, call));
    let settings = Settings::of(config);
    let own = |name: &str| settings.own_rule(name, &config.rules).map(|(_, rule)| rule);
    let (commands, mut skipped) = suggest(&calls, &known, &config.rules, &settings.roots, &own);
    skipped.extend(described.iter().map(|call| {
        let why = refusal(&parts, call)
            .unwrap_or_else(|| "`stdin: true` in its rule lets it read what a line gives it".into());
        Skipped { what: written(&call.words), why: format!("its rule takes these words already; {why}") }
    }));
    let mut text = format!(
        "# Made by `allowexec policy suggest` of {}. Read it before you use it: it allows what was asked for, not what is safe.\n",
        counted(count as u64, "refused call")
    );
    text.push_str(before);
    for Skipped { what, why } in &skipped {
        text.push_str(&format!("# {}: nothing suggested: {}\n", escape(what), escape(why)));
    }
    let mut profiles: BTreeSet<&str> = BTreeSet::new();
    for command in commands.keys() {
        if let Some(profile) = profile_of(&config.rules, command) {
            profiles.insert(profile);
            text.push_str(&format!(
                "# `{command}` adds to profile {profile}: use this policy in place of `--profile {profile}`.\n"
            ));
        } else if let Some(rule) = config.rules.get(command) {
            text.push_str(&format!(
                "# `{command}` is described in {} already: write this in place of that rule.\n",
                escape(&rule.origin.to_string())
            ));
        } else if let Some(rule) = known.get(command) {
            text.push_str(&format!(
                "# `{command}` is also described in {}; check whether that fits.\n",
                rule.origin.source
            ));
        }
    }
    text.push_str("version: 1\n");
    if !profiles.is_empty() {
        text.push_str(&format!("profiles: [{}]\n", profiles.into_iter().collect::<Vec<_>>().join(", ")));
    }
    if !commands.is_empty() {
        text.push_str("commands:\n");
        commands.values().for_each(|command| text.push_str(command));
    }
    if json {
        let skipped = skipped.iter().map(|skipped| json!({"command": skipped.what, "reason": skipped.why}));
        return print_json(&json!({
            "calls": count,
            "commands": commands.keys().collect::<Vec<_>>(),
            "policy": text,
            "skipped": skipped.collect::<Vec<Value>>(),
        }));
    }
    print(&text)
}

/// The rules of the shipped profiles, in their order: one that describes a command which an earlier one describes is left out.
pub(super) fn of_profiles() -> Rules {
    let of = |names: &[String]| Rules::read(&[], names, &[]).unwrap_or_default();
    let is_first =
        |name: &&str| of(&[(*name).to_owned()]).names().all(|command| profile_describing(command) == Some(*name));
    of(&profile_names().filter(is_first).map(str::to_owned).collect::<Vec<_>>())
}

/// Whether the present settings refuse it too.
fn is_refused(parts: &Parts, call: &Recorded) -> bool {
    refusal(parts, call).is_some()
}

/// Why the present settings refuse it; `None` if they don't.
fn refusal(parts: &Parts, call: &Recorded) -> Option<String> {
    let mut words = call.words.iter().cloned();
    let asked = Asked::Words(words.next().unwrap_or_default(), words.collect());
    parts.examine(asked, call.cwd.as_deref()).refusal.map(|refusal| refusal.to_string())
}

/// Whether a rule takes the words of a call, so that something else stands in its way.
fn is_described(rules: &Rules, call: &Recorded) -> bool {
    let rule = call.words.first().and_then(|name| rules.get(name));
    rule.is_some_and(|rule| describes(rule, &call.words))
}

/// The profile that describes a command in the present settings.
fn profile_of<'r>(rules: &'r Rules, command: &str) -> Option<&'r str> {
    match &*rules.get(command)?.origin.source {
        PolicySource::Profile(name) => Some(name),
        PolicySource::File(_) | PolicySource::Allow | PolicySource::Ask => None,
    }
}

/// The YAML of each command, and what is left out. A suggestion for a command of a profile in use extends that profile, and one for a
/// command of an operator's file, whose rule `own` returns, is that rule and more.
pub(super) fn suggest(
    calls: &[Recorded],
    known: &Rules,
    in_use: &Rules,
    roots: &[PathBuf],
    own: &dyn Fn(&str) -> Option<YamlValue>,
) -> (BTreeMap<String, String>, Vec<Skipped>) {
    let mut by_command: BTreeMap<&str, BTreeSet<&[String]>> = BTreeMap::new();
    let (mut commands, mut skipped) = (BTreeMap::new(), Vec::new());
    for call in calls {
        let Some(name) = call.words.first() else { continue };
        if let Some(why) = outside(&call.words, roots) {
            skipped.push(Skipped { what: written(&call.words), why });
        } else {
            by_command.entry(name).or_default().insert(&call.words);
        }
    }
    for (name, calls) in by_command {
        let loads = |text: &str| {
            let policy = PolicyText { file: "suggestion".into(), text: format!("version: 1\ncommands:\n{text}") };
            let rules = Rules::load(&[policy], &[], &[]).map_err(|error| error.problem.to_string())?;
            let takes = |words: &&[String]| rules.get(name).is_some_and(|rule| describes(rule, words));
            calls.iter().all(takes).then_some(()).ok_or_else(|| "its rule does not take these words then".to_owned())
        };
        // A command of a profile in use is described by that one, which may extend another.
        let found = match (does(name).filter(|_| runs_anything(name, known)), profile_of(in_use, name), own(name)) {
            (Some(does), _, _) => Err(format!("{does}; for one call, `allowexec check` prints what allows it")),
            (None, Some(_), _) => narrowest(name, &calls, in_use.get(name), &ADDED, loads),
            (None, None, None) => narrowest(name, &calls, known.get(name), &[Printed::All], loads),
            (None, None, Some(own)) => {
                let rule = in_use.get(name).or(known.get(name));
                let wider = |text: &str| {
                    let new = widened::in_rule(name, &format!("commands:\n{text}"))?;
                    Some(widened::lines(name, widened::widened(&own, &new)?).replacen("commands:\n", "", 1))
                };
                let differs = || "its rule says something else of these words; change it there".to_owned();
                let accepts = |text: &str| wider(text).ok_or_else(differs).and_then(|text| loads(&text));
                narrowest(name, &calls, rule, &WIDENED, accepts).and_then(|text| wider(&text).ok_or_else(differs))
            }
        };
        match found {
            Ok(text) => {
                commands.insert(name.to_owned(), text);
            }
            Err(why) => skipped.push(Skipped { what: name.to_owned(), why }),
        }
    }
    skipped.sort_by(|one, other| (&one.what, &one.why).cmp(&(&other.what, &other.why)));
    skipped.dedup_by(|one, other| one.what == other.what && one.why == other.why);
    (commands, skipped)
}

/// The narrowest rule for these calls of a command, printed in the first of the ways that `accepts` takes; `rule` is what describes
/// the command.
///
/// # Errors
/// Why none is accepted.
pub(super) fn narrowest(
    name: &str,
    calls: &BTreeSet<&[String]>,
    rule: Option<&Arc<CommandRule>>,
    ways: &[Printed],
    accepts: impl Fn(&str) -> Result<(), String>,
) -> Result<String, String> {
    let mut tree = SeenWords::default();
    for words in calls {
        tree.add(words.get(1..).unwrap_or_default(), rule.map(|rule| &rule.level));
    }
    let mut why = String::new();
    let found = ways.iter().find_map(|way| {
        let text = command(name, &tree, rule.map(|rule| &**rule), calls, *way);
        accepts(&text).map_err(|wrong| why = wrong).ok().map(|()| text)
    });
    found.ok_or(why)
}

/// Describes the reach of a program that runs code or starts others; `None` for any other program.
pub(super) fn does(name: &str) -> Option<String> {
    reach_of(name).map(|reach| format!("`{name}` {}", reach.meaning()))
}

/// Whether no rule is suggested for a program, since a person must decide what it may start. One that a profile describes is restricted
/// by that rule, unless it runs code.
pub(super) fn runs_anything(name: &str, known: &Rules) -> bool {
    reach_of(name).is_some_and(|reach| reach == Reach::Interpreter || known.get(name).is_none())
}

/// Why no rule is suggested for a call that names a path outside of the allowed directories.
pub(super) fn outside(words: &[String], roots: &[PathBuf]) -> Option<String> {
    let word = words.iter().skip(1).find(|word| leads_elsewhere(word, roots))?;
    Some(format!(
        "`{word}` is outside the project; call it with a path inside, or let calls use that directory, too (`--cwd-root`; in a file, add it to \
         `cwd_root`)"
    ))
}

/// Whether a word, or its part after `=`, is a path that leads out of the allowed directories. One that begins with `/` is a path if its
/// first part is there: `/^def /` is a pattern.
fn leads_elsewhere(word: &str, roots: &[PathBuf]) -> bool {
    let value = word.split_once('=').filter(|_| word.starts_with('-')).map_or(word, |(_, value)| value);
    let path = Path::new(value);
    let mut parts = path.components();
    if parts.clone().any(|part| part == Component::ParentDir) {
        return true;
    }
    let is_there = || {
        let first: PathBuf = path.components().take(2).collect();
        first.symlink_metadata().is_ok()
    };
    let is_absolute = matches!(parts.next(), Some(Component::RootDir | Component::Prefix(_)));
    is_absolute && is_there() && !roots.iter().any(|root| path.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded_calls(lines: &[&str]) -> Vec<Recorded> {
        let call = |line: &&str| Recorded {
            at: "t".to_owned(),
            words: shlex::split(line).unwrap(),
            cwd: None,
            was_refused: true,
        };
        lines.iter().map(call).collect()
    }

    fn known() -> Rules {
        Rules::read(&[], &["git-readonly".to_owned()], &[]).unwrap()
    }

    #[test]
    fn what_was_seen_is_allowed_and_little_more() {
        let calls = recorded_calls(&[
            "git log -n 5 main",
            "git log -n20 --oneline topic",
            "git status",
            "tool -v --level=3 src/a.rs",
            "tool src/b.rs",
        ]);
        let (commands, skipped) = suggest(&calls, &known(), &Rules::default(), &[], &|_| None);
        assert!(skipped.is_empty());
        let text = format!("version: 1\ncommands:\n{}", commands.values().cloned().collect::<String>());
        let rules = Rules::load(&[PolicyText { file: "s".into(), text }], &[], &[]).unwrap();
        let came = |line: &str| super::super::cases::decide(&rules, &shlex::split(line).unwrap()).came.unwrap().name();
        for line in
            ["git log -n 7 main", "git log --oneline topic", "git status", "tool -v docs/x.rs", "tool --level=3 a"]
        {
            assert_eq!(came(line), "allow", "{line}");
        }
        for line in [
            "git log -n 21 main",
            "git log",
            "git log other",
            "git log -p main",
            "git diff",
            "git status -s",
            "tool --level=4 a",
            "tool --level 3 a",
            "tool",
            "tool ../x",
            "ls",
        ] {
            assert_eq!(came(line), "refuse", "{line}");
        }
    }

    #[test]
    fn a_suggestion_for_a_command_of_a_profile_in_use_extends_the_profile() {
        let lines = [
            "git log -n 5 --new main",
            "git log -n 200000",
            "git stash list --color=some",
            "git branch -a topic",
            "git add -A src",
        ];
        let (commands, skipped) = suggest(&recorded_calls(&lines[..3]), &known(), &known(), &[], &|_| None);
        assert!(skipped.is_empty(), "{}", skipped[0].why);
        let load = |commands: BTreeMap<String, String>| {
            let text = format!("profiles: [git-readonly]\ncommands:\n{}", commands.into_values().collect::<String>());
            Rules::load(&[PolicyText { file: "s".into(), text }], &[], &[]).unwrap()
        };
        let came = |rules: &Rules, line: &str| {
            super::super::cases::decide(rules, &shlex::split(line).unwrap()).came.unwrap().name()
        };
        let rules = load(commands);
        let before = known();
        for line in [
            "git log -n 7 -p --stat",
            "git log --oneline main..x -- a",
            "git stash list --color=never",
            "git status -s",
        ] {
            assert_eq!((came(&before, line), came(&rules, line)), ("allow", "allow"), "{line}");
        }
        for line in lines.iter().take(3).chain(&["git log --new --oneline", "git log -n 100001"]) {
            assert_eq!((came(&before, line), came(&rules, line)), ("refuse", "allow"), "{line}");
        }
        for line in ["git log --ext-diff", "git log -n 200001", "git stash list --new", "git add src"] {
            assert_eq!(came(&rules, line), "refuse", "{line}");
        }
        // Words in another order, and a subcommand of which the profile knows nothing.
        let (commands, _) = suggest(&recorded_calls(&lines[3..]), &known(), &known(), &[], &|_| None);
        let rules = load(commands);
        for (line, expected) in [
            ("git branch -a topic", "allow"),
            ("git branch -v --list x", "allow"),
            ("git branch -a other", "refuse"),
            ("git branch topic", "allow"),
            ("git add -A src", "allow"),
            ("git add src", "allow"),
            ("git add docs", "refuse"),
        ] {
            assert_eq!(came(&rules, line), expected, "{line}");
        }
    }

    #[test]
    fn nothing_is_suggested_for_programs_that_run_any_code_and_for_paths_outside() {
        let calls = recorded_calls(&[
            "sh -c id",
            "python3 x.py",
            "cat /etc/passwd",
            "cat ../x",
            "tool --file=/etc/x",
            "env FOO=1 id",
        ]);
        let (commands, skipped) = suggest(&calls, &known(), &Rules::default(), &[], &|_| None);
        assert_eq!(commands.keys().collect::<Vec<_>>(), Vec::<&String>::new());
        let what: Vec<&str> = skipped.iter().map(|skipped| skipped.what.as_str()).collect();
        assert_eq!(what, ["cat ../x", "cat /etc/passwd", "env", "python3", "sh", "tool '--file=/etc/x'"]);
        let roots = [PathBuf::from("/etc/project")];
        let leads = |word: &str| leads_elsewhere(word, &roots);
        for word in ["/etc/project/a", "--file=/etc/project", "/^def /{print $2}", "s/a/b/", "https://x.example/y"] {
            assert!(!leads(word), "{word}");
        }
        for word in ["/etc/project/../x", "/etc/projects", "/", "/etc", "--file=/etc/x"] {
            assert!(leads(word), "{word}");
        }
    }
}
