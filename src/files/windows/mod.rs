//! Files on Windows: by their paths.

mod anonymous;
pub(super) mod appended;
mod beneath;
mod place;
mod state;

use std::fs::{FileType, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

pub(super) use anonymous::{make_unreachable, read_exact_at, write_all_at};
pub(super) use beneath::DirectoryHandle;
pub(super) use place::Naming;

/// Whether the path leads to a file.
pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// The path without links, `.` and `..`, in the form that programs take: without `\\?\` where it needs none.
pub(crate) fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    dunce::canonicalize(path)
}

/// Does nothing: there is nothing here that opening would wait for.
pub(super) fn never_wait(_options: &mut OpenOptions) {}

/// None is known.
pub(super) fn special_kind(_kind: FileType) -> Option<&'static str> {
    None
}
