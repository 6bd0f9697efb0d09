//! Where calls without a `cwd` run.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::WorkingDirectory;
use super::opened::Opened;
use crate::files::Held;

/// Where calls without a `cwd` run, and what a relative `cwd` is relative to.
#[derive(Debug, Clone)]
pub struct Base {
    /// The directory as configured, absolute, links not resolved.
    pub path: PathBuf,
    /// The setting it comes from, for messages.
    pub setting: &'static str,
    opened: Opened,
}

impl Base {
    pub(super) fn new(opened: &Opened, setting: &'static str) -> Self {
        Self { path: opened.given.clone(), setting, opened: opened.clone() }
    }

    /// Opens a directory for calls without a `cwd`.
    pub fn of(path: PathBuf, setting: &'static str) -> Self {
        Self::new(&Opened::new(path), setting)
    }

    /// The directory; `None` if it could not be opened when it was configured.
    pub fn held(&self) -> Option<&Arc<Held>> {
        self.opened.held()
    }

    pub(super) fn opened(&self) -> &Opened {
        &self.opened
    }

    /// The directory to run in: the one that was opened when it was configured, whatever its path leads to now.
    ///
    /// # Errors
    /// If it could not be opened then, can't be entered, or was removed since.
    pub fn open(&self) -> io::Result<WorkingDirectory> {
        let held = self.opened.get().map_err(super::opened::NotOpened::to_io)?;
        WorkingDirectory::of(held.clone())
    }
}
