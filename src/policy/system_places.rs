//! Places of the system and its user that no client may name as its own.

use std::path::{Path, PathBuf};

/// Places that a client must not name as its own, where naming one would grant something.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemPlaces {
    /// Directories of programs and settings: no root may hold one, or lie in one.
    pub directories: Vec<PathBuf>,
    /// The user's home directory: no root may hold it.
    pub home: Option<PathBuf>,
}

impl SystemPlaces {
    /// The first of these places that a canonical directory is too near to.
    pub(super) fn near(&self, directory: &Path) -> Option<PathBuf> {
        let canonical = |place: &PathBuf| dunce::canonicalize(place).unwrap_or_else(|_| place.clone());
        let holds = |place: &PathBuf| place.starts_with(directory);
        let mut places = self.directories.iter().map(canonical);
        let found = places.find(|place| holds(place) || directory.starts_with(place));
        found.or_else(|| self.home.as_ref().map(canonical).filter(holds))
    }
}
