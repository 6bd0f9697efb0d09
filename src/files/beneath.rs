//! A directory in which files are made and read by relative paths that never follow a link, and so never lead out.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::system::DirectoryHandle;

/// A directory that was opened once. Each step below it goes from handle to handle (`openat`, `O_NOFOLLOW`), so no link
/// is followed, even if another process makes it meanwhile. Links can be made in it; their targets are not checked.
///
/// On Windows it is a canonical path, and each step is checked before it is taken: that protects against existing
/// links, but not against links that are made in between.
#[derive(Debug)]
pub struct Beneath {
    pub(super) path: PathBuf,
    pub(super) handle: DirectoryHandle,
}

impl Beneath {
    /// The canonical path that the directory had when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the directory, and the directories on the way; each may exist already.
    ///
    /// # Errors
    /// The system's error; `InvalidInput` for a path that is not relative or contains `..`, here and in the methods
    /// below, and for a link on the way.
    pub fn create_directory(&self, relative: &Path) -> io::Result<()> {
        self.directory(&parts(relative)?, Missing::IsMade).map(|_| ())
    }
}

/// The handling of a missing directory on the way.
#[derive(Clone, Copy)]
pub(super) enum Missing {
    IsMade,
    IsAnError,
}

/// The parts of a relative path that never leaves its start.
pub(super) fn parts(relative: &Path) -> io::Result<Vec<&OsStr>> {
    let mut parts = Vec::new();
    for component in relative.components() {
        match component {
            Component::Normal(name) => parts.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(invalid("expected a relative path without `..`"));
            }
        }
    }
    Ok(parts)
}

/// The directories on the way, and the name at the end.
pub(super) fn split(relative: &Path) -> io::Result<(Vec<&OsStr>, &OsStr)> {
    let mut parts = parts(relative)?;
    let name = parts.pop().ok_or_else(|| invalid("expected the name of a file"))?;
    Ok((parts, name))
}

fn invalid(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

pub(super) fn is_a_link(name: &OsStr) -> io::Error {
    invalid(format!("`{}` is a link, and no link is followed here", name.to_string_lossy()))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn nothing_is_made_or_read_through_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (inside, outside) = (directory.path().join("in"), directory.path().join("out"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "secret").unwrap();
        let beneath = Beneath::open(&inside).unwrap();
        beneath.create_link(Path::new("a/link"), &outside).unwrap();
        beneath.create_link(Path::new("same"), Path::new("a")).unwrap();
        beneath.create_link(Path::new("named"), &outside.join("file")).unwrap();
        for path in ["a/link/new", "a/link", "same/new", "a/link/deep/er/new"] {
            let path = Path::new(path);
            assert!(beneath.create_file(path, b"x", true).is_err(), "{}", path.display());
            assert!(beneath.create_directory(path).is_err(), "{}", path.display());
            assert!(beneath.create_link(path, Path::new("/")).is_err(), "{}", path.display());
        }
        for path in ["a/link/file", "named"] {
            let error = beneath.read_regular(Path::new(path), 99).unwrap_err().to_string();
            assert!(error.ends_with("is a link, and no link is followed here"), "{path}: {error}");
        }
        for path in ["..", "../out/file", "a/../../out/file", "/etc/passwd"] {
            assert!(beneath.create_file(Path::new(path), b"x", false).is_err(), "{path}");
            assert!(beneath.read_regular(Path::new(path), 99).is_err(), "{path}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "secret");
    }

    #[test]
    fn what_is_made_is_there_and_the_directory_stays_the_same_whatever_its_name_leads_to() {
        let directory = tempfile::tempdir().unwrap();
        let (first, moved) = (directory.path().join("first"), directory.path().join("moved"));
        fs::create_dir(&first).unwrap();
        let beneath = Beneath::open(&first).unwrap();
        assert!(beneath.is_at(&first));
        fs::rename(&first, &moved).unwrap();
        symlink("/", &first).unwrap();
        assert!(!beneath.is_at(&first));
        beneath.create_file(Path::new("./x/y/tool"), b"text", true).unwrap();
        let made = moved.join("x/y/tool");
        assert_eq!(fs::read_to_string(&made).unwrap(), "text");
        assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(beneath.read_regular(Path::new("x/y/tool"), 4).unwrap(), b"text");
        beneath.create_directory(Path::new("x/y")).unwrap();
        let again = beneath.create_file(Path::new("x/y/tool"), b"", false).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert!(beneath.open_directory(Path::new("x")).unwrap().is_at(&moved.join("x")));
    }
}
