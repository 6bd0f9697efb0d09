//! Stands where policies and shipped profiles would be read, in a build without them: rules come from `--allow` and `--ask` alone.

use std::sync::Arc;

use super::error::{PolicyError, Problem};
use super::grammar::{CommandRule, Origin, PolicySource, RuleHead};
use super::load::Described;

/// A shipped policy, of which there is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Profile {}

/// A command of a shipped policy, of which there is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shipped {
    pub name: &'static str,
    pub synopsis: &'static str,
    of: &'static Profile,
}

impl Shipped {
    pub fn head(&'static self) -> RuleHead<'static> {
        match *self.of {}
    }
}

impl Profile {
    pub fn find(_: &str) -> Option<&'static Self> {
        None
    }

    pub fn describing(_: &str) -> Option<&'static Self> {
        None
    }

    pub fn name(&self) -> &'static str {
        match *self {}
    }

    pub fn commands(&self) -> &'static [Shipped] {
        match *self {}
    }

    pub fn extends(&self, _: &Self) -> bool {
        match *self {}
    }

    pub fn rule_for(&self, _: &str) -> Option<&Arc<CommandRule>> {
        match *self {}
    }

    pub fn rule(&self, _: usize) -> Option<&Arc<CommandRule>> {
        match *self {}
    }
}

/// The names of the profiles: none.
pub fn profile_names() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}

/// The text of a profile: none.
pub fn profile_text(_: &str) -> Option<&'static str> {
    None
}

pub(super) fn check_examples(_: &CommandRule) -> Result<(), PolicyError> {
    Ok(())
}

/// Refuses every policy.
pub(super) fn describe(_: &str, source: &Arc<PolicySource>, _: &mut Vec<String>) -> Result<Described, PolicyError> {
    Err(PolicyError { origin: Origin { source: Arc::clone(source), line: 0 }, problem: Problem::NotBuilt })
}

/// Finds no profile.
pub(super) fn profile(_: &str, named_by: &Origin) -> Result<&'static Profile, PolicyError> {
    Err(PolicyError { origin: named_by.clone(), problem: Problem::NotBuilt })
}
