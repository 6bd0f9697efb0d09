//! Files whose names are removed at once.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};

/// Makes a file for its owner alone, and removes its name.
pub(in crate::files) fn make_unreachable(directory: &Path, name: &str) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC | OFlags::CREATE | OFlags::NOFOLLOW;
    let directory = openat(CWD, directory, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let file = openat(&directory, name, flags, Mode::RUSR | Mode::WUSR)?;
    unlinkat(&directory, name, AtFlags::empty())?;
    Ok(file.into())
}

/// Writes all bytes at this offset.
pub(in crate::files) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

/// Fills the buffer with what is at this offset.
pub(in crate::files) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(buffer, offset)
}
