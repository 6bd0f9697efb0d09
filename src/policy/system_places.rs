//! Places of the system and its user that no client may name as its own.

use std::path::{Path, PathBuf};

/// Places that a client must not name as its own, where naming one would grant something; canonical, resolved once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemPlaces {
    system: Vec<PathBuf>,
    search_path: Vec<PathBuf>,
    home: Option<PathBuf>,
}

impl SystemPlaces {
    /// Of the directories of the system's programs and settings no root may hold one, or lie in one; in one of the search
    /// path none may lie, but a project may hold one, as those of npm do; and none may hold the user's home directory.
    pub fn new(
        system: impl IntoIterator<Item = PathBuf>,
        search_path: impl IntoIterator<Item = PathBuf>,
        home: Option<PathBuf>,
    ) -> Self {
        let canonical = |place: PathBuf| dunce::canonicalize(&place).unwrap_or(place);
        Self {
            system: system.into_iter().map(canonical).collect(),
            search_path: search_path.into_iter().map(canonical).collect(),
            home: home.map(canonical),
        }
    }

    /// The first of these places that a canonical directory is too near to.
    pub(super) fn near(&self, directory: &Path) -> Option<&Path> {
        let holds = |place: &&PathBuf| place.starts_with(directory);
        let lies_in = |place: &&PathBuf| directory.starts_with(place);
        let system = self.system.iter().find(|place| holds(place) || lies_in(place));
        let found = system.or_else(|| self.search_path.iter().find(lies_in));
        found.or_else(|| self.home.as_ref().filter(holds)).map(PathBuf::as_path)
    }
}
