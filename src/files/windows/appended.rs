//! Opens and makes the file of a place.

use std::fs::{self, File, Metadata, OpenOptions};
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::files::appended::open_regular;
use crate::files::{OpenFor, Place, PlaceError, kind_in_words};

/// `FILE_SHARE_READ`.
const SHARE_READ: u32 = 1;

/// Opens the regular file at `path` to read what was appended to it; links are treated as by [`open_to_append`](crate::files::open_to_append).
///
/// # Errors
/// As that; nothing is made where there is no file.
pub(crate) fn open_appended(path: &Path, changeable: &[&Path]) -> Result<File, PlaceError> {
    open_regular(&Place::open(path, changeable)?, OpenFor::Reading, false)
}

/// Opens the file for appending and reading, so that nobody else can write to it until it is closed.
pub(crate) fn open_alone(place: &Place, may_create: bool) -> Result<File, PlaceError> {
    let mut options = OpenOptions::new();
    options.append(true).read(true).create(may_create).share_mode(SHARE_READ);
    let file = options.open(no_link(place)?)?;
    let metadata = file.metadata()?;
    match metadata.file_type().is_file() {
        true => Ok(file),
        false => Err(PlaceError::Taken { found: kind_in_words(metadata.file_type()) }),
    }
}

/// Opens whatever has the name, unless that is a link, or creates it if `may_create`.
pub(in crate::files) fn open(place: &Place, opened: OpenFor, may_create: bool) -> Result<File, PlaceError> {
    let mut options = OpenOptions::new();
    match opened {
        OpenFor::Appending => options.append(true).create(may_create),
        OpenFor::Both => options.append(true).read(true).create(may_create),
        OpenFor::Reading => options.read(true),
    };
    Ok(options.open(no_link(place)?)?)
}

fn no_link(place: &Place) -> Result<PathBuf, PlaceError> {
    let path = place.directory.path().join(&place.name);
    match fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.file_type().is_symlink()) {
        true => Err(PlaceError::Taken { found: "a link" }),
        false => Ok(path),
    }
}

/// Not determined.
pub(in crate::files) fn has_other_names(_metadata: &Metadata) -> bool {
    false
}
