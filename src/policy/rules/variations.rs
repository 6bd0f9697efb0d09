//! Variations of examples: a form that asks or denies, beside forms that allow, must hold in every shape of its examples.

use std::collections::BTreeSet;

use super::by_text::ByText;
use super::grammar::{
    Arguments, CommandRule, Expected, Form, Level, NUMBER_OPTION, Operand, Syntax, Takes, ValuePlace, ValueType,
};
use super::judge::Judgement;
use super::matcher::{Match, Reading, Role};

/// How many variations of one example are tried.
const MOST: usize = 5_000;

/// Tries each option of all forms, once more and with other values, `--`, and one more operand. Returns a sentence about the
/// first variation that is decided less strictly than the example; `None` if there is none.
pub(super) fn evading(command: &CommandRule, words: &[String], judgement: &Judgement<'_>) -> Option<String> {
    let matched = judgement.matched.as_ref().filter(|_| judgement.decision != Expected::Allow)?;
    let laxer = variations(command, matched, words).into_iter().take(MOST).find_map(|(variation, is_shifted)| {
        let judged = command.judge(&variation, &mut { ByText::USUAL });
        let came = judged.decision;
        let is_laxer = came == Expected::Allow || (came == Expected::Ask && judgement.decision == Expected::Refuse);
        // An operand in front gives the others another meaning, unless all are of one kind.
        let is_meant = !is_shifted || judged.matched.is_some_and(|matched| has_one_operand(&matched));
        (is_laxer && is_meant).then_some((variation, came))
    });
    laxer.map(|(variation, came)| {
        format!(
            "`{}` evades it with {}; describe the values by `ask` or `deny` of their type, or the other forms more narrowly",
            super::written(&variation),
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
    for at in (*start..=words.len()).filter(|at| !is_value(*at)) {
        let (before, behind) = words.split_at(at);
        all.extend(options.iter().map(|option| ([before, option, behind].concat(), false)));
        // Options behind it would be operands.
        let has_options = behind.iter().any(|word| word.starts_with('-'));
        if !has_options {
            all.push(([before, &["--".to_owned()], behind].concat(), false));
        }
        if !(has_options && level.syntax == Syntax::Posix) {
            let is_shifted = !behind.is_empty();
            all.extend(operands.iter().map(|word| ([before, std::slice::from_ref(word), behind].concat(), is_shifted)));
        }
    }
    all
}

/// Each option of the forms, with values.
fn options(level: &Level, forms: &[Form]) -> BTreeSet<Vec<String>> {
    let mut all = BTreeSet::new();
    for option in forms.iter().flat_map(|form| form.options.iter()) {
        let Some(spelling) = option.spellings.first() else { continue };
        let Takes::Value { value, place } = &option.takes else {
            all.insert(vec![if spelling == NUMBER_OPTION { "-1".to_owned() } else { spelling.clone() }]);
            continue;
        };
        let is_long = spelling.starts_with("--") || level.syntax == Syntax::Go;
        for sample in samples(value) {
            all.insert(match place {
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
            all.insert(vec![spelling.clone()]);
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
