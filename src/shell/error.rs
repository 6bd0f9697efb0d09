//! Why there is no shell: each is one sentence for the model, which the next call is answered with.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::dialect::current::SHELL;

/// Why there is no shell.
#[derive(Debug, Error)]
pub enum ShellError {
    /// Where it should start is no directory, or can't be entered.
    #[error("the directory `{}`, where the shell starts, can't be used: {source}; ask the operator to mend `--cwd` or `--project-dir`", .path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system refuses to start it.
    #[error("the shell `{}` could not be started: {source}; ask the operator to mend `--shell`", .program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It was started, and does not answer as the shell that it should be.
    #[error("the program `{}` does not answer as {SHELL}; ask the operator to mend `--shell`", .program.display())]
    NoShell {
        /// The program.
        program: PathBuf,
    },
    /// It was started, and has not answered by the end of the call that waits for it.
    #[error("the shell `{}` has not started within {timeout:?}, so nothing was run; call again later, or ask the operator to mend `--shell`", .program.display())]
    Starting {
        /// The program.
        program: PathBuf,
        /// What the call has.
        timeout: Duration,
    },
    /// It was started, and then could not be watched; it was ended.
    #[error("the shell was ended, because the server could not watch it: {source}")]
    Lost {
        /// What the system says.
        source: io::Error,
    },
}
