//! A file to which several processes append, one at a time.

#[cfg(not(unix))]
mod elsewhere;
#[cfg(test)]
#[cfg(unix)]
mod tests;
#[cfg(unix)]
mod unix;

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
#[cfg(unix)]
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use super::patience::Patience;
use crate::files::{Place, PlaceError};

#[cfg(not(unix))]
pub(crate) use elsewhere::SharedReader;
#[cfg(unix)]
pub(crate) use unix::SharedReader;

/// A file that grows over many runs, to which several processes append. If this creates it, only its owner can read it.
///
/// The name is looked at again before each append, since another process may have moved the file away and begun a new one.
#[derive(Debug)]
pub(crate) struct SharedFile {
    place: Place,
    /// Where the place is opened again if its directory was removed, as [`Place::open`] takes it.
    path: PathBuf,
    changeable: Vec<PathBuf>,
    patience: Patience,
    /// Not on Windows: there the file is opened for each append, since only that keeps others from writing to it.
    #[cfg(unix)]
    file: Arc<File>,
    #[cfg(unix)]
    reader: SharedReader,
    /// Its device and inode, which stay the same as long as it is open.
    #[cfg(unix)]
    identity: (rustix::fs::Dev, u64),
}

/// The file, and the right to append to it until this is dropped.
#[derive(Debug)]
pub(crate) struct Locked<'a> {
    shared: &'a mut SharedFile,
    #[cfg(not(unix))]
    file: File,
    /// Whether it is another file than at the previous append.
    pub is_another: bool,
    /// The one of the append before, then.
    #[cfg(unix)]
    before: Option<Arc<File>>,
    /// How many bytes it has.
    pub size: u64,
}

/// Why nothing can be appended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum SharedFileError {
    /// The system refuses it.
    #[error(transparent)]
    System {
        /// The system's error.
        source: io::Error,
    },
    /// It is something else by now.
    #[error(transparent)]
    Taken {
        /// The error that tells what it is.
        source: PlaceError,
    },
    /// Nothing has the name any more.
    #[error("it was removed or moved away; put it back, or create an empty file in its place")]
    Gone,
    /// Somebody has given it another name.
    #[error("it has a second name (a hard link) by now, through which others may change it; remove that name")]
    #[cfg_attr(not(unix), expect(dead_code, reason = "std does not tell how many names a file has there"))]
    SecondName,
    /// Another process keeps the lock.
    #[error("another process has kept it locked for {} ms", .waited.as_millis())]
    Busy {
        /// How long this has waited.
        waited: Duration,
    },
}

impl From<io::Error> for SharedFileError {
    fn from(source: io::Error) -> Self {
        Self::System { source }
    }
}

impl From<PlaceError> for SharedFileError {
    fn from(source: PlaceError) -> Self {
        match source {
            PlaceError::System { source } => Self::System { source },
            source => Self::Taken { source },
        }
    }
}

impl Locked<'_> {
    /// Appends `bytes` to the file.
    ///
    /// # Errors
    /// The system's. A part of `bytes` may be in the file then.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file().write_all(bytes);
        self.size = match written {
            Ok(()) => self.size + bytes.len() as u64,
            Err(_) => self.file().metadata().map_or(0, |metadata| metadata.len()),
        };
        // Not before: something that is no file of this kind may have taken its name.
        #[cfg(unix)]
        self.shared.reader.follow(&self.shared.file);
        written
    }
}
