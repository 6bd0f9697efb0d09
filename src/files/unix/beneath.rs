//! A directory below which every step goes from handle to handle.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::STEP;
use crate::files::beneath::{Missing, is_a_link, parts, split};
use crate::files::regular::read_opened;
use crate::files::{Beneath, ReadError};

/// The directory.
pub(in crate::files) type DirectoryHandle = OwnedFd;

impl Beneath {
    /// Opens the directory that `path` leads to, following links: the caller trusts the path.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let handle = rustix::fs::openat(CWD, &path, STEP | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Self { path, handle })
    }

    /// Opens a directory in it.
    ///
    /// # Errors
    /// As [`Self::create_directory`].
    pub fn open_directory(&self, relative: &Path) -> io::Result<Self> {
        let handle = self.directory(&parts(relative)?, Missing::IsAnError)?;
        Ok(Self { path: self.path.join(relative), handle })
    }

    /// Makes a file that holds these bytes, and the directories on the way.
    ///
    /// # Errors
    /// As [`Self::create_directory`]; `AlreadyExists` if the name is taken.
    pub fn create_file(&self, relative: &Path, bytes: &[u8], is_executable: bool) -> io::Result<()> {
        let (parents, name) = split(relative)?;
        let parent = self.directory(&parents, Missing::IsMade)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o666))?);
        file.write_all(bytes)?;
        if is_executable {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(0o755))?;
        }
        Ok(())
    }

    /// Makes a symbolic link with this `target`, and the directories on the way.
    ///
    /// # Errors
    /// As [`Self::create_file`].
    pub fn create_link(&self, relative: &Path, target: &Path) -> io::Result<()> {
        let (parents, name) = split(relative)?;
        let parent = self.directory(&parents, Missing::IsMade)?;
        Ok(rustix::fs::symlinkat(target, &parent, name)?)
    }

    /// Reads a regular file of at most `most` bytes, as [`read_regular`](crate::files::read_regular) does.
    ///
    /// # Errors
    /// A [`ReadError`]; a link at the end is not followed either.
    pub fn read_regular(&self, relative: &Path, most: u64) -> Result<Vec<u8>, ReadError> {
        let (parents, name) = split(relative)?;
        let parent = self.directory(&parents, Missing::IsAnError)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&parent, name, flags, Mode::empty());
        let file = file.map_err(|error| not_followed(parent.as_fd(), name, error))?;
        read_opened(&File::from(file), most)
    }

    /// Whether `path` still leads to this directory.
    pub fn is_at(&self, path: &Path) -> bool {
        let here = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW);
        let held = rustix::fs::fstat(&self.handle);
        held.is_ok_and(|held| here.is_ok_and(|here| (held.st_dev, held.st_ino) == (here.st_dev, here.st_ino)))
    }

    pub(in crate::files) fn directory(&self, parts: &[&OsStr], missing: Missing) -> io::Result<OwnedFd> {
        let mut here = rustix::fs::openat(&self.handle, ".", STEP | OFlags::NOFOLLOW, Mode::empty())?;
        for name in parts {
            here = match rustix::fs::openat(&here, *name, STEP | OFlags::NOFOLLOW, Mode::empty()) {
                Err(Errno::NOENT) if matches!(missing, Missing::IsMade) => {
                    match rustix::fs::mkdirat(&here, *name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    rustix::fs::openat(&here, *name, STEP | OFlags::NOFOLLOW, Mode::empty())
                }
                opened => opened,
            }
            .map_err(|error| not_followed(here.as_fd(), name, error))?;
        }
        Ok(here)
    }
}

impl AsFd for Beneath {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// The error of opening, in words if a link is the reason.
fn not_followed(parent: BorrowedFd<'_>, name: &OsStr, error: Errno) -> io::Error {
    let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    match stat.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::Symlink) => is_a_link(name),
        Ok(_) | Err(_) => error.into(),
    }
}
