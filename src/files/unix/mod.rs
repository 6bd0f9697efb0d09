//! Files on a Unix: by descriptors.

mod anonymous;
pub(super) mod appended;
mod beneath;
mod place;
mod state;

use std::fs::{FileType, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, OFlags, access};

pub(super) use anonymous::{make_unreachable, read_exact_at, write_all_at};
pub(super) use beneath::DirectoryHandle;
pub(super) use place::Naming;

/// A directory that is only passed through need not be readable, if the system has such handles.
#[cfg(target_os = "linux")]
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const STEP: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Whether the path leads to a file that this user may execute.
pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// The path without links, `.` and `..`.
pub(crate) fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// Prevents opening from waiting for another process.
pub(super) fn never_wait(options: &mut OpenOptions) {
    // The bits of two flags fit in every C int.
    options.custom_flags(i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default());
}

/// The kind of a file that is neither a regular file nor a directory nor a link, in words.
pub(super) fn special_kind(kind: FileType) -> Option<&'static str> {
    if kind.is_fifo() {
        return Some("a FIFO or a pipe");
    }
    if kind.is_socket() {
        return Some("a socket");
    }
    (kind.is_char_device() || kind.is_block_device()).then_some("a device")
}
