//! Why there is no shell: each text is one sentence for the model, in the answer to the next call.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::dialect::current::SHELL;

/// Why there is no shell.
#[derive(Debug, Error)]
pub enum ShellError {
    /// Its start directory is not a directory, or can't be entered.
    #[error("the directory `{}`, where the shell starts, can't be used: {source}; ask the operator to fix `--cwd` or `--project-dir`", .path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The system refuses to start it.
    #[error("the shell `{}` could not be started: {source}; ask the operator to fix `--shell`", .program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It was started, but does not answer like the expected shell.
    #[error("the program `{}` does not answer as {SHELL}; ask the operator to fix `--shell`", .program.display())]
    NoShell {
        /// The program.
        program: PathBuf,
    },
    /// It was started, but has not answered by the end of the call that waits for it.
    #[error("the shell `{}` has not started within {timeout:?}, so nothing was run; call again later, or ask the operator to fix `--shell`", .program.display())]
    Starting {
        /// The program.
        program: PathBuf,
        /// The timeout of the call.
        timeout: Duration,
    },
    /// It was started, but then could not be watched; it was ended.
    #[error("the shell was ended, because the server could not watch it: {source}")]
    Lost {
        /// The system's error.
        source: io::Error,
    },
}
