//! Rules about the files that redirections of a line read and write.

use std::sync::Arc;

use super::grammar::{Access, CommandRule, Effect, Form, Level, OptionRule, PathType, Restriction, Takes, ValueType};
use super::judge::{PathJudge, is_restricted};
use super::matcher::{self, Claim};
use super::reach::{HeldClaim, PathError, REPOSITORY};

/// The types of the files of redirections, which narrow what holds for every path of a call. `None` narrows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redirections {
    /// The files that they write.
    pub write: Option<RedirectionType>,
    /// The files that they read.
    pub read: Option<RedirectionType>,
}

/// The type of the paths that redirections name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectionType {
    /// Where they lie.
    pub path: PathType,
    /// Those for which something stricter is decided.
    pub restrictions: Vec<Restriction>,
}

impl Redirections {
    /// Whether some files are denied.
    pub(crate) fn denies(&self) -> bool {
        self.decides(Effect::Deny)
    }

    /// Whether a person is asked about some files.
    pub(crate) fn asks(&self) -> bool {
        self.decides(Effect::Ask)
    }

    fn decides(&self, effect: Effect) -> bool {
        let mut types = self.write.iter().chain(&self.read);
        types.any(|own| own.restrictions.iter().any(|restriction| restriction.effect == effect))
    }
}

/// The decision on a file that a redirection names.
#[derive(Debug)]
pub(crate) enum Redirected {
    /// It lies where it must.
    Allowed(HeldClaim),
    /// A person has to approve it; the operator's reason.
    Ask(HeldClaim, Option<String>),
    /// It is refused; the operator's reason.
    Denied(Option<String>),
    /// It does not lie where it must.
    Elsewhere(PathError),
}

/// A command that a redirection counts for, by its rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ruled {
    pub rule: Arc<CommandRule>,
    /// The command and its subcommands, as far as its words name them.
    level: Vec<String>,
}

impl Ruled {
    /// The command of these words, which this rule describes.
    pub(crate) fn new(rule: Arc<CommandRule>, words: &[String]) -> Self {
        let levels =
            matcher::read(&rule.level, words).ok().and_then(|matches| Some(matches.into_iter().next()?.levels));
        let last = levels.and_then(|levels| Some(levels.last()?.0.path.clone()));
        let level = last.unwrap_or_else(|| rule.level.path.clone());
        Self { rule, level }
    }

    /// The levels of its rule that its words pass through.
    fn levels(&self) -> impl Iterator<Item = &Level> {
        self.rule.level.levels().into_iter().filter(|level| self.level.starts_with(&level.path))
    }
}

/// Decides about a file that a redirection names: by `own`, the type that the policy gives to redirections, and by the types of
/// the paths that the rules of its commands take.
pub(crate) fn redirected(
    (text, access): (&str, Access),
    own: Option<&RedirectionType>,
    commands: &[Ruled],
    paths: &mut dyn PathJudge,
) -> Redirected {
    let except = if access == Access::Write { vec![REPOSITORY.to_owned()] } else { Vec::new() };
    let plain = PathType { access, under: Vec::new(), except, exists: false, chars: None };
    let levels: Vec<&Level> = commands.iter().flat_map(Ruled::levels).collect();
    let is_of = |path: &&PathType| path.access == access;
    let of_rule = levels.iter().flat_map(|level| path_types(level)).filter(is_of);
    let bounds = own.map(|own| &own.path).into_iter().chain(of_rule);
    let bounds = bounds.map(|path| PathType { exists: false, ..path.clone() });
    let mut held = None;
    for path in std::iter::once(plain).chain(bounds) {
        match paths.judge(&Claim { word: 0, text, path: &path }) {
            Ok(claim) => held = held.or(Some(claim)),
            Err(error) => return Redirected::Elsewhere(error),
        }
    }
    let of_own = own.into_iter().flat_map(|own| &own.restrictions);
    let restrictions = of_own.chain(levels.iter().flat_map(|level| level.restrictions()));
    let strictest = restrictions
        .filter(|restriction| matches!(restriction.value, ValueType::Path(_)))
        .filter(|restriction| is_restricted(restriction, (0, text), paths).is_some())
        .max_by_key(|restriction| restriction.effect);
    let reason = |restriction: &Restriction| restriction.reason.clone();
    match (strictest, held) {
        (Some(restriction @ Restriction { effect: Effect::Ask, .. }), Some(held)) => {
            Redirected::Ask(held, reason(restriction))
        }
        (None, Some(held)) => Redirected::Allowed(held),
        (restriction, _) => Redirected::Denied(restriction.and_then(reason)),
    }
}

/// The types of the paths that a level takes. They bound the files of redirections of its calls, too.
pub(crate) fn path_types(level: &Level) -> impl Iterator<Item = &PathType> {
    let of_option = |option: &'_ OptionRule| match &option.takes {
        Takes::Value { value: ValueType::Path(_), .. } => true,
        Takes::Value { .. } | Takes::Flag => false,
    };
    let options =
        level.all_options().filter(move |option| of_option(option)).filter_map(|option| match &option.takes {
            Takes::Value { value: ValueType::Path(path), .. } => Some(path),
            Takes::Value { .. } | Takes::Flag => None,
        });
    let operands = level.forms().iter().flat_map(Form::all_operands).filter_map(|operand| match &operand.value {
        ValueType::Path(path) => Some(path),
        ValueType::Integer { .. } | ValueType::OneOf(_) | ValueType::Text(_) => None,
    });
    options.chain(operands)
}

impl CommandRule {
    /// Whether the decision on these words asks the file system about one of them.
    #[cfg(unix)]
    pub(crate) fn asks_of_files(&self, words: &[String]) -> bool {
        let restricts_path =
            |(_, _, restriction): &(usize, &str, &Restriction)| matches!(restriction.value, ValueType::Path(_));
        let asks = |found: &matcher::Match<'_>| {
            !found.claims(words).is_empty() || found.restricted(words).iter().any(restricts_path)
        };
        !self.cwd_under.is_empty() || matcher::read(&self.level, words).is_ok_and(|matches| matches.iter().any(asks))
    }

    /// Whether the decision on these words depends on what is in the file system.
    pub(crate) fn depends_on_files(&self, words: &[String]) -> bool {
        !self.cwd_under.is_empty()
            || matcher::read(&self.level, words).is_ok_and(|matches| {
                matches.iter().any(|found| found.levels.last().is_some_and(|(level, _)| level.has_paths()))
            })
    }
}
