//! Why it is unclear which files are executed with a program.

use std::path::PathBuf;

use thiserror::Error;

/// Why it is unclear. The texts can follow the word "since".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unclear {
    /// The first line names a relative path.
    #[error(
        "its first line names `{}`, which is looked up in the directory of each call; name an absolute path there", .named.display()
    )]
    Relative {
        /// The path that it names.
        named: PathBuf,
    },
    /// env(1) gets more than a name, and not all of it is understood.
    #[error(
        "it can't be told which interpreter its first line starts: it calls env(1) with `{argument}`, and {why}; name the interpreter's \
         path there, or only its name behind `env` or `env -S`"
    )]
    Env {
        /// The argument of env(1).
        argument: String,
        /// The part that is not understood, as a clause.
        why: &'static str,
    },
    /// It is a program that starts others.
    #[error(
        "it can't be told which interpreter its first line starts: it names `{named}`, which starts other programs; name the \
         interpreter's path there"
    )]
    Started {
        /// The program that it names.
        named: String,
    },
    /// The interpreter gets a word that is not an option, and may run that instead of the script.
    #[error(
        "it can't be told what its first line starts: `{named}` gets `{argument}` in front of the script, and may run that \
         instead; leave `{argument}` out there"
    )]
    Argument {
        /// The word.
        argument: String,
        /// The interpreter.
        named: String,
    },
    /// The name would be looked up in an entry of `PATH` that is not an absolute path.
    #[error(
        "it can't be told which interpreter its first line starts: env(1) looks `{name}` up in PATH, whose entry `{}` is the directory of \
         each call; set `PATH` to absolute directories", .entry.display()
    )]
    InDirectory {
        /// The name that is looked up.
        name: String,
        /// The entry.
        entry: PathBuf,
    },
    /// There is no `PATH`.
    #[error(
        "it can't be told which interpreter its first line starts: env(1) looks `{name}` up in PATH, which a rule unsets; set it there instead"
    )]
    NoPath {
        /// The name that is looked up.
        name: String,
    },
    /// The first line or the ELF header names something that can't be executed.
    #[error("it needs `{}`, which does not exist or can't be executed", .named.display())]
    Broken {
        /// The path that it names.
        named: PathBuf,
    },
}
