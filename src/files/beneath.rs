//! A directory in which files are made and read by relative paths that never follow a link, and so never lead out.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::ReadError;

/// A directory that was opened once. Each step below it goes from handle to handle (`openat`, `O_NOFOLLOW`), so no link
/// is followed, even if another process makes it meanwhile. Links can be made in it; their targets are not checked.
///
/// On Windows it is a canonical path, and each step is checked before it is taken: that protects against existing
/// links, but not against links that are made in between.
#[derive(Debug)]
pub struct Beneath {
    path: PathBuf,
    #[cfg(unix)]
    handle: std::os::fd::OwnedFd,
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
enum Missing {
    IsMade,
    IsAnError,
}

/// The parts of a relative path that never leaves its start.
fn parts(relative: &Path) -> io::Result<Vec<&OsStr>> {
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
fn split(relative: &Path) -> io::Result<(Vec<&OsStr>, &OsStr)> {
    let mut parts = parts(relative)?;
    let name = parts.pop().ok_or_else(|| invalid("expected the name of a file"))?;
    Ok((parts, name))
}

fn invalid(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

fn is_a_link(name: &OsStr) -> io::Error {
    invalid(format!("`{}` is a link, and no link is followed here", name.to_string_lossy()))
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io::{self, Write};
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
    use rustix::io::Errno;

    use super::super::regular::read_opened;
    use super::{Beneath, Missing, ReadError, is_a_link, parts, split};

    /// A directory that is only passed through need not be readable, if the system has such handles.
    #[cfg(target_os = "linux")]
    const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
    #[cfg(not(target_os = "linux"))]
    const STEP: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

    impl Beneath {
        /// Opens the directory that `path` leads to, following links: the caller trusts the path.
        ///
        /// # Errors
        /// The system's error.
        pub fn open(path: &Path) -> io::Result<Self> {
            let path = path.canonicalize()?;
            let handle = rustix::fs::openat(CWD, &path, STEP, Mode::empty())?;
            Ok(Self { path, handle })
        }

        /// Opens a directory in it.
        ///
        /// # Errors
        /// As [`Self::create_directory`].
        pub fn open_directory(&self, relative: &Path) -> io::Result<Self> {
            let handle = self.directory(&parts(relative)?, Missing::IsAnError)?;
            Ok(Self { path: self.path.join(relative), handle })
        }

        /// Makes a file that holds these bytes, and the directories on the way.
        ///
        /// # Errors
        /// As [`Self::create_directory`]; `AlreadyExists` if the name is taken.
        pub fn create_file(&self, relative: &Path, bytes: &[u8], is_executable: bool) -> io::Result<()> {
            let (parents, name) = split(relative)?;
            let parent = self.directory(&parents, Missing::IsMade)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut file = File::from(rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o666))?);
            file.write_all(bytes)?;
            if is_executable {
                rustix::fs::fchmod(&file, Mode::from_raw_mode(0o755))?;
            }
            Ok(())
        }

        /// Makes a symbolic link with this `target`, and the directories on the way.
        ///
        /// # Errors
        /// As [`Self::create_file`].
        pub fn create_link(&self, relative: &Path, target: &Path) -> io::Result<()> {
            let (parents, name) = split(relative)?;
            let parent = self.directory(&parents, Missing::IsMade)?;
            Ok(rustix::fs::symlinkat(target, &parent, name)?)
        }

        /// Reads a regular file of at most `most` bytes, as [`read_regular`](super::super::read_regular) does.
        ///
        /// # Errors
        /// A [`ReadError`]; a link at the end is not followed either.
        pub fn read_regular(&self, relative: &Path, most: u64) -> Result<Vec<u8>, ReadError> {
            let (parents, name) = split(relative)?;
            let parent = self.directory(&parents, Missing::IsAnError)?;
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&parent, name, flags, Mode::empty());
            let file = file.map_err(|error| not_followed(parent.as_fd(), name, error))?;
            read_opened(&File::from(file), most)
        }

        /// Whether `path` still leads to this directory.
        pub fn is_at(&self, path: &Path) -> bool {
            let here = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW);
            let held = rustix::fs::fstat(&self.handle);
            held.is_ok_and(|held| here.is_ok_and(|here| (held.st_dev, held.st_ino) == (here.st_dev, here.st_ino)))
        }

        pub(super) fn directory(&self, parts: &[&OsStr], missing: Missing) -> io::Result<OwnedFd> {
            let mut here = rustix::fs::openat(&self.handle, ".", STEP, Mode::empty())?;
            for name in parts {
                here = match rustix::fs::openat(&here, *name, STEP, Mode::empty()) {
                    Err(Errno::NOENT) if matches!(missing, Missing::IsMade) => {
                        match rustix::fs::mkdirat(&here, *name, Mode::from_raw_mode(0o777)) {
                            Ok(()) | Err(Errno::EXIST) => {}
                            Err(error) => return Err(error.into()),
                        }
                        rustix::fs::openat(&here, *name, STEP, Mode::empty())
                    }
                    opened => opened,
                }
                .map_err(|error| not_followed(here.as_fd(), name, error))?;
            }
            Ok(here)
        }
    }

    impl AsFd for Beneath {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.handle.as_fd()
        }
    }

    /// The error of opening, in words if a link is the reason.
    fn not_followed(parent: BorrowedFd<'_>, name: &OsStr, error: Errno) -> io::Error {
        let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
        match stat.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::Symlink) => is_a_link(name),
            Ok(_) | Err(_) => error.into(),
        }
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::ffi::OsStr;
    use std::fs;
    use std::io::{self, Write};
    use std::path::{Path, PathBuf};

    use super::super::regular::read_regular;
    use super::{Beneath, Missing, ReadError, is_a_link, parts, split};

    impl Beneath {
        /// Opens the directory that `path` leads to, following links: the caller trusts the path.
        ///
        /// # Errors
        /// The system's error.
        pub fn open(path: &Path) -> io::Result<Self> {
            let path = crate::files::canonicalize(path)?;
            if path.is_dir() { Ok(Self { path }) } else { Err(io::ErrorKind::NotADirectory.into()) }
        }

        /// Opens a directory in it.
        ///
        /// # Errors
        /// As [`Self::create_directory`].
        pub fn open_directory(&self, relative: &Path) -> io::Result<Self> {
            self.directory(&parts(relative)?, Missing::IsAnError).map(|path| Self { path })
        }

        /// Makes a file that holds these bytes, and the directories on the way.
        ///
        /// # Errors
        /// As [`Self::create_directory`]; `AlreadyExists` if the name is taken.
        pub fn create_file(&self, relative: &Path, bytes: &[u8], _is_executable: bool) -> io::Result<()> {
            let (parents, name) = split(relative)?;
            let path = self.directory(&parents, Missing::IsMade)?.join(name);
            fs::File::create_new(path)?.write_all(bytes)
        }

        /// Makes a symbolic link with this `target`, and the directories on the way. Windows distinguishes links to
        /// directories; the target is looked up relative to the link.
        ///
        /// # Errors
        /// As [`Self::create_file`].
        pub fn create_link(&self, relative: &Path, target: &Path) -> io::Result<()> {
            let (parents, name) = split(relative)?;
            let parent = self.directory(&parents, Missing::IsMade)?;
            let link = parent.join(name);
            #[cfg(windows)]
            return match parent.join(target).is_dir() {
                true => std::os::windows::fs::symlink_dir(target, link),
                false => std::os::windows::fs::symlink_file(target, link),
            };
            #[cfg(not(windows))]
            Err(io::Error::new(io::ErrorKind::Unsupported, format!("no link can be made: `{}`", link.display())))
        }

        /// Reads a regular file of at most `most` bytes, as [`read_regular`](super::super::read_regular) does.
        ///
        /// # Errors
        /// A [`ReadError`]; a link at the end is not followed either.
        pub fn read_regular(&self, relative: &Path, most: u64) -> Result<Vec<u8>, ReadError> {
            let (parents, name) = split(relative)?;
            let path = self.directory(&parents, Missing::IsAnError)?.join(name);
            if fs::symlink_metadata(&path)?.is_symlink() {
                return Err(is_a_link(name).into());
            }
            read_regular(&path, most)
        }

        /// Whether `path` still leads to this directory, judged by its canonical path.
        pub fn is_at(&self, path: &Path) -> bool {
            crate::files::canonicalize(path).is_ok_and(|path| path == self.path)
        }

        pub(super) fn directory(&self, parts: &[&OsStr], missing: Missing) -> io::Result<PathBuf> {
            let mut here = self.path.clone();
            for name in parts {
                here.push(name);
                match fs::symlink_metadata(&here) {
                    Ok(metadata) if metadata.is_symlink() => return Err(is_a_link(name)),
                    Ok(metadata) if metadata.is_dir() => {}
                    Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
                    Err(error) if error.kind() == io::ErrorKind::NotFound && matches!(missing, Missing::IsMade) => {
                        fs::create_dir(&here)?;
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(here)
        }
    }
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
