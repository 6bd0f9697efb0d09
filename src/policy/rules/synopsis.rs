//! The synopsis of a command, in one line that is made from its rule: for the descriptions of tools, for
//! `list_commands` and for refusals.

use super::grammar::{
    Arguments, CommandRule, Effect, Form, Level, Operand, OptionRule, Options, Syntax, Takes, ValuePlace, ValueType,
};
use super::refusal;

/// The command in one line: what it takes, or its subcommands.
pub fn synopsis(command: &CommandRule) -> String {
    of_level(&command.level)
}

/// A line for each form of each level.
pub fn forms_of(command: &CommandRule) -> Vec<String> {
    command.level.levels().into_iter().flat_map(lines_of).collect()
}

fn of_level(level: &Level) -> String {
    match &level.arguments {
        Arguments::Described { subcommands, .. } if !subcommands.is_empty() => {
            let names: Vec<String> = subcommands.iter().map(with_words).collect();
            format!("{} {}", level.title(), names.join("|"))
        }
        Arguments::Any { .. } | Arguments::Described { .. } => {
            lines_of(level).into_iter().next().unwrap_or_else(|| level.title())
        }
    }
}

/// The name of a subcommand, with the words that it takes if it takes only these, as npm's `run` takes scripts.
fn with_words(level: &Level) -> String {
    let words = match &level.arguments {
        Arguments::Described { forms, .. } => {
            forms.iter().find_map(|form| match form.operands.first().map(|first| &first.value) {
                Some(ValueType::OneOf(words)) if words.len() <= MOST_WORDS => Some(words.join("|")),
                Some(_) | None => None,
            })
        }
        Arguments::Any { .. } => None,
    };
    words.map_or_else(|| level.name().to_owned(), |words| format!("{} ({words})", level.name()))
}

/// The most words of a choice that are listed.
const MOST_WORDS: usize = 12;

fn lines_of(level: &Level) -> Vec<String> {
    match &level.arguments {
        Arguments::Any { effect, .. } => vec![format!("{} …{}", level.title(), marked(*effect))],
        Arguments::Described { forms, .. } => {
            let shown = forms.iter().filter(|form| form.effect != Effect::Deny);
            shown.map(|form| format!("{}{}{}", of_form(level, form), marked(form.effect), restricted(form))).collect()
        }
    }
}

fn marked(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "",
        Effect::Ask => "  (a person approves it)",
        Effect::Deny => "  (denied)",
    }
}

/// The values that are denied, or that a person approves: `  (BRANCH: never `main`)`.
fn restricted(form: &Form) -> String {
    let of_options = form.options.iter().filter_map(|option| {
        let spelling = option.spellings.last()?;
        refusal::restricted(&option.restrictions).map(|what| format!("  ({spelling}: {what})"))
    });
    let of_operands = form.all_operands().filter_map(|operand| {
        let name = operand.name.clone().unwrap_or_else(|| placeholder(&operand.value));
        refusal::restricted(&operand.restrictions).map(|what| format!("  ({name}: {what})"))
    });
    of_options.chain(of_operands).collect()
}

/// One form: `git log [--oneline] [-n N] [REVISION...] [-- PATH...]`.
pub(super) fn of_form(level: &Level, form: &Form) -> String {
    let mut parts = vec![level.title()];
    parts.extend(options(&form.options, level.syntax));
    parts.extend(form.operands.iter().map(operand));
    if let Some(behind) = form.after_double_dash.as_ref().filter(|behind| !behind.is_empty()) {
        let behind: Vec<String> = behind.iter().map(operand).collect();
        parts.push(format!("[-- {}]", behind.join(" ")));
    }
    parts.join(" ")
}

/// Flags of one letter are shown together, as `[-alR]`, and their long names after them. A long name is left out if it is the only
/// one of a single letter, since it nearly always means the same.
fn options(options: &Options, syntax: Syntax) -> Vec<String> {
    let has_bundles = matches!(syntax, Syntax::Gnu | Syntax::Posix);
    let mut letters = String::new();
    let mut parts = Vec::new();
    for option in options.iter() {
        let begins = option.spellings.first().is_some_and(|spelling| letter(spelling).is_some());
        let is_bundled = has_bundles && begins && option.takes == Takes::Flag && !option.is_required;
        let (short, long): (Vec<&str>, Vec<&str>) =
            option.spellings.iter().map(String::as_str).partition(|spelling| is_bundled && letter(spelling).is_some());
        letters.extend(short.iter().filter_map(|spelling| letter(spelling)));
        match (short.len(), long.len()) {
            (0, _) => parts.push(shown(option, syntax)),
            (_, 0) | (1, 1) => {}
            _ => parts.push(format!("[{}]", long.join("|"))),
        }
    }
    if !letters.is_empty() {
        parts.insert(0, format!("[-{letters}]"));
    }
    parts
}

fn letter(spelling: &str) -> Option<char> {
    let mut characters = spelling.strip_prefix('-')?.chars();
    let letter = characters.next()?;
    characters.next().is_none().then_some(letter)
}

fn shown(option: &OptionRule, syntax: Syntax) -> String {
    let spelling = option.spellings.join("|");
    let is_long = option.spellings.last().is_some_and(|spelling| spelling.starts_with("--")) || syntax == Syntax::Go;
    let shown = match &option.takes {
        Takes::Flag => spelling,
        Takes::Value { .. } if spelling == super::grammar::NUMBER_OPTION => spelling,
        Takes::Value { value, place } => {
            let value = option.value_name.clone().unwrap_or_else(|| placeholder(value));
            match (place, is_long) {
                (ValuePlace::Anywhere, _) => format!("{spelling} {value}"),
                (ValuePlace::Attached, true) => format!("{spelling}={value}"),
                (ValuePlace::Attached, false) => format!("{spelling}{value}"),
                (ValuePlace::Optional, true) => format!("{spelling}[={value}]"),
                (ValuePlace::Optional, false) => format!("{spelling}[{value}]"),
            }
        }
    };
    if option.is_required { shown } else { format!("[{shown}]") }
}

fn operand(operand: &Operand) -> String {
    let name = operand.name.clone().unwrap_or_else(|| placeholder(&operand.value));
    let repeated = if operand.repeats() { format!("{name}...") } else { name };
    if operand.least == 0 { format!("[{repeated}]") } else { repeated }
}

fn placeholder(value: &ValueType) -> String {
    match value {
        ValueType::Integer { .. } => "N".to_owned(),
        ValueType::OneOf(words) if words.len() <= MOST_WORDS => words.join("|"),
        ValueType::OneOf(_) => "WORD".to_owned(),
        ValueType::Text(_) => "TEXT".to_owned(),
        ValueType::Path(_) => "PATH".to_owned(),
    }
}
