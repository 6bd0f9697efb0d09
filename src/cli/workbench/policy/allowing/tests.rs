//! Advice is followed word by word, as a person would: the settings load then, and allow the command.

use std::fs;

use super::*;
use crate::policy::rules::{CommandRule, PolicyText};
use crate::policy::{Programs, Rule, SearchPath};

/// Settings to begin with: the flags `--profile`, the entries of `--allow`, and the text of a policy file.
struct Before {
    profiles: &'static [&'static str],
    allow: &'static [&'static str],
    policy: Option<&'static str>,
}

const BEFORE: [Before; 8] = [
    Before { profiles: &[], allow: &[], policy: None },
    Before { profiles: &["git-readonly", "python-tools"], allow: &[], policy: None },
    Before { profiles: &["git-commit"], allow: &[], policy: Some("commands:\n  other: {}\n") },
    Before { profiles: &[], allow: &["git status", "npm run"], policy: None },
    Before { profiles: &[], allow: &[], policy: Some("version: 1\nprofiles: [git-readonly, cargo-check]\n") },
    Before {
        profiles: &[],
        allow: &[],
        policy: Some(
            "version: 1\nprofiles: [coreutils-readonly, python-tools]\ncommands:\n  git:\n    extends: git-readonly\n  \
             tool:\n    operands: [{one_of: [a]}]\n  npm:\n    insert: [--no-fund]\n    subcommands:\n      run:\n        \
             options: {-s: flag}\n        operands: [{one_of: [test]}]\n",
        ),
    },
    Before {
        profiles: &[],
        allow: &[],
        policy: Some(
            "commands:\n  python:\n    program: /usr/bin/python3\n    syntax: operands\n    forms:\n      - operands: [{one_of: [-V]}]\n  \
             tool:\n    operands: [{integer: [1, 1]}, {one_of: [x]}]\n  xargs: {operands: [{one_of: [ls]}]}\n",
        ),
    },
    Before { profiles: &[], allow: &[], policy: Some("commands:\n  tool:\n    options: {-q: flag}\n  git: {}\n") },
];

const NAMES: [&str; 13] = [
    "tool",
    "scripts/create-deb.sh",
    "tree",
    "git",
    "ls",
    "cargo",
    "npm",
    "ruff",
    "mkdir",
    "y",
    "a b",
    "python",
    "xargs",
];

const ARGUMENTS: [&[&str]; 34] = [
    &[],
    &["-v"],
    &["-q"],
    &["--level=3"],
    &["-n5"],
    &["-n", "5"],
    &["push"],
    &["push", "origin", "main"],
    &["pack", "--dry-run"],
    &["run", "build"],
    &["run", "test", "--", "x"],
    &["check", "--nope", "src"],
    &["commit", "-m", "a b"],
    &["list"],
    &["a b"],
    &[""],
    &["--"],
    &["--", "-x"],
    &["-"],
    &["-1"],
    &["+x"],
    &["@x"],
    &["é"],
    &["a\u{85}b"],
    &["a: b"],
    &["#", "*", "&a", "{", "!x", "%"],
    &["null", "~", "yes", "1.5", "0x1"],
    &["--opt="],
    &["-abc", "--opt", "x"],
    &["\"", "'", "\\"],
    &["src/main.rs", "b.rs"],
    &["http://localhost:1/x"],
    &["/etc/passwd"],
    &["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"],
];

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn entries(allow: &[String]) -> Vec<ListEntry> {
    allow.iter().map(|text| ListEntry { text: text.clone(), effect: Effect::Allow }).collect()
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    Some(text.split_once(before)?.1.split_once(after)?.0)
}

/// The rules after the way was followed; an error if it is unclear how.
fn followed(way: &Way, before: &Before, policy: Option<&str>) -> Result<Rules, String> {
    let (mut profiles, mut allow) = (texts(before.profiles), texts(before.allow));
    let mut policy = policy.map(str::to_owned);
    let merge = |policy: &mut Option<String>, lines: &str| {
        let merged = match policy.as_deref() {
            // At its end, or within what is there.
            Some(policy) if policy.ends_with("commands:\n  other: {}\n") && lines.starts_with("commands:\n") => {
                Some(policy.to_owned() + lines.trim_start_matches("commands:\n"))
            }
            Some(policy) => crate::cli::workbench::policy::change::with(policy, lines),
            None => Some(lines.to_owned()),
        };
        *policy = Some(merged.ok_or("it can't be added")?);
        Ok::<(), String>(())
    };
    match way {
        Way::Rule { lines, place } => {
            if let (Some(name), Some(text)) = (between(place, "in place of the rule for `", "` in "), &policy) {
                policy = Some(crate::cli::workbench::policy::change::without(text, name));
            }
            if let Some(profile) = between(place, "in place of `--profile ", "`") {
                profiles.retain(|name| name != profile);
            }
            merge(&mut policy, lines)?;
        }
        Way::Profile(profile, how) => {
            if let Some(name) = between(how, "in the rule for `", "`") {
                merge(&mut policy, &format!("commands: {{\"{name}\": {{extends: {profile}}}}}"))?;
            } else if how.contains("to `profiles` in ") {
                merge(&mut policy, &format!("profiles: [{profile}]"))?;
            } else {
                if let Some((_, used)) = how.split_once(" in place of ") {
                    profiles.retain(|name| name != used);
                }
                profiles.push((*profile).to_owned());
            }
        }
        Way::None(_) => return Err(String::new()),
        Way::Other(how) => match between(how, "add `", "` to `--allow`") {
            Some(entry) => allow.push(entry.to_owned()),
            None => return Err(String::new()),
        },
    }
    let policy = policy.map(|text| PolicyText { file: "policy.yaml".into(), text });
    let policies: Vec<PolicyText> = policy.into_iter().collect();
    Rules::load(&policies, &profiles, &entries(&allow)).map_err(|error| error.to_string())
}

#[test]
fn whatever_is_advised_loads_and_allows_the_command() {
    let place = tempfile::tempdir().unwrap();
    let mut count = [0; 3];
    for before in &BEFORE {
        let file = place.path().join("policy.yaml");
        fs::write(&file, before.policy.unwrap_or_default()).unwrap();
        let settings = Settings {
            locked: None,
            roots: Vec::new(),
            read_only: vec![place.path().to_owned()],
            has_loopback: before.policy.is_some(),
            configuration: None,
            files: before.policy.iter().map(|_| file.clone()).collect(),
            profiles: texts(before.profiles),
            single: Vec::new(),
            entries: entries(&texts(before.allow)),
            directory: place.path().to_owned(),
            programs: Programs::new(SearchPath::new(None), place.path().to_owned()),
        };
        let policy = before.policy.map(|text| PolicyText { file: file.clone(), text: text.to_owned() });
        let policies: Vec<PolicyText> = policy.into_iter().collect();
        let rules = Rules::load(&policies, &settings.profiles, &settings.entries).unwrap();
        for (name, arguments) in NAMES.iter().flat_map(|name| ARGUMENTS.iter().map(move |arguments| (name, arguments)))
        {
            let words = [&texts(&[name])[..], &texts(arguments)].concat();
            let rule = rules.get(name).map(|rule| Rule::Described(Arc::clone(rule)));
            // Every other one is given something to read.
            let refused = Explanation { has_input: arguments.len() % 2 == 0, words, rule, ..Explanation::default() };
            let is_allowed = |rules: &Rules| {
                let takes_input = |rule: &CommandRule| rule.stdin || !refused.has_input;
                rules.get(name).is_some_and(|rule| describes(rule, &refused.words) && takes_input(rule))
            };
            if is_allowed(&rules) {
                continue;
            }
            for way in ways(&refused, &rules, &settings) {
                match (&way, followed(&way, before, before.policy)) {
                    (Way::None(why), _) => {
                        assert!(!why.is_empty() && !why.ends_with([':', '.']), "{why}");
                        count[0] += 1;
                    }
                    (_, followed) => {
                        let rules = followed.unwrap_or_else(|error| panic!("{refused:?}: {error}: {way:?}"));
                        assert!(is_allowed(&rules), "{refused:?}: {way:?}");
                        count[if matches!(way, Way::Rule { .. }) { 1 } else { 2 }] += 1;
                    }
                }
            }
        }
    }
    // Most of them are rules.
    assert!(count[0] < 700 && count[1] > 1000 && count[2] > 50, "{count:?}");
}
