//! A file without a name: no other process can open it by a path, and it is gone with its last handle, however the
//! process ends.

use std::fs::File;
use std::io;
use std::path::Path;

/// A file without a name, accessible only to its owner.
#[derive(Debug)]
pub struct AnonymousFile(File);

impl AnonymousFile {
    /// Makes one on the file system of `directory`.
    ///
    /// On Linux it never has a name, if the file system allows that; elsewhere it has one that can't be guessed until it
    /// was opened (on Windows until it is closed, and nobody else can open it).
    ///
    /// # Errors
    /// The system's error.
    pub fn new(directory: &Path) -> io::Result<Self> {
        make(directory).map(Self)
    }

    /// Writes all bytes at this offset.
    ///
    /// # Errors
    /// The system's error, such as that the disk is full.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::write_all_at(&self.0, bytes, offset);
        #[cfg(not(unix))]
        return all_at(bytes.len(), offset, |done, at| {
            std::os::windows::fs::FileExt::seek_write(&self.0, bytes.get(done..).unwrap_or_default(), at)
        });
    }

    /// Fills the buffer with what was written at this offset.
    ///
    /// # Errors
    /// The system's error, or that there is less.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_exact_at(&self.0, buffer, offset);
        #[cfg(not(unix))]
        return all_at(buffer.len(), offset, |done, at| {
            std::os::windows::fs::FileExt::seek_read(&self.0, buffer.get_mut(done..).unwrap_or_default(), at)
        });
    }

    /// Returns all its space to the file system.
    ///
    /// # Errors
    /// The system's error.
    pub fn empty(&self) -> io::Result<()> {
        self.0.set_len(0)
    }
}

/// Repeats a partial read or write until everything is done.
#[cfg(not(unix))]
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

#[cfg(unix)]
fn make(directory: &Path) -> io::Result<File> {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
    let (flags, mode) = (OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    // With O_EXCL it can't be given a name later, either.
    #[cfg(target_os = "linux")]
    if let Ok(file) = openat(CWD, directory, flags | OFlags::TMPFILE, mode) {
        return Ok(file.into());
    }
    let directory = openat(CWD, directory, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let name = name()?;
    let file = openat(&directory, &name, flags | OFlags::CREATE | OFlags::NOFOLLOW, mode)?;
    unlinkat(&directory, &name, AtFlags::empty())?;
    Ok(file.into())
}

#[cfg(not(unix))]
fn make(directory: &Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    /// See `CreateFileW` in Microsoft's documentation.
    const FILE_ATTRIBUTE_TEMPORARY: u32 = 0x0000_0100;
    const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
    let mut options = File::options();
    options.read(true).write(true).create_new(true).share_mode(0);
    options.custom_flags(FILE_FLAG_DELETE_ON_CLOSE | FILE_ATTRIBUTE_TEMPORARY).open(directory.join(name()?))
}

/// A name that can't be guessed.
fn name() -> io::Result<String> {
    let mut random = [0; 16];
    crate::random::fill(&mut random)?;
    Ok(random.iter().fold("allowexec-output-".to_owned(), |name, byte| format!("{name}{byte:02x}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_nothing_is_left_in_the_directory() {
        let directory = tempfile::tempdir().unwrap();
        let file = AnonymousFile::new(directory.path()).unwrap();
        file.write_at(b"world", 5).unwrap();
        file.write_at(b"hello", 0).unwrap();
        let mut read = [0; 10];
        file.read_at(&mut read, 0).unwrap();
        assert_eq!(&read, b"helloworld");
        assert!(file.read_at(&mut read, 1).is_err());
        #[cfg(unix)]
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        file.empty().unwrap();
        assert!(file.read_at(&mut read, 0).is_err());
    }

    #[test]
    fn a_directory_that_is_missing_is_an_error() {
        assert!(AnonymousFile::new(Path::new("/missing/directory")).is_err());
    }
}
