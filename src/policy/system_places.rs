//! Places of the system and its user that no client may name as its own.

use std::path::{Path, PathBuf};

/// Places that a client must not name as its own, where naming one would grant something.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemPlaces {
    /// Directories of the system's programs and settings: no root may hold one, or lie in one.
    pub system: Vec<PathBuf>,
    /// The directories of PATH: no root may lie in one. A project may hold one, as those of npm do.
    pub search_path: Vec<PathBuf>,
    /// The user's home directory: no root may hold it.
    pub home: Option<PathBuf>,
}

impl SystemPlaces {
    /// The first of these places that a canonical directory is too near to.
    pub(super) fn near(&self, directory: &Path) -> Option<PathBuf> {
        let canonical = |place: &PathBuf| dunce::canonicalize(place).unwrap_or_else(|_| place.clone());
        let holds = |place: &PathBuf| place.starts_with(directory);
        let lies_in = |place: &PathBuf| directory.starts_with(place);
        let system = self.system.iter().map(canonical).find(|place| holds(place) || lies_in(place));
        let found = system.or_else(|| self.search_path.iter().map(canonical).find(lies_in));
        found.or_else(|| self.home.as_ref().map(canonical).filter(holds))
    }
}
