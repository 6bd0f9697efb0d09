//! The subcommands, and how each is read from its words and its own flags.

use super::error::CliError;
use super::help::Length;
use super::name::Name;
use super::own_flags::Given;
use super::words::{some, word};
use super::{evidence, lines, workbench};

/// A subcommand with its own words and flags.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Subcommand {
    Serve,
    Call {
        tool: String,
        arguments: Option<String>,
        json: bool,
    },
    Check {
        directory: Option<String>,
        command: Vec<String>,
        with_input: bool,
        json: bool,
    },
    Tools {
        json: bool,
    },
    /// Runs a line, or decides on one.
    Lines(lines::Subcommand),
    /// Makes or reads evidence.
    Evidence(evidence::Subcommand),
    /// Helps to prepare, to test and to look back.
    Workbench(workbench::Subcommand),
    Help(Name, Length),
    Version,
}

impl Subcommand {
    /// Reads the words and flags of a subcommand; words that it does not take are left over.
    pub(super) fn read(
        name: Option<Name>,
        words: &mut impl Iterator<Item = String>,
        given: &Given,
    ) -> Result<Self, CliError> {
        let json = given.is_given("json");
        Ok(match name {
            None | Some(Name::Program | Name::Serve) => Self::Serve,
            Some(Name::Tools) => Self::Tools { json },
            Some(Name::Call) => {
                let tool = word(words, "call", "the name of a tool")?;
                Self::Call { tool, arguments: words.next(), json }
            }
            Some(name @ (Name::Run | Name::Hook)) => Self::Lines(lines::Subcommand::read(name, words, given)?),
            Some(Name::Check) => {
                let command = some(words, "check", "a command after `--`")?;
                Self::Check { directory: given.one("in")?, command, with_input: given.is_given("with-input"), json }
            }
            Some(name @ (Name::Lock | Name::Audit)) => Self::Evidence(evidence::Subcommand::read(name, words, given)?),
            Some(name) => Self::Workbench(workbench::Subcommand::read(name, words, given)?),
        })
    }
}
