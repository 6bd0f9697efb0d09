//! Whether a word, or a part of one, is of a type.

use crate::policy::rules::grammar::{CharSet, DEFAULT_LENGTH, TextType, ValueType};

/// Where a value is, which decides what it may begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// In the word of its option.
    Attached,
    /// In a word of its own.
    Alone,
    /// In a word of its own after `--`.
    AfterDoubleDash,
}

/// Whether a value is of a type.
///
/// A path that must exist does not begin with `-`, after `--` either: where a program hands these words on (`npm run lint -- --fix`), such a
/// word is an option of another program, and whether a file of its name exists says nothing about that.
pub(super) fn is_of(value: &ValueType, text: &str, position: Position) -> bool {
    match value {
        ValueType::Integer { low, high } => is_integer(text, *low, *high),
        ValueType::OneOf(words) => words.iter().any(|word| word == text),
        ValueType::Text(of) => may_begin(text, &of.first, position) && is_text(text, of),
        ValueType::Path(of) => {
            !text.is_empty()
                && text != "-"
                && text.len() <= DEFAULT_LENGTH
                && may_begin(text, "", position)
                && !(of.exists && position == Position::AfterDoubleDash && text.starts_with('-'))
                && holds_all(of.chars.as_ref(), text)
        }
    }
}

/// Whether a text that stands alone is a value of a type.
pub(crate) fn accepts(value: &ValueType, text: &str) -> bool {
    is_of(value, text, Position::Alone)
}

/// Whether the text of a value fits a type that asks or denies. A length and a first character don't let a value escape: they
/// say what a call may hold, not what the value means. Where a path leads is judged elsewhere.
pub(in crate::policy::rules) fn fits(value: &ValueType, text: &str) -> bool {
    match value {
        ValueType::Integer { .. } | ValueType::OneOf(_) => is_of(value, text, Position::Alone),
        ValueType::Text(of) => is_text(text, &TextType { max_length: usize::MAX, ..of.clone() }),
        ValueType::Path(of) => holds_all(of.chars.as_ref(), text),
    }
}

fn holds_all(set: Option<&CharSet>, text: &str) -> bool {
    set.is_none_or(|set| text.chars().all(|character| set.holds(character)))
}

fn may_begin(text: &str, first: &str, position: Position) -> bool {
    match text.chars().next() {
        Some('-') if position == Position::AfterDoubleDash => true,
        Some('-' | '+') if position == Position::Attached => true,
        Some(character @ ('-' | '+' | '@')) => first.contains(character),
        Some(_) | None => true,
    }
}

fn is_text(text: &str, of: &TextType) -> bool {
    let is_relative =
        || !text.starts_with(is_slash) && !begins_with_drive(text) && !text.split(is_slash).any(|part| part == "..");
    text.chars().count() <= of.max_length
        && holds_all(of.chars.as_ref(), text)
        && (!of.relative || is_relative())
        && (of.must_begin.is_empty() || of.must_begin.iter().any(|beginning| text.starts_with(beginning.as_str())))
}

/// Whether it begins with a drive of Windows, such as `C:/`.
fn begins_with_drive(text: &str) -> bool {
    let mut characters = text.chars();
    let is_drive =
        characters.next().is_some_and(|letter| letter.is_ascii_alphabetic()) && characters.next() == Some(':');
    cfg!(windows) && is_drive && characters.next().is_some_and(is_slash)
}

fn is_slash(character: char) -> bool {
    character == '/' || (cfg!(windows) && character == '\\')
}

/// A decimal number in its only spelling: no `+`, no leading zero, no `-0`.
fn is_integer(text: &str, low: i64, high: i64) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits == "0" && digits == text || !digits.starts_with('0');
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain && is_number && text.parse().is_ok_and(|number: i64| (low..=high).contains(&number))
}
