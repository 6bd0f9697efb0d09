//! Variations of examples: a form that asks or denies, beside forms that allow, must hold in every shape of its examples.

use std::collections::BTreeSet;

use super::super::grammar::{
    Arguments, CommandRule, Expected, Form, Level, NUMBER_OPTION, Operand, OptionRule, Order, Syntax, Takes,
    ValuePlace, ValueType,
};
use super::super::judge::Judgement;
use super::super::matcher::{Match, Reading, Role};
use super::by_text::ByText;

/// How many variations of one example are tried.
const MOST: usize = 5_000;
/// How many more operands are tried at once.
const MOST_OPERANDS: usize = 16;

/// Tries each option of all forms, once more, in other spellings and with other values, all options that another form requires
/// together with the operands that it needs, `--`, and one more operand. Returns a sentence about the first variation that is
/// decided less strictly than the words; `None` if there is none.
pub(super) fn evading(command: &CommandRule, words: &[String], judgement: &Judgement<'_>) -> Option<String> {
    evading_by(command, words, judgement, |_| true)
}

/// The same for a call that is made from a form. A form that requires an option which this one has not may be meant as an
/// exception, such as `--dry-run`; only an example tells that it is not.
pub(super) fn evading_form(
    command: &CommandRule,
    form: &Form,
    words: &[String],
    judgement: &Judgement<'_>,
) -> Option<String> {
    let has = |option: &OptionRule| option.spellings.iter().any(|spelling| form.options.get(spelling).is_some());
    evading_by(command, words, judgement, |by| !by.options.iter().any(|option| option.is_required && !has(option)))
}

fn evading_by(
    command: &CommandRule,
    words: &[String],
    judgement: &Judgement<'_>,
    counts: impl Fn(&Form) -> bool,
) -> Option<String> {
    let matched = judgement.matched.as_ref().filter(|_| judgement.decision != Expected::Allow)?;
    let laxer = variations(command, matched, words).into_iter().take(MOST).find_map(|(variation, is_shifted)| {
        let judged = command.judge(&variation, &mut { ByText::USUAL });
        let came = judged.decision;
        let is_laxer = came == Expected::Allow || (came == Expected::Ask && judgement.decision == Expected::Refuse);
        // An operand in front gives the others another meaning, unless all are of one kind.
        let is_meant = judged
            .matched
            .is_some_and(|matched| (!is_shifted || has_one_operand(&matched)) && matched.form.is_none_or(&counts));
        (is_laxer && is_meant).then_some((variation, came))
    });
    laxer.map(|(variation, came)| {
        format!(
            "`{}` evades it with {}; describe the values by `ask` or `deny` of their type, or the other forms more narrowly",
            super::super::written(&variation),
            came.name()
        )
    })
}

/// Whether all operands of a call are described by the same words of the policy.
fn has_one_operand(matched: &Match<'_>) -> bool {
    let mut operands = matched.readings.iter().filter_map(|reading| match &reading.role {
        Role::Operand(operand) => Some(*operand),
        Role::Name(_) | Role::Option(_) | Role::Value(..) | Role::DoubleDash | Role::Anything => None,
    });
    let first = operands.next();
    operands.all(|operand| first.is_some_and(|first| std::ptr::eq(first, operand)))
}

/// The variations, each with whether it has one more operand in front of others.
fn variations(command: &CommandRule, matched: &Match<'_>, words: &[String]) -> Vec<(Vec<String>, bool)> {
    let Some((level, start)) = matched.levels.last() else { return Vec::new() };
    let Arguments::Described { forms, .. } = &level.arguments else { return Vec::new() };
    let is_value = |at: usize| {
        let is_it =
            |reading: &Reading<'_>| reading.word == at && reading.from == 0 && matches!(reading.role, Role::Value(..));
        matched.readings.iter().any(is_it)
    };
    let (options, operands) = (options(level, forms), operands(command, forms));
    let mut all = Vec::new();
    for words in respelled(forms, matched, words) {
        let (head, rest) = words.split_at(*start);
        all.extend(forms.iter().map(|form| (with_options(level, head, rest, &required(level, form)), false)));
        all.push((words, false));
    }
    for at in (*start..=words.len()).filter(|at| !is_value(*at)) {
        let (before, behind) = words.split_at(at);
        // Options behind it would be operands.
        let has_options = behind.iter().any(|word| word.starts_with('-'));
        let takes_operands = !(has_options && level.syntax == Syntax::Posix);
        let is_shifted = !behind.is_empty();
        for form in forms {
            let required = required(level, form);
            all.push(([before, &required, behind].concat(), false));
            let present = matched.readings.iter().filter(|reading| matches!(reading.role, Role::Operand(_))).count();
            let more = fewest_operands(form).len().saturating_sub(present).min(MOST_OPERANDS);
            for count in (1..=more).filter(|_| takes_operands) {
                all.extend(operands.iter().map(|word| {
                    let (head, words_before) = before.split_at(*start);
                    let more = vec![word.clone(); count];
                    (with_options(level, head, &[words_before, &more, behind].concat(), &required), is_shifted)
                }));
            }
        }
        all.extend(options.iter().map(|option| ([before, option, behind].concat(), false)));
        if !has_options {
            all.push(([before, &["--".to_owned()], behind].concat(), false));
        }
        if takes_operands {
            all.extend(operands.iter().map(|word| ([before, std::slice::from_ref(word), behind].concat(), is_shifted)));
        }
    }
    all
}

/// The words with one of their options in another spelling that a form has for it, also if its own form does not.
fn respelled(forms: &[Form], matched: &Match<'_>, words: &[String]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for (place, reading) in matched.readings.iter().enumerate() {
        let (Role::Option(option), Some(word)) = (&reading.role, words.get(reading.word)) else { continue };
        let is_same = |other: &OptionRule| other.spellings.iter().any(|one| option.spellings.contains(one));
        let others = forms.iter().flat_map(|form| form.options.iter()).filter(|other| is_same(other));
        let others: BTreeSet<&String> = others.flat_map(|other| &other.spellings).collect();
        // Its value is the rest of its word or the next word.
        let value = matched.readings.get(place + 1).filter(|next| matches!(next.role, Role::Value(..)));
        let value = value.and_then(|next| Some((next.word, words.get(next.word)?.get(next.from..)?)));
        // The other letters in its word.
        let letters = match (reading.from, value) {
            (0, _) => String::new(),
            (from, Some(_)) => word.chars().take(from).collect(),
            (from, None) => word.char_indices().filter(|(at, _)| *at != from).map(|(_, letter)| letter).collect(),
        };
        let letters = Some(letters).filter(|letters| letters.len() > 1);
        let end = value.map_or(reading.word, |(at, _)| at) + 1;
        let (before, behind) = (words.get(..reading.word).unwrap_or_default(), words.get(end..).unwrap_or_default());
        for other in others {
            let name = if other == NUMBER_OPTION { "-" } else { other };
            let shapes = match value {
                None => vec![vec![name.to_owned()]],
                Some((_, value)) => vec![
                    vec![name.to_owned(), value.to_owned()],
                    vec![format!("{name}={value}")],
                    vec![format!("{name}{value}")],
                ],
            };
            all.extend(shapes.iter().map(|shape| [before, shape, letters.as_slice(), behind].concat()));
        }
    }
    all
}

/// The words with options where their level has them.
fn with_options(level: &Level, head: &[String], operands: &[String], options: &[String]) -> Vec<String> {
    match level.order {
        Order::Any | Order::OptionsFirst => [head, options, operands].concat(),
        Order::OperandsFirst => [head, operands, options].concat(),
    }
}

/// All options that a form requires, with a value each.
fn required(level: &Level, form: &Form) -> Vec<String> {
    let required = form.options.iter().filter(|option| option.is_required);
    required.filter_map(|option| written(level, option).into_iter().next()).flatten().collect()
}

/// The fewest operands that a form takes.
fn fewest_operands(form: &Form) -> Vec<&Operand> {
    form.operands.iter().flat_map(|operand| std::iter::repeat_n(operand, operand.least)).collect()
}

/// A call of a form that asks or denies beside laxer ones, for one that no example is decided by.
pub(super) fn sample(level: &Level, form: &Form) -> Option<Vec<String>> {
    if !level.forms().iter().any(|other| other.effect < form.effect) {
        return None;
    }
    // One word of each operand, though none may be needed: what is asked about is often told by the operand.
    let samples_of = |operand: &Operand| {
        let count = operand.least.max(usize::from(operand.most != Some(0)));
        Some(vec![samples(&operand.value).into_iter().next()?; count])
    };
    let all =
        |operands: &[Operand]| operands.iter().map(samples_of).collect::<Option<Vec<_>>>().map(|all| all.concat());
    let mut words = with_options(level, &level.path, &all(&form.operands)?, &required(level, form));
    let behind = form.after_double_dash.as_deref().unwrap_or_default();
    if behind.iter().any(|operand| operand.least > 0) {
        words.push("--".to_owned());
        words.extend(all(behind)?);
    }
    Some(words)
}

/// Each option of the forms, in each spelling and with values.
fn options(level: &Level, forms: &[Form]) -> BTreeSet<Vec<String>> {
    forms.iter().flat_map(|form| form.options.iter()).flat_map(|option| written(level, option)).collect()
}

/// An option as it can be written, in each spelling and with values.
fn written(level: &Level, option: &OptionRule) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for spelling in &option.spellings {
        let Takes::Value { value, place } = &option.takes else {
            all.push(vec![if spelling == NUMBER_OPTION { "-1".to_owned() } else { spelling.clone() }]);
            continue;
        };
        let is_long = spelling.starts_with("--") || level.syntax == Syntax::Go;
        for sample in samples(value) {
            all.push(match place {
                ValuePlace::Anywhere if spelling != NUMBER_OPTION => vec![spelling.clone(), sample],
                _ if spelling == NUMBER_OPTION => vec![format!("-{sample}")],
                ValuePlace::Anywhere | ValuePlace::Attached | ValuePlace::Optional if is_long => {
                    vec![format!("{spelling}={sample}")]
                }
                ValuePlace::Anywhere | ValuePlace::Attached | ValuePlace::Optional => {
                    vec![format!("{spelling}{sample}")]
                }
            });
        }
        if *place == ValuePlace::Optional {
            all.push(vec![spelling.clone()]);
        }
    }
    all
}

/// Words that may be one more operand: samples of their types, and the last words of the other examples.
fn operands(command: &CommandRule, forms: &[Form]) -> BTreeSet<String> {
    let types = forms.iter().flat_map(Form::all_operands).map(|operand: &Operand| &operand.value);
    let of_examples = command.examples.iter().filter_map(|example| super::words_of(&example.line).ok()?.pop());
    types.flat_map(samples).chain(of_examples).collect()
}

/// A few values of a type.
fn samples(value: &ValueType) -> Vec<String> {
    match value {
        ValueType::Integer { low, high } => vec![low.to_string(), high.to_string()],
        ValueType::OneOf(words) => words.iter().take(16).cloned().collect(),
        ValueType::Text(text) => {
            let one = ["a", "0", "A"]
                .into_iter()
                .find(|one| text.chars.as_ref().is_none_or(|set| one.chars().all(|character| set.holds(character))));
            let begins = text.must_begin.first().map_or("", String::as_str);
            vec![format!("{begins}{}", one.unwrap_or_default())]
        }
        ValueType::Path(path) if path.under.is_empty() => vec!["a".to_owned(), "b/c".to_owned()],
        ValueType::Path(path) => path.under.iter().map(|under| format!("{under}/a")).collect(),
    }
}
