//! Gemini CLI's policies in TOML: `[[rule]]` with `toolName`, `commandPrefix`, `decision` and `priority`.
//!
//! A prefix is followed by a blank or the end. Of the rules of a file that match, the one with the highest priority decides, and a `[[safety_checker]]`
//! may still refuse. Which
//! file counts more depends on where it is, so of several files the strictest holds. See
//! <https://geminicli.com/docs/reference/policy-engine/>.

use super::Wrong;
use super::entry::{Entry, Imported, Pattern, Place};
use super::pattern::{add_unclear, by_words, is_plain, literal_beginning};
use super::toml::{self, Table, Value};
use crate::policy::rules::Effect;

/// The keys that don't change which command lines a rule is about.
const WITHOUT_EFFECT: [&str; 11] = [
    "toolName",
    "commandPrefix",
    "commandRegex",
    "argsPattern",
    "decision",
    "priority",
    "denyMessage",
    "description",
    "allowRedirection",
    "allow_redirection",
    "deny_message",
];

/// The kinds of checks.
const CHECKERS: [&str; 2] = ["external", "in-process"];
const OTHER_TYPE: &str = "a key whose value is of another type";

/// The modes that a rule may name.
const MODES: [&str; 4] = ["default", "autoEdit", "yolo", "plan"];

/// The tool that runs command lines.
const SHELL_TOOL: &str = "run_shell_command";
/// Its names, of which only the first is known to count in a policy.
const SHELL_TOOLS: [&str; 2] = [SHELL_TOOL, "ShellTool"];

pub(super) fn read(file: &str, text: &str, imported: &mut Imported) -> Result<(), Wrong> {
    let before = imported.entries.len();
    let tables = toml::parse(text)?;
    let mut rejected = None;
    for (number, table) in tables.iter().enumerate() {
        let place = Place { file: file.into(), line: table.line };
        // `[rule.toolAnnotations]` belongs to the rule before it.
        let below = tables.get(number + 1).map(|next| next.header.as_str());
        match table.header.as_str() {
            "rule" => {
                rejected = rejected.or_else(|| wrong_in(table).map(|wrong| (table.line, wrong)));
                rule(place, table, below.filter(|header| header.starts_with("rule.")), imported)?;
            }
            "safety_checker" => {
                let below =
                    tables.iter().skip(number + 1).take_while(|table| table.header.starts_with("safety_checker."));
                rejected = rejected.or_else(|| wrong_in_checker(table, below).map(|wrong| (table.line, wrong)));
                checker(place, table, imported)?;
            }
            "" if table.entries.is_empty() => {}
            header if header.starts_with("rule.") || header.starts_with("safety_checker.") => {}
            header => imported.leave_out(place, header, "only `[[rule]]` is understood"),
        }
    }
    if let Some((line, wrong)) = rejected {
        let later = imported.entries.split_off(before);
        let earlier = std::mem::replace(&mut imported.entries, later);
        imported.drop_grants(|_| Some(format!("Gemini CLI takes no rule of a file with {wrong} ({file}:{line})")));
        imported.entries.splice(..0, earlier);
    }
    Ok(())
}

/// Returns why Gemini CLI rejects the whole file of a rule, if it does.
fn wrong_in(rule: &Table) -> Option<&'static str> {
    if !rule.is_list {
        return Some("`[rule]` in place of `[[rule]]`");
    }
    if rule.entries.iter().any(|(key, _, value)| !is_of_schema(key, value)) {
        return Some(OTHER_TYPE);
    }
    match (rule.get("priority"), rule.get("toolName")) {
        (Some(Value::Integer(0..=999)), Some(_)) => None,
        (Some(Value::Integer(0..=999)), None) => Some("a rule without `toolName`"),
        (Some(_), _) => Some("a `priority` that is no whole number from 0 to 999"),
        (None, _) => Some("a rule without `priority`"),
    }
}

/// Returns why Gemini CLI rejects the whole file of a check, if it does. `below` are the tables that belong to it.
fn wrong_in_checker<'t>(table: &'t Table, mut below: impl Iterator<Item = &'t Table>) -> Option<&'static str> {
    let is_program = |table: &Table, [kind, name]: [&str; 2]| {
        matches!(table.get(kind), Some(Value::Text(kind)) if CHECKERS.contains(&kind.as_str()))
            && matches!(table.get(name), Some(Value::Text(_)))
    };
    let has_program = is_program(table, ["checker.type", "checker.name"])
        || below.any(|table| table.header == "safety_checker.checker" && is_program(table, ["type", "name"]));
    if !table.is_list || table.get("toolName").is_none() || !has_program {
        return Some("a `safety_checker` that is no list, or without `toolName` or a `checker`");
    }
    (!table.entries.iter().all(|(key, _, value)| is_of_schema(key, value))).then_some(OTHER_TYPE)
}

/// Whether the schema of Gemini CLI takes this value for a key of a rule.
fn is_of_schema(key: &str, value: &Value) -> bool {
    match key {
        "argsPattern" | "commandRegex" | "denyMessage" | "deny_message" | "mcpName" | "subagent" => {
            matches!(value, Value::Text(_))
        }
        "allowRedirection" | "allow_redirection" | "interactive" => matches!(value, Value::Boolean(_)),
        "modes" => matches!(value, Value::List(modes) if modes.iter().all(is_mode)),
        _ => true,
    }
}

fn is_mode(value: &Value) -> bool {
    matches!(value, Value::Text(mode) if MODES.contains(&mode.as_str()))
}

/// Whether these are names of the tool for command lines, or patterns that may mean it.
fn may_be_shell(names: &[String]) -> bool {
    names.iter().any(|name| match name.split_once('*') {
        Some((beginning, _)) => SHELL_TOOLS.iter().any(|tool| tool.starts_with(beginning)),
        None => SHELL_TOOLS.contains(&name.as_str()),
    })
}

/// The value by which a rule says which command lines it is about.
fn what(table: &Table) -> String {
    let keys = ["commandPrefix", "commandRegex", "argsPattern", "toolName"];
    let what = keys.into_iter().find_map(|key| Some(format!("{key} = {}", shown(table.get(key)?))));
    what.unwrap_or_else(|| table.header.clone())
}

/// Reads a program or a check that may refuse command lines whatever the rules say, so these are refused.
fn checker(place: Place, table: &Table, imported: &mut Imported) -> Result<(), Wrong> {
    let names = table.get("toolName").and_then(texts).unwrap_or_else(|| vec!["*".to_owned()]);
    let what = format!("safety_checker, {}", what(table));
    if !may_be_shell(&names) || table.get("mcpName").is_some() {
        imported.leave_out(place, &what, "it is about another tool than `run_shell_command`");
        return Ok(());
    }
    imported.leave_out(place.clone(), &what, "it may refuse command lines; what it may touch is left out");
    patterns(Entry { priority: i64::MAX, ..Entry::new(place, &what, Effect::Deny) }, table, imported)
}

/// Reads a rule; `below` is the header of a table that belongs to it.
fn rule(place: Place, table: &Table, below: Option<&str>, imported: &mut Imported) -> Result<(), Wrong> {
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
    let entry = Entry::new(place, &what(table), effect);
    let reason = table.get("denyMessage").and_then(|value| texts(value)?.into_iter().next());
    let priority = match table.get("priority") {
        Some(Value::Integer(priority)) => Some(*priority),
        _ => None,
    };
    // Without a priority that is known, what narrows goes first.
    let entry = Entry { reason, priority: priority.unwrap_or(i64::MAX), ..entry };
    let names = table.get("toolName").map_or(Some(vec!["*".to_owned()]), texts);
    let Some(names) = names else { return Err((line, "expected a name or a list of names as `toolName`".to_owned())) };
    let is_shell = |name: &String| name == SHELL_TOOL;
    if !may_be_shell(&names) || table.get("mcpName").is_some() {
        imported.leave_out(entry.place, &entry.what, "it is about another tool than `run_shell_command`");
        return Ok(());
    }
    let unknown = table.entries.iter().map(|(key, ..)| key.as_str()).find(|key| !WITHOUT_EFFECT.contains(key));
    let why = match unknown.or(below) {
        Some(key) => Some(format!("whether it holds depends on `{key}`")),
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
    patterns(entry, table, imported)
}

/// Adds the entries for the command lines that a table is about.
fn patterns(entry: Entry, table: &Table, imported: &mut Imported) -> Result<(), Wrong> {
    let line = table.line;
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
    match by_words(entry, text, imported) {
        None => {}
        Some((entry, Some(words))) => imported.entries.push(Entry { pattern: Pattern::Prefix(words), ..entry }),
        Some((entry, None)) => {
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
