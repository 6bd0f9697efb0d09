//! The flags of subcommands that are not settings, in one table: for reading, completing and suggesting them.

use super::error::CliError;
use super::name::Name;
use super::{evidence, lines, workbench};
use crate::config::repeated;

/// The kind of value that a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// The flag takes none.
    None,
    /// One that no shell can complete.
    Any,
    Directory,
    File,
    Program,
}

/// A flag of some subcommands.
#[derive(Clone, Copy)]
pub(super) struct OwnFlag {
    pub name: &'static str,
    /// The subcommands that have it.
    pub of: &'static [Name],
    pub value: Value,
    pub help: &'static str,
}

pub(super) const fn flag(name: &'static str, of: &'static [Name], value: Value, help: &'static str) -> OwnFlag {
    OwnFlag { name, of, value, help }
}

const TABLE: &[OwnFlag] = &[
    flag("json", &[Name::Call, Name::Check, Name::Tools], Value::None, "Print JSON"),
    flag("in", &[Name::Check], Value::Directory, "The directory that the call would name"),
    flag("with-input", &[Name::Check], Value::None, "Ask about a call that has input"),
];

/// The flags of a subcommand that are not settings.
pub(super) fn of(name: Name) -> impl Iterator<Item = &'static OwnFlag> {
    let rooms = lines::FLAGS.iter().chain(evidence::FLAGS).chain(workbench::FLAGS);
    TABLE.iter().chain(rooms).filter(move |flag| flag.of.contains(&name))
}

/// The flags that were given, with their values, which are empty for flags without one.
#[derive(Default)]
pub(super) struct Given(Vec<(&'static str, String)>);

impl Given {
    pub(super) fn add(&mut self, flag: &'static str, value: String) {
        self.0.push((flag, value));
    }

    pub(super) fn is_given(&self, flag: &str) -> bool {
        self.0.iter().any(|(name, _)| *name == flag)
    }

    /// Every value of a flag, in order.
    pub(super) fn all<'a>(&'a self, flag: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(name, _)| *name == flag).map(|(_, value)| value.as_str())
    }

    /// The value of a flag that takes one.
    ///
    /// # Errors
    /// If it is given twice.
    pub(super) fn one(&self, flag: &'static str) -> Result<Option<String>, CliError> {
        let mut values = self.all(flag).map(str::to_owned);
        match (values.next(), values.next()) {
            (Some(first), Some(second)) => Err(repeated(flag, &[first], &[second]).into()),
            (first, _) => Ok(first),
        }
    }
}
