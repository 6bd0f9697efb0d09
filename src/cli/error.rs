//! Errors that keep a subcommand from doing its work; each ends the program with 2.

use std::io;

use thiserror::Error;

use crate::config::{ConfigError, Feature};
use crate::files::PlaceError;
use crate::integrity::LockError;
use crate::server::NotStarted;

/// A wrong command line or configuration, or a stream that failed.
#[derive(Debug, Error)]
pub(super) enum CliError {
    /// The system does not let the process protect itself from commands.
    #[error("this process can't be protected from commands: {source}; start it where prctl(2) is allowed")]
    Hardening {
        /// The system's error.
        source: io::Error,
    },
    /// A setting is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An argument is wrong in its form.
    #[error(transparent)]
    Argument(#[from] lexopt::Error),
    /// A word is left over, is on the wrong side of `--`, or is not text.
    #[error("unexpected argument `{found}`; {help}")]
    Misplaced {
        /// As it was given.
        found: String,
        /// The argument that is expected, or was probably meant.
        help: String,
    },
    /// No subcommand, action, client, shell or short flag has this name.
    #[error("unknown {kind} `{found}`{help}")]
    Unknown {
        /// The kind of name that was expected.
        kind: &'static str,
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
    /// A word of `--pass-env` is not the name of a variable.
    #[error("`--pass-env` takes names of variables, found `{found}`; a transcript sets values with `env:`")]
    NoNameOfVariable {
        /// As it was given.
        found: String,
    },
    /// A wrong value of a flag that is not a setting.
    #[error("flag `--{flag}`: expected {expected}, found `{found}`")]
    Value {
        /// Without its dashes.
        flag: &'static str,
        /// As it was given.
        found: String,
        /// The expected value.
        expected: &'static str,
    },
    /// A word that a subcommand needs is missing.
    #[error("`allowexec {subcommand}` needs {what}; see `allowexec {subcommand} --help`")]
    Missing {
        /// Its name.
        subcommand: &'static str,
        /// The missing word.
        what: &'static str,
    },
    /// The arguments of a tool are not a JSON object.
    #[error("the arguments of the tool must be a JSON object, for instance '{{\"command\":\"ls\"}}': {why}")]
    ToolArguments {
        /// The mistake.
        why: String,
    },
    /// The server answered the call with an error.
    #[error("{message}")]
    Protocol {
        /// The server's message.
        message: String,
    },
    /// A transcript can't be read, or is not valid.
    #[error("{why}")]
    Transcript {
        /// Its name, the line, and what was expected there.
        why: String,
    },
    /// A file that was named can't be read.
    #[error("can't read `{file}`")]
    Read {
        /// Its name.
        file: String,
        /// Why.
        source: crate::files::ReadError,
    },
    /// The file of a report can't be written.
    #[error("can't write the report to `{file}`{how}")]
    Report {
        /// Its name.
        file: String,
        /// How to mend it.
        how: &'static str,
        /// Why.
        source: PlaceError,
    },
    /// An audit log or a file of anchors is not one.
    #[error("`{file}`: {why}")]
    Audit {
        /// Its name.
        file: String,
        /// The mistake, as a clause.
        why: String,
    },
    /// A policy, or a question about one, is wrong.
    #[error("{why}")]
    Policy {
        /// The mistake, as a sentence.
        why: String,
    },
    /// The file of the log can't be opened.
    #[error("the log can't be written to `{file}`; name another file with `--log-file` or `ALLOWEXEC_LOG_FILE`")]
    LogFile {
        /// As it was named.
        file: String,
        /// Why.
        source: PlaceError,
    },
    /// The file of a recording can't be opened, or a recording that is required can't be continued.
    #[error("can't record to `{file}` ({how})")]
    Record {
        /// Its name.
        file: String,
        /// The setting that named it, or how to mend it.
        how: &'static str,
        /// Why.
        source: PlaceError,
    },
    /// A setting that no line of a transcript can hold.
    #[error("can't record to `{file}` ({how}): {problem}")]
    Unrecordable {
        /// The file's name.
        file: String,
        /// The setting that named it.
        how: &'static str,
        /// The part that can't be written, and why.
        problem: String,
    },
    /// A server that was named on the command line can't be started.
    #[error("can't start `{command}`")]
    Start {
        /// The program.
        command: String,
        /// The system's error.
        source: io::Error,
    },
    /// A file that was asked for can't be written.
    #[error("can't write `{file}`")]
    Write {
        /// Its name.
        file: String,
        /// Why.
        source: PlaceError,
    },
    /// A signal ended a replay.
    #[error("interrupted")]
    Interrupted,
    /// The programs can't be locked, or the lock file can't be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The lock file can't be compared.
    #[error("the programs can't be compared; `{command}` writes the lock file")]
    ReadLock {
        /// The mistake in it.
        source: LockError,
        /// The command that writes it.
        command: String,
    },
    /// Two lock files are named.
    #[error("`--check {other}` and `-o {one}` name two lock files; name one")]
    TwoLockFiles {
        /// One of them.
        one: String,
        /// The other.
        other: String,
    },
    /// The file that would be replaced by the lock file is something else.
    #[error("`{file}` is not a lock file, so it is not replaced; name another file with `-o`, or remove it")]
    NoLockFile {
        /// Its name.
        file: String,
    },
    /// The allow-list names no program.
    #[error("nothing can be locked: {why}")]
    NothingToLock {
        /// Why, with what to change.
        why: String,
    },
    /// Standard output can't be written to.
    #[error("can't write to standard output")]
    Output {
        /// The system's error.
        source: io::Error,
    },
    /// The server can't start with this configuration.
    #[error(transparent)]
    NotStarted(#[from] NotStarted),
    /// The path of this program can't be found.
    #[error("can't find the path of this program; start allowexec by its path")]
    OwnProgram {
        /// The system's error.
        source: io::Error,
    },
    /// The path of this program is not UTF-8.
    #[error("the path of this program, `{name}`, is not UTF-8, as clients' files must be; move the program")]
    OwnProgramName {
        /// The path, as far as it can be shown.
        name: String,
    },
    /// A word after a list, which was probably meant to be an entry of that list.
    #[error("unexpected argument `{found}` after `--{flag} {value}`; lists take commas: `--{flag} {value},{found}`")]
    AfterList {
        /// As it was given.
        found: String,
        /// The list's flag.
        flag: &'static str,
        /// The value of the flag.
        value: String,
    },
    /// A stream, a thread or a signal handler failed.
    #[error("allowexec can't continue")]
    Serve {
        /// The system's error.
        source: io::Error,
    },
}

/// The error for a subcommand that the build was made without.
pub(super) fn not_built(subcommand: &str, feature: Feature) -> CliError {
    ConfigError::NotBuilt { what: subcommand.to_owned(), feature: feature.name() }.into()
}

impl CliError {
    /// The error for a stream, a thread or a signal handler that failed.
    pub(super) fn serve(source: io::Error) -> Self {
        Self::Serve { source }
    }
}
