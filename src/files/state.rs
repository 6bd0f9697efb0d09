//! What a file is at one moment, to tell later whether it is still the same.

use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What tells whether a file was replaced or changed since: on a Unix its device, its inode number, its length and when
/// its contents and its inode were changed last; elsewhere its length and when it was made and changed.
///
/// It holds nothing open, and needs nothing open to be compared: a file that takes the number of one that was removed has
/// another time.
#[derive(Debug, Clone)]
pub struct FileState(Metadata);

impl FileState {
    /// Looks at what `path` leads to, links followed.
    ///
    /// # Errors
    /// What the system says.
    pub fn of(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(Self)
    }

    /// Whether it is a regular file.
    pub(crate) fn is_file(&self) -> bool {
        self.0.is_file()
    }

    /// How many bytes it has.
    pub(crate) fn size(&self) -> u64 {
        self.0.len()
    }

    /// Its permissions, with the bits for other users and groups, and the number of its owner; `None` on Windows.
    pub(crate) fn rights(&self) -> Option<(u32, u32)> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Some((self.0.mode() & 0o7777, self.0.uid()))
        }
        #[cfg(not(unix))]
        None
    }

    /// When it was changed last, contents or inode, as time since 1970; `None` for before.
    pub(crate) fn changed_at(&self) -> Option<Duration> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let nanoseconds = u32::try_from(self.0.ctime_nsec()).ok()?;
            Some(Duration::new(u64::try_from(self.0.ctime()).ok()?, nanoseconds))
        }
        #[cfg(not(unix))]
        self.0.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()
    }

    /// Whether `path` leads to that very file, unchanged.
    pub fn is_still_at(&self, path: &Path) -> bool {
        Self::of(path).is_ok_and(|now| now == *self)
    }
}

impl From<Metadata> for FileState {
    fn from(metadata: Metadata) -> Self {
        Self(metadata)
    }
}

/// What tells one file from another, in numbers; 0 where the platform tells none.
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
        #[cfg(unix)]
        let (device, inode) = {
            use std::os::unix::fs::MetadataExt;
            (self.0.dev(), self.0.ino())
        };
        #[cfg(not(unix))]
        let (device, inode) = (0, 0);
        FileNumbers { device, inode, size: self.0.len(), modified: self.0.modified().ok() }
    }
}

impl PartialEq for FileState {
    #[cfg(unix)]
    fn eq(&self, other: &Self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let facts = |file: &Metadata| {
            let times = (file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec());
            (file.dev(), file.ino(), file.size(), times)
        };
        facts(&self.0) == facts(&other.0)
    }

    #[cfg(not(unix))]
    fn eq(&self, other: &Self) -> bool {
        let facts = |file: &Metadata| (file.len(), file.modified().ok(), file.created().ok());
        facts(&self.0) == facts(&other.0)
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
