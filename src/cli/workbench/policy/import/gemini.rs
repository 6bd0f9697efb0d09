//! Gemini CLI's policies in TOML: `[[rule]]` with `toolName`, `commandPrefix`, `decision` and `priority`.
//!
//! A prefix is followed by a blank or the end. Of the rules of a file that match, the one with the highest priority decides. Which
//! file counts more depends on where it is, so of several files the strictest holds. See
//! <https://geminicli.com/docs/reference/policy-engine/>.

use super::Wrong;
use super::entry::{Entry, Imported, Pattern, Place};
use super::pattern::{add_unclear, is_plain, literal_beginning, plain_words};
use super::toml::{self, Table, Value};
use crate::policy::rules::Effect;

/// The keys that don't change which command lines a rule is about.
const WITHOUT_EFFECT: [&str; 9] = [
    "toolName",
    "commandPrefix",
    "commandRegex",
    "argsPattern",
    "decision",
    "priority",
    "denyMessage",
    "description",
    "allowRedirection",
];

/// The names of the tool that runs command lines.
const SHELL_TOOLS: [&str; 2] = ["run_shell_command", "ShellTool"];

pub(super) fn read(file: &str, text: &str, imported: &mut Imported) -> Result<(), Wrong> {
    for table in toml::parse(text)? {
        let place = Place { file: file.into(), line: table.line };
        match table.header.as_str() {
            "rule" => rule(place, &table, imported)?,
            "" if table.entries.is_empty() => {}
            header => imported.leave_out(place, header, "only `[[rule]]` is understood"),
        }
    }
    Ok(())
}

fn rule(place: Place, table: &Table, imported: &mut Imported) -> Result<(), Wrong> {
    let line = place.line;
    let effect = match table.get("decision") {
        Some(Value::Text(decision)) => match decision.as_str() {
            "allow" => Effect::Allow,
            "ask_user" => Effect::Ask,
            "deny" => Effect::Deny,
            _ => {
                return Err((
                    line,
                    format!("expected `allow`, `ask_user` or `deny` as the decision, found `{decision}`"),
                ));
            }
        },
        _ => return Err((line, "the rule has no `decision`".to_owned())),
    };
    let what = ["commandPrefix", "commandRegex", "argsPattern", "toolName"];
    let what = what.into_iter().find_map(|key| Some(format!("{key} = {}", shown(table.get(key)?))));
    let entry = Entry::new(place, &what.unwrap_or_else(|| "rule".to_owned()), effect);
    let reason = table.get("denyMessage").and_then(|value| texts(value)?.into_iter().next());
    let priority = match table.get("priority") {
        Some(Value::Integer(priority)) => Some(*priority),
        _ => None,
    };
    // Without a priority that is known, what narrows goes first.
    let entry = Entry { reason, priority: priority.unwrap_or(i64::MAX), ..entry };
    let names = table.get("toolName").map_or(Some(vec!["*".to_owned()]), texts);
    let Some(names) = names else { return Err((line, "expected a name or a list of names as `toolName`".to_owned())) };
    let is_shell = |name: &String| SHELL_TOOLS.contains(&name.as_str());
    let may_be_shell = |name: &String| match name.split_once('*') {
        Some((beginning, _)) => SHELL_TOOLS.iter().any(|tool| tool.starts_with(beginning)),
        None => is_shell(name),
    };
    if !names.iter().any(may_be_shell) || table.get("mcpName").is_some() {
        imported.leave_out(entry.place, &entry.what, "it is about another tool than `run_shell_command`");
        return Ok(());
    }
    let unknown = table.entries.iter().find(|(key, ..)| !WITHOUT_EFFECT.contains(&key.as_str()));
    let why = match unknown {
        Some((key, ..)) => Some(format!("whether it holds depends on `{key}`")),
        None if priority.is_none() => Some("it has no `priority`".to_owned()),
        None if !names.iter().any(|name| is_shell(name) || name == "*") => {
            Some("it may be about another tool".to_owned())
        }
        None if !names.iter().any(is_shell) && effect == Effect::Allow => Some("it is about any tool".to_owned()),
        None => None,
    };
    // One that denies holds always. One that asks lifts nothing that is denied below it, since it may not hold.
    if let Some(why) = why.filter(|_| effect != Effect::Deny) {
        let beginning = match table.get("commandPrefix").and_then(texts).as_deref() {
            Some([prefix]) => literal_beginning(prefix),
            Some(_) | None => String::new(),
        };
        add_unclear(entry, &beginning, &why, imported);
        return Ok(());
    }
    match (table.get("commandPrefix"), table.get("commandRegex"), table.get("argsPattern")) {
        (Some(prefixes), None, None) => {
            let prefixes = texts(prefixes).filter(|prefixes| !prefixes.is_empty());
            let none = || (line, "expected a text or a list of texts as `commandPrefix`".to_owned());
            prefixes.ok_or_else(none)?.into_iter().for_each(|text| prefix(entry.clone(), &text, imported));
        }
        (None, Some(Value::Text(regex)), None) => {
            add_unclear(entry, &regex_beginning(regex), "it is a regular expression", imported);
        }
        (None, None, None) => imported.entries.push(Entry { pattern: Pattern::Prefix(Vec::new()), ..entry }),
        _ => add_unclear(entry, "", "it is a regular expression", imported),
    }
    Ok(())
}

fn prefix(entry: Entry, text: &str, imported: &mut Imported) {
    let stem = text.trim_end_matches(' ');
    match plain_words(stem) {
        Some(_) if stem != text && entry.effect == Effect::Allow => {
            let why = "a prefix that ends in a blank needs another one after it; write it without";
            imported.leave_out(entry.place, &entry.what, why);
        }
        Some(words) => imported.entries.push(Entry { pattern: Pattern::Prefix(words), ..entry }),
        None => {
            let why = "it has characters that a shell reads; only plain words are taken";
            add_unclear(entry, &literal_beginning(text), why, imported);
        }
    }
}

/// The text that every command line begins with which a regular expression means.
fn regex_beginning(regex: &str) -> String {
    // Alternatives may begin otherwise, unless all are within a group after the beginning.
    let mut depth = 0_usize;
    let is_simple = !regex.contains(['\\', '[']);
    for character in regex.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 || !is_simple => return String::new(),
            _ => {}
        }
    }
    let is_literal = |character: char| (is_plain(character) || character == ' ') && !".+".contains(character);
    let mut beginning: String = regex.chars().take_while(|character| is_literal(*character)).collect();
    // `s*`, `s?` and `s{0,2}` may be nothing, and what `+` repeats is there once.
    if matches!(regex.chars().nth(beginning.len()), Some('*' | '?' | '{')) {
        beginning.pop();
    }
    beginning
}

/// One text, or the texts of a list.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Text(text) => Some(vec![text.clone()]),
        Value::List(list) => {
            let text = |value: &Value| match value {
                Value::Text(text) => Some(text.clone()),
                Value::Integer(_) | Value::Boolean(_) | Value::List(_) | Value::Other(_) => None,
            };
            list.iter().map(text).collect()
        }
        Value::Integer(_) | Value::Boolean(_) | Value::Other(_) => None,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{text:?}"),
        Value::List(list) => format!("[{}]", list.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::Other(text) => text.clone(),
    }
}
