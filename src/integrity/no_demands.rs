//! Stands where the guard of programs would, in a build without it. Settings can demand nothing of programs there; if a program that
//! embeds the server does, none runs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use super::{Checked, CommandPaths, Trust, Untrusted};

/// Whether this build has the room.
pub(crate) const IS_BUILT: bool = false;

const WHY: &str = "this build has no `--lock` and no `--trust`; it was built without `evidence`";

/// A guard that can check nothing, so it refuses every program.
#[derive(Debug)]
pub struct Guard(());

impl Guard {
    pub(crate) fn of(trust: Trust, lock: Option<&Path>, _: CommandPaths) -> Option<Self> {
        (lock.is_some() || trust != Trust::Any).then_some(Self(()))
    }

    /// Says that nothing can be checked.
    pub fn broken_lock(&self) -> Option<&str> {
        Some(WHY)
    }

    pub(crate) fn locks_libraries(&self) -> Option<bool> {
        None
    }

    pub(crate) fn locked_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    pub(crate) fn prepare(&self, _: &Path, _: Duration) {}

    /// Refuses the program.
    ///
    /// # Errors
    /// [`Untrusted::NoLock`].
    pub fn check(&self, _: &Path, _: Duration) -> Result<Checked, Untrusted> {
        Err(Untrusted::NoLock { why: WHY.to_owned() })
    }

    /// Refuses the program.
    ///
    /// # Errors
    /// [`Untrusted::NoLock`].
    pub fn glance(&self, _: &Path) -> Result<(), Untrusted> {
        Err(Untrusted::NoLock { why: WHY.to_owned() })
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
