//! Why an allowed program is not executed.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::{Replaceable, Unclear};

/// Why an allowed program is not executed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Untrusted {
    /// The file no longer exists.
    #[error("the program `{}` is gone", .program.display())]
    Gone {
        /// Its path.
        program: PathBuf,
    },
    /// It was changed between the check and the start.
    #[error("the program `{}` was changed while it was being started, so it was not run; call it again", .program.display())]
    Changed {
        /// Its path.
        program: PathBuf,
    },
    /// The program, or a file that is executed with it, can't be read.
    #[error("the program `{}` is not trusted, since `{}` can't be examined: {source}", .program.display(), .file.display())]
    Unknown {
        /// The program.
        program: PathBuf,
        /// The file that can't be read.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Somebody else can replace it.
    #[error("the program `{}` does not run with `--trust owner`, since {found}; {}", .program.display(), .found.help())]
    Replaceable {
        /// The program.
        program: PathBuf,
        /// The program, a file that is executed with it, or something on the way to them.
        found: Replaceable,
    },
    /// The lock file can't be used.
    #[error("no program runs, since {why}")]
    NoLock {
        /// The mistake in it.
        why: String,
    },
    /// The lock file does not hold it.
    #[error(
        "the program `{}` is not in the lock file `{}`; if it is meant to run, run `allowexec lock` again, and restart the server",
        .program.display(), .lock.display()
    )]
    NotLocked {
        /// The program.
        program: PathBuf,
        /// The lock file.
        lock: PathBuf,
    },
    /// It differs from the lock file.
    #[error(
        "the program `{}` is not what the lock file `{}` holds ({what}); if this update is meant, run `allowexec lock` again, and \
         restart the server", .program.display(), .lock.display()
    )]
    Differs {
        /// The program.
        program: PathBuf,
        /// The lock file.
        lock: PathBuf,
        /// The differences, in it and in files that are executed with it.
        what: String,
    },
    /// It is unclear what is executed with it.
    #[error("the program `{}` does not run with `--trust owner`, since `{}` can't be followed: {why}", .program.display(), .file.display())]
    Unclear {
        /// The program.
        program: PathBuf,
        /// The program, or one of its interpreters.
        file: PathBuf,
        /// Why not.
        why: Unclear,
    },
}
