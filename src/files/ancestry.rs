//! Which directories a directory lies in, by identity.

use std::io;

use super::{Held, Identity};

/// A directory and all directories around it, as they were at one moment.
///
/// It is climbed once to compare it with several others; see [`Held::lies_in`] for a single one.
#[derive(Debug)]
pub struct Ancestry {
    /// From the directory itself up to the root.
    identities: Vec<Identity>,
    /// Why climbing stopped before the root, if it did.
    error: Option<io::Error>,
}

impl Ancestry {
    /// Climbs from the directory up to the root. If a step fails, that is the [`Self::error`], and everything before it
    /// counts.
    pub fn of(directory: &Held) -> Self {
        let mut identities = Vec::with_capacity(16);
        let error = directory.climb(&mut identities).err();
        Self { identities, error }
    }

    /// Whether the directory is `outer`, or lies in it.
    pub fn lies_in(&self, outer: &Held) -> bool {
        self.identities.contains(outer.identity())
    }

    /// How many directories it has.
    pub(super) fn levels(&self) -> usize {
        self.identities.len()
    }

    /// Why some of the directories around it are not known, if so.
    pub(super) fn into_error(self) -> Option<io::Error> {
        self.error
    }

    /// Why some of the directories around it are not known.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_directory_lies_in_all_that_are_around_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("outer/inner")).unwrap();
        fs::create_dir(dir.path().join("out")).unwrap();
        let open = |name: &str| Held::open_directory(&dir.path().join(name)).unwrap();
        let inner = open("outer/inner");
        let ancestry = Ancestry::of(&inner);
        for around in ["outer/inner", "outer", "", "/"] {
            assert!(ancestry.lies_in(&open(around)), "{around}");
        }
        assert!(!ancestry.lies_in(&open("out")));
        assert!(ancestry.error().is_none());
        // The old value still shows the state when it was climbed; a new one shows the present state.
        let outer = open("outer");
        fs::rename(dir.path().join("outer/inner"), dir.path().join("out/inner")).unwrap();
        assert!(ancestry.lies_in(&outer) && !Ancestry::of(&inner).lies_in(&outer));
    }
}
