//! Subcommands that make and read evidence without a server.
//!
//! - `audit`: reads and verifies audit logs
//! - `lock`: writes a lock file of the allowed programs, or compares them with one

pub(super) mod audit;
mod lock;

use super::Outcome;
use super::error::{CliError, not_built};
use super::name::Name;
use super::own_flags::{Given, OwnFlag, Value, flag};
use crate::config::{Config, Feature, Flags, Surroundings};

/// A subcommand about evidence with its own words and flags.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Subcommand {
    Lock { options: lock::Options },
    Audit { action: audit::Action, json: bool },
}

impl Subcommand {
    /// Reads the words and flags of a subcommand; words that it does not take are left over.
    pub(super) fn read(name: Name, words: &mut impl Iterator<Item = String>, given: &Given) -> Result<Self, CliError> {
        let json = given.is_given("json");
        Ok(match name {
            Name::Lock => {
                let check = given.is_given("check");
                // `--check FILE` is how people read the help.
                let file = if check { words.next() } else { None };
                let output = match (given.one("output")?, file) {
                    (Some(output), Some(file)) if output != file => {
                        return Err(CliError::TwoLockFiles { one: output, other: file });
                    }
                    (output, file) => output.or(file),
                };
                let options = lock::Options { output, check, json };
                Self::Lock { options }
            }
            Name::Audit => Self::Audit { action: audit::Action::parse(words, given)?, json },
            name => return Err(not_built(name.text(), Feature::Evidence)),
        })
    }
}

/// Runs a subcommand.
pub(super) fn run(subcommand: Subcommand, flags: &Flags) -> Result<Outcome, CliError> {
    match subcommand {
        Subcommand::Lock { options } => {
            let config = Config::resolve(flags, Surroundings::of_this_process()?)?;
            lock::run(config, flags, &options)
        }
        Subcommand::Audit { action, json } => audit::run(action, json),
    }
}

/// Their flags that are not settings.
pub(super) const FLAGS: &[OwnFlag] = &[
    flag("json", &[Name::Lock, Name::Audit], Value::None, "Print JSON"),
    flag("head", &[Name::Audit], Value::Any, "A hash that the log must hold"),
    flag("since-anchor", &[Name::Audit], Value::File, "A file of heads that the log must hold, one per line"),
    flag("refused", &[Name::Audit], Value::None, "Only what was refused"),
    flag("call", &[Name::Audit], Value::Any, "Only the call with that number"),
    flag("since", &[Name::Audit], Value::Any, "Only records since that time"),
    flag("program", &[Name::Audit], Value::Any, "Only calls of that program"),
    flag("output", &[Name::Lock], Value::File, "The lock file"),
    flag("check", &[Name::Lock], Value::None, "Compare the lock file with the programs, and write nothing"),
];

/// Their part of the list of subcommands.
pub(super) const COMMANDS: &str = "  \
      lock                      write down what the allowed programs are, or compare them\n  \
      audit ACTION              read an audit log: its head, whether it is intact, its records\n";

/// The usage and the explanation of one of them.
pub(super) fn words(about: Name) -> (&'static str, &'static str) {
    match about {
        Name::Lock => (
            "allowexec lock [-o FILE] [--check [FILE]] [--json] [OPTIONS]",
            "Writes down what the allowed programs are, for `--lock FILE`: path, size, SHA-256, mode and owner of each program and of\n\
             the interpreters of scripts, with --sandbox strict of loaders and shared libraries too. Give it the settings that the\n\
             server gets. Without -o it is the file of `--lock`, else `allowexec.lock` here.\n\n\
             --check [FILE]     compare the file with what the programs are now, and print each difference\n\n\
             Exit status: 0 written or the same, 1 something differs, 2 for a wrong flag, configuration or lock file.",
        ),
        Name::Audit => (
            "allowexec audit head|verify|show FILE... [--json]",
            "Reads audit logs, such as `allowexec serve --audit FILE` writes. `-` means standard input.\n\n\
             head FILE                        print the number of records and the hash of the last one\n\
             verify FILE... [--head HASH] [--since-anchor FILE]\n\
             \x20                                check the chain, through the files of one log, the oldest first, and say where it\n\
             \x20                                breaks first and whether that line looks changed, inserted, out of order or cut off\n\
             show FILE... [--refused] [--call N] [--since TIME] [--program NAME]\n\
             \x20                                print the records as a table\n\n\
             --head HASH          the log must hold this hash, which `head` printed earlier\n\
             --since-anchor FILE  the log must hold the heads in this file, one a line\n\
             --refused            only what was refused, by a rule or by a person\n\
             --call N             only call N of each session\n\
             --since TIME         only records since then: `2026-11-23T05:48` (UTC), or `30m` for so long ago\n\
             --program NAME       only calls of this program, by its name or its path\n\
             --json               print JSON; `show` prints the records themselves\n\n\
             Without `--head` or `--since-anchor`, records that were cut off at the end can't be detected.\n\
             Exit status: 0 intact, 1 broken, 2 for a file that can't be read or a wrong flag.",
        ),
        _ => ("", ""),
    }
}
