//! A directory that was opened once, or why it could not be opened.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use super::quoted::quoted;
use crate::files::Held;

/// One of the operator's directories, as it was when it was opened. If it could not be opened, it is never tried again, so
/// nobody can put another directory in its place later.
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
    #[error(
        "it lies outside {} of {setting}, and a relative `--cwd` names a directory within the project",
        quoted(&.project.to_string_lossy())
    )]
    Outside {
        /// Where it lies instead.
        path: PathBuf,
        /// The project directory.
        project: PathBuf,
        /// Where the project directory comes from.
        setting: &'static str,
    },
}

impl Opened {
    /// Opens the directory at an absolute path, and follows links.
    pub fn new(given: PathBuf) -> Self {
        Self::past(given, &[])
    }

    /// The same, if commands could write in the `writable` directories before, and so may have prepared links there.
    pub fn past(given: PathBuf, writable: &[Arc<Held>]) -> Self {
        let held = Held::open_unprepared_directory(&given, writable);
        Self { given, held: held.map_err(|error| Arc::new(NotOpened::Failed(error))) }
    }

    /// Takes a directory that is already open.
    pub fn of(held: Arc<Held>) -> Self {
        Self { given: held.path().to_owned(), held: Ok(held) }
    }

    /// Opens the directory at a path relative to the project. It must lie in the project. `setting` says where the project
    /// comes from.
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

    /// The directory, if it was opened.
    pub fn held(&self) -> Option<&Arc<Held>> {
        self.held.as_ref().ok()
    }

    /// The directory, or why it was not opened.
    pub fn get(&self) -> Result<&Arc<Held>, &NotOpened> {
        self.held.as_ref().map_err(|error| &**error)
    }
}

impl NotOpened {
    /// A copy of it as an I/O error.
    pub fn to_io(&self) -> io::Error {
        match self {
            Self::Failed(error) => error
                .raw_os_error()
                .map_or_else(|| io::Error::new(error.kind(), error.to_string()), io::Error::from_raw_os_error),
            Self::Outside { .. } => io::Error::other(self.to_string()),
        }
    }
}
