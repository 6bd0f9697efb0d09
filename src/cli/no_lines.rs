//! Stands where the subcommands about lines would, in a build without them: they say that they are missing.

use super::Outcome;
use super::error::{CliError, not_built};
use super::name::Name;
use super::own_flags::{Given, OwnFlag};
use crate::config::{Feature, Flags};

/// There is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Subcommand {}

impl Subcommand {
    pub(super) fn read(name: Name, _: &mut impl Iterator<Item = String>, _: &Given) -> Result<Self, CliError> {
        Err(not_built(name.text(), Feature::Lines))
    }
}

pub(super) fn run(subcommand: Subcommand, _: &Flags) -> Result<Outcome, CliError> {
    match subcommand {}
}

pub(super) const FLAGS: &[OwnFlag] = &[];
pub(super) const COMMANDS: &str = "";

pub(super) fn words(_: Name) -> (&'static str, &'static str) {
    ("", "This build has no such command: it was built without `lines`.")
}
