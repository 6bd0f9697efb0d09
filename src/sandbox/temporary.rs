//! The commands' own temporary directory: made by the server, for its user alone, removed at its end.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use super::SandboxError;

/// How many names are tried; a second one is needed only where somebody guesses 128 random bits.
const ATTEMPTS: usize = 8;

/// A directory that is removed, with all that is in it, when this value goes.
///
/// A server that is killed leaves it behind.
#[derive(Debug)]
pub struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    /// Makes one in `parent`, under a name that can't be guessed, for its owner alone (mode 700).
    ///
    /// # Errors
    /// [`SandboxError::Temporary`], with what the system says.
    pub fn new(parent: &Path) -> Result<Self, SandboxError> {
        let mut made = Err(io::ErrorKind::AlreadyExists.into());
        for _ in 0..ATTEMPTS {
            made = dunce::canonicalize(parent).and_then(|parent| {
                let path = parent.join(format!("allowexec-{:016x}{:016x}", random(), random()));
                make(&path).map(|()| path)
            });
            match &made {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                _ => break,
            }
        }
        made.map(Self).map_err(|source| SandboxError::Temporary { parent: parent.to_owned(), source })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // What a command made unremovable stays; nobody is left who could do anything about it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// std seeds each of these with the system's randomness.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(unix)]
fn make(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn make(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_for_its_owner_alone_and_goes_with_what_is_in_it() {
        let parent = tempfile::tempdir().unwrap();
        let (one, other) =
            (TemporaryDirectory::new(parent.path()).unwrap(), TemporaryDirectory::new(parent.path()).unwrap());
        assert_ne!(one.path(), other.path());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(one.path()).unwrap().permissions().mode() & 0o7777, 0o700);
        }
        fs::create_dir_all(one.path().join("a/b")).unwrap();
        fs::write(one.path().join("a/b/c"), "x").unwrap();
        drop((one, other));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
        let missing = TemporaryDirectory::new(&parent.path().join("missing")).unwrap_err().to_string();
        assert!(missing.starts_with("no temporary directory could be made"), "{missing}");
    }
}
