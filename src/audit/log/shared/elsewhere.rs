//! A shared file on Windows: it is opened for each append, since only that keeps others from writing to it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use super::{Locked, SharedFile, SharedFileError};
use crate::audit::log::patience::{Patience, Wait};
use crate::files::appended;
use crate::files::{Place, PlaceError};

/// Reads the file from another thread.
#[derive(Debug, Clone)]
pub(crate) struct SharedReader {
    path: PathBuf,
    changeable: Vec<PathBuf>,
}

impl SharedReader {
    /// The file that has the name.
    ///
    /// # Errors
    /// As [`open_to_append`](crate::files::open_to_append).
    pub(crate) fn open(&self) -> Result<impl Read + Seek + use<>, PlaceError> {
        let changeable: Vec<&Path> = self.changeable.iter().map(PathBuf::as_path).collect();
        appended::open_appended(&self.path, &changeable)
    }
}

impl SharedFile {
    /// Opens the regular file at `path`, or makes it; a link is not followed.
    ///
    /// # Errors
    /// What the system says, and [`PlaceError::Taken`] for a link.
    pub(crate) fn open(path: &Path, changeable: &[&Path]) -> Result<Self, PlaceError> {
        let place = Place::open(path, changeable)?;
        appended::open_alone(&place, true)?;
        let (path, changeable) = (path.to_owned(), changeable.iter().map(|&path| path.to_owned()).collect());
        Ok(Self { place, path, changeable, patience: Patience::new() })
    }

    /// Returns a reader of the file for another thread.
    pub(crate) fn reader(&self) -> SharedReader {
        SharedReader { path: self.path.clone(), changeable: self.changeable.clone() }
    }

    /// Waits for the right to append, at most a second while nobody appends; see [`Patience`]. On Windows this is the
    /// right to open the file for writing, which a process that reads the file can deny.
    ///
    /// # Errors
    /// [`SharedFileError`].
    pub(crate) fn lock(&mut self) -> Result<Locked<'_>, SharedFileError> {
        /// `ERROR_SHARING_VIOLATION`.
        const SHARING: i32 = 32;
        let mut wait = Wait::default();
        loop {
            match appended::open_alone(&self.place, false) {
                Ok(file) => {
                    let size = file.metadata()?.len();
                    self.patience.had(&wait, size);
                    return Ok(Locked { shared: self, file, is_another: false, size });
                }
                Err(PlaceError::System { source }) if source.raw_os_error() == Some(SHARING) => {
                    let path = self.place.directory().path().join(self.place.name());
                    let size = std::fs::symlink_metadata(path).map_or(0, |metadata| metadata.len());
                    self.patience.wait(&mut wait, size).map_err(|waited| SharedFileError::Busy { waited })?;
                }
                Err(PlaceError::System { source }) if source.kind() == io::ErrorKind::NotFound => {
                    return Err(SharedFileError::Gone);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Locked<'_> {
    /// The file, open for reading anywhere and for writing at its end.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// None: the file is opened by its name for each append.
    pub(crate) fn before(&self) -> Option<&File> {
        None
    }

    /// The names in the directory of the file, as far as they can be read.
    pub(crate) fn names(&self) -> Vec<OsString> {
        let entries = std::fs::read_dir(self.shared.place.directory().path()).into_iter().flatten();
        entries.map_while(Result::ok).map(|entry| entry.file_name()).collect()
    }

    /// Another regular file in the same directory.
    pub(crate) fn beside(&self, name: &OsStr) -> Option<File> {
        // The name comes from the file, which anybody may have written.
        let path = self.shared.place.directory().path().join(Path::new(name).file_name().filter(|last| *last == name)?);
        let is_file = std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.file_type().is_file());
        is_file.then(|| File::open(path).ok()).flatten()
    }

    /// Moves the file to another name in its directory, which nothing has, and begins a new one in its place.
    ///
    /// # Errors
    /// The system's error; `AlreadyExists` if the name is taken.
    pub(crate) fn begin_anew(&mut self, moved_to: &OsString) -> Result<(), SharedFileError> {
        let directory = self.shared.place.directory().path();
        let (from, to) = (directory.join(self.shared.place.name()), directory.join(moved_to));
        if std::fs::symlink_metadata(&to).is_ok() {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
        }
        std::fs::rename(&from, &to)?;
        // If there can be no new file, the old one gets its name back, and the next record finds it.
        let file = appended::open_alone(&self.shared.place, true).inspect_err(|_| drop(std::fs::rename(&to, &from)))?;
        (self.file, self.size) = (file, 0);
        Ok(())
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // What this append has added was not added by others.
        self.shared.patience.appended(self.size);
    }
}
