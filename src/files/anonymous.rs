//! A file without a name: no other process can open it by a path, and it is gone with its last handle, however the
//! process ends.

use std::fs::File;
use std::io;
use std::path::Path;

use super::handles::nameless;
use super::system::{make_unreachable, read_exact_at, write_all_at};

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
        match nameless(directory) {
            Some(file) => Ok(Self(file)),
            None => make_unreachable(directory, &name()?).map(Self),
        }
    }

    /// Writes all bytes at this offset.
    ///
    /// # Errors
    /// The system's error, such as that the disk is full.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        write_all_at(&self.0, bytes, offset)
    }

    /// Fills the buffer with what was written at this offset.
    ///
    /// # Errors
    /// The system's error, or that there is less.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        read_exact_at(&self.0, buffer, offset)
    }

    /// Returns all its space to the file system.
    ///
    /// # Errors
    /// The system's error.
    pub fn empty(&self) -> io::Result<()> {
        self.0.set_len(0)
    }
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
