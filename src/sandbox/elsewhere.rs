//! Platforms without Landlock: nothing is enforced, and any level but `off` is an error.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Enforcement, Grant, Kernel, Level, SandboxError, SandboxSettings};
use crate::files::{Held, Places, Walked};
use crate::integrity::CommandPaths;

/// The files that programs need to start: not needed here, since nothing is confined.
#[derive(Debug, Clone, Default)]
pub struct Executed {}

impl Executed {
    /// Adds nothing.
    pub fn add(&mut self, _program: &Path, _paths: &CommandPaths, _writable: &Places) {}

    /// Adds nothing.
    pub fn add_walked(&mut self, _program: &Path, _walked: &Walked, _paths: &CommandPaths, _writable: &Places) {}

    /// Nothing.
    pub fn of_one(&self, _program: &Path, _paths: &CommandPaths, _writable: &Places) -> Self {
        Self {}
    }

    /// None.
    pub fn files(&self) -> impl Iterator<Item = &Arc<Held>> {
        std::iter::empty()
    }

    /// None.
    pub fn warnings(&self, _granted: &[&Path]) -> Vec<String> {
        Vec::new()
    }
}

/// Reports that there is none.
pub(crate) struct KernelProbe;

impl KernelProbe {
    pub(super) fn start() -> Self {
        Self
    }

    pub(crate) fn kernel(self) -> Kernel {
        let Self = self;
        Kernel::Without("only Linux has Landlock")
    }
}

/// Grants nothing, since nothing is confined.
pub(super) fn system_grants(_level: Level, _writable: &Places) -> Vec<Grant> {
    Vec::new()
}

/// Nothing is granted by a level.
pub(super) fn executed_anyway(_level: Level) -> &'static [&'static str] {
    &[]
}

/// Nothing is readable by a level, since nothing is confined.
pub(super) fn read_anyway(_level: Level) -> &'static [&'static str] {
    &[]
}

/// Grants nothing, for the same reason.
pub(super) fn own_grants(_settings: &SandboxSettings) -> Vec<Grant> {
    Vec::new()
}

/// No rules at all.
#[derive(Debug)]
pub(super) struct Domain;

impl Domain {
    pub(super) fn new(
        _enforcement: Enforcement,
        _grants: &[Grant],
        _settings: &SandboxSettings,
    ) -> Result<Self, SandboxError> {
        Ok(Self)
    }

    pub(super) fn confine_thread(&self) -> Result<(), SandboxError> {
        Ok(())
    }
}

/// No server looks for the directories of others.
pub(super) type Lock = ();

/// Makes a temporary directory, on a Unix for its owner alone.
pub(super) fn make(parent: &Held, name: &OsStr) -> io::Result<(Held, Lock)> {
    let path = parent.path().join(name);
    let builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    let builder = {
        let mut private = builder;
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        private
    };
    builder.create(&path)?;
    Ok((Held::open_directory(&path)?, ()))
}

/// Removes the directory.
pub(super) fn remove(_parent: &Held, _name: &OsStr, held: &Held) -> io::Result<()> {
    std::fs::remove_dir(held.path())
}

/// Does nothing.
pub(super) fn remove_left_behind(_parent: &Arc<Held>) {}
