//! Opens and makes the file of a place.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use crate::files::{OpenFor, Place, PlaceError};

/// Creates a file that does not exist yet, for appending and reading.
pub(crate) fn create_new(place: &Place) -> Result<File, PlaceError> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&place.directory, &place.name, flags, Mode::RUSR | Mode::WUSR);
    Ok(File::from(file.map_err(io::Error::from)?))
}

/// Opens whatever has the name, without following a link or waiting, or creates it if `may_create`.
pub(in crate::files) fn open(place: &Place, opened: OpenFor, may_create: bool) -> Result<File, PlaceError> {
    // With `NONBLOCK`, opening a FIFO that nobody reads is an error, and does not make the start wait.
    let mut flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    flags |= match opened {
        OpenFor::Appending => OFlags::APPEND | OFlags::WRONLY,
        OpenFor::Both => OFlags::APPEND | OFlags::RDWR,
        OpenFor::Reading => OFlags::RDONLY,
    };
    flags.set(OFlags::CREATE, may_create);
    match openat(&place.directory, &place.name, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(File::from(file)),
        Err(Errno::LOOP) => Err(PlaceError::Taken { found: "a link" }),
        Err(Errno::NXIO) => Err(PlaceError::Taken { found: "a FIFO or a socket" }),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

/// Whether the file has other names (hard links).
pub(in crate::files) fn has_other_names(metadata: &Metadata) -> bool {
    metadata.nlink() > 1
}
