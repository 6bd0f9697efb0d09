//! Stands where the guard of programs would, in a build without it: nothing can be demanded of programs, so there is no guard.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use super::{Checked, CommandPaths, Trust, Untrusted};

/// A guard, of which there is none.
#[derive(Debug)]
pub enum Guard {}

impl Guard {
    /// No guard, since a build without it takes no setting that demands one.
    pub(crate) fn of(_: Trust, _: Option<&Path>, _: CommandPaths) -> Option<Self> {
        None
    }

    /// Cannot be called.
    pub fn broken_lock(&self) -> Option<&str> {
        match *self {}
    }

    pub(crate) fn locks_libraries(&self) -> Option<bool> {
        match *self {}
    }

    pub(crate) fn locked_files(&self) -> Vec<PathBuf> {
        match *self {}
    }

    pub(crate) fn prepare(&self, _: &Path, _: Duration) {
        match *self {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn check(&self, _: &Path, _: Duration) -> Result<Checked, Untrusted> {
        match *self {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn glance(&self, _: &Path) -> Result<(), Untrusted> {
        match *self {}
    }
}

/// A file that others can replace, which nobody looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replaceable {}

impl Replaceable {
    /// Cannot be called.
    pub fn help(&self) -> String {
        match *self {}
    }
}

impl fmt::Display for Replaceable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

/// A mistake in a lock file, of which there is none.
#[derive(Debug, Error)]
pub enum LockError {}
