//! Whether one rule allows no more than another. Each structure of a rule is taken apart by name, so a new field doesn't compile
//! until it is compared here or named as one that allows nothing.
//!
//! The answer is "no" wherever these rules can't tell.

use std::path::{Component, Path};

use crate::policy::rules::{
    Arguments, CharSet, Effect, Form, Level, Operand, OptionRule, Options, Order, PathType, REPOSITORY,
    RedirectionType, Restriction, Takes, TextType, ValuePlace, ValueType, accepts, path_types,
};

/// Whether each command line that `new` lets run or asks for is one that `old` treats alike or more laxly. Inserted words and
/// variables are compared elsewhere; the names, reasons and hints of rules allow nothing.
pub(super) fn level(new: &Level, old: &Level) -> bool {
    let Level { path: _, origin: _, syntax, order, refuses_double_dash, insert: _, env: _, arguments, hints: _ } = new;
    match (&old.arguments, arguments) {
        (Arguments::Any { effect, reason: _ }, _) => laxer_than(*effect).all(|laxer| !new.decides(laxer)),
        (Arguments::Described { .. }, Arguments::Any { effect, reason: _ }) => *effect == Effect::Deny,
        (
            Arguments::Described { options: old_options, forms: old_forms, subcommands: old_subcommands },
            Arguments::Described { options: new_options, forms: new_forms, subcommands: new_subcommands },
        ) => {
            let find = |all: &[Level], name: &str| all.iter().position(|level| level.name() == name);
            let is_within = |below: &Level| {
                let other = find(old_subcommands, below.name()).and_then(|place| old_subcommands.get(place));
                below.only_denies() || other.is_some_and(|other| level(below, other))
            };
            // Without its subcommand a word may be an operand.
            let keeps_words = new_forms.iter().all(|form| form.all_operands().next().is_none())
                || old_subcommands.iter().all(|below| find(new_subcommands, below.name()).is_some());
            *syntax == old.syntax
                && (old.order == Order::Any || *order == old.order)
                && *refuses_double_dash >= old.refuses_double_dash
                && (new_subcommands.is_empty() || options(new_options, old_options))
                && new_subcommands.iter().all(is_within)
                && keeps_words
                && redirections_of(new, old)
                && forms(new_forms, old_forms, *refuses_double_dash)
        }
    }
}

/// Whether the paths that a level takes, and what it decides about paths, bound the files of redirections as before.
fn redirections_of(new: &Level, old: &Level) -> bool {
    let is_kept = |own: &PathType| {
        let is_plain = own.under.is_empty() && own.chars.is_none() && own.except.iter().all(|name| name == REPOSITORY);
        is_plain || path_types(new).any(|other| other.access == own.access && path(other, own))
    };
    let of_paths = |level: &Level| -> Vec<Restriction> {
        level.restrictions().filter(|own| matches!(own.value, ValueType::Path(_))).cloned().collect()
    };
    path_types(old).all(is_kept) && restricted(&of_paths(new), &of_paths(old))
}

/// The decisions that are laxer than this one.
fn laxer_than(effect: Effect) -> impl Iterator<Item = Effect> {
    Effect::ALL.into_iter().filter(move |other| *other < effect)
}

fn forms(new: &[Form], old: &[Form], refuses_double_dash: bool) -> bool {
    let form = |new: &Form, old: &Form| form(new, old, refuses_double_dash);
    let allowed = |own: &Form| {
        own.effect == Effect::Deny || old.iter().any(|other| other.effect <= own.effect && form(own, other))
    };
    let kept = |own: &Form| {
        new.iter().all(|other| other.effect >= own.effect)
            || new.iter().any(|other| other.effect >= own.effect && form(own, other))
    };
    new.iter().all(allowed) && old.iter().filter(|form| form.effect != Effect::Allow).all(kept)
}

fn form(new: &Form, old: &Form, refuses_double_dash: bool) -> bool {
    let Form { origin: _, effect: _, reason: _, options: own, operands: words, after_double_dash } = new;
    let after = match (after_double_dash, &old.after_double_dash) {
        (None, None) => true,
        (Some(new), Some(old)) => operands(new, old),
        (Some(new), None) => new.is_empty(),
        (None, Some(_)) => refuses_double_dash,
    };
    options(own, &old.options) && operands(words, &old.operands) && after
}

fn options(new: &Options, old: &Options) -> bool {
    let is_kept = |own: &OptionRule| {
        let other = own.spellings.iter().find_map(|spelling| new.get(spelling));
        // A declared word without a dash is an operand once it is no longer declared.
        let may_go = !own.is_required && own.spellings.iter().all(|spelling| spelling.starts_with('-'));
        other.map_or(may_go, |other| other.is_required || !own.is_required)
    };
    let is_within = |own: &OptionRule| {
        own.spellings.iter().all(|spelling| old.get(spelling).is_some_and(|other| option(own, other)))
    };
    new.iter().all(|own| is_within(own)) && old.iter().all(|own| is_kept(own))
}

fn option(new: &OptionRule, old: &OptionRule) -> bool {
    let OptionRule {
        spellings: _,
        origin: _,
        takes,
        restrictions,
        value_name: _,
        is_required: _,
        is_leading,
        is_secret,
    } = new;
    let takes = match (takes, &old.takes) {
        (Takes::Flag, Takes::Flag) => true,
        (Takes::Value { value, place }, Takes::Value { value: old_value, place: old_place }) => {
            self::value(value, old_value) && (place == old_place || *place == ValuePlace::Attached)
        }
        (Takes::Flag, Takes::Value { .. }) | (Takes::Value { .. }, Takes::Flag) => false,
    };
    takes && restricted(restrictions, &old.restrictions) && *is_leading == old.is_leading && *is_secret >= old.is_secret
}

/// Compares operands in their order. One of `old` may be missing where a call need not have it.
fn operands(new: &[Operand], old: &[Operand]) -> bool {
    match (new, old) {
        ([first, rest @ ..], [old_first, old_rest @ ..]) if operand(first, old_first) && operands(rest, old_rest) => {
            true
        }
        (_, [old_first, old_rest @ ..]) => old_first.least == 0 && operands(new, old_rest),
        (new, []) => new.is_empty(),
    }
}

fn operand(new: &Operand, old: &Operand) -> bool {
    let Operand { name: _, origin: _, value: own, restrictions, least, most, is_secret } = new;
    *least >= old.least
        && old.most.is_none_or(|old| most.is_some_and(|most| most <= old))
        && value(own, &old.value)
        && restricted(restrictions, &old.restrictions)
        && *is_secret >= old.is_secret
}

/// Whether `new` decides at least as strictly about all that `old` asks for or denies.
fn restricted(new: &[Restriction], old: &[Restriction]) -> bool {
    old.iter().all(|own| {
        let Restriction { effect, value: own, reason: _, origin: _ } = own;
        new.iter().any(|other| other.effect >= *effect && restricts(&other.value, own))
    })
}

/// Whether a type that restricts covers another one. How the program uses a path makes no difference here.
fn restricts(new: &ValueType, old: &ValueType) -> bool {
    match (new, old) {
        (ValueType::Path(new), ValueType::Path(old)) => path(&PathType { access: new.access, ..old.clone() }, new),
        (new, old) => value(old, new),
    }
}

/// Whether each value of `new` is one of `old`.
pub(super) fn value(new: &ValueType, old: &ValueType) -> bool {
    match (new, old) {
        (ValueType::Integer { low, high }, ValueType::Integer { low: old_low, high: old_high }) => {
            low >= old_low && high <= old_high
        }
        (ValueType::OneOf(words), ValueType::OneOf(old)) => words.iter().all(|word| old.contains(word)),
        (ValueType::OneOf(words), ValueType::Integer { .. } | ValueType::Text(_)) => {
            words.iter().all(|word| accepts(old, word))
        }
        (ValueType::Text(new), ValueType::Text(old)) => text(new, old),
        (ValueType::Path(new), ValueType::Path(old)) => path(new, old),
        (ValueType::Integer { .. } | ValueType::OneOf(_) | ValueType::Text(_) | ValueType::Path(_), _) => false,
    }
}

fn text(new: &TextType, old: &TextType) -> bool {
    let TextType { chars, first, relative, must_begin, max_length } = new;
    let begins = |own: &String| old.must_begin.iter().any(|beginning| own.starts_with(beginning.as_str()));
    characters(chars.as_ref(), old.chars.as_ref())
        && first.chars().all(|character| old.first.contains(character))
        && *relative >= old.relative
        && (old.must_begin.is_empty() || !must_begin.is_empty() && must_begin.iter().all(begins))
        && *max_length <= old.max_length
}

fn path(new: &PathType, old: &PathType) -> bool {
    let PathType { access, under, except, exists, chars } = new;
    *access <= old.access
        && directories(under, &old.under)
        && old.except.iter().all(|name| except.contains(name))
        && *exists >= old.exists
        && characters(chars.as_ref(), old.chars.as_ref())
}

/// Whether these directories lie in the others, as far as their text tells. None are all that are allowed, which hold those in the project.
fn directories(new: &[String], old: &[String]) -> bool {
    let is_plain = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let is_within = |own: &String| {
        let path = Path::new(own);
        if old.is_empty() {
            return is_plain(path);
        }
        old.contains(own) || is_plain(path) && old.iter().any(|other| path.starts_with(other))
    };
    if new.is_empty() { old.is_empty() } else { new.iter().all(is_within) }
}

fn characters(new: Option<&CharSet>, old: Option<&CharSet>) -> bool {
    old.is_none_or(|old| new.is_some_and(|new| new.is_within(old)))
}

/// The files of redirections; `None` are all that calls may name.
pub(super) fn redirection(new: Option<&RedirectionType>, old: Option<&RedirectionType>) -> bool {
    let Some(old) = old else { return new.is_none_or(|new| directories(&new.path.under, &[])) };
    let Some(RedirectionType { path: own, restrictions }) = new else { return false };
    path(own, &old.path) && restricted(restrictions, &old.restrictions)
}
