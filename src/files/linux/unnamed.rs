//! Files without a name, see `O_TMPFILE` in open(2).

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};

use super::held::proc_path;
use crate::files::Place;

const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Makes a file for its owner alone, which can never have a name; `None` if the file system does not support that.
pub(in crate::files) fn nameless(directory: &Path) -> Option<File> {
    // With O_EXCL it can't be given a name later, either.
    let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC | OFlags::TMPFILE;
    openat(CWD, directory, flags, PRIVATE).ok().map(File::from)
}

/// Makes a file for appending and reading that has no name yet, and that nobody else can open; `None` if the file system does not
/// support that.
pub(crate) fn unnamed(place: &Place) -> Option<File> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::TMPFILE | OFlags::CLOEXEC;
    openat(&place.directory, ".", flags, PRIVATE).ok().map(File::from)
}

/// Gives the file its name, unless that is taken.
pub(crate) fn give_name(unnamed: &File, place: &Place) -> io::Result<()> {
    let path = proc_path(unnamed);
    Ok(linkat(CWD, &path, &place.directory, &place.name, AtFlags::SYMLINK_FOLLOW)?)
}
