//! Reads regular files of bounded size. A FIFO would block, and a device may never end, and both can take the place of a
//! file.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use thiserror::Error;

use super::system::{never_wait, special_kind};

/// Why a file was not read. The caller adds the name of the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It can't be opened or read.
    #[error(transparent)]
    System {
        /// The system's error.
        source: io::Error,
    },
    /// It is not a regular file.
    #[error("it is {found}; expected a regular file")]
    NotRegular {
        /// The kind of the file, in words.
        found: &'static str,
    },
    /// It is larger than allowed.
    #[error("it is larger than {}, the most that is read", in_bytes(*most))]
    TooLarge {
        /// The bound in bytes.
        most: u64,
    },
    /// Its bytes are not text.
    #[error("line {line} holds bytes that are not UTF-8")]
    NotUtf8 {
        /// The line, counted from 1.
        line: usize,
    },
}

impl From<io::Error> for ReadError {
    fn from(source: io::Error) -> Self {
        Self::System { source }
    }
}

/// Reads the regular file that `path` leads to, following links, if it holds at most `most` bytes. Opening never waits
/// for another process. The type is checked on the opened file, so a file that replaces it meanwhile is not read.
///
/// # Errors
/// A [`ReadError`]. On Windows a named pipe is recognised only by its path.
pub fn read_regular(path: &Path, most: u64) -> Result<Vec<u8>, ReadError> {
    // Only to avoid opening devices, since that has an effect on some of them; the check of the handle decides.
    regular(fs::metadata(path)?.file_type())?;
    read_opened(&open_without_waiting(path)?, most)
}

/// Opens the regular file that `path` leads to, of any size, following links.
///
/// # Errors
/// As [`read_regular`].
pub(crate) fn open_regular(path: &Path) -> Result<File, ReadError> {
    regular(fs::metadata(path)?.file_type())?;
    let file = open_without_waiting(path)?;
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens a file for reading. Whatever it is, opening never waits for another process: not for a writer of a FIFO, and
/// not for the holder of a lease, which is an error of the kind `WouldBlock`.
///
/// # Errors
/// The system's error.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    never_wait(&mut options);
    options.open(path)
}

/// Reads what was opened without blocking, if it is a regular file of at most `most` bytes.
pub(super) fn read_opened(file: &File, most: u64) -> Result<Vec<u8>, ReadError> {
    let metadata = file.metadata()?;
    regular(metadata.file_type())?;
    if metadata.len() > most {
        return Err(ReadError::TooLarge { most });
    }
    // The length is not reliable: files of `/proc` say 0, and any file may grow.
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= most => Ok(bytes),
        Ok(_) | Err(_) => Err(ReadError::TooLarge { most }),
    }
}

/// Converts what was read to text.
pub(crate) fn into_text(bytes: Vec<u8>) -> Result<String, ReadError> {
    String::from_utf8(bytes).map_err(|error| {
        let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        ReadError::NotUtf8 { line: good.iter().filter(|&&byte| byte == b'\n').count() + 1 }
    })
}

fn regular(kind: FileType) -> Result<(), ReadError> {
    if kind.is_file() { Ok(()) } else { Err(ReadError::NotRegular { found: kind_in_words(kind) }) }
}

/// The kind of a file, in words: `a directory`, `a FIFO`.
pub fn kind_in_words(kind: FileType) -> &'static str {
    if kind.is_file() {
        return "a regular file";
    }
    if kind.is_dir() {
        return "a directory";
    }
    if kind.is_symlink() {
        return "a link";
    }
    special_kind(kind).unwrap_or("something else")
}

/// A number of bytes in the largest binary unit that divides it.
fn in_bytes(bytes: u64) -> String {
    match [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")].iter().find(|(unit, _)| bytes > 0 && bytes % unit == 0)
    {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(result: Result<Vec<u8>, ReadError>) -> String {
        match result {
            Ok(bytes) => String::from_utf8(bytes).unwrap(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_regular_file_is_read_up_to_its_bound() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(text(read_regular(&path, 5)), "12345");
        assert_eq!(text(read_regular(&path, 4)), "it is larger than 4 bytes, the most that is read");
        // A hole of a terabyte takes no space on the disk, and is not read either.
        File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(text(read_regular(&path, 1 << 20)), "it is larger than 1 MiB, the most that is read");
        assert_eq!(text(read_regular(directory.path(), 9)), "it is a directory; expected a regular file");
        let gone = fs::read(directory.path().join("gone")).unwrap_err().to_string();
        assert_eq!(text(read_regular(&directory.path().join("gone"), 9)), gone);
    }

    #[test]
    #[cfg(unix)]
    fn what_is_no_regular_file_is_named_and_never_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("fifo");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        #[cfg(target_os = "linux")]
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        #[cfg(not(target_os = "linux"))]
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success() && !mode.is_empty());
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&fifo, &link).unwrap();
        for path in [&fifo, &link] {
            assert_eq!(text(read_regular(path, 9)), "it is a FIFO or a pipe; expected a regular file");
        }
        assert_eq!(text(read_regular(Path::new("/dev/zero"), 9)), "it is a device; expected a regular file");
        // A file of `/proc` claims to be empty, and is not.
        #[cfg(target_os = "linux")]
        assert_eq!(
            text(read_regular(Path::new("/proc/self/status"), 9)),
            "it is larger than 9 bytes, the most that is read"
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_told_by_their_line() {
        let error = into_text(b"a\nb\n\xff".to_vec()).unwrap_err();
        assert_eq!(error.to_string(), "line 3 holds bytes that are not UTF-8");
        assert_eq!(into_text(b"a\n".to_vec()).unwrap(), "a\n");
    }
}
