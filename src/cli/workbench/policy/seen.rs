//! The options with their values, the operands and the subcommands of a command, as they are in recorded calls.

use std::collections::{BTreeMap, BTreeSet};

use crate::policy::rules::{Arguments, Level, Syntax, Takes, ValuePlace};

/// Each spelling with its values and where they stood; none for a flag.
pub(super) type SeenOptions = BTreeMap<String, (BTreeSet<String>, Option<ValuePlace>)>;

/// The options, operands and subcommands at one level.
#[derive(Debug, Default)]
pub(super) struct SeenWords {
    /// Its options.
    pub options: SeenOptions,
    /// The operands of each call that ended here.
    pub operands: Vec<Vec<String>>,
    /// Those after `--`.
    pub after_double_dash: Vec<Vec<String>>,
    /// The level after each subcommand.
    pub subcommands: BTreeMap<String, SeenWords>,
}

impl SeenWords {
    /// Reads the words of one call. A shipped profile that describes the command tells which options have values.
    pub(super) fn add(&mut self, words: &[String], known: Option<&Level>) {
        let syntax = known.map_or(Syntax::Gnu, |level| level.syntax);
        let (mut operands, mut after_double_dash) = (Vec::new(), None);
        let mut rest = words.iter().enumerate();
        // An option that the profile does not describe, just before this word.
        let mut unknown: Option<String> = None;
        while let Some((index, word)) = rest.next() {
            if word == "--" && syntax != Syntax::Operands {
                after_double_dash = Some(words.get(index + 1..).unwrap_or_default().to_vec());
                break;
            }
            let is_option = word.starts_with('-') && word != "-" && syntax != Syntax::Operands;
            if !is_option {
                let below = known.filter(|_| operands.is_empty()).and_then(|level| subcommands(level));
                let is_below = |below: &[Level]| below.iter().any(|level| level.path.last() == Some(word));
                if let (Some(option), Some(_)) = (unknown.take(), below.filter(|below| !is_below(below))) {
                    // `git -C web status`: no subcommand has that name, so it is the option's value.
                    let seen = self.options.entry(option).or_insert((BTreeSet::new(), None));
                    seen.0.insert(word.clone());
                    seen.1 = Some(ValuePlace::Anywhere);
                    continue;
                }
                if let Some(below) = below {
                    let level = below.iter().find(|level| level.path.last() == Some(word));
                    self.subcommands
                        .entry(word.clone())
                        .or_default()
                        .add(words.get(index + 1..).unwrap_or_default(), level);
                    return;
                }
                operands.push(word.clone());
                continue;
            }
            unknown = None;
            for (spelling, value, place) in split(word, syntax, known) {
                unknown = (value.is_none() && place_of(&spelling, known).is_none()).then(|| spelling.clone());
                let value = match (value, place) {
                    (None, Some(ValuePlace::Anywhere)) => rest.next().map(|(_, value)| value.clone()),
                    (value, _) => value,
                };
                let seen = self.options.entry(spelling).or_insert((BTreeSet::new(), None));
                if let Some(value) = value {
                    seen.0.insert(value);
                    seen.1 = place.or(Some(ValuePlace::Attached));
                }
            }
        }
        self.operands.push(operands);
        self.after_double_dash.extend(after_double_dash);
    }
}

pub(super) fn subcommands(level: &Level) -> Option<&[Level]> {
    match &level.arguments {
        Arguments::Described { subcommands, .. } if !subcommands.is_empty() => Some(subcommands),
        Arguments::Described { .. } | Arguments::Any { .. } => None,
    }
}

/// Where the value of an option is, by the profile: `Some(None)` for a flag, `None` if the option is unknown.
fn place_of(spelling: &str, known: Option<&Level>) -> Option<Option<ValuePlace>> {
    let Arguments::Described { options, forms, .. } = &known?.arguments else { return None };
    let option = options.get(spelling).or_else(|| forms.iter().find_map(|form| form.options.get(spelling)))?;
    Some(match &option.takes {
        Takes::Flag => None,
        Takes::Value { place, .. } => Some(*place),
    })
}

/// The options in a word, each with its value if that is in the same word, and with where its value may be.
fn split(word: &str, syntax: Syntax, known: Option<&Level>) -> Vec<(String, Option<String>, Option<ValuePlace>)> {
    let is_bundle = matches!(syntax, Syntax::Gnu | Syntax::Posix) && !word.starts_with("--");
    if !is_bundle {
        let (name, value) = match word.split_once('=').filter(|_| syntax != Syntax::SingleDash) {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        let name = if syntax == Syntax::Go {
            name.strip_prefix('-').filter(|name| name.starts_with('-')).unwrap_or(name)
        } else {
            name
        };
        let place = place_of(name, known).flatten();
        return vec![(name.to_owned(), value, place)];
    }
    let letters = word.get(1..).unwrap_or_default();
    if letters.bytes().all(|byte| byte.is_ascii_digit()) {
        return vec![("-NUM".to_owned(), Some(letters.to_owned()), Some(ValuePlace::Attached))];
    }
    let mut found = Vec::new();
    for (at, letter) in letters.char_indices() {
        let spelling = format!("-{letter}");
        let rest = letters.get(at + letter.len_utf8()..).unwrap_or_default();
        let is_number = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
        match place_of(&spelling, known) {
            Some(Some(place)) => {
                found.push((spelling, (!rest.is_empty()).then(|| rest.to_owned()), Some(place)));
                return found;
            }
            None if at == 0 && is_number => {
                found.push((spelling, Some(rest.to_owned()), Some(ValuePlace::Anywhere)));
                return found;
            }
            Some(None) | None => found.push((spelling, None, None)),
        }
    }
    found
}
