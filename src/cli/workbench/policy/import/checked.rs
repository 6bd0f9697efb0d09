//! The policy: its commands one by one, each loaded and compared with its source before it is printed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::entry::{Entry, Imported, Pattern, Place, lines_run};
use super::tree::Node;
use super::written::{self, WORD, quoted};
use crate::policy::rules::{
    CommandRule, Effect, Expected, PolicyText, Rules, decide_example, profile_names, profile_text, written as shown,
};
use crate::text::escape;

/// A command of the policy.
struct Command {
    name: String,
    /// The comments above it.
    comments: Vec<String>,
    yaml: String,
    rule: Arc<CommandRule>,
    /// Whether it extends a profile.
    is_extended: bool,
}

/// Makes the text of the policy, which denies these shells. What it can't say is added to what is left out.
pub(super) fn policy(imported: &mut Imported, shells: &[String]) -> String {
    let root = Node::of(imported);
    let (mut commands, mut dropped) = (Vec::new(), Vec::new());
    for node in &root.children {
        // A denial of what lines run themselves would have no effect.
        let is_denied = node.uniform() == Some(Some(Effect::Deny)) && !lines_run(&node.word);
        if node.grants() || is_denied {
            match Command::of(node, imported) {
                Ok(command) => commands.push(command),
                Err(why) => dropped.push((node.word.as_str(), why)),
            }
        }
    }
    report(&root, &commands, &dropped, imported);
    add_samples(&root, &mut commands, imported);
    let is_named = |shell: &&String| commands.iter().any(|command| command.name == **shell);
    let shells: Vec<&String> = shells.iter().filter(|shell| !is_named(shell)).collect();
    let lets_run = commands.iter().any(|command| !command.rule.level.only_denies());
    let denies_shells = lets_run && !shells.is_empty();
    let mut text = "version: 1\n".to_owned();
    if denies_shells || commands.iter().any(|command| command.yaml.contains("{type: word")) {
        text.push_str(WORD);
    }
    if !commands.is_empty() {
        text.push_str("commands:\n");
    }
    for command in &commands {
        for comment in &command.comments {
            text.push_str(&escape(&format!("  # {comment}")));
            text.push('\n');
        }
        text.push_str(&command.yaml);
    }
    if denies_shells {
        text.push_str("  # Without these, the line of `bash -c LINE` is read and decided on, whatever was imported says of `bash`.\n");
        for shell in shells {
            text.push_str(&written::denied(shell));
        }
    }
    text
}

impl Command {
    fn of(node: &Node, imported: &Imported) -> Result<Self, String> {
        let name = node.word.clone();
        let mut comments = sources(node, &imported.entries);
        let described: Vec<(&'static str, Arc<CommandRule>)> =
            profile_names().filter_map(|profile| described(profile, &name)).collect();
        let extending = described.iter().find_map(|(profile, rule)| {
            let yaml = written::extending(node, profile, rule)?;
            let loaded = loaded(&name, &yaml).ok()?;
            Some((*profile, yaml, loaded))
        });
        if let Some((profile, yaml, rule)) = extending {
            let wider = written::command(node, &imported.entries);
            comments.push(format!("Narrowed to what profile {profile} describes of it. As wide as there it is:"));
            comments.extend(wider.lines().map(|line| line.strip_prefix("  ").unwrap_or(line).to_owned()));
            return Ok(Self { name, comments, yaml, rule, is_extended: true });
        }
        if let Some((_, why)) =
            imported.only_by_profile.iter().find(|(command, _)| *command == name && node.allows_more())
        {
            return Err(format!("{why}, and no shipped profile describes it so"));
        }
        if let Some((profile, _)) = described.first().filter(|_| node.grants()) {
            comments.push(format!(
                "Profile {profile} describes `{name}` by its options; see `allowexec policy show {profile}`."
            ));
        }
        let yaml = written::command(node, &imported.entries);
        let rule = loaded(&name, &yaml)?;
        Ok(Self { name, comments, yaml, rule, is_extended: false })
    }

    fn decide(&self, words: &[String]) -> Expected {
        decide_example(&self.rule, words).decision
    }
}

/// The rule of a shipped profile for a command.
fn described(profile: &'static str, command: &str) -> Option<(&'static str, Arc<CommandRule>)> {
    // Most profiles don't name it, and reading them all takes a while.
    profile_text(profile).filter(|text| text.contains(&format!("\n  {command}:")))?;
    let rules = Rules::read(&[], &[profile.to_owned()], &[]).ok()?;
    rules.get(command).map(|rule| (profile, Arc::clone(rule)))
}

/// The rule for a command, if a policy with it alone loads.
fn loaded(name: &str, yaml: &str) -> Result<Arc<CommandRule>, String> {
    let text = format!("version: 1\n{WORD}commands:\n{yaml}");
    let text = PolicyText { file: PathBuf::from("imported"), text };
    let rules = Rules::load(&[text], &[], &[]).map_err(|error| format!("a policy can't say it: {}", error.problem))?;
    rules.get(name).cloned().ok_or_else(|| "a policy can't name this command".to_owned())
}

/// The entries that a command is made of, as a comment.
fn sources(node: &Node, entries: &[Entry]) -> Vec<String> {
    let is_its = |entry: &&Entry| entry.pattern.words().first() == Some(&node.word);
    let mut lines: Vec<String> = Vec::new();
    for entry in entries.iter().filter(is_its) {
        let line = format!("{}: {} `{}`", entry.place, entry.effect.name(), entry.what);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Says of each entry that grants if less of it came out, and why; and of each that denies if no rule came out.
fn report(root: &Node, commands: &[Command], dropped: &[(&str, String)], imported: &mut Imported) {
    let mut notes: Vec<(Place, String, String, bool)> = Vec::new();
    for entry in imported.entries.iter().filter(|entry| entry.grants()) {
        let words = match &entry.pattern {
            Pattern::Prefix(words) | Pattern::Exact(words) => words.clone(),
            Pattern::Unclear(_) => continue,
        };
        let mut say = |why: String, is_missing| notes.push((entry.place.clone(), entry.what.clone(), why, is_missing));
        if words.is_empty() {
            say(
                match entry.effect {
                    Effect::Ask => "a policy names commands; `--ask '*'` asks about all others".to_owned(),
                    Effect::Allow | Effect::Deny => {
                        "a policy names commands; `--allow '*'` allows all others".to_owned()
                    }
                },
                true,
            );
            continue;
        }
        let is_its = |(name, _): &&(&str, String)| words.first().is_some_and(|word| word == name);
        if let Some((_, why)) = dropped.iter().find(is_its) {
            say(why.clone(), true);
            continue;
        }
        let longer =
            matches!(entry.pattern, Pattern::Prefix(_)).then(|| [words.as_slice(), &[OTHER.to_owned()]].concat());
        let command = words.first().and_then(|name| commands.iter().find(|command| command.name == *name));
        let is_extended = command.is_some_and(|command| command.is_extended);
        for words in std::iter::once(words).chain(longer) {
            let verdict = root.verdict(&words);
            let by = verdict.by.and_then(|by| imported.entries.get(by));
            let other = by.map_or_else(String::new, |by| format!("`{}` ({})", by.what, by.place));
            match (verdict.effect, by) {
                (Some(effect), _) if effect <= entry.effect => {
                    let came = command.map_or(Expected::Refuse, |command| command.decide(&words));
                    if !is_extended && rank(came) > effect {
                        say("the rule is narrower here than the entry".to_owned(), true);
                        break;
                    }
                }
                (Some(_), Some(by)) if !matches!(by.pattern, Pattern::Unclear(_)) => {
                    say(format!("{other} is stricter and decides"), false);
                    break;
                }
                _ => {
                    say(format!("{other} may be stricter here"), true);
                    break;
                }
            }
        }
    }
    for entry in imported.entries.iter().filter(|entry| entry.effect == Effect::Deny) {
        let Some(name) = entry.pattern.words().first().filter(|name| !lines_run(name)) else { continue };
        if !commands.iter().any(|command| command.name == *name) {
            let why = format!("nothing allows `{name}`, so it is refused, unless `--allow` or `--ask '*'` names it");
            notes.push((entry.place.clone(), entry.what.clone(), why, false));
        }
    }
    notes.dedup();
    for (place, what, why, is_missing) in notes {
        if is_missing { imported.leave_out(place, &what, why) } else { imported.note(place, &what, why) }
    }
}

/// A word that no source names.
const OTHER: &str = "another-word";

fn rank(came: Expected) -> Effect {
    match came {
        Expected::Allow => Effect::Allow,
        Expected::Ask => Effect::Ask,
        Expected::Refuse => Effect::Deny,
    }
}

/// Adds the examples of the source for which the policy decides as the source does.
fn add_samples(root: &Node, commands: &mut [Command], imported: &mut Imported) {
    let mut by_command: BTreeMap<usize, [Vec<String>; 3]> = BTreeMap::new();
    for sample in std::mem::take(&mut imported.samples) {
        let line = shown(&sample.words);
        let of = |command: &Command| sample.words.first() == Some(&command.name);
        let Some(number) = commands.iter().position(of) else {
            imported.note(sample.place, &line, "the policy has no such command, so the example is refused anyway");
            continue;
        };
        let came = commands.get(number).map_or(Expected::Refuse, |command| command.decide(&sample.words));
        if rank(came) > root.verdict(&sample.words).effect.unwrap_or(Effect::Deny) {
            imported.leave_out(sample.place, &line, "the policy is narrower than this example");
            continue;
        }
        let words: Vec<String> =
            sample.words.iter().map(|word| serde_json::Value::String(word.clone()).to_string()).collect();
        let list = by_command.entry(number).or_default();
        let lines = match came {
            Expected::Allow => &mut list[0],
            Expected::Ask => &mut list[1],
            Expected::Refuse => &mut list[2],
        };
        lines.push(format!("[{}]", words.join(", ")));
    }
    for (number, lists) in by_command {
        let Some(command) = commands.get_mut(number) else { continue };
        let mut yaml = command.yaml.clone();
        if !yaml.contains("\n    ") {
            // A scalar takes no examples.
            let scalar =
                if yaml.ends_with(": any\n") { "operands: [{type: word, count: \"0..\"}]" } else { "operands: []" };
            let stdin = if yaml.ends_with(": any\n") { "    stdin: true\n" } else { "" };
            yaml = format!("  {}:\n    syntax: operands\n    {scalar}\n{stdin}", quoted(&command.name));
        }
        yaml.push_str("    examples:\n");
        for (key, mut lines) in ["allow", "ask", "refuse"].into_iter().zip(lists) {
            lines.sort();
            lines.dedup();
            if !lines.is_empty() {
                yaml.push_str(&format!("      {key}: [{}]\n", lines.join(", ")));
            }
        }
        // An example that can't be told without files is none.
        if let Ok(rule) = loaded(&command.name, &yaml) {
            (command.yaml, command.rule) = (yaml, rule);
        }
    }
}
