//! Why a rule refuses a call, in words for the model that made it: the word, the command and what it takes instead. The texts
//! never show a way around the rule, and nothing about the file system.

use super::grammar::{
    Access, Arguments, CharSet, Effect, Level, OptionRule, Restriction, Syntax, Takes, TextType, ValuePlace, ValueType,
};
use super::matcher::{Failure, Match, Mismatch};
use super::synopsis;
use crate::policy::{MOST_WORDS, quoted, written};
use crate::text::counted;

/// How many names a refusal lists.
const MOST_NAMES: usize = 16;
/// How long a synopsis in a refusal may be, in characters.
const LONGEST_USAGE: usize = 240;

/// The sentence for words that match no form. `shown` are the words without secrets, and `root` is the level of the command. Nothing that
/// is hidden in a word gets into the sentence.
pub(super) fn of_failure(failure: &Failure<'_>, words: &[String], shown: &[String], root: &Level) -> String {
    let way = way_to(root, failure.level);
    let title = format!("`{}`", failure.level.title());
    let [word, shown] = [words, shown].map(|words| words.get(failure.word).map_or("", String::as_str));
    let is_hidden = word != shown;
    let sentence = match &failure.wrong {
        Mismatch::UnknownOption(None) => {
            // The operator's hint is better.
            let has_hint = hint_of(way.iter().copied(), word).is_some();
            let is_inserted = way.iter().any(|level| level.insert.iter().any(|inserted| inserted == word));
            let instead = match (is_inserted, has_hint) {
                (true, _) => "; its rule adds it to each call, so leave it out".to_owned(),
                (false, true) => String::new(),
                (false, false) => instead_of(name_of(word), failure, &way),
            };
            format!("{title} does not take {}{instead}", quoted(name_of(shown)))
        }
        // The letter may be the first one of a secret.
        Mismatch::UnknownOption(Some(_)) if is_hidden => format!("{title} does not take {}", quoted(shown)),
        Mismatch::UnknownOption(Some(letter)) => {
            format!("{title} does not take {}, a letter of {}", quoted(&format!("-{letter}")), quoted(word))
        }
        Mismatch::TakesNoValue(option) => {
            format!("{0} of {title} takes no value; write {0} alone", spelled(option, word))
        }
        Mismatch::NeedsValue(option) => {
            let spelled = spelled(option, word);
            match &option.takes {
                Takes::Value { value, place: ValuePlace::Attached } => {
                    let example = attached(&spelled, "VALUE", failure.level.syntax);
                    format!("{spelled} needs its value in the same word, as {example}: {}", described(value))
                }
                Takes::Value { value, .. } => format!("{spelled} needs a value: {}", described(value)),
                Takes::Flag => format!("{spelled} needs a value"),
            }
        }
        Mismatch::EqualsAfterLetter(option) => {
            format!("{} takes its value without `=`, in the same word or in the next one", spelled(option, word))
        }
        Mismatch::TooManyLetters => {
            format!("the options of {title} have more letters than are read ({MOST_WORDS}, with the words before them)")
        }
        Mismatch::BadValue(option, value, from) => {
            let given = word.get(*from..).unwrap_or_default();
            let before = failure.word.checked_sub(usize::from(*from == 0)).and_then(|at| words.get(at));
            let spelled = spelled(option, before.map_or("", String::as_str));
            let is_attachable = *from == 0
                && matches!(value, ValueType::Text(text) if text.first.is_empty())
                && given.starts_with(['-', '+'])
                && failure.level.syntax != Syntax::SingleDash;
            let is_secret = option.is_secret || is_hidden;
            let how = match is_attachable && !is_secret {
                true => {
                    format!("; if that is the value, attach it: {}", attached(&spelled, given, failure.level.syntax))
                }
                false => String::new(),
            };
            let given = if is_secret { "what was given".to_owned() } else { why_not(value, given) };
            format!("{spelled} takes {}, not {given}{how}", described(value))
        }
        Mismatch::BadOperand(operand) => {
            let place = operand.name.as_ref().map_or_else(String::new, |name| format!(" as {name}"));
            let is_secret = operand.is_secret || is_hidden;
            let given = if is_secret { "what was given".to_owned() } else { why_not(&operand.value, word) };
            format!("{title} takes {}{place}, not {given}", described(&operand.value))
        }
        Mismatch::TooMany => format!("{} is one word too many for {title}", quoted(shown)),
        Mismatch::TooFew(operand) => match &operand.name {
            Some(name) => format!("{title} needs {name}: {}", described(&operand.value)),
            None => format!("{title} needs one more word: {}", described(&operand.value)),
        },
        Mismatch::MissingOption(option) => {
            let names: Vec<String> = option.spellings.iter().map(|name| quoted(name)).collect();
            format!("{title} needs {}", alternatives(&names))
        }
        Mismatch::OptionAfterOperand => {
            format!(
                "{} comes after an operand, but {title} takes options first; move it to the front",
                quoted(name_of(shown))
            )
        }
        Mismatch::OperandAfterOption => {
            format!(
                "{} comes after an option, but {title} takes its operands first; move it to the front",
                quoted(shown)
            )
        }
        Mismatch::DoubleDash => format!("{title} does not take `--` here; leave it out"),
        Mismatch::UnknownSubcommand => {
            format!(
                "{title} may not be called with {}; its subcommands here are {}",
                quoted(shown),
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
    hinted(sentence, way.into_iter().rev(), word)
}

/// The levels from that of the command down to this one.
fn way_to<'p>(root: &'p Level, level: &'p Level) -> Vec<&'p Level> {
    let mut way = vec![root];
    for name in level.path.iter().skip(root.path.len()) {
        let last: Option<&Level> = way.last().copied();
        let below = last.and_then(|last| match &last.arguments {
            Arguments::Described { subcommands, .. } => subcommands.iter().find(|below| below.name() == name),
            Arguments::Any { .. } => None,
        });
        way.extend(below);
    }
    way
}

/// Advises what to do about an option that is not taken, as the end of a sentence; empty if only the usage helps.
fn instead_of(name: &str, failure: &Failure<'_>, way: &[&Level]) -> String {
    let has = |level: &Level, is_it: &dyn Fn(&str) -> bool| {
        level.all_options().flat_map(|option| &option.spellings).any(|spelling| is_it(spelling))
    };
    // Programs with other syntaxes take no abbreviations: to find, `-exec` is not `-executable`.
    let is_abbreviated = |spelling: &str| name.len() > 2 && name.starts_with("--") && spelling.starts_with(name);
    if has(failure.level, &is_abbreviated) {
        return "; write options in full".to_owned();
    }
    let is_before = |pair: &&[&Level]| {
        let options = match pair.first().map(|level| &level.arguments) {
            Some(Arguments::Described { options, .. }) => options,
            Some(Arguments::Any { .. }) | None => return false,
        };
        options.get(name).is_some()
    };
    if let Some(below) = way.windows(2).find(is_before).and_then(|pair| pair.get(1)) {
        return format!("; put it before `{}`", below.name());
    }
    let Arguments::Described { options, subcommands, .. } = &failure.level.arguments else { return String::new() };
    if failure.form.is_some() || subcommands.is_empty() {
        return String::new();
    }
    if subcommands.iter().any(|level| has(level, &|spelling| spelling == name)) {
        return "; put it after the subcommand that takes it".to_owned();
    }
    let names: Vec<String> = options.iter().flat_map(|option| &option.spellings).map(|name| quoted(name)).collect();
    match alternatives(names.get(..names.len().min(MOST_NAMES)).unwrap_or_default()).as_str() {
        "" => "; no option may come before its subcommand".to_owned(),
        names => format!("; only {names} may come before its subcommand"),
    }
}

/// An option and its value in one word, in backticks.
fn attached(spelled: &str, value: &str, syntax: Syntax) -> String {
    let name = spelled.trim_matches('`');
    let between = if name.starts_with("--") || syntax == Syntax::Go { "=" } else { "" };
    quoted(&format!("{name}{between}{value}"))
}

/// `a`, `a or b`, `a, b or c`.
fn alternatives(names: &[String]) -> String {
    match names.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

/// Adds the operator's hint for one of the words to a sentence about a path.
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

/// The sentence for a call that a form denies; `shown` are its words without secrets.
pub(super) fn denied(level: &Level, words: &[String], shown: &[String], reason: Option<&str>) -> String {
    let sentence = format!("the operator does not allow {}", quoted(&written(shown)));
    let sentence = match reason {
        Some(reason) => format!("{sentence}: {reason}"),
        None => sentence,
    };
    hinted(sentence, [level], words.last().map_or("", String::as_str))
}

/// Adds the operator's hint for a word, if there is one.
fn hinted<'p>(sentence: String, levels: impl IntoIterator<Item = &'p Level>, word: &str) -> String {
    match hint_of(levels, word) {
        Some(hint) => format!("{sentence}; {hint}"),
        None => sentence,
    }
}

/// The operator's hint for a word, from the first level that has one.
fn hint_of<'p>(levels: impl IntoIterator<Item = &'p Level>, word: &str) -> Option<&'p str> {
    let is_meant = |key: &str| {
        let is_attached = key.starts_with('-') && key.chars().count() == 2 && !word.starts_with("--");
        key == word || key == name_of(word) || (is_attached && word.starts_with(key))
    };
    let hints = levels.into_iter().flat_map(|level| &level.hints);
    hints.into_iter().find(|(key, _)| is_meant(key)).map(|(_, hint)| hint.as_str())
}

/// An option without its value.
fn name_of(word: &str) -> &str {
    if word.starts_with('-') { word.split('=').next().unwrap_or(word) } else { word }
}

/// The spelling of an option that a word uses, in backticks.
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
    let names: Vec<&str> = subcommands.iter().map(Level::name).take(MOST_NAMES).collect();
    let more = if subcommands.len() > MOST_NAMES { ", …; `list_commands` shows all" } else { "" };
    format!("{}{more}", names.join(", "))
}

/// The refusal of a call of a described command's file by another name.
pub(super) fn of_other_name(word: &str, name: &str) -> String {
    let (word, name) = (quoted(word), quoted(name));
    format!("{word} is the file of {name} under another name, and its rule says only what {name} may do; call {name}")
}

/// Describes a type of values, as part of a sentence.
pub fn described(value: &ValueType) -> String {
    match value {
        ValueType::Integer { low, high } if low == high => format!("the number {low}"),
        ValueType::Integer { low, high } => format!("a whole number from {low} to {high}"),
        ValueType::OneOf(words) => {
            let shown: Vec<String> = words.iter().take(MOST_NAMES).map(|word| quoted(word)).collect();
            if words.len() <= MOST_NAMES { alternatives(&shown) } else { format!("one of {}, …", shown.join(", ")) }
        }
        ValueType::Text(text) => described_text(text),
        ValueType::Path(path) => {
            let what = match (path.access, path.exists) {
                (Access::Read, false) => "a path",
                (Access::Read, true) => "a path that exists",
                (Access::Write, false) => "a path to write to",
                (Access::Write, true) => "a path that exists, to write to",
            };
            if path.under.is_empty() { what.to_owned() } else { format!("{what} under {}", path.under.join(", ")) }
        }
    }
}

/// For which values a person is asked, and which are denied, as part of a sentence; `None` if there are none.
pub fn restricted(restrictions: &[Restriction]) -> Option<String> {
    let parts = restrictions.iter().map(|restriction| match restriction.effect {
        Effect::Ask => format!("a person approves {}", described(&restriction.value)),
        Effect::Allow | Effect::Deny => format!("never {}", described(&restriction.value)),
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join("; "))
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
        parts.push(format!("of at most {}", counted(text.max_length as u64, "character")));
    }
    parts.join(" ")
}

/// A value that is not of a type, and what is wrong with it, unless the type makes that obvious.
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
