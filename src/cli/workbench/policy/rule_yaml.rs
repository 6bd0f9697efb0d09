//! The YAML of a rule for what was seen of a command: the narrowest one that allows it, with marks where a person must look.

use std::collections::BTreeSet;

use super::seen::{SeenOptions, SeenWords, subcommands};
use crate::policy::rules::{Arguments, CommandRule, Level, PolicySource, Syntax, Takes, ValuePlace, ValueType};

/// Programs that write what they name, or some of it.
const WRITERS: [&str; 18] = [
    "chmod", "cp", "dd", "install", "ln", "mkdir", "mv", "patch", "rm", "rmdir", "rsync", "shred", "split", "tee",
    "touch", "truncate", "unzip", "zip",
];
/// The most words that are listed as `one_of`.
const MOST_WORDS: usize = 12;

/// How much of what was seen is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Printed {
    /// All of it: a rule by itself.
    All,
    /// Only the options that the profile lacks, for a rule that extends it.
    NewOptions,
    /// A form for each subcommand, for a rule that extends the profile.
    NewForm,
}

/// A scalar that YAML reads as exactly this text.
pub(super) fn quoted(text: &str) -> String {
    crate::cli::workbench::init::yaml(text)
}

/// The rule of a command, with its calls as examples.
pub(super) fn command(
    name: &str,
    seen: &SeenWords,
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
        // The words that a profile inserts make its commands safe; without them, the same command could start programs.
        let sandbox = &rule.sandbox;
        if sandbox.level.is_some() || !rule.level.insert.is_empty() {
            text.push_str("    # review: the profile inserts words and asks for a sandbox; `policy show` prints it\n");
        }
    }
    level(seen, known.map(|rule| &rule.level), printed, 4, &mut text);
    if extended.is_some_and(|rule| rule.sandbox.writes_nothing()) {
        text = text.replace("path: write", "path: read");
    } else if WRITERS.contains(&name) {
        text = text.replace("path: read", "path: write").replace("  # review: read or write?", "");
    }
    text.push_str("    examples:\n      allow:\n");
    for words in calls {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        text.push_str(&format!("        - [{}]\n", words.join(", ")));
    }
    text
}

fn level(seen: &SeenWords, known: Option<&Level>, printed: Printed, indent: usize, text: &mut String) {
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

/// Whether this option belongs to all forms of the level.
fn is_of_level(level: &Level, spelling: &str) -> bool {
    matches!(&level.arguments, Arguments::Described { options, .. } if options.get(spelling).is_some())
}

/// The options that the level lacks. An option that it has with other numbers or words keeps those, since the suggestion
/// replaces the profile's description of that option.
fn new_options(seen: &SeenWords, known: Option<&Level>) -> SeenOptions {
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
            // The description of an option is replaced with all of its spellings.
            let spellings = rule.map_or_else(|| spelling.clone(), |rule| rule.spellings.join(", "));
            let (all, _) = new.entry(spellings).or_insert_with(|| (old.into_iter().collect(), *place));
            all.extend(values.iter().cloned());
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
            // A file that an option names is often written. Nothing is written to the top directory itself.
            if !values.contains(".") {
                kind.0 = kind.0.replace("{path: read", "{path: write");
            }
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
fn words(seen_options: &SeenOptions, seen: &SeenWords, indent: usize, text: &mut String) {
    let pad = " ".repeat(indent);
    options(seen_options, indent, text);
    for (key, rows) in [("operands", &seen.operands), ("after_double_dash", &seen.after_double_dash)] {
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

/// The type with one more attribute.
fn with(kind: &str, attribute: &str) -> String {
    kind.strip_suffix('}').map_or_else(|| kind.to_owned(), |kind| format!("{kind}, {attribute}}}"))
}

/// The narrowest type of these values, and a comment if a person must review it.
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
