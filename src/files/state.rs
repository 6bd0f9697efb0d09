//! The state of a file at one moment, with which to tell later whether it is still the same.

use std::fs::Metadata;
use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;

use super::Sha256;

/// Shows whether a file was replaced or changed: on Unix by its device, inode number, length, and the last changes of its
/// contents and its inode; elsewhere by its length and the times of its creation and last change.
///
/// It holds nothing open, and comparing needs nothing open: a file that reuses the inode number of a removed file has
/// other times.
#[derive(Debug, Clone)]
pub struct FileState {
    pub(super) metadata: Metadata,
    /// The digest of the contents, if they were read.
    sha256: Option<Sha256>,
}

/// The largest file that is read, in bytes. The server's loop waits for the read.
const LARGEST: u64 = 1024 * 1024;

impl FileState {
    /// Looks at what `path` leads to, following links.
    ///
    /// # Errors
    /// What the system says.
    pub fn of(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(Self::from)
    }

    /// The same, but also reads a file that the server's user can write: a process that has mapped it can write to it
    /// without changing its times, see [`Held::notes_changes`](super::Held). A file of more than 1 MiB is not read.
    ///
    /// # Errors
    /// The system's error, even if the file only can't be read, because a command could have caused that.
    pub(crate) fn with_contents(path: &Path) -> io::Result<Self> {
        let state = Self::of(path)?;
        if !state.is_file() || state.size() > LARGEST || !state.may_be_written(path) {
            return Ok(state);
        }
        let file = super::open_without_waiting(path)?;
        Ok(Self { sha256: Some(Sha256::of_stream(file.take(LARGEST))?), ..state })
    }

    /// Whether it is a regular file.
    pub(crate) fn is_file(&self) -> bool {
        self.metadata.is_file()
    }

    /// How many bytes it has.
    pub(crate) fn size(&self) -> u64 {
        self.metadata.len()
    }

    /// Whether `path` leads to that very file, unchanged.
    pub fn is_still_at(&self, path: &Path) -> bool {
        Self::of(path).is_ok_and(|now| now == *self)
    }
}

impl From<Metadata> for FileState {
    fn from(metadata: Metadata) -> Self {
        Self { metadata, sha256: None }
    }
}

/// Numbers that distinguish files; 0 if the platform has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileNumbers {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    pub modified: Option<SystemTime>,
}

impl FileState {
    /// The same in numbers.
    pub(crate) fn numbers(&self) -> FileNumbers {
        let (device, inode) = self.device_and_inode();
        FileNumbers { device, inode, size: self.metadata.len(), modified: self.metadata.modified().ok() }
    }
}

impl PartialEq for FileState {
    fn eq(&self, other: &Self) -> bool {
        self.facts() == other.facts() && self.sha256 == other.sha256
    }
}

impl Eq for FileState {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_that_is_replaced_or_written_is_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("a"), dir.path().join("b"));
        fs::write(&path, "one").unwrap();
        let state = FileState::of(&path).unwrap();
        assert!(state.is_still_at(&path));
        fs::write(&other, "two").unwrap();
        assert!(!state.is_still_at(&other));
        fs::rename(&other, &path).unwrap();
        assert!(!state.is_still_at(&path));
        let state = FileState::of(&path).unwrap();
        fs::write(&path, "three").unwrap();
        assert!(!state.is_still_at(&path));
        fs::remove_file(&path).unwrap();
        assert!(!state.is_still_at(&path) && FileState::of(&path).is_err());
    }
}
