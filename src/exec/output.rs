//! What a command came to.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::Captured;
use crate::sandbox::SandboxError;

/// What is left of a command that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub end: End,
    /// What was kept of its standard output.
    pub stdout: Captured,
    /// What was kept of its standard error.
    pub stderr: Captured,
    /// From before the spawn to the end of the tree.
    pub elapsed: Duration,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this exit status.
    Exited(i32),
    /// By this signal, which somebody else sent.
    Signaled(i32),
    /// By the server, at the deadline, which was this long after the start.
    TimedOut(Duration),
    /// By the server, because it was asked to.
    Stopped,
}

/// A process that runs one command after another in itself, as what it leaves behind can be told from what others do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Host {
    /// Its process group.
    pub group: u32,
    /// The inode numbers of the pipes that its commands write to.
    pub pipes: Vec<u64>,
}

/// Why a command that was allowed did not run, or was lost.
#[derive(Debug, Error)]
pub enum ExecError {
    /// The file that was found before is not there any more.
    #[error("the program `{}` is gone", .program.display())]
    ProgramGone {
        /// Its path.
        program: PathBuf,
    },
    /// The file is there, but what should interpret it is not.
    #[error("the program `{}` is there, but the interpreter that its first line or its format names is not", .program.display())]
    InterpreterMissing {
        /// Its path.
        program: PathBuf,
    },
    /// The system refuses to start it.
    #[error("the program `{}` could not be started: {source}", .program.display())]
    Spawn {
        /// Its path.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It can't be confined as the operator asked, so it was not started.
    #[error("it was not started, because it could not be confined: {source}")]
    Confine {
        /// What is in the way.
        source: SandboxError,
    },
    /// It was started, and then could not be watched; it was ended.
    #[error("the command was ended, because the server could not watch it: {source}")]
    Lost {
        /// What the system says.
        source: io::Error,
    },
}
