//! New files where an open file can't take over a name: they have their own from the beginning.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::files::{Existing, Place, PlaceError, Replacement, kind_in_words};

/// The name that the file has.
pub(in crate::files) type Naming = PathBuf;

impl Place {
    /// Makes a new file with the name, which something may have.
    pub(in crate::files) fn make(&self, is_taken: bool) -> Result<Replacement, PlaceError> {
        if is_taken {
            take_away(&self.path())?;
        }
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(self.path())?;
        Ok(Replacement { file, naming: self.path() })
    }

    /// Makes a new file to replace what has the name; the permissions are those of the directory.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub fn replace_alike(&self) -> Result<Replacement, PlaceError> {
        self.replace()
    }

    /// The same.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub fn replace_as_usual(&self) -> Result<Replacement, PlaceError> {
        self.replace()
    }

    /// Succeeds: Windows can't be asked about permissions.
    pub(in crate::files) fn may_make(&self) -> io::Result<()> {
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join(&self.name)
    }

    /// Whether a regular file has the name.
    pub(in crate::files) fn look(&self) -> Result<Option<()>, PlaceError> {
        match fs::symlink_metadata(self.path()) {
            Ok(metadata) if metadata.is_file() => Ok(Some(())),
            Ok(metadata) => Err(PlaceError::Taken { found: kind_in_words(metadata.file_type()) }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Replacement {
    /// It has its name already.
    ///
    /// # Errors
    /// None here.
    pub fn take_the_name(self) -> io::Result<()> {
        Ok(())
    }

    /// Gives it another name in its directory, for a name that is known late.
    ///
    /// # Errors
    /// The system's error, and [`PlaceError::Exists`] if the name is taken and must be kept.
    pub fn take_name(self, name: &OsStr, existing: Existing) -> Result<(), PlaceError> {
        let new = self.naming.with_file_name(name);
        if new == self.naming {
            return Ok(());
        }
        if existing == Existing::IsKept && fs::symlink_metadata(&new).is_ok() {
            return Err(PlaceError::Exists);
        }
        Ok(fs::rename(&self.naming, new)?)
    }
}

/// On Windows a deleted file may keep its name as long as any process has it open, and then nothing else can have
/// that name. So it is first renamed to another name next to the old one, which may stay until the other server
/// ends.
fn take_away(path: &Path) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".replaced-{}", crate::random::uuid()));
    let aside = path.with_file_name(name);
    fs::rename(path, &aside)?;
    fs::remove_file(&aside).inspect_err(|_| {
        // It can't be deleted, so it gets its name back; the returned error says why.
        let _ = fs::rename(&aside, path);
    })
}
