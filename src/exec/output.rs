//! The outcome of a command.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use super::{Captured, Failure, Limit};
use crate::integrity::Untrusted;
use crate::sandbox::SandboxError;

/// The output of a command, and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub end: End,
    /// Its standard output, as far as it was kept.
    pub stdout: Captured,
    /// Its standard error, as far as it was kept.
    pub stderr: Captured,
    /// The limit that it hit, if the kernel tells.
    pub limit: Option<Limit>,
    /// From before the spawn to the end of the tree.
    pub elapsed: Duration,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It exited with this status.
    Exited(i32),
    /// This signal ended it, and the server did not send it.
    Signaled(i32),
    /// The server ended it at the deadline, this long after the start.
    TimedOut(Duration),
    /// The server ended it at a stop signal.
    Stopped,
}

/// A process that runs one command after another (the persistent shell): what is needed to recognise its leftovers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Host {
    /// Its process group.
    pub group: u32,
    /// The inode numbers of the streams that its commands write to; on Linux they are sockets.
    pub streams: Vec<u64>,
}

/// Why an allowed command did not run, or was lost.
#[derive(Debug, Error)]
pub enum ExecError {
    /// The file that was found before no longer exists.
    #[error("the program `{}` is gone", .program.display())]
    ProgramGone {
        /// Its path.
        program: PathBuf,
    },
    /// The file that was found is not the one any more that a person has approved.
    #[error("the program `{}` was changed since a person approved it, so it was not run; call it again", .program.display())]
    ProgramChanged {
        /// Its path.
        program: PathBuf,
    },
    /// The program is not one that the operator trusts.
    #[error("it was not started: {source}")]
    Untrusted {
        /// Why not.
        source: Untrusted,
    },
    /// The file exists, but its interpreter does not.
    #[error("the program `{}` exists, but the interpreter that its first line or its format names does not", .program.display())]
    InterpreterMissing {
        /// Its path.
        program: PathBuf,
    },
    /// The system refuses to start it.
    #[error("the program `{}` could not be started: {source}", .program.display())]
    Spawn {
        /// Its path.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Its words are longer than the system takes.
    #[error(
        "the program `{}` could not be started: {source}; pass long text as `input`, and many files in several calls",
        .program.display()
    )]
    TooLong {
        /// Its path.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Its limits could not be set, so it was not started.
    #[error("it was not started, because its limits could not be set: {source}")]
    Limits {
        /// The system's error.
        source: io::Error,
    },
    /// It can't be confined as the operator asked, so it was not started.
    #[error("it was not started, because it could not be confined: {source}")]
    Confine {
        /// The sandbox's error.
        source: SandboxError,
    },
    /// The program that embeds the server runs commands in its own way.
    #[error("lines of several commands are not run here; call its commands one by one")]
    NoLines,
    /// It was started, and then could not be watched; it was ended.
    #[error("the command was ended, because the server could not watch it: {source}")]
    Lost {
        /// The system's error.
        source: io::Error,
    },
}

/// Why a command never began.
pub(crate) fn failed(failure: Failure, program: &Path) -> ExecError {
    match failure {
        Failure::Exec(source) => spawn_error(program.to_owned(), source),
        Failure::Limits(source) => ExecError::Limits { source },
        Failure::Network(source) => ExecError::Confine { source: SandboxError::NotEntered { source } },
    }
}

/// Why the system did not start a program.
pub(super) fn spawn_error(program: PathBuf, source: io::Error) -> ExecError {
    if source.kind() == io::ErrorKind::ArgumentListTooLong {
        return ExecError::TooLong { program, source };
    }
    if source.kind() != io::ErrorKind::NotFound {
        return ExecError::Spawn { program, source };
    }
    // The directory is held open, so it can't be what is missing.
    if program.exists() { ExecError::InterpreterMissing { program } } else { ExecError::ProgramGone { program } }
}
