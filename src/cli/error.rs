//! What keeps a subcommand from doing its work; each ends the program with 2.

use std::io;

use thiserror::Error;

use crate::config::ConfigError;
use crate::sandbox::SandboxError;

/// A wrong command line or configuration, or a stream that failed.
#[derive(Debug, Error)]
pub(super) enum CliError {
    /// A setting is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An argument is wrong in its form.
    #[error(transparent)]
    Argument(#[from] lexopt::Error),
    /// A word stands where none is expected.
    #[error("unexpected argument `{found}`; {expected}")]
    Unexpected {
        /// As it was given.
        found: String,
        /// What could stand there.
        expected: &'static str,
    },
    /// No subcommand has this name.
    #[error("unknown command `{found}`{help}")]
    UnknownCommand {
        /// As it was given.
        found: String,
        /// The one that was probably meant, or their names.
        help: String,
    },
    /// A flag that a subcommand without settings does not have.
    #[error("`allowexec {subcommand}` has no flag `--{flag}`{help}")]
    UnknownOwnFlag {
        /// As it was given.
        flag: String,
        /// The subcommand.
        subcommand: &'static str,
        /// The one that was probably meant, or those that it has.
        help: String,
    },
    /// No completions are known for this shell.
    #[error("no completions for `{found}`{help}")]
    UnknownShell {
        /// As it was given.
        found: String,
        /// The one that was probably meant, or their names.
        help: String,
    },
    /// A subcommand lacks a word.
    #[error("`allowexec {subcommand}` needs {what}; see `allowexec {subcommand} --help`")]
    Missing {
        /// Its name.
        subcommand: &'static str,
        /// What is missing.
        what: &'static str,
    },
    /// The arguments of a tool are no JSON object.
    #[error("the arguments of the tool must be a JSON object, for instance '{{\"command\":\"ls\"}}': {why}")]
    ToolArguments {
        /// What is wrong.
        why: String,
    },
    /// The server refused the call as such.
    #[error("{message}")]
    Protocol {
        /// What the server says.
        message: String,
    },
    /// A transcript can't be read, or is none.
    #[error("{why}")]
    Transcript {
        /// Its name, the line, and what was expected there.
        why: String,
    },
    /// The file of `--record` can't be opened, or not be written any more though that is required.
    #[error("can't record to `{file}` (`--record` or `ALLOWEXEC_RECORD`)")]
    Record {
        /// Its name.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// A setting that no line of a transcript can hold.
    #[error("can't record to `{file}` (`--record` or `ALLOWEXEC_RECORD`): {problem}")]
    Unrecordable {
        /// The file's name.
        file: String,
        /// What can't be written.
        problem: crate::transcript::Problem,
    },
    /// A signal ended a replay.
    #[error("interrupted")]
    Interrupted,
    /// What was asked for can't be printed.
    #[error("can't write to standard output")]
    Output {
        /// What the system says.
        source: io::Error,
    },
    /// Commands can't be confined as the operator asked.
    #[error("{why}")]
    Sandbox {
        /// What is in the way.
        why: String,
    },
    /// The server could not go on.
    #[error("the server can't go on")]
    Serve {
        /// What the system says.
        source: io::Error,
    },
}

impl CliError {
    pub(super) fn sandbox(error: &SandboxError) -> Self {
        Self::Sandbox { why: error.to_string() }
    }
}
