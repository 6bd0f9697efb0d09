//! Why it can't be told which files are executed with a program.

use std::path::PathBuf;

use thiserror::Error;

/// Why it can't be told. Each text goes on after "since".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unclear {
    /// What it names is looked up where the call runs.
    #[error(
        "its first line names `{}`, which is looked up in the directory of each call; name an absolute path there", .named.display()
    )]
    Relative {
        /// What it names.
        named: PathBuf,
    },
    /// env(1) starts it by more than a name.
    #[error(
        "it can't be told which interpreter its first line starts: it calls env(1) with `{argument}`, and {why}; name the interpreter's \
         path there, or only its name behind `env` or `env -S`"
    )]
    Env {
        /// What env(1) gets.
        argument: String,
        /// What is not followed.
        why: &'static str,
    },
    /// An entry of `PATH` that is no absolute path comes first.
    #[error(
        "it can't be told which interpreter its first line starts: env(1) looks `{name}` up in PATH, whose entry `{}` is the directory of \
         each call; set `PATH` to absolute directories", .entry.display()
    )]
    InDirectory {
        /// What is looked up.
        name: String,
        /// The entry.
        entry: PathBuf,
    },
    /// There is no `PATH`.
    #[error(
        "it can't be told which interpreter its first line starts: env(1) looks `{name}` up in PATH, which a rule unsets; set it there instead"
    )]
    NoPath {
        /// What is looked up.
        name: String,
    },
    /// What it names can't be executed.
    #[error("it needs `{}`, which does not exist or can't be executed", .named.display())]
    Broken {
        /// What it names.
        named: PathBuf,
    },
}
