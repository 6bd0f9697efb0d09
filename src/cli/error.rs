//! What keeps a subcommand from doing its work; each ends the program with 2.

use std::io;

use thiserror::Error;

use crate::config::ConfigError;
use crate::files::PlaceError;
use crate::integrity::LockError;
use crate::server::NotStarted;

/// A wrong command line or configuration, or a stream that failed.
#[derive(Debug, Error)]
pub(super) enum CliError {
    /// The system does not let the process keep commands from itself.
    #[error(
        "commands could access this process, since it can't be protected from them: {source}; start it where prctl(2) is allowed"
    )]
    Hardening {
        /// What the system says.
        source: io::Error,
    },
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
    /// A word is left over, or stands on the wrong side of `--`.
    #[error("unexpected argument `{found}`; {help}")]
    Misplaced {
        /// As it was given.
        found: String,
        /// What was probably meant.
        help: String,
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
    /// What `--pass-env` names is no variable.
    #[error(
        "`allowexec replay --pass-env` takes names of variables, found `{found}`; a transcript sets values by `env:`"
    )]
    NoNameOfVariable {
        /// As it was given.
        found: String,
    },
    /// The value of a flag that is no setting.
    #[error("flag `--{flag}`: expected {expected}, found `{found}`")]
    Value {
        /// Without its dashes.
        flag: &'static str,
        /// As it was given.
        found: String,
        /// What could stand there.
        expected: &'static str,
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
    /// A file that was named can't be read.
    #[error("can't read `{file}`")]
    Read {
        /// Its name.
        file: String,
        /// What is in the way.
        source: crate::files::ReadError,
    },
    /// The file of a report can't be written.
    #[error("can't write the report to `{file}`{how}")]
    Report {
        /// Its name.
        file: String,
        /// What would mend it.
        how: &'static str,
        /// What is in the way.
        source: PlaceError,
    },
    /// An audit log, or a file of anchors, holds what can't be followed.
    #[error("`{file}`: {why}")]
    Audit {
        /// Its name.
        file: String,
        /// As a clause.
        why: String,
    },
    /// A policy, or what is asked about one, is wrong.
    #[error("{why}")]
    Policy {
        /// As a sentence.
        why: String,
    },
    /// The file of the log can't be opened.
    #[error("the log can't be written to `{file}`; name another file with `--log-file` or `ALLOWEXEC_LOG_FILE`")]
    LogFile {
        /// As it was named.
        file: String,
        /// What is in the way.
        source: PlaceError,
    },
    /// The file of `--record` can't be opened, or not be written any more though that is required.
    #[error("can't record to `{file}` ({how})")]
    Record {
        /// Its name.
        file: String,
        /// What has named it.
        how: &'static str,
        /// What is in the way.
        source: PlaceError,
    },
    /// A setting that no line of a transcript can hold.
    #[error("can't record to `{file}` ({how}): {problem}")]
    Unrecordable {
        /// The file's name.
        file: String,
        /// What has named it.
        how: &'static str,
        /// What can't be written.
        problem: crate::transcript::Problem,
    },
    /// A server that was named on the command line can't be started.
    #[error("can't start `{command}`")]
    Start {
        /// The program.
        command: String,
        /// What the system says.
        source: io::Error,
    },
    /// A file that was asked for can't be written.
    #[error("can't write `{file}`")]
    Write {
        /// Its name.
        file: String,
        /// What is in the way.
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
        /// What is wrong with it.
        source: LockError,
        /// The command that writes it.
        command: String,
    },
    /// What stands where the lock file is to be written is something else.
    #[error("`{file}` is no lock file, so it is not replaced; name another file with `-o`, or remove it")]
    NoLockFile {
        /// Its name.
        file: String,
    },
    /// What is allowed names no program.
    #[error("nothing can be locked: {why}")]
    NothingToLock {
        /// Why, with what to change.
        why: String,
    },
    /// The lock file can't be written.
    #[error("can't write the lock file `{file}`")]
    WriteLock {
        /// Its name.
        file: String,
        /// What is in the way.
        source: PlaceError,
    },
    /// What was asked for can't be printed.
    #[error("can't write to standard output")]
    Output {
        /// What the system says.
        source: io::Error,
    },
    /// The server can't start with this configuration.
    #[error(transparent)]
    NotStarted(#[from] NotStarted),
    /// The path of this program can't be found.
    #[error("can't find the path of this program; start allowexec by its path")]
    OwnProgram {
        /// What the system says.
        source: io::Error,
    },
    /// The path of this program is no text.
    #[error("the path of this program, `{name}`, is no UTF-8, and clients' files hold nothing else; move it")]
    OwnProgramName {
        /// The path, as far as it can be shown.
        name: String,
    },
    /// No client has this name.
    #[error("unknown client `{found}`{help}")]
    UnknownClient {
        /// As it was given.
        found: String,
        /// The one that was probably meant, or their names.
        help: String,
    },
    /// A flag of one letter that there is not.
    #[error("unknown flag `-{found}`{help}")]
    UnknownShort {
        /// As it was given, without its dash.
        found: String,
        /// The one that was probably meant, or those that there are.
        help: String,
    },
    /// A word behind a list, of which it was probably meant to be a part.
    #[error("unexpected argument `{found}` behind `--{flag} {value}`; lists take commas: `--{flag} {value},{found}`")]
    BehindList {
        /// As it was given.
        found: String,
        /// The list's flag.
        flag: &'static str,
        /// What was given as the list.
        value: String,
    },
    /// The server could not go on.
    #[error("the server can't go on")]
    Serve {
        /// What the system says.
        source: io::Error,
    },
}
