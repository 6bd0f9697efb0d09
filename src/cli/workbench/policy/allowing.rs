//! How an operator would allow a command that nothing allows: for `check`, and for the log of a server.

use std::sync::Arc;

use serde_json::{Value, json};

use super::suggest::{Skipped, is_assignment, of_profiles, recorded, suggest};
use crate::config::Config;
use crate::policy::rules::{PolicySource, Rules, describes, flow, profile_names};
use crate::policy::{CommandLineError, Explanation, Lines};
use crate::server::Suggests;

/// How many profiles are named.
const MOST_PROFILES: usize = 2;

/// The ways, the first of which is the best; none if more than a description is missing.
#[derive(Debug, Default)]
pub(in crate::cli) struct Allowing(Vec<Way>);

#[derive(Debug)]
enum Way {
    /// A shipped profile allows it; how it is taken.
    Profile(&'static str, String),
    /// The narrowest rule, as lines of YAML, and where they go.
    Rule { lines: String, place: String },
    /// A sentence that says what else would be needed.
    Other(String),
}

impl Allowing {
    /// Finds the ways for a command that was refused.
    pub(in crate::cli) fn of(explanation: &Explanation, is_refused: bool, config: &Config) -> Self {
        if !is_refused || !explanation.lacks_rule() {
            return Self::default();
        }
        Self(ways(&explanation.words, &config.rules, &Known::of(config)))
    }

    /// The way for a line that was not read, since lines are off.
    pub(in crate::cli) fn of_line(error: &CommandLineError, config: &Config) -> Self {
        let is_line = matches!(error, CommandLineError::Syntax { .. }) && config.lines.value == Lines::Off;
        let reads = "set `lines: on` (`--lines on`): then lines of several commands are read, and each is decided on";
        Self((is_line && cfg!(unix)).then(|| Way::Other(reads.to_owned())).into_iter().collect())
    }

    /// The rows of the table that `check` prints.
    pub(in crate::cli) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        for way in &self.0 {
            match way {
                Way::Profile(profile, how) => {
                    rows.push((
                        "to allow",
                        format!("{how}; `allowexec policy show {profile}` says what else it allows"),
                    ));
                }
                Way::Rule { lines, place } => {
                    rows.push(("to allow", format!("{place}, after a look at it:")));
                    rows.extend(lines.lines().map(|line| ("", line.to_owned())));
                }
                Way::Other(sentence) => rows.push(("to allow", sentence.clone())),
            }
        }
        rows
    }

    /// The same for programs.
    pub(in crate::cli) fn to_json(&self) -> Value {
        let way = |way: &Way| match way {
            Way::Profile(profile, how) => json!({"profile": profile, "how": how}),
            Way::Rule { lines, place } => json!({"policy": format!("version: 1\n{lines}"), "how": place}),
            Way::Other(sentence) => json!({"how": sentence}),
        };
        Value::Array(self.0.iter().map(way).collect())
    }
}

/// Says the ways in one line, for the log of a server.
pub(in crate::cli) fn suggestions(config: &Config) -> Option<Suggests> {
    let known = Known::of(config);
    Some(Arc::new(move |words: &[String], rules: &Rules| {
        let said = |way: Way| match way {
            Way::Profile(_, how) | Way::Other(how) => Some(how),
            Way::Rule { lines, place } => Some(format!("{place}: {}", flow(&lines)?)),
        };
        let said: Vec<String> = ways(words, rules, &known).into_iter().filter_map(said).collect();
        (!said.is_empty()).then(|| said.join("; or "))
    }))
}

/// The policy files as the operator named them, and the allow-list.
struct Known {
    files: Vec<String>,
    allow: Vec<String>,
}

impl Known {
    fn of(config: &Config) -> Self {
        let files = config.policy.value.iter().map(|file| file.display().to_string()).collect();
        Self { files, allow: config.allow.value.clone() }
    }
}

fn ways(words: &[String], rules: &Rules, Known { files, allow }: &Known) -> Vec<Way> {
    let Some(name) = words.first() else { return Vec::new() };
    if name.rsplit_once('/').is_some_and(|(_, base)| allow.iter().any(|entry| entry == base) || rules.describes(base)) {
        // It is to be called by its name, as the refusal says.
        return Vec::new();
    }
    if let Some((variable, _)) = name.split_once('=').filter(|_| is_assignment(name)) {
        let how = format!(
            "set it with `--env` for every command, or let lines set it: `lines: on` and `line_env: [{variable}]`"
        );
        return vec![Way::Other(how)];
    }
    let profiles: Vec<Way> = profiles_for(words)
        .into_iter()
        .map(|profile| Way::Profile(profile, take(profile, name, rules, files)))
        .collect();
    if !profiles.is_empty() {
        return profiles;
    }
    let (mut commands, skipped) = suggest(&[recorded(words.to_vec())], &of_profiles(), rules);
    match commands.remove(name) {
        Some(rule) => vec![Way::Rule { lines: without_examples(&rule), place: place(name, rules, files) }],
        None => {
            skipped.into_iter().map(|Skipped { why, .. }| Way::Other(format!("no rule is suggested: {why}"))).collect()
        }
    }
}

/// How a shipped profile is taken that describes this command.
fn take(profile: &str, name: &str, rules: &Rules, files: &[String]) -> String {
    let described = rules.get(name).map(|rule| &rule.origin);
    let how = match (described.map(|origin| (&*origin.source, origin)), files.first()) {
        (Some((PolicySource::File(_), origin)), _) => {
            format!("say `extends: {profile}` in the rule for `{name}` in {origin}")
        }
        (Some((PolicySource::Profile(used), _)), _) => {
            format!("take the profile {profile} beside {used}, or in its place")
        }
        (_, Some(file)) => format!("add `{profile}` to `profiles` in {file}"),
        (_, None) => format!("take the profile {profile} (`--profile {profile}`)"),
    };
    // It writes there, which a sandbox has to grant.
    if profile == "git-commit" { format!("{how}, and let commands write `.git`") } else { how }
}

/// The shipped profiles whose rules allow these words, or ask about them.
fn profiles_for(words: &[String]) -> Vec<&'static str> {
    let Some(name) = words.first() else { return Vec::new() };
    let allows = |profile: &&str| {
        let rules = Rules::read(&[], &[(*profile).to_owned()], &[]).unwrap_or_default();
        let judged = rules.describes(name).then(|| rules.get(name)).flatten();
        judged.is_some_and(|rule| describes(rule, words))
    };
    profile_names().filter(allows).take(MOST_PROFILES).collect()
}

/// Where the rule for a command belongs.
fn place(name: &str, rules: &Rules, files: &[String]) -> String {
    let file = files.first().map_or_else(|| "write a file for `--policy`".to_owned(), |file| format!("add to {file}"));
    let Some(rule) = rules.get(name) else {
        let any = format!("add `{name}` to `--allow`, which takes any arguments, or {file}");
        return if files.is_empty() && rules.is_empty() { any } else { file };
    };
    match &*rule.origin.source {
        PolicySource::File(_) => format!("add to the rule for `{name}` in {}", rule.origin),
        PolicySource::Profile(profile) if files.is_empty() => {
            format!("write a file for `--policy`, in place of `--profile {profile}`")
        }
        PolicySource::Profile(_) => file,
        PolicySource::Allow => format!("add it to `--allow` as `{name} SUBCOMMAND`, or {file}"),
        PolicySource::Ask => format!("add it to `--ask` as `{name} SUBCOMMAND`, or {file}"),
    }
}

/// The rule without the calls that it was made of.
fn without_examples(text: &str) -> String {
    let rule = text.split("    examples:\n").next().unwrap_or_default();
    // A rule that is there already says what else a profile would bring.
    let lines = rule.lines().filter(|line| !line.trim_start().starts_with("# review: the profile inserts"));
    lines.fold("commands:\n".to_owned(), |text, line| text + line + "\n")
}
