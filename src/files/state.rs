//! The state of a file at one moment, with which to tell later whether it is still the same.

use std::fs::Metadata;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::Sha256;

/// Shows whether a file was replaced or changed: on Unix by its device, inode number, length, and the last changes of its
/// contents and its inode; elsewhere by its length and the times of its creation and last change.
///
/// It holds nothing open, and comparing needs nothing open: a file that reuses the inode number of a removed file has
/// other times.
#[derive(Debug, Clone)]
pub struct FileState {
    metadata: Metadata,
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

    /// Whether a process of the server's user, such as a command, may be writing to the file at `path`. The owner can make a file
    /// writable, map it, and make it unwritable again; the mapping stays writable.
    #[cfg(unix)]
    pub(super) fn may_be_written(&self, path: &Path) -> bool {
        use rustix::fs::{Access, AtFlags, CWD, accessat};
        use rustix::io::Errno;
        use std::os::unix::fs::MetadataExt;
        self.metadata.uid() == rustix::process::geteuid().as_raw()
            || !matches!(
                accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS),
                Err(Errno::ACCESS | Errno::PERM | Errno::ROFS)
            )
    }

    /// Not determined on this platform.
    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "only a Unix asks")]
    fn may_be_written(&self, _path: &Path) -> bool {
        false
    }

    /// Whether it is a regular file.
    pub(crate) fn is_file(&self) -> bool {
        self.metadata.is_file()
    }

    /// How many bytes it has.
    pub(crate) fn size(&self) -> u64 {
        self.metadata.len()
    }

    /// Its mode and the user id of its owner; `None` on Windows.
    pub(crate) fn rights(&self) -> Option<(u32, u32)> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Some((self.metadata.mode() & 0o7777, self.metadata.uid()))
        }
        #[cfg(not(unix))]
        None
    }

    /// The last change of its contents or its inode, as the time since 1970; `None` if that was before 1970.
    pub(crate) fn changed_at(&self) -> Option<Duration> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let nanoseconds = u32::try_from(self.metadata.ctime_nsec()).ok()?;
            Some(Duration::new(u64::try_from(self.metadata.ctime()).ok()?, nanoseconds))
        }
        #[cfg(not(unix))]
        self.metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()
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
        #[cfg(unix)]
        let (device, inode) = {
            use std::os::unix::fs::MetadataExt;
            (self.metadata.dev(), self.metadata.ino())
        };
        #[cfg(not(unix))]
        let (device, inode) = (0, 0);
        FileNumbers { device, inode, size: self.metadata.len(), modified: self.metadata.modified().ok() }
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
        facts(&self.metadata) == facts(&other.metadata) && self.sha256 == other.sha256
    }

    #[cfg(not(unix))]
    fn eq(&self, other: &Self) -> bool {
        let facts = |file: &Metadata| (file.len(), file.modified().ok(), file.created().ok());
        facts(&self.metadata) == facts(&other.metadata) && self.sha256 == other.sha256
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
