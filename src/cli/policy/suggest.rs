//! `allowexec policy suggest`: the narrowest rules for the calls that recorded sessions were refused.
//!
//! Options get the spellings that were seen, numbers their range, words a list of them, paths `path: read`. What nobody can
//! tell from a call is marked for review. Nothing is suggested for programs that run any code, and for calls that name
//! files elsewhere. Each suggestion is loaded before it is printed, with its calls as examples.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use serde_json::{Value, json};

use super::super::error::CliError;
use super::super::{Outcome, print, print_json};
use super::recorded::{self, Recorded};
use super::seen::{Seen, SeenOptions, subcommands};
use crate::config::Config;
use crate::policy::rules::{
    Arguments, CommandRule, Level, PolicySource, PolicyText, Rules, Syntax, Takes, ValuePlace, ValueType,
    profile_names, written,
};
use crate::policy::wrappers::{Reach, reach_of};
use crate::server::{Asked, Parts};
use crate::text::escape;

/// The most words that are listed as `one_of`.
const MOST_WORDS: usize = 12;

/// Why nothing is suggested for some calls.
struct Skipped {
    what: String,
    why: String,
}

pub(super) fn run(config: &Config, transcripts: &[String], json: bool) -> Result<Outcome, CliError> {
    let parts = Parts::new(config);
    let mut calls: Vec<Recorded> = Vec::new();
    for file in transcripts {
        let read = recorded::read(file, &config.surroundings.directory).map_err(|why| CliError::Transcript { why })?;
        calls.extend(read.into_iter().filter(|call| call.was_refused && is_refused(&parts, call)));
    }
    let names: Vec<String> = profile_names().map(str::to_owned).collect();
    let known = Rules::read(&[], &names, &[]).map_err(|error| CliError::Policy { why: error.to_string() })?;
    let (commands, skipped) = suggest(&calls, &known, &config.rules);
    let mut text = format!(
        "# Made by `allowexec policy suggest` of {} refused calls. Read it before you use it: it allows what was asked for, not what is safe.\n",
        calls.len()
    );
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
                "# `{command}` is described in {} already: add this to it.\n",
                escape(&rule.origin.to_string())
            ));
        } else if let Some(rule) = known.get(command) {
            text.push_str(&format!(
                "# `{command}` is described in {} too; look whether that fits.\n",
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
            "calls": calls.len(),
            "commands": commands.keys().collect::<Vec<_>>(),
            "policy": text,
            "skipped": skipped.collect::<Vec<Value>>(),
        }));
    }
    print(&text)
}

/// Whether the present settings refuse it too.
fn is_refused(parts: &Parts, call: &Recorded) -> bool {
    let mut words = call.words.iter().cloned();
    let asked = Asked::Words(words.next().unwrap_or_default(), words.collect());
    parts.examine(asked, call.cwd.as_deref()).refusal.is_some()
}

/// The profile that describes a command in the present settings.
fn profile_of<'r>(rules: &'r Rules, command: &str) -> Option<&'r str> {
    match &*rules.get(command)?.origin.source {
        PolicySource::Profile(name) => Some(name),
        PolicySource::File(_) | PolicySource::Allow | PolicySource::Ask => None,
    }
}

/// How much of what was seen is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Printed {
    /// All of it: a rule by itself.
    All,
    /// The options that the profile lacks, for a rule that extends it.
    NewOptions,
    /// A form for each subcommand, for a rule that extends the profile.
    NewForm,
}

/// The YAML of each command, and what is left out. What is in use already decides what a suggestion adds to.
fn suggest(calls: &[Recorded], known: &Rules, in_use: &Rules) -> (BTreeMap<String, String>, Vec<Skipped>) {
    let mut by_command: BTreeMap<&str, BTreeSet<&[String]>> = BTreeMap::new();
    let (mut commands, mut skipped) = (BTreeMap::new(), Vec::new());
    for call in calls {
        let Some(name) = call.words.first() else { continue };
        match call.words.iter().skip(1).find(|word| leads_elsewhere(word)) {
            Some(word) => {
                let why = format!("`{word}` lies outside the project");
                skipped.push(Skipped { what: written(&call.words), why });
            }
            None => {
                by_command.entry(name).or_default().insert(&call.words);
            }
        }
    }
    for (name, calls) in by_command {
        // What a wrapper may start is for a person to say; those that a profile describes have words of their own.
        let reach = reach_of(name).filter(|reach| *reach == Reach::Interpreter || known.get(name).is_none());
        if let Some(reach) = reach {
            skipped.push(Skipped { what: name.to_owned(), why: reach.meaning().to_owned() });
            continue;
        }
        let mut tree = Seen::default();
        let rule = known.get(name).map(|rule| &**rule);
        for words in &calls {
            tree.add(words.get(1..).unwrap_or_default(), rule.map(|rule| &rule.level));
        }
        let ways: &[Printed] = match profile_of(in_use, name) {
            Some(_) => &[Printed::NewOptions, Printed::NewForm],
            None => &[Printed::All],
        };
        let mut wrong = None;
        let found = ways.iter().find_map(|way| {
            let text = command(name, &tree, rule, &calls, *way);
            let policy = PolicyText { file: "suggestion".into(), text: format!("version: 1\ncommands:\n{text}") };
            let loaded = Rules::load(&[policy], &[], &[]).map_err(|error| wrong = Some(error.problem.to_string()));
            loaded.ok().map(|_| text)
        });
        match (found, wrong) {
            (Some(text), _) => {
                commands.insert(name.to_owned(), text);
            }
            (None, wrong) => skipped.push(Skipped { what: name.to_owned(), why: wrong.unwrap_or_default() }),
        }
    }
    skipped.sort_by(|one, other| (&one.what, &one.why).cmp(&(&other.what, &other.why)));
    skipped.dedup_by(|one, other| one.what == other.what && one.why == other.why);
    (commands, skipped)
}

/// Whether a word names, or holds behind `=`, a path that leads out of the directory of the call.
fn leads_elsewhere(word: &str) -> bool {
    let value = word.split_once('=').filter(|_| word.starts_with('-')).map_or(word, |(_, value)| value);
    Path::new(value)
        .components()
        .any(|part| matches!(part, Component::ParentDir | Component::RootDir | Component::Prefix(_)))
}

/// A scalar that YAML reads as this very text.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

fn command(
    name: &str,
    seen: &Seen,
    known: Option<&CommandRule>,
    calls: &BTreeSet<&[String]>,
    printed: Printed,
) -> String {
    let mut text = format!("  {}:\n", quoted(name));
    let extended = known.filter(|_| printed != Printed::All);
    if let Some(rule) = extended {
        if let PolicySource::Profile(profile) = &*rule.origin.source {
            text.push_str(&format!("    extends: {profile}\n"));
        }
        if rule.sandbox.writes_nothing() {
            text.push_str(
                "    # review: the profile lets it write nothing; if it must, add `sandbox: {write: full}` and `read_only: false`\n",
            );
        }
    }
    let known_alone = known.filter(|_| extended.is_none());
    if let Some(level) = known_alone.map(|rule| &rule.level).filter(|level| level.syntax != Syntax::Gnu) {
        text.push_str(&format!("    syntax: {}\n", level.syntax.name()));
        if level.order != level.syntax.order() {
            text.push_str(&format!("    order: {}\n", level.order.name()));
        }
    }
    if let Some(rule) = known_alone {
        // What a profile inserts holds for what it allows; without it the same words could start programs.
        let sandbox = &rule.sandbox;
        if sandbox.level.is_some() || !rule.level.insert.is_empty() {
            text.push_str("    # review: the profile inserts words and asks for a sandbox; `policy show` prints it\n");
        }
    }
    level(seen, known.map(|rule| &rule.level), printed, 4, &mut text);
    text.push_str("    examples:\n      allow:\n");
    for words in calls {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        text.push_str(&format!("        - [{}]\n", words.join(", ")));
    }
    text
}

fn level(seen: &Seen, known: Option<&Level>, printed: Printed, indent: usize, text: &mut String) {
    let pad = " ".repeat(indent);
    match known.map_or(Printed::All, |_| printed) {
        Printed::All => words(&seen.options, seen, indent, text),
        Printed::NewOptions => options(&new_options(seen, known), indent, text),
        Printed::NewForm if seen.operands.is_empty() => {}
        Printed::NewForm => {
            let mut own = seen.options.clone();
            own.retain(|spelling, _| !known.is_some_and(|level| is_of_level(level, spelling)));
            let mut form = String::new();
            words(&own, seen, indent + 4, &mut form);
            let form = if form.is_empty() { "{}\n" } else { form.trim_start() };
            text.push_str(&format!("{pad}forms:\n{pad}  - {form}"));
        }
    }
    if !seen.subcommands.is_empty() {
        text.push_str(&format!("{pad}subcommands:\n"));
        for (name, below) in &seen.subcommands {
            let known = known.and_then(subcommands).into_iter().flatten().find(|level| level.path.last() == Some(name));
            let mut inner = String::new();
            level(below, known, printed, indent + 4, &mut inner);
            if inner.is_empty() {
                text.push_str(&format!("{pad}  {}: {{}}\n", quoted(name)));
            } else {
                text.push_str(&format!("{pad}  {}:\n{inner}", quoted(name)));
            }
        }
    }
}

/// Whether each form of the level has this option.
fn is_of_level(level: &Level, spelling: &str) -> bool {
    matches!(&level.arguments, Arguments::Described { options, .. } if options.get(spelling).is_some())
}

/// The options that the level lacks. One that it has with other numbers or words keeps those too, since the description in the
/// suggestion stands in place of the profile's.
fn new_options(seen: &Seen, known: Option<&Level>) -> SeenOptions {
    let Some(Arguments::Described { options, forms, .. }) = known.map(|level| &level.arguments) else {
        return seen.options.clone();
    };
    let mut new = SeenOptions::new();
    for (spelling, (values, place)) in &seen.options {
        let rule = options.get(spelling).or_else(|| forms.iter().find_map(|form| form.options.get(spelling)));
        let old: Vec<String> = match rule.map(|rule| &rule.takes) {
            None => Vec::new(),
            Some(Takes::Value { value: ValueType::Integer { low, high }, .. }) => {
                vec![low.to_string(), high.to_string()]
            }
            Some(Takes::Value { value: ValueType::OneOf(words), .. }) => words.clone(),
            Some(Takes::Flag | Takes::Value { .. }) => continue,
        };
        let is_new = |value: &String| match number(value).zip(old.first().and_then(|low| number(low))) {
            Some((value, low)) => {
                value < low || old.get(1).and_then(|high| number(high)).is_some_and(|high| value > high)
            }
            None => !old.contains(value),
        };
        if rule.is_none() || values.iter().any(is_new) {
            new.insert(spelling.clone(), (values.iter().cloned().chain(old).collect(), *place));
        }
    }
    new
}

fn options(seen: &SeenOptions, indent: usize, text: &mut String) {
    let pad = " ".repeat(indent);
    if !seen.is_empty() {
        text.push_str(&format!("{pad}options:\n"));
        for (spelling, (values, place)) in seen {
            let mut kind = if values.is_empty() { ("flag".to_owned(), "") } else { type_of(values) };
            match place {
                Some(_) if values.is_empty() => {}
                Some(ValuePlace::Optional) => kind.0 = with(&kind.0, "optional: true"),
                Some(ValuePlace::Attached) if spelling != "-NUM" => kind.0 = with(&kind.0, "attached: true"),
                Some(_) | None => {}
            }
            text.push_str(&format!("{pad}  {}: {}{}\n", quoted(spelling), kind.0, kind.1));
        }
    }
}

/// The options, and the other words of the calls that ended here.
fn words(seen_options: &SeenOptions, seen: &Seen, indent: usize, text: &mut String) {
    let pad = " ".repeat(indent);
    options(seen_options, indent, text);
    for (key, rows) in [("operands", &seen.operands), ("after_double_dash", &seen.behind)] {
        let count = rows.first().map_or(0, Vec::len);
        let least = rows.iter().map(Vec::len).min().unwrap_or_default();
        if rows.iter().all(Vec::is_empty) {
            continue;
        }
        text.push_str(&format!("{pad}{key}:\n"));
        let is_even =
            rows.iter().all(|row| row.len() == count) && (key == "operands" || rows.len() == seen.operands.len());
        if is_even {
            for place in 0..count {
                let values: BTreeSet<String> = rows.iter().filter_map(|row| row.get(place).cloned()).collect();
                let (kind, review) = type_of(&values);
                text.push_str(&format!("{pad}  - {kind}{review}\n"));
            }
        } else {
            let values: BTreeSet<String> = rows.iter().flatten().cloned().collect();
            let (kind, review) = type_of(&values);
            let least = if key == "operands" && least > 0 { 1 } else { 0 };
            text.push_str(&format!("{pad}  - {}{review}\n", with(&kind, &format!("count: \"{least}..\""))));
        }
    }
}

/// The type with one attribute more.
fn with(kind: &str, attribute: &str) -> String {
    kind.strip_suffix('}').map_or_else(|| kind.to_owned(), |kind| format!("{kind}, {attribute}}}"))
}

/// The narrowest type of these values, and a mark where a person must look.
fn type_of(values: &BTreeSet<String>) -> (String, &'static str) {
    let numbers: Option<Vec<i64>> = values.iter().map(|value| number(value)).collect();
    if let Some(numbers) = numbers {
        let (low, high) =
            (numbers.iter().min().copied().unwrap_or_default(), numbers.iter().max().copied().unwrap_or_default());
        return (format!("{{integer: [{low}, {high}]}}"), "");
    }
    let begins = |value: &String| value.starts_with(['-', '+', '@']);
    let is_path = |value: &String| {
        !begins(value)
            && !value.is_empty()
            && value != "-"
            && (value == "." || value.contains('/') || has_ending(value))
    };
    if values.iter().all(is_path) {
        return ("{path: read}".to_owned(), "  # review: read or write?");
    }
    let is_word = |value: &String| {
        !value.is_empty()
            && value.len() <= 60
            && value.chars().all(|c| c.is_ascii_alphanumeric() || "_.:,=@%^~+-/".contains(c))
    };
    if values.len() <= MOST_WORDS && values.iter().all(is_word) {
        let words: Vec<String> = values.iter().map(|value| quoted(value)).collect();
        return (format!("{{one_of: [{}]}}", words.join(", ")), "");
    }
    let longest = values.iter().map(|value| value.chars().count()).max().unwrap_or_default().max(1);
    let first: BTreeSet<char> =
        values.iter().filter_map(|value| value.chars().next()).filter(|c| "-+@".contains(*c)).collect();
    let first: String = first.into_iter().collect();
    let first = if first.is_empty() { String::new() } else { format!("first: {}, ", quoted(&first)) };
    (format!("{{text: {{{first}max_length: {longest}}}}}"), "  # review: free text")
}

/// A whole number in its one spelling.
fn number(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|number| number.to_string() == text)
}

/// Whether it looks like the name of a file: `main.rs`.
fn has_ending(value: &str) -> bool {
    let ending = value.rsplit_once('.').filter(|(name, _)| !name.is_empty()).map(|(_, ending)| ending);
    ending.is_some_and(|ending| (1..=5).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(lines: &[&str]) -> Vec<Recorded> {
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
        let calls = recorded(&[
            "git log -n 5 main",
            "git log -n20 --oneline topic",
            "git status",
            "tool -v --level=3 src/a.rs",
            "tool src/b.rs",
        ]);
        let (commands, skipped) = suggest(&calls, &known(), &Rules::default());
        assert!(skipped.is_empty());
        let text = format!("version: 1\ncommands:\n{}", commands.values().cloned().collect::<String>());
        let rules = Rules::load(&[PolicyText { file: "s".into(), text }], &[], &[]).unwrap();
        let came = |line: &str| super::super::cases::decide(&rules, &shlex::split(line).unwrap()).came.name();
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
    fn what_is_suggested_for_a_command_of_a_profile_in_use_adds_to_it() {
        let lines = [
            "git log -n 5 --new main",
            "git log -n 200000",
            "git stash list --color=some",
            "git branch -a topic",
            "git add -A src",
        ];
        let (commands, skipped) = suggest(&recorded(&lines[..3]), &known(), &known());
        assert!(skipped.is_empty(), "{}", skipped[0].why);
        let load = |commands: BTreeMap<String, String>| {
            let text = format!("profiles: [git-readonly]\ncommands:\n{}", commands.into_values().collect::<String>());
            Rules::load(&[PolicyText { file: "s".into(), text }], &[], &[]).unwrap()
        };
        let came =
            |rules: &Rules, line: &str| super::super::cases::decide(rules, &shlex::split(line).unwrap()).came.name();
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
        let (commands, _) = suggest(&recorded(&lines[3..]), &known(), &known());
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
    fn nothing_is_suggested_for_what_runs_any_code_or_lies_elsewhere() {
        let calls = recorded(&[
            "sh -c id",
            "python3 x.py",
            "cat /etc/passwd",
            "cat ../x",
            "tool --file=/etc/x",
            "env FOO=1 id",
        ]);
        let (commands, skipped) = suggest(&calls, &known(), &Rules::default());
        assert_eq!(commands.keys().collect::<Vec<_>>(), Vec::<&String>::new());
        let what: Vec<&str> = skipped.iter().map(|skipped| skipped.what.as_str()).collect();
        assert_eq!(what, ["cat ../x", "cat /etc/passwd", "env", "python3", "sh", "tool '--file=/etc/x'"]);
    }

    #[test]
    fn the_narrowest_type_is_found_and_what_needs_a_look_is_marked() {
        let of = |values: &[&str]| type_of(&values.iter().map(|value| (*value).to_owned()).collect());
        assert_eq!(of(&["5", "20"]).0, "{integer: [5, 20]}");
        assert_eq!(of(&["main", "topic/x"]).0, "{one_of: [\"main\", \"topic/x\"]}");
        assert_eq!(of(&["src/a", "b.rs"]), ("{path: read}".to_owned(), "  # review: read or write?"));
        assert_eq!(of(&["two words"]), ("{text: {max_length: 9}}".to_owned(), "  # review: free text"));
        assert_eq!(of(&["+x y"]).0, "{text: {first: \"+\", max_length: 4}}");
        assert_eq!(of(&["05"]).0, "{one_of: [\"05\"]}");
    }
}
