//! Stands where the workbench would, in a build without it: its subcommands and settings say that they are missing.

use std::io::{BufRead, Write};

use serde_json::Value;

use super::Outcome;
use super::error::{CliError, not_built};
use super::name::Name;
use super::own_flags::{Given, OwnFlag};
use crate::config::{Config, Feature, Flags};
use crate::policy::{CommandLineError, Explanation};
use crate::server::Suggests;

/// There is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Subcommand {}

impl Subcommand {
    pub(super) fn read(name: Name, _: &mut impl Iterator<Item = String>, _: &Given) -> Result<Self, CliError> {
        Err(not_built(name.text(), Feature::Workbench))
    }
}

pub(super) fn run(subcommand: Subcommand, _: &Flags) -> Result<Outcome, CliError> {
    match subcommand {}
}

pub(super) const FLAGS: &[OwnFlag] = &[];
pub(super) const COMMANDS: &str = "";

pub(super) fn words(_: Name) -> (&'static str, &'static str) {
    ("", "This build has no such command: it was built without `workbench`.")
}

/// The ways to allow what was refused, of which it knows none.
pub(super) struct Allowing {}

impl Allowing {
    pub(super) fn of(_: &Explanation, _: bool, _: &Config) -> Self {
        Self {}
    }

    pub(super) fn of_line(_: &CommandLineError, _: &Config) -> Self {
        Self {}
    }

    #[expect(clippy::unused_self, reason = "the workbench knows some")]
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    #[expect(clippy::unused_self, reason = "the workbench knows some")]
    pub(super) fn to_json(&self) -> Value {
        Value::Array(Vec::new())
    }
}

pub(super) fn suggestions(_: &Config) -> Option<Suggests> {
    None
}

/// A recording, of which there is none.
pub(super) enum Recorder {}

impl Recorder {
    pub(super) fn input<I: BufRead>(&self, _: I) -> I {
        match *self {}
    }

    pub(super) fn output<O: Write>(&self, _: O) -> O {
        match *self {}
    }
}

pub(super) fn start_recording(_: &Config, _: &Flags) -> Result<Option<Recorder>, CliError> {
    Ok(None)
}

pub(super) fn finish_recording(recorder: &Recorder, _: &Config) -> Result<(), CliError> {
    match *recorder {}
}
