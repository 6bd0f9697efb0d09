//! One file or directory, held by a handle.

#[cfg(target_os = "linux")]
use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::sync::LazyLock;

#[cfg(target_os = "linux")]
use rustix::fs::{Mode, OFlags, open, readlinkat};
#[cfg(target_os = "linux")]
use rustix::process::{Pid, getpid};

use super::{Ancestry, FileState};

/// How many directories [`Held::lies_in`] climbs at most; PATH_MAX allows no path with more parts.
#[cfg(target_os = "linux")]
pub(super) const DEEPEST: usize = 4096;

/// The identity of a file or directory while it exists: its device and inode number on Linux, its canonical path
/// elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(Identifier);

#[cfg(target_os = "linux")]
type Identifier = (u64, u64);
#[cfg(not(target_os = "linux"))]
type Identifier = PathBuf;

#[cfg(not(target_os = "linux"))]
impl Identity {
    pub(super) fn of_canonical(path: &Path) -> Self {
        Self(path.to_owned())
    }
}

/// A file or directory that was opened once. On Linux it holds an `O_PATH` handle, so that renaming or relinking later
/// does not change what it is; elsewhere it remembers the canonical path.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    identity: Identity,
    #[cfg(target_os = "linux")]
    handle: File,
}

impl Held {
    /// Opens what `path` leads to, following links.
    ///
    /// # Errors
    /// The error of opening it, or of asking the kernel about it.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::hold(path)
    }

    /// Opens the directory that `path` leads to, following links.
    ///
    /// # Errors
    /// As [`Self::open`]; `NotADirectory` for anything else.
    pub fn open_directory(path: &Path) -> io::Result<Self> {
        Self::hold_directory(path)
    }

    /// Opens it first and then asks the kernel for its path, so that what is compared is what is used.
    #[cfg(target_os = "linux")]
    fn hold(path: &Path) -> io::Result<Self> {
        Self::from_handle(open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?, path)
    }

    #[cfg(target_os = "linux")]
    fn hold_directory(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Self::from_handle(open(path, flags, Mode::empty())?, path)
    }

    /// Makes a value from an `O_PATH` handle. `asked` is the path that was opened; it is used if there is no `/proc` to
    /// ask.
    #[cfg(target_os = "linux")]
    pub(crate) fn from_handle(handle: OwnedFd, asked: &Path) -> io::Result<Self> {
        let identity = identity(&handle)?;
        let path = match path_of(&handle) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => super::canonicalize(asked)?,
            Err(error) => return Err(error),
        };
        Ok(Self { path, identity, handle: handle.into() })
    }

    #[cfg(not(target_os = "linux"))]
    fn hold(path: &Path) -> io::Result<Self> {
        let path = super::canonicalize(path)?;
        Ok(Self { identity: Identity(path.clone()), path })
    }

    #[cfg(not(target_os = "linux"))]
    fn hold_directory(path: &Path) -> io::Result<Self> {
        let held = Self::hold(path)?;
        if held.path.is_dir() { Ok(held) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    /// Opens what `path` leads to, if its canonical path is already known: asking for that costs several times as much as
    /// opening. The caller must check that it is still the same file before using the path.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn open_again(path: &Path, known: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            let handle = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            Ok(Self { path: known.to_owned(), identity: identity(&handle)?, handle: handle.into() })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = known;
            Self::hold(path)
        }
    }

    /// Returns the present state of the file, by its handle.
    ///
    /// # Errors
    /// The error of asking the kernel about it.
    pub(crate) fn state(&self) -> io::Result<FileState> {
        #[cfg(target_os = "linux")]
        return self.handle.metadata().map(FileState::from);
        #[cfg(not(target_os = "linux"))]
        return FileState::of(&self.path);
    }

    /// Whether every change from now on will show in the file's state.
    ///
    /// A process that has mapped the file writes to it without a system call. The kernel then gives the file new times
    /// only at the first of these writes after the file was written to the disk; see mmap(2). So this flushes the file
    /// first. File systems in memory never flush, and other file systems promise nothing, so there the times say
    /// nothing about a file that the server's user, and so a command, can write.
    pub(crate) fn notes_changes(&self) -> bool {
        #[cfg(target_os = "linux")]
        {
            use super::file_systems::renews_times;
            use rustix::fs::{fstatfs, fsync};
            let path = proc_path(&self.handle);
            if !self.state().is_ok_and(|state| state.may_be_written(&path)) {
                return true;
            }
            let is_on_disk = fstatfs(&self.handle).is_ok_and(|system| renews_times(system.f_type));
            is_on_disk && super::open_without_waiting(&path).is_ok_and(|file| fsync(file).is_ok())
        }
        #[cfg(not(target_os = "linux"))]
        true
    }

    /// The canonical path that it had when it was opened; for messages, and for code that needs a name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path that it has now, which differs if it was moved since it was opened.
    pub fn path_now(&self) -> PathBuf {
        #[cfg(target_os = "linux")]
        if let Ok(path) = path_of(&self.handle) {
            return path;
        }
        self.path.clone()
    }

    /// Whether it was removed, and exists only because it is held.
    pub fn is_removed(&self) -> bool {
        #[cfg(target_os = "linux")]
        return rustix::fs::fstat(&self.handle).is_ok_and(|stat| stat.st_nlink == 0);
        #[cfg(not(target_os = "linux"))]
        return !self.path.exists();
    }

    /// Whether the file has other names (hard links), so that writing it changes what they name. Always `false` outside Linux, where
    /// files are not held.
    pub(crate) fn has_other_names(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.is_regular() && rustix::fs::fstat(&self.handle).is_ok_and(|stat| stat.st_nlink > 1);
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Opens the directory that `path` leads to from this one, following links; an absolute path starts at the root.
    ///
    /// # Errors
    /// As [`Self::open_directory`].
    pub fn open_directory_from(&self, path: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let handle = rustix::fs::openat(&self.handle, path, flags, Mode::empty())?;
            Self::from_handle(handle, &self.path.join(path))
        }
        #[cfg(not(target_os = "linux"))]
        return Self::hold_directory(&self.path.join(path));
    }

    /// Whether it is a regular file.
    pub(crate) fn is_regular(&self) -> bool {
        self.state().is_ok_and(|state| state.is_file())
    }

    /// Its identity.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// A path that leads to this file or directory while this value lives: on Linux the handle's path in `/proc`, if
    /// that is mounted; otherwise the canonical path.
    pub fn spawn_path(&self) -> PathBuf {
        #[cfg(target_os = "linux")]
        if *HAS_PROC {
            return proc_path(&self.handle);
        }
        self.path.clone()
    }

    /// Whether this directory is `outer`, or lies in it. On Linux the parents are climbed one by one and compared by
    /// identity, so names do not matter; elsewhere the canonical paths are compared part by part.
    ///
    /// # Errors
    /// If a parent can't be opened, and beyond 4096 parents.
    pub fn lies_in(&self, outer: &Self) -> io::Result<bool> {
        self.lies_in_any([outer])
    }

    /// Whether this directory is one of these, or lies in one: as [`Self::lies_in`], climbing once for all.
    ///
    /// # Errors
    /// As [`Self::lies_in`]. Then the answer is unknown, and the caller must choose the safe one.
    pub fn lies_in_any<T: AsRef<Self>>(&self, outer: impl IntoIterator<Item = T>) -> io::Result<bool> {
        let ancestry = Ancestry::of(self);
        let is_inside = outer.into_iter().any(|outer| ancestry.lies_in(outer.as_ref()));
        if is_inside { Ok(true) } else { ancestry.into_error().map_or(Ok(false), Err) }
    }

    /// Opens what lies at a relative path beneath this directory; no link is followed, and nothing leads out of it.
    ///
    /// # Errors
    /// The error of opening it; `ELOOP` or `ENOTDIR` if a part is a link.
    #[cfg(target_os = "linux")]
    pub fn open_beneath(&self, path: &Path) -> io::Result<OwnedFd> {
        use rustix::fs::{FileType, ResolveFlags, fstat, openat, openat2};
        use rustix::io::Errno;
        use std::path::Component;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match openat2(&self.handle, path, flags, Mode::empty(), resolve) {
            // Older containers don't know openat2(2), and refuse it with one of these errors.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return Ok(opened?),
        }
        let mut here = OwnedFd::from(self.handle.try_clone()?);
        let mut parts = path.components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else { return Err(Errno::XDEV.into()) };
            let only = if parts.peek().is_some() { OFlags::DIRECTORY } else { OFlags::empty() };
            here = openat(&here, name, flags | only | OFlags::NOFOLLOW, Mode::empty())?;
        }
        if FileType::from_raw_mode(fstat(&here)?.st_mode) == FileType::Symlink {
            return Err(Errno::LOOP.into());
        }
        Ok(here)
    }
}

impl AsRef<Self> for Held {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// Whether two lists hold the same directories in the same order, whatever their names are now.
pub fn are_same(some: &[Arc<Held>], others: &[Arc<Held>]) -> bool {
    some.len() == others.len() && some.iter().zip(others).all(|(one, other)| one.identity == other.identity)
}

#[cfg(target_os = "linux")]
impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

#[cfg(target_os = "linux")]
pub(super) fn identity(handle: impl AsFd) -> io::Result<Identity> {
    let stat = rustix::fs::fstat(handle)?;
    Ok(Identity((stat.st_dev, stat.st_ino)))
}

/// Opens the directory that one lies in; the root directory lies in itself.
#[cfg(target_os = "linux")]
pub(super) fn parent(directory: impl AsFd) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(directory, "..", flags, Mode::empty())?)
}

/// Whether `/proc` is there, looked up once.
#[cfg(target_os = "linux")]
static HAS_PROC: LazyLock<bool> = LazyLock::new(|| Path::new(DESCRIPTORS_OF_SELF).exists());

/// The directory of this process's descriptors in `/proc`; `None` if it can't be opened. It is opened once, because looking it
/// up takes longer than reading a link in it. After a fork(2) it would be the parent's, so the process id is kept with
/// it.
#[cfg(target_os = "linux")]
static DESCRIPTORS: LazyLock<Option<(Pid, OwnedFd)>> = LazyLock::new(|| {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Some((getpid(), open(DESCRIPTORS_OF_SELF, flags, Mode::empty()).ok()?))
});

#[cfg(target_os = "linux")]
const DESCRIPTORS_OF_SELF: &str = "/proc/self/fd";

#[cfg(target_os = "linux")]
pub(super) fn proc_path(handle: &impl AsRawFd) -> PathBuf {
    Path::new(DESCRIPTORS_OF_SELF).join(handle.as_raw_fd().to_string())
}

/// The path that it has now.
#[cfg(target_os = "linux")]
fn path_of(handle: &impl AsRawFd) -> io::Result<PathBuf> {
    match &*DESCRIPTORS {
        Some((process, descriptors)) if *process == getpid() => {
            let path = readlinkat(descriptors, handle.as_raw_fd().to_string(), Vec::with_capacity(256))?;
            Ok(OsString::from_vec(path.into_bytes()).into())
        }
        _ => std::fs::read_link(proc_path(handle)),
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_held_stays_the_same_whatever_happens_to_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("outer/inner")).unwrap();
        let (outer, inner) = (base.join("outer"), base.join("outer/inner"));
        let held = Held::open_directory(&inner).unwrap();
        assert_eq!(held.path(), inner);
        assert!(held.lies_in(&Held::open_directory(&outer).unwrap()).unwrap());
        fs::rename(&inner, base.join("moved")).unwrap();
        symlink("/", &inner).unwrap();
        // The held directory has moved away, and its old name leads to another one.
        assert!(!held.lies_in(&Held::open_directory(&outer).unwrap()).unwrap());
        assert!(!Held::open_directory(&inner).unwrap().lies_in(&Held::open_directory(&outer).unwrap()).unwrap());
        assert_eq!(held.identity(), Held::open_directory(&base.join("moved")).unwrap().identity());
        fs::write(base.join("moved/file"), "x").unwrap();
        assert_eq!(fs::read_to_string(held.spawn_path().join("file")).unwrap(), "x");
        let file = Held::open_directory(&base.join("moved/file")).unwrap_err();
        assert_eq!(file.kind(), io::ErrorKind::NotADirectory);
    }
}
