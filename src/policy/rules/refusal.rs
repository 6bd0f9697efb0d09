//! Why a rule does not let a call pass, in words for the model that made it: the word, the level and what stands there
//! instead. Never another way in, and nothing of the file system.

use super::grammar::{Access, Arguments, CharSet, Level, OptionRule, TextType, ValuePlace, ValueType};
use super::matcher::{Failure, Match, Mismatch};
use super::synopsis;
use crate::policy::quoted;

/// How many names a refusal lists.
const MOST_NAMES: usize = 16;
/// How long a synopsis may be that stands in a refusal, in characters.
const LONGEST_USAGE: usize = 240;

/// Words as one writes them in a command line.
pub fn written(words: &[String]) -> String {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // It fails for a word with a NUL, which no command line holds.
    shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "))
}

/// The sentence for words that no form matches.
pub(super) fn of_failure(failure: &Failure<'_>, words: &[String]) -> String {
    let title = format!("`{}`", failure.level.title());
    let word = words.get(failure.word).map_or("", String::as_str);
    let sentence = match &failure.wrong {
        Mismatch::UnknownOption(None) if word.starts_with("--") => {
            format!("{title} does not take {}; write options in full", quoted(name_of(word)))
        }
        Mismatch::UnknownOption(None) => format!("{title} does not take {}", quoted(name_of(word))),
        Mismatch::UnknownOption(Some(letter)) => {
            format!("{title} does not take {}, a letter of {}", quoted(&format!("-{letter}")), quoted(word))
        }
        Mismatch::TakesNoValue(option) => format!("{} of {title} takes no value", spelled(option, word)),
        Mismatch::NeedsValue(option) => {
            let (value, how) = match &option.takes {
                super::grammar::Takes::Value { value, place: ValuePlace::Attached } => {
                    (described(value), ", in the same word")
                }
                super::grammar::Takes::Value { value, .. } => (described(value), ""),
                super::grammar::Takes::Flag => (String::new(), ""),
            };
            format!("{} needs a value{how}: {value}", spelled(option, word))
        }
        Mismatch::EqualsBehindLetter(option) => {
            format!("{} takes its value without `=`, in the same word or in the next one", spelled(option, word))
        }
        Mismatch::BadValue(option, value, from) => {
            let given = word.get(*from..).unwrap_or_default();
            let before = failure.word.checked_sub(usize::from(*from == 0)).and_then(|at| words.get(at));
            let spelled = spelled(option, before.map_or("", String::as_str));
            let given = if option.is_secret { "what was given".to_owned() } else { why_not(value, given) };
            format!("{spelled} takes {}, not {given}", described(value))
        }
        Mismatch::BadOperand(operand) => {
            let place = operand.name.as_ref().map_or_else(String::new, |name| format!(" as {name}"));
            let given = if operand.is_secret { "what was given".to_owned() } else { why_not(&operand.value, word) };
            format!("{title} takes {}{place}, not {given}", described(&operand.value))
        }
        Mismatch::TooMany => format!("{} is one word too many for {title}", quoted(word)),
        Mismatch::TooFew(operand) => match &operand.name {
            Some(name) => format!("{title} needs {name}: {}", described(&operand.value)),
            None => format!("{title} needs one word more: {}", described(&operand.value)),
        },
        Mismatch::MissingOption(option) => {
            format!("{title} needs {}", option.spellings.first().map_or_else(String::new, |name| quoted(name)))
        }
        Mismatch::OptionBehindOperand => {
            format!("{} stands behind an operand, and {title} takes options first", quoted(name_of(word)))
        }
        Mismatch::OperandBehindOption => {
            format!("{} stands behind an option, and {title} takes its operands first", quoted(word))
        }
        Mismatch::DoubleDash => format!("{title} does not take `--` here"),
        Mismatch::UnknownSubcommand => {
            format!(
                "{title} may not be called with {}; its subcommands here are {}",
                quoted(word),
                subcommands(failure.level)
            )
        }
        Mismatch::NoSubcommand => format!("{title} needs a subcommand: {}", subcommands(failure.level)),
    };
    let sentence = match failure.form.map(|form| synopsis::of_form(failure.level, form)) {
        Some(usage) if usage.chars().count() <= LONGEST_USAGE => format!("{sentence}; usage: `{usage}`"),
        Some(_) => format!("{sentence}; `list_commands` shows what it takes"),
        None => sentence,
    };
    hinted(sentence, [failure.level], word)
}

/// The sentence for a path that lies elsewhere, with the hint for its word.
pub(super) fn with_hint(sentence: String, matched: &Match<'_>, words: &[String]) -> String {
    let levels: Vec<&Level> = matched.levels.iter().rev().map(|(level, _)| *level).collect();
    let hint = levels.iter().flat_map(|level| &level.hints).find(|(key, _)| words.contains(key));
    hint.map_or_else(|| sentence.clone(), |(_, hint)| format!("{sentence}; {hint}"))
}

/// The sentence for a call that a person has to approve.
pub(super) fn needs_a_person(level: &Level, reason: Option<&str>) -> String {
    let sentence = format!("a person has to approve this call of `{}`", level.title());
    reason.map_or_else(|| sentence.clone(), |reason| format!("{sentence}: {reason}"))
}

/// The sentence for a call that a form takes out.
pub(super) fn denied(level: &Level, words: &[String], reason: Option<&str>) -> String {
    let sentence = format!("the operator does not allow {}", quoted(&written(words)));
    let sentence = match reason {
        Some(reason) => format!("{sentence}: {reason}"),
        None => sentence,
    };
    hinted(sentence, [level], words.last().map_or("", String::as_str))
}

/// Adds what the operator has to say about a word.
fn hinted<'p>(sentence: String, levels: impl IntoIterator<Item = &'p Level>, word: &str) -> String {
    let is_meant = |key: &str| {
        let is_attached = key.starts_with('-') && key.chars().count() == 2 && !word.starts_with("--");
        key == word || key == name_of(word) || (is_attached && word.starts_with(key))
    };
    let hints = levels.into_iter().flat_map(|level| &level.hints);
    let hint = hints.into_iter().find(|(key, _)| is_meant(key));
    hint.map_or_else(|| sentence.clone(), |(_, hint)| format!("{sentence}; {hint}"))
}

/// An option without its value.
fn name_of(word: &str) -> &str {
    if word.starts_with('-') { word.split('=').next().unwrap_or(word) } else { word }
}

/// The spelling by which an option stands in a word, in backticks.
fn spelled(option: &OptionRule, word: &str) -> String {
    let name = name_of(word);
    let is_it = |spelling: &&String| *spelling == name || name.strip_prefix('-') == Some(spelling.as_str());
    let letter = |spelling: &&String| {
        let letter = spelling.strip_prefix('-').filter(|letter| letter.chars().count() == 1);
        letter.is_some_and(|letter| word.starts_with('-') && word.contains(letter))
    };
    let found = option.spellings.iter().find(is_it).or_else(|| option.spellings.iter().find(letter));
    quoted(found.or(option.spellings.first()).map_or("", String::as_str))
}

fn subcommands(level: &Level) -> String {
    let Arguments::Described { subcommands, .. } = &level.arguments else { return String::new() };
    let names: Vec<&str> =
        subcommands.iter().filter_map(|level| level.path.last()).map(String::as_str).take(MOST_NAMES).collect();
    let more = if subcommands.len() > MOST_NAMES { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}

/// What a value may be, as a part of a sentence.
pub fn described(value: &ValueType) -> String {
    match value {
        ValueType::Integer { low, high } if low == high => format!("the number {low}"),
        ValueType::Integer { low, high } => format!("a whole number from {low} to {high}"),
        ValueType::OneOf(words) => {
            let shown: Vec<String> = words.iter().take(MOST_NAMES).map(|word| quoted(word)).collect();
            match shown.split_last() {
                Some((only, [])) => only.clone(),
                Some((last, others)) if words.len() <= MOST_NAMES => format!("{} or {last}", others.join(", ")),
                Some(_) | None => format!("one of {}, …", shown.join(", ")),
            }
        }
        ValueType::Text(text) => described_text(text),
        ValueType::Path(path) => {
            let what = match path.access {
                Access::Read => "a path",
                Access::Write => "a path to write to",
            };
            if path.under.is_empty() { what.to_owned() } else { format!("{what} under {}", path.under.join(", ")) }
        }
    }
}

fn described_text(text: &TextType) -> String {
    let mut parts = vec!["a text".to_owned()];
    if !text.must_begin.is_empty() {
        parts.push(format!(
            "that begins with {}",
            text.must_begin.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" or ")
        ));
    }
    if let Some(chars) = &text.chars {
        parts.push(format!("of the characters {}", quoted(chars.text())));
    }
    if text.relative {
        parts.push("without a leading `/` and without `..`".to_owned());
    }
    if text.max_length != super::grammar::DEFAULT_LENGTH {
        parts.push(format!("of at most {} characters", text.max_length));
    }
    parts.join(" ")
}

/// The value that is not of a type, with what is wrong where the type alone does not tell.
fn why_not(value: &ValueType, given: &str) -> String {
    let shown = quoted(given);
    if given.is_empty() {
        return format!("{shown}, which is empty");
    }
    let bad_first = |first: &str| given.chars().next().filter(|c| "-+@".contains(*c) && !first.contains(*c));
    let bad_char = |chars: &Option<CharSet>| {
        let chars = chars.as_ref()?;
        given.chars().find(|character| !chars.holds(*character))
    };
    let why = match value {
        ValueType::Integer { .. } | ValueType::OneOf(_) => None,
        ValueType::Text(text) => bad_first(&text.first)
            .map(|first| format!("begins with `{first}`"))
            .or_else(|| (given.chars().count() > text.max_length).then(|| "is too long".to_owned()))
            .or_else(|| bad_char(&text.chars).map(|character| format!("holds {}", quoted(&character.to_string()))))
            .or_else(|| (text.relative && given.starts_with('/')).then(|| "begins with `/`".to_owned()))
            .or_else(|| {
                (text.relative && given.split('/').any(|part| part == "..")).then(|| "has a part `..`".to_owned())
            }),
        ValueType::Path(path) => bad_first("")
            .map(|first| format!("begins with `{first}`"))
            .or_else(|| bad_char(&path.chars).map(|character| format!("holds {}", quoted(&character.to_string())))),
    };
    why.map_or_else(|| shown.clone(), |why| format!("{shown}, which {why}"))
}
