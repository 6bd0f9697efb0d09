//! A directory that was opened once, or the reason why it was not.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::files::Held;

/// A directory of the operator's, as it was when it was opened. What could not be opened then is never tried again, so
/// that nobody can put another directory in its place later.
#[derive(Debug, Clone)]
pub(super) struct Opened {
    /// The directory as configured, absolute, links not resolved.
    pub given: PathBuf,
    held: Result<Arc<Held>, Arc<NotOpened>>,
}

/// Why a directory is not held.
#[derive(Debug, Error)]
pub(super) enum NotOpened {
    /// The system refused to open it.
    #[error(transparent)]
    Failed(io::Error),
    /// It had to lie in the project, and does not.
    #[error("it lies outside `{}` of {setting}, and a relative `--cwd` names a directory within the project", .project.display())]
    Outside {
        /// Where it lies instead.
        path: PathBuf,
        /// The project directory.
        project: PathBuf,
        /// Where that comes from.
        setting: &'static str,
    },
}

impl Opened {
    /// Opens the directory that an absolute path leads to, links followed.
    pub fn new(given: PathBuf) -> Self {
        Self::past(given, &[])
    }

    /// The same, where commands may have prepared what lies in the `writable` directories.
    pub fn past(given: PathBuf, writable: &[Arc<Held>]) -> Self {
        let held = Held::open_unprepared_directory(&given, writable);
        Self { given, held: held.map_err(|error| Arc::new(NotOpened::Failed(error))) }
    }

    /// Takes one that was opened already.
    pub fn of(held: Arc<Held>) -> Self {
        Self { given: held.path().to_owned(), held: Ok(held) }
    }

    /// Opens the directory that a relative path leads to from the project, which must lie within it; `setting` says where
    /// the project comes from.
    pub fn within(project: &Self, path: &Path, setting: &'static str) -> Self {
        let given = project.given.join(path);
        let held = project.held.clone().and_then(|outer| {
            let failed = |error| Arc::new(NotOpened::Failed(error));
            let held = outer.open_directory_from(path).map_err(failed)?;
            if held.lies_in(&outer).map_err(failed)? {
                return Ok(Arc::new(held));
            }
            let (path, project) = (held.path().to_owned(), outer.path().to_owned());
            Err(Arc::new(NotOpened::Outside { path, project, setting }))
        });
        Self { given, held }
    }

    /// The directory, where it was opened.
    pub fn held(&self) -> Option<&Arc<Held>> {
        self.held.as_ref().ok()
    }

    /// The directory, or why there is none.
    pub fn get(&self) -> Result<&Arc<Held>, &NotOpened> {
        self.held.as_ref().map_err(|error| &**error)
    }
}

impl NotOpened {
    /// The same as an error of the system's, which can be handed on.
    pub fn to_io(&self) -> io::Error {
        match self {
            Self::Failed(error) => error
                .raw_os_error()
                .map_or_else(|| io::Error::new(error.kind(), error.to_string()), io::Error::from_raw_os_error),
            Self::Outside { .. } => io::Error::other(self.to_string()),
        }
    }
}
