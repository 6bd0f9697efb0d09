//! One file or directory, held by a handle.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Ancestry;
use super::handles::{Handle, Identifier};

/// The identity of a file or directory while it exists: its device and inode number on Linux, its canonical path
/// elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(pub(super) Identifier);

/// A file or directory that was opened once. On Linux it holds an `O_PATH` handle, so that renaming or relinking later
/// does not change what it is; elsewhere it remembers the canonical path.
#[derive(Debug)]
pub struct Held {
    pub(super) path: PathBuf,
    pub(super) identity: Identity,
    pub(super) handle: Handle,
}

impl Held {
    /// The canonical path that it had when it was opened; for messages, and for code that needs a name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a regular file.
    pub(crate) fn is_regular(&self) -> bool {
        self.state().is_ok_and(|state| state.is_file())
    }

    /// Its identity.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether this directory is `outer`, or lies in it. On Linux the parents are climbed one by one and compared by
    /// identity, so names do not matter; elsewhere the canonical paths are compared part by part.
    ///
    /// # Errors
    /// If a parent can't be opened, and beyond 4096 parents.
    pub fn lies_in(&self, outer: &Self) -> io::Result<bool> {
        self.lies_in_any([outer])
    }

    /// Whether this directory is one of these, or lies in one: as [`Self::lies_in`], climbing once for all.
    ///
    /// # Errors
    /// As [`Self::lies_in`]. Then the answer is unknown, and the caller must choose the safe one.
    pub fn lies_in_any<T: AsRef<Self>>(&self, outer: impl IntoIterator<Item = T>) -> io::Result<bool> {
        let ancestry = Ancestry::of(self);
        let is_inside = outer.into_iter().any(|outer| ancestry.lies_in(outer.as_ref()));
        if is_inside { Ok(true) } else { ancestry.into_error().map_or(Ok(false), Err) }
    }
}

impl AsRef<Self> for Held {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// Whether two lists hold the same directories in the same order, whatever their names are now.
pub fn are_same(some: &[Arc<Held>], others: &[Arc<Held>]) -> bool {
    some.len() == others.len() && some.iter().zip(others).all(|(one, other)| one.identity == other.identity)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_held_stays_the_same_whatever_happens_to_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("outer/inner")).unwrap();
        let (outer, inner) = (base.join("outer"), base.join("outer/inner"));
        let held = Held::open_directory(&inner).unwrap();
        assert_eq!(held.path(), inner);
        assert!(held.lies_in(&Held::open_directory(&outer).unwrap()).unwrap());
        fs::rename(&inner, base.join("moved")).unwrap();
        symlink("/", &inner).unwrap();
        // The held directory has moved away, and its old name leads to another one.
        assert!(!held.lies_in(&Held::open_directory(&outer).unwrap()).unwrap());
        assert!(!Held::open_directory(&inner).unwrap().lies_in(&Held::open_directory(&outer).unwrap()).unwrap());
        assert_eq!(held.identity(), Held::open_directory(&base.join("moved")).unwrap().identity());
        fs::write(base.join("moved/file"), "x").unwrap();
        assert_eq!(fs::read_to_string(held.spawn_path().join("file")).unwrap(), "x");
        let file = Held::open_directory(&base.join("moved/file")).unwrap_err();
        assert_eq!(file.kind(), io::ErrorKind::NotADirectory);
    }
}
