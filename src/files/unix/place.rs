//! New files on Unix: they have another name until they take their own.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, accessat};
use rustix::io::Errno;

use super::STEP;
use crate::files::{Existing, Place, PlaceError, Replacement};

/// Permission to read and write for the owner alone.
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The temporary name of a new file.
#[derive(Debug)]
pub(in crate::files) struct Unnamed {
    directory: OwnedFd,
    meanwhile: OsString,
    name: OsString,
}

/// `None` once the file has its name.
pub(in crate::files) type Naming = Option<Unnamed>;

impl Place {
    /// Makes a new file, readable only by its owner, to get the name, which something may have.
    pub(in crate::files) fn make(&self, _is_taken: bool) -> Result<Replacement, PlaceError> {
        self.create_unnamed(PRIVATE)
    }

    /// Makes a new file to replace what has the name, with the permissions of that.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub fn replace_alike(&self) -> Result<Replacement, PlaceError> {
        let mode = self.look()?.unwrap_or(PRIVATE);
        let replacement = self.create_unnamed(PRIVATE)?;
        rustix::fs::fchmod(&replacement.file, mode).map_err(io::Error::from)?;
        Ok(replacement)
    }

    /// The same with the permissions that other programs would give it: those of the file that has the name, or else
    /// those that the umask leaves.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub fn replace_as_usual(&self) -> Result<Replacement, PlaceError> {
        match self.look()? {
            Some(_) => self.replace_alike(),
            None => self.create_unnamed(Mode::from_raw_mode(0o666)),
        }
    }

    /// Fails unless a new file can be made in the directory.
    pub(in crate::files) fn may_make(&self) -> io::Result<()> {
        let asked = Access::WRITE_OK | Access::EXEC_OK;
        Ok(accessat(&self.directory, ".", asked, AtFlags::empty())?)
    }

    /// The permissions of the regular file that has the name, if there is one.
    pub(in crate::files) fn look(&self) -> Result<Option<Mode>, PlaceError> {
        let stat = match rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(io::Error::from(error).into()),
        };
        let found = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => return Ok(Some(Mode::from_raw_mode(stat.st_mode))),
            FileType::Symlink => "a link",
            FileType::Directory => "a directory",
            FileType::Fifo => "a FIFO or a pipe",
            FileType::Socket => "a socket",
            FileType::CharacterDevice | FileType::BlockDevice => "a device",
            FileType::Unknown => "something else",
        };
        Err(PlaceError::Taken { found })
    }

    fn create_unnamed(&self, mode: Mode) -> Result<Replacement, PlaceError> {
        let create = || -> io::Result<Replacement> {
            let directory = rustix::fs::openat(&self.directory, ".", STEP, Mode::empty())?;
            let meanwhile = OsString::from(format!(".allowexec-{}", crate::random::uuid()));
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = File::from(rustix::fs::openat(&directory, &meanwhile, flags, mode)?);
            Ok(Replacement { file, naming: Some(Unnamed { directory, meanwhile, name: self.name.clone() }) })
        };
        Ok(create()?)
    }
}

impl Replacement {
    /// Gives the file its name, replacing what had it. Whatever that is by now, nothing is written through it.
    ///
    /// # Errors
    /// The system's error; then the new file is gone.
    pub fn take_the_name(mut self) -> io::Result<()> {
        let Some(unnamed) = &self.naming else { return Ok(()) };
        let Unnamed { directory, meanwhile, name } = unnamed;
        rustix::fs::renameat(directory, meanwhile, directory, name)?;
        self.naming = None;
        Ok(())
    }

    /// The same with another name in the directory, for a name that is known late.
    ///
    /// # Errors
    /// As it, and [`PlaceError::Exists`] if the name is taken and must be kept.
    pub fn take_name(mut self, name: &OsStr, existing: Existing) -> Result<(), PlaceError> {
        let Some(unnamed) = &mut self.naming else { return Ok(()) };
        name.clone_into(&mut unnamed.name);
        if existing == Existing::IsReplaced {
            return Ok(self.take_the_name()?);
        }
        let Unnamed { directory, meanwhile, name } = unnamed;
        match take_free_name(directory, meanwhile, name) {
            Ok(()) => self.naming = None,
            Err(Errno::EXIST) => return Err(PlaceError::Exists),
            Err(error) => return Err(io::Error::from(error).into()),
        }
        Ok(())
    }
}

/// Renames a file if the new name is free, in one step.
fn take_free_name(directory: &OwnedFd, from: &OsStr, to: &OsStr) -> rustix::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        match renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
            // Not every file system supports it; then making a link can tell as well.
            Err(Errno::INVAL | Errno::NOSYS) => {}
            renamed => return renamed,
        }
    }
    rustix::fs::linkat(directory, from, directory, to, AtFlags::empty())?;
    rustix::fs::unlinkat(directory, from, AtFlags::empty())
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(Unnamed { directory, meanwhile, .. }) = &self.naming {
            // If it can't be removed it stays, under a name that says whose it is; nobody is left to handle the
            // error.
            let _ = rustix::fs::unlinkat(directory, meanwhile, AtFlags::empty());
        }
    }
}
