//! Stands where the libraries of programs would, on platforms where programs have another format: none are found.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The libraries of one program: none.
#[derive(Debug, Default)]
pub(super) struct FoundLibraries {
    pub libraries: BTreeSet<PathBuf>,
    pub missing: BTreeSet<String>,
}

/// Reads nothing.
pub(super) struct Libraries;

impl Libraries {
    pub(super) fn of_this_system() -> Self {
        Self
    }

    pub(super) fn of(&self, _program: &Path) -> io::Result<FoundLibraries> {
        Ok(FoundLibraries::default())
    }
}
