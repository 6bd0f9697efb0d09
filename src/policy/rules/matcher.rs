//! Whether the words of a call match a rule. Pure: it looks only at the rule and at the words.
//!
//! One principle decides what the grammar leaves open: *a word matches only if every plausible reading of it has the same
//! meaning.* What no rule describes does not match.
//!
//! # The grammar
//!
//! ```text
//! call        = NAME level
//! level       = words that match a form                     (a level without subcommands)
//!             | option* SUBCOMMAND level                    (the first operand is the exact name of a subcommand)
//! form        = (option | operand)* ["--" operand*]
//!
//! gnu         option = -L* | -L*Lvalue | -L*L value | --name | --name=value | --name value     (L: one letter)
//! posix       as gnu; after the first operand every word is an operand, `--` too
//! single_dash option = -name | -name value
//! go          option = (-name | --name) | (-name | --name)=value | (-name | --name) value
//! operands    every word is an operand, `--` too
//! ```
//!
//! - An option matches only by its exact spelling. Before `--`, a word that begins with `-` and is longer than `-` is an
//!   option. `-NUM` is a dash and digits. A spelling without a dash (`!`) is a flag wherever an option may be.
//! - A value or an operand may begin with `-`, `+` or `@` only if its type says so. There are two exceptions, since they have
//!   only one reading: after `--` a text or a path may begin with `-`, and a value that is attached to its option may begin
//!   with `-` or `+`. Many programs read a value with `@` as the name of a file, wherever it is. A value that is attached to
//!   a letter may not begin with `=`, since programs differ in whether the `=` belongs to the value.
//! - An optional value must be attached.
//! - Operands are counted. At most one operand of a form has a variable count: those before it are counted from the
//!   beginning, those after it from the end.
//! - Words after `--` are `after_double_dash` if the form has that, else operands like the others.
//!
//! # The result
//!
//! [`read`] tries every form of the level that the words name. It returns the forms that match, with what each word is, or
//! the failure of the form that got furthest. The caller decides what a form means (allow, ask, deny), and whether the paths
//! lie where they must.

mod reading;
mod value;

pub use reading::{Claim, Failure, Match, Mismatch, Reading, Role};

use super::grammar::{
    Arguments, Effect, Form, Level, NUMBER_OPTION, Operand, OptionRule, Options, Order, Syntax, Takes, ValuePlace,
    ValueType,
};
use crate::policy::MOST_WORDS;
pub(crate) use value::accepts;
pub(super) use value::fits;
use value::{Position, is_of};

/// Finds the forms that match the words, of which the first is the command.
///
/// # Errors
/// The failure of the form that got furthest, if none matches.
pub fn read<'p>(level: &'p Level, words: &[String]) -> Result<Vec<Match<'p>>, Failure<'p>> {
    let mut levels = vec![(level, 1)];
    let mut readings = vec![Reading { word: 0, from: 0, role: Role::Name(level) }];
    let mut level = level;
    let mut start = 1;
    loop {
        let (options, forms, subcommands) = match &level.arguments {
            Arguments::Any { .. } => {
                let anything = |word| Reading { word, from: 0, role: Role::Anything };
                readings.extend((start..words.len()).map(anything));
                return Ok(vec![Match { levels, form: None, readings }]);
            }
            Arguments::Described { options, forms, subcommands } => (options, forms, subcommands),
        };
        let mut furthest = None;
        if !subcommands.is_empty() {
            match subcommand(level, options, subcommands, words, start) {
                Ok((found, before, at)) => {
                    readings.extend(before);
                    readings.push(Reading { word: at, from: 0, role: Role::Name(found) });
                    (level, start) = (found, at + 1);
                    levels.push((level, start));
                    continue;
                }
                Err(failure) => furthest = Some(failure),
            }
        }
        let is_unknown = furthest.as_ref().is_some_and(|failure| matches!(failure.wrong, Mismatch::UnknownSubcommand));
        let mut matches = Vec::new();
        for form in forms {
            match match_form(level, form, subcommands, words, start) {
                Ok(read) => {
                    let readings = readings.iter().cloned().chain(read).collect();
                    matches.push(Match { levels: levels.clone(), form: Some(form), readings });
                }
                // A form without operands says nothing about a word that was taken for a subcommand.
                Err(_) if is_unknown && form.operands.is_empty() => {}
                Err(failure) => furthest = Some(further(furthest, failure)),
            }
        }
        return match furthest {
            Some(failure) if matches.is_empty() => Err(failure),
            _ => Ok(matches),
        };
    }
}

/// The failure that got further. A form that denies says nothing about what is allowed, so others come first.
fn further<'p>(one: Option<Failure<'p>>, other: Failure<'p>) -> Failure<'p> {
    let rank = |failure: &Failure<'_>| (failure.form.is_none_or(|form| form.effect != Effect::Deny), failure.word);
    match one {
        Some(one) if rank(&one) >= rank(&other) => one,
        Some(_) | None => other,
    }
}

/// The subcommand that the first operand names, what precedes it, and its place.
fn subcommand<'p>(
    level: &'p Level,
    options: &'p Options,
    subcommands: &'p [Level],
    words: &[String],
    start: usize,
) -> Result<(&'p Level, Vec<Reading<'p>>, usize), Failure<'p>> {
    let scanned = scan(level, None, options, words, start, Until::FirstOperand)?;
    let fail = |word, wrong| Failure { word, level, form: None, wrong };
    if scanned.double_dash.is_some() {
        return Err(fail(scanned.next.saturating_sub(1), Mismatch::DoubleDash));
    }
    let at = scanned.next;
    let Some(word) = words.get(at) else { return Err(fail(at, Mismatch::NoSubcommand)) };
    let is_named = |level: &&Level| level.path.last() == Some(word);
    let found = subcommands.iter().find(is_named).ok_or_else(|| fail(at, Mismatch::UnknownSubcommand))?;
    required(options, &scanned.readings).map_err(|option| fail(at, Mismatch::MissingOption(option)))?;
    Ok((found, scanned.readings, at))
}

/// Returns the reading of each word by this form.
fn match_form<'p>(
    level: &'p Level,
    form: &'p Form,
    subcommands: &[Level],
    words: &[String],
    start: usize,
) -> Result<Vec<Reading<'p>>, Failure<'p>> {
    let fail = |word, wrong| Failure { word, level, form: Some(form), wrong };
    let mut scanned = scan(level, Some(form), &form.options, words, start, Until::End)?;
    // The program would take such an operand for a subcommand.
    let is_subcommand = |at: &usize| subcommands.iter().any(|level| level.path.last() == words.get(*at));
    if let Some(at) = scanned.operands.first().filter(|at| is_subcommand(at)) {
        return Err(fail(*at, Mismatch::TooMany));
    }
    let behind = scanned.double_dash.unwrap_or(words.len());
    match &form.after_double_dash {
        None => assign(&form.operands, words, &scanned.operands, behind, &mut scanned.readings),
        Some(after) => {
            let split = scanned.operands.partition_point(|at| *at < behind);
            let (before, after_dash) = scanned.operands.split_at(split);
            assign(&form.operands, words, before, behind, &mut scanned.readings)
                .and_then(|()| assign(after, words, after_dash, behind, &mut scanned.readings))
        }
    }
    .map_err(|(word, wrong)| fail(word, wrong))?;
    required(&form.options, &scanned.readings).map_err(|option| fail(words.len(), Mismatch::MissingOption(option)))?;
    Ok(scanned.readings)
}

/// The first option that must be there and is not.
fn required<'p>(options: &'p Options, readings: &[Reading<'p>]) -> Result<(), &'p OptionRule> {
    let is_there = |wanted: &OptionRule| {
        readings.iter().any(|reading| matches!(reading.role, Role::Option(found) if std::ptr::eq(found, wanted)))
    };
    options.iter().find(|option| option.is_required && !is_there(option)).map_or(Ok(()), |option| Err(&**option))
}

/// How far words are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    FirstOperand,
    End,
}

/// Words that were told apart: options with their values, operands and `--`.
struct Scanned<'p> {
    /// The options, their values, and `--`.
    readings: Vec<Reading<'p>>,
    /// The numbers of the operands.
    operands: Vec<usize>,
    /// The number of `--`.
    double_dash: Option<usize>,
    /// The first word that was not read.
    next: usize,
}

fn scan<'p>(
    level: &'p Level,
    form: Option<&'p Form>,
    options: &'p Options,
    words: &[String],
    start: usize,
    until: Until,
) -> Result<Scanned<'p>, Failure<'p>> {
    let mut scanned = Scanned { readings: Vec::new(), operands: Vec::new(), double_dash: None, next: start };
    let mut has_option = false;
    while let Some(word) = words.get(scanned.next) {
        let at = scanned.next;
        let fail = |wrong| Failure { word: at, level, form, wrong };
        let stopped = match level.syntax {
            Syntax::Operands => true,
            Syntax::Posix => !scanned.operands.is_empty(),
            Syntax::Gnu | Syntax::SingleDash | Syntax::Go => false,
        };
        let behind = level.order == Order::OptionsFirst && !scanned.operands.is_empty();
        if word == "--" && !stopped {
            // A program that stops at its first operand would take `--` for another operand.
            if level.refuses_double_dash || (level.syntax == Syntax::Go && behind) {
                return Err(fail(Mismatch::DoubleDash));
            }
            scanned.readings.push(Reading { word: at, from: 0, role: Role::DoubleDash });
            scanned.double_dash = Some(at);
            scanned.next += 1;
            if until == Until::End {
                if has_option && level.order == Order::OperandsFirst && scanned.next < words.len() {
                    return Err(Failure { word: scanned.next, level, form, wrong: Mismatch::OperandAfterOption });
                }
                scanned.operands.extend(scanned.next..words.len());
                scanned.next = words.len();
            }
            return Ok(scanned);
        }
        let has_dash = word.starts_with('-') && word != "-";
        if (has_dash && (!stopped || behind)) || (!stopped && options.get(word).is_some()) {
            let is_leading = level.order == Order::OperandsFirst && options.get(word).is_some_and(|it| it.is_leading);
            if behind || (is_leading && (has_option || !scanned.operands.is_empty())) {
                return Err(fail(Mismatch::OptionAfterOperand));
            }
            has_option |= !is_leading;
            read_option(level.syntax, options, words, &mut scanned).map_err(|wrong| {
                // A value that is a word of its own begins at byte 0.
                let is_alone = matches!(wrong, Mismatch::BadValue(_, _, 0));
                Failure { word: at + usize::from(is_alone), level, form, wrong }
            })?;
            continue;
        }
        if until == Until::FirstOperand {
            return Ok(scanned);
        }
        if has_option && level.order == Order::OperandsFirst {
            return Err(fail(Mismatch::OperandAfterOption));
        }
        scanned.operands.push(at);
        scanned.next += 1;
    }
    Ok(scanned)
}

/// Reads the option in the next word, with its value, which may be the word after it.
fn read_option<'p>(
    syntax: Syntax,
    options: &'p Options,
    words: &[String],
    scanned: &mut Scanned<'p>,
) -> Result<(), Mismatch<'p>> {
    let at = scanned.next;
    let Some(word) = words.get(at) else { return Ok(()) };
    scanned.next += 1;
    let is_long = word.starts_with("--");
    match syntax {
        Syntax::Gnu | Syntax::Posix if word.starts_with('-') && !is_long => {
            read_letters(options, words, word, at, scanned)
        }
        Syntax::Gnu | Syntax::Posix | Syntax::Go => {
            let (name, value) = match word.find('=') {
                Some(equals) if word.starts_with('-') => (word.get(..equals).unwrap_or_default(), Some(equals + 1)),
                Some(_) | None => (word.as_str(), None),
            };
            // In `go` one dash means the same as two.
            let name = if syntax == Syntax::Go && is_long { name.get(1..).unwrap_or_default() } else { name };
            let option = options.get(name).ok_or(Mismatch::UnknownOption(None))?;
            read_value(option, words, (at, 0), value, scanned)
        }
        Syntax::SingleDash | Syntax::Operands => {
            let option = options.get(word).ok_or(Mismatch::UnknownOption(None))?;
            read_value(option, words, (at, 0), None, scanned)
        }
    }
}

/// The most words and letters that are read: each takes a hundred times its byte in memory.
const MOST_READINGS: usize = MOST_WORDS;

/// Reads `-5`, or a bundle of letters of which the last may have a value.
fn read_letters<'p>(
    options: &'p Options,
    words: &[String],
    word: &str,
    at: usize,
    scanned: &mut Scanned<'p>,
) -> Result<(), Mismatch<'p>> {
    let is_number = word.len() > 1 && word.bytes().skip(1).all(|byte| byte.is_ascii_digit());
    if let Some(option) = options.get(NUMBER_OPTION).filter(|_| is_number) {
        scanned.readings.push(Reading { word: at, from: 0, role: Role::Option(option) });
        return match &option.takes {
            Takes::Flag => Ok(()),
            Takes::Value { value, .. } => take(option, value, words, (at, 1), Position::Attached, scanned),
        };
    }
    let is_alone = word.chars().count() == 2;
    for (place, letter) in word.char_indices().skip(1) {
        if scanned.readings.len() >= MOST_READINGS {
            return Err(Mismatch::TooManyLetters);
        }
        let mut spelling = String::from("-");
        spelling.push(letter);
        let unknown = Mismatch::UnknownOption((!is_alone).then_some(letter));
        let option = options.get(&spelling).ok_or(unknown)?;
        let rest = place + letter.len_utf8();
        let behind = word.get(rest..).unwrap_or_default();
        match &option.takes {
            Takes::Flag => scanned.readings.push(Reading { word: at, from: place, role: Role::Option(option) }),
            Takes::Value { .. } if behind.starts_with('=') => return Err(Mismatch::EqualsAfterLetter(option)),
            Takes::Value { .. } => {
                return read_value(option, words, (at, place), (!behind.is_empty()).then_some(rest), scanned);
            }
        }
    }
    Ok(())
}

/// Reads the value of the option that begins at the byte `begins` of the word `at`. The value is attached and begins at the byte
/// `attached`, or it is the next word.
fn read_value<'p>(
    option: &'p OptionRule,
    words: &[String],
    (at, begins): (usize, usize),
    attached: Option<usize>,
    scanned: &mut Scanned<'p>,
) -> Result<(), Mismatch<'p>> {
    scanned.readings.push(Reading { word: at, from: begins, role: Role::Option(option) });
    match (&option.takes, attached) {
        (Takes::Flag, None) => Ok(()),
        (Takes::Flag, Some(_)) => Err(Mismatch::TakesNoValue(option)),
        (Takes::Value { value, .. }, Some(from)) => take(option, value, words, (at, from), Position::Attached, scanned),
        (Takes::Value { place: ValuePlace::Optional, .. }, None) => Ok(()),
        (Takes::Value { place: ValuePlace::Attached, .. }, None) => Err(Mismatch::NeedsValue(option)),
        (Takes::Value { value, place: ValuePlace::Anywhere }, None) => {
            if words.get(at + 1).is_none() {
                return Err(Mismatch::NeedsValue(option));
            }
            scanned.next = at + 2;
            take(option, value, words, (at + 1, 0), Position::Alone, scanned)
        }
    }
}

fn take<'p>(
    option: &'p OptionRule,
    value: &'p ValueType,
    words: &[String],
    (word, from): (usize, usize),
    position: Position,
    scanned: &mut Scanned<'p>,
) -> Result<(), Mismatch<'p>> {
    let text = words.get(word).and_then(|word| word.get(from..)).unwrap_or_default();
    if !is_of(value, text, position) {
        return Err(Mismatch::BadValue(option, value, from));
    }
    scanned.readings.push(Reading { word, from, role: Role::Value(option, value) });
    Ok(())
}

/// Assigns words to operands. Operands before the one with a variable count are counted from the beginning, those after it from
/// the end.
fn assign<'p>(
    operands: &'p [Operand],
    words: &[String],
    given: &[usize],
    double_dash: usize,
    readings: &mut Vec<Reading<'p>>,
) -> Result<(), (usize, Mismatch<'p>)> {
    let least: usize = operands.iter().map(|operand| operand.least).sum();
    let spare = given.len().checked_sub(least);
    let mut left = given.iter();
    for operand in operands {
        // An operand with a fixed count takes no more than that.
        let most = operand.most.unwrap_or(usize::MAX);
        let taken = operand.least.saturating_add(spare.unwrap_or_default()).min(most);
        for at in left.by_ref().take(taken) {
            let position = if *at > double_dash { Position::AfterDoubleDash } else { Position::Alone };
            if !words.get(*at).is_some_and(|word| is_of(&operand.value, word, position)) {
                return Err((*at, Mismatch::BadOperand(operand)));
            }
            readings.push(Reading { word: *at, from: 0, role: Role::Operand(operand) });
        }
    }
    if let Some(at) = left.next() {
        return Err((*at, Mismatch::TooMany));
    }
    // There were too few words: find the first operand that got none.
    let mut count = given.len();
    for operand in operands {
        if count < operand.least {
            return Err((words.len(), Mismatch::TooFew(operand)));
        }
        count -= operand.least;
    }
    Ok(())
}
