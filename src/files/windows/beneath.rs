//! A directory below which every step is checked before it is taken.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::windows::fs::{symlink_dir, symlink_file};
use std::path::{Path, PathBuf};

use crate::files::beneath::{Missing, is_a_link, parts, split};
use crate::files::{Beneath, ReadError, canonicalize, read_regular};

/// Nothing is held.
pub(in crate::files) type DirectoryHandle = ();

impl Beneath {
    /// Opens the directory that `path` leads to, following links: the caller trusts the path.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = canonicalize(path)?;
        if path.is_dir() { Ok(Self { path, handle: () }) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    /// Opens a directory in it.
    ///
    /// # Errors
    /// As [`Self::create_directory`].
    pub fn open_directory(&self, relative: &Path) -> io::Result<Self> {
        self.directory(&parts(relative)?, Missing::IsAnError).map(|path| Self { path, handle: () })
    }

    /// Makes a file that holds these bytes, and the directories on the way.
    ///
    /// # Errors
    /// As [`Self::create_directory`]; `AlreadyExists` if the name is taken.
    pub fn create_file(&self, relative: &Path, bytes: &[u8], _is_executable: bool) -> io::Result<()> {
        let (parents, name) = split(relative)?;
        let path = self.directory(&parents, Missing::IsMade)?.join(name);
        fs::File::create_new(path)?.write_all(bytes)
    }

    /// Makes a symbolic link with this `target`, and the directories on the way. Windows distinguishes links to
    /// directories; the target is looked up relative to the link.
    ///
    /// # Errors
    /// As [`Self::create_file`].
    pub fn create_link(&self, relative: &Path, target: &Path) -> io::Result<()> {
        let (parents, name) = split(relative)?;
        let parent = self.directory(&parents, Missing::IsMade)?;
        let link = parent.join(name);
        match parent.join(target).is_dir() {
            true => symlink_dir(target, link),
            false => symlink_file(target, link),
        }
    }

    /// Reads a regular file of at most `most` bytes, as [`read_regular`] does.
    ///
    /// # Errors
    /// A [`ReadError`]; a link at the end is not followed either.
    pub fn read_regular(&self, relative: &Path, most: u64) -> Result<Vec<u8>, ReadError> {
        let (parents, name) = split(relative)?;
        let path = self.directory(&parents, Missing::IsAnError)?.join(name);
        if fs::symlink_metadata(&path)?.is_symlink() {
            return Err(is_a_link(name).into());
        }
        read_regular(&path, most)
    }

    /// Whether `path` still leads to this directory, judged by its canonical path.
    pub fn is_at(&self, path: &Path) -> bool {
        canonicalize(path).is_ok_and(|path| path == self.path)
    }

    pub(in crate::files) fn directory(&self, parts: &[&OsStr], missing: Missing) -> io::Result<PathBuf> {
        let mut here = self.path.clone();
        for name in parts {
            here.push(name);
            match fs::symlink_metadata(&here) {
                Ok(metadata) if metadata.is_symlink() => return Err(is_a_link(name)),
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
                Err(error) if error.kind() == io::ErrorKind::NotFound && matches!(missing, Missing::IsMade) => {
                    fs::create_dir(&here)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(here)
    }
}
