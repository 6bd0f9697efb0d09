//! Files that the system deletes when they are closed.

use std::fs::File;
use std::io;
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// See `CreateFileW` in Microsoft's documentation.
const FILE_ATTRIBUTE_TEMPORARY: u32 = 0x0000_0100;
const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;

/// Makes a file that nobody else can open.
pub(in crate::files) fn make_unreachable(directory: &Path, name: &str) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true).share_mode(0);
    options.custom_flags(FILE_FLAG_DELETE_ON_CLOSE | FILE_ATTRIBUTE_TEMPORARY).open(directory.join(name))
}

/// Writes all bytes at this offset.
pub(in crate::files) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    all_at(bytes.len(), offset, |done, at| file.seek_write(bytes.get(done..).unwrap_or_default(), at))
}

/// Fills the buffer with what is at this offset.
pub(in crate::files) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    all_at(buffer.len(), offset, |done, at| file.seek_read(buffer.get_mut(done..).unwrap_or_default(), at))
}

/// Repeats a partial read or write until everything is done.
fn all_at(length: usize, offset: u64, mut part: impl FnMut(usize, u64) -> io::Result<usize>) -> io::Result<()> {
    let mut done = 0;
    while done < length {
        match part(done, offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
