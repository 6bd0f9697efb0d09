//! A file or directory as an `O_PATH` handle.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, fstatfs, fsync, open, openat, openat2, readlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, getpid};

use super::file_systems::renews_times;
use crate::files::{FileState, Held, Identity, open_without_waiting};

/// The most directories that [`Held::lies_in`] climbs; PATH_MAX allows no path with more parts.
const DEEPEST: usize = 4096;

/// The device and the inode number.
pub(in crate::files) type Identifier = (u64, u64);
/// The handle.
pub(in crate::files) type Handle = File;

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Held {
    /// Opens what `path` leads to, following links.
    ///
    /// # Errors
    /// The error of opening it, or of asking the kernel about it.
    pub fn open(path: &Path) -> io::Result<Self> {
        // It is opened first, and then the kernel is asked for its path, so that what is compared is what is used.
        Self::from_handle(open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?, path)
    }

    /// Opens the directory that `path` leads to, following links.
    ///
    /// # Errors
    /// As [`Self::open`]; `NotADirectory` for anything else.
    pub fn open_directory(path: &Path) -> io::Result<Self> {
        Self::from_handle(open(path, DIRECTORY, Mode::empty())?, path)
    }

    /// Makes a value from an `O_PATH` handle. `asked` is the path that was opened; it is used if there is no `/proc` to
    /// ask.
    pub(crate) fn from_handle(handle: OwnedFd, asked: &Path) -> io::Result<Self> {
        let identity = identity(&handle)?;
        let path = match path_of(&handle) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => crate::files::canonicalize(asked)?,
            Err(error) => return Err(error),
        };
        Ok(Self { path, identity, handle: handle.into() })
    }

    /// Opens what `path` leads to, if its canonical path is already known: asking for that costs several times as much as
    /// opening. The caller must check that it is still the same file before using the path.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn open_again(path: &Path, known: &Path) -> io::Result<Self> {
        let handle = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { path: known.to_owned(), identity: identity(&handle)?, handle: handle.into() })
    }

    /// Returns the present state of the file, by its handle.
    ///
    /// # Errors
    /// The error of asking the kernel about it.
    pub(crate) fn state(&self) -> io::Result<FileState> {
        self.handle.metadata().map(FileState::from)
    }

    /// Whether every change from now on will show in the file's state.
    ///
    /// A process that has mapped the file writes to it without a system call. The kernel then gives the file new times
    /// only at the first of these writes after the file was written to the disk; see mmap(2). So this flushes the file
    /// first. File systems in memory never flush, and other file systems promise nothing, so there the times say
    /// nothing about a file that the server's user, and so a command, can write.
    pub(crate) fn notes_changes(&self) -> bool {
        let path = proc_path(&self.handle);
        if !self.state().is_ok_and(|state| state.may_be_written(&path)) {
            return true;
        }
        let is_on_disk = fstatfs(&self.handle).is_ok_and(|system| renews_times(system.f_type));
        is_on_disk && open_without_waiting(&path).is_ok_and(|file| fsync(file).is_ok())
    }

    /// The path that it has now, which differs if it was moved since it was opened.
    pub fn path_now(&self) -> PathBuf {
        path_of(&self.handle).unwrap_or_else(|_| self.path.clone())
    }

    /// Whether it was removed, and exists only because it is held.
    pub fn is_removed(&self) -> bool {
        fstat(&self.handle).is_ok_and(|stat| stat.st_nlink == 0)
    }

    /// Whether the file has other names (hard links), so that writing it changes what they name.
    pub(crate) fn has_other_names(&self) -> bool {
        self.is_regular() && fstat(&self.handle).is_ok_and(|stat| stat.st_nlink > 1)
    }

    /// Opens the directory that `path` leads to from this one, following links; an absolute path starts at the root.
    ///
    /// # Errors
    /// As [`Self::open_directory`].
    pub fn open_directory_from(&self, path: &Path) -> io::Result<Self> {
        Self::from_handle(openat(&self.handle, path, DIRECTORY, Mode::empty())?, &self.path.join(path))
    }

    /// A path that leads to this file or directory while this value lives: the handle's path in `/proc`, if that is mounted;
    /// otherwise the canonical path.
    pub fn spawn_path(&self) -> PathBuf {
        if *HAS_PROC { proc_path(&self.handle) } else { self.path.clone() }
    }

    /// Opens what lies at a relative path beneath this directory; no link is followed, and nothing leads out of it.
    ///
    /// # Errors
    /// The error of opening it; `ELOOP` or `ENOTDIR` if a part is a link.
    pub fn open_beneath(&self, path: &Path) -> io::Result<OwnedFd> {
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

    /// Adds the directories around this one, from itself up to the root, which is its own parent.
    ///
    /// # Errors
    /// If a parent can't be opened, and beyond 4096 parents; what was found before counts.
    pub(in crate::files) fn climb(&self, identities: &mut Vec<Identity>) -> io::Result<()> {
        identities.push(self.identity.clone());
        let mut above = parent(self)?;
        for _ in 0..DEEPEST {
            let here = identity(&above)?;
            if identities.last() == Some(&here) {
                return Ok(());
            }
            identities.push(here);
            above = parent(&above)?;
        }
        Err(io::Error::other(format!("it lies more than {DEEPEST} directories deep")))
    }
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

pub(super) fn identity(handle: impl AsFd) -> io::Result<Identity> {
    let stat = fstat(handle)?;
    Ok(Identity((stat.st_dev, stat.st_ino)))
}

/// Opens the directory that one lies in; the root directory lies in itself.
fn parent(directory: impl AsFd) -> io::Result<OwnedFd> {
    Ok(openat(directory, "..", DIRECTORY, Mode::empty())?)
}

/// Whether `/proc` is there, looked up once.
static HAS_PROC: LazyLock<bool> = LazyLock::new(|| Path::new(DESCRIPTORS_OF_SELF).exists());

/// The directory of this process's descriptors in `/proc`; `None` if it can't be opened. It is opened once, because looking it
/// up takes longer than reading a link in it. After a fork(2) it would be the parent's, so the process id is kept with
/// it.
static DESCRIPTORS: LazyLock<Option<(Pid, OwnedFd)>> =
    LazyLock::new(|| Some((getpid(), open(DESCRIPTORS_OF_SELF, DIRECTORY, Mode::empty()).ok()?)));

const DESCRIPTORS_OF_SELF: &str = "/proc/self/fd";

pub(super) fn proc_path(handle: &impl AsRawFd) -> PathBuf {
    Path::new(DESCRIPTORS_OF_SELF).join(handle.as_raw_fd().to_string())
}

/// The path that it has now.
fn path_of(handle: &impl AsRawFd) -> io::Result<PathBuf> {
    match &*DESCRIPTORS {
        Some((process, descriptors)) if *process == getpid() => {
            let path = readlinkat(descriptors, handle.as_raw_fd().to_string(), Vec::with_capacity(256))?;
            Ok(OsString::from_vec(path.into_bytes()).into())
        }
        _ => std::fs::read_link(proc_path(handle)),
    }
}
