//! The differences between a lock file and the files that it locks.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::lock::{LockedFile, Rights};
use crate::files::Sha256;

/// One difference. Its text names the file or command, and then what differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Difference {
    /// Loaders and libraries are locked, and were not asked for, or the other way round.
    Scope { has_libraries: bool },
    /// A command runs another program than is locked, or it is locked and not allowed, or the other way round.
    Command { command: String, locked: Option<PathBuf>, found: Option<PathBuf> },
    /// The lock file does not hold the file.
    NotHeld { path: PathBuf },
    /// The lock file holds the file, but no program needs it any more.
    NotUsed { path: PathBuf },
    /// The file is gone or can't be read.
    Unknown { path: PathBuf, why: String },
    /// One fact of a file differs.
    Fact { path: PathBuf, fact: Fact },
}

/// A fact that differs: first as it was locked, then as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fact {
    RealPath(PathBuf, PathBuf),
    Size(u64, u64),
    Digest(Sha256, Sha256),
    Rights(Option<Rights>, Option<Rights>),
    Interpreters(BTreeSet<PathBuf>, BTreeSet<PathBuf>),
    Loader(Option<PathBuf>, Option<PathBuf>),
    Libraries(BTreeSet<PathBuf>, BTreeSet<PathBuf>),
}

impl Difference {
    /// The facts that differ for the file at `path`.
    pub(super) fn between(path: &Path, locked: &LockedFile, found: &LockedFile) -> Vec<Self> {
        let facts = [
            (locked.real_path != found.real_path)
                .then(|| Fact::RealPath(locked.real_path.clone(), found.real_path.clone())),
            (locked.size != found.size).then_some(Fact::Size(locked.size, found.size)),
            (locked.sha256 != found.sha256).then_some(Fact::Digest(locked.sha256, found.sha256)),
            (locked.rights != found.rights).then_some(Fact::Rights(locked.rights, found.rights)),
            (locked.interpreters != found.interpreters)
                .then(|| Fact::Interpreters(locked.interpreters.clone(), found.interpreters.clone())),
            (locked.loader != found.loader).then(|| Fact::Loader(locked.loader.clone(), found.loader.clone())),
            (locked.libraries != found.libraries)
                .then(|| Fact::Libraries(locked.libraries.clone(), found.libraries.clone())),
        ];
        facts.into_iter().flatten().map(|fact| Self::Fact { path: path.to_owned(), fact }).collect()
    }

    pub(super) fn unknown(path: &Path, error: &io::Error) -> Self {
        let why = match error.kind() {
            io::ErrorKind::NotFound => "gone".to_owned(),
            _ => format!("it can't be examined: {error}"),
        };
        Self::Unknown { path: path.to_owned(), why }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scope { has_libraries: true } => {
                f.write_str("loaders and libraries: in the lock file, which was written with `--sandbox strict`")
            }
            Self::Scope { has_libraries: false } => {
                f.write_str("loaders and libraries: not in the lock file, which was written without `--sandbox strict`")
            }
            Self::Command { command, locked, found } => {
                let locked = locked.as_ref().map_or_else(
                    || "not in the lock file".to_owned(),
                    |path| format!("`{}` in the lock file", path.display()),
                );
                let found = found
                    .as_ref()
                    .map_or_else(|| "not allowed or not found".to_owned(), |path| format!("`{}`", path.display()));
                write!(f, "command `{command}`: {locked}, now {found}")
            }
            Self::NotHeld { path } => write!(f, "`{}`: not in the lock file", path.display()),
            Self::NotUsed { path } => write!(f, "`{}`: in the lock file, and not used any more", path.display()),
            Self::Unknown { path, why } => write!(f, "`{}`: {why}", path.display()),
            Self::Fact { path, fact } => write!(f, "`{}`: {fact}", path.display()),
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RealPath(locked, found) => {
                write!(f, "leads to `{}` in the lock file, now to `{}`", locked.display(), found.display())
            }
            Self::Size(locked, found) => write!(f, "size {locked} in the lock file, now {found}"),
            Self::Digest(locked, found) => write!(f, "SHA-256 {locked} in the lock file, now {found}"),
            Self::Rights(locked, found) => {
                let shown = |rights: &Option<Rights>| match rights {
                    Some(Rights { mode, owner }) => format!("mode {mode:04o} and owner {owner}"),
                    None => "no mode and owner".to_owned(),
                };
                write!(f, "{} in the lock file, now {}", shown(locked), shown(found))
            }
            Self::Interpreters(locked, found) => {
                write!(f, "interpreters {} in the lock file, now {}", list(locked), list(found))
            }
            Self::Loader(locked, found) => {
                write!(f, "loader {} in the lock file, now {}", list(locked), list(found))
            }
            Self::Libraries(locked, found) => {
                let [gone, new] = [(locked, found), (found, locked)].map(|(one, other)| list(one.difference(other)));
                write!(f, "libraries {gone} in the lock file only, {new} now only")
            }
        }
    }
}

fn list<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> String {
    let paths: Vec<String> = paths.into_iter().map(|path| format!("`{}`", path.display())).collect();
    if paths.is_empty() { "none".to_owned() } else { paths.join(", ") }
}
