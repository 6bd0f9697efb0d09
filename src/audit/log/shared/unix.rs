//! A shared file on Unix: it stays open, and a lock of the file gives the right to append.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{Locked, SharedFile, SharedFileError};
use crate::audit::log::patience::{Patience, Wait};
use crate::files::appended::{self, OpenFor};
use crate::files::{Place, PlaceError};

/// Reads the file from another thread, whatever has its name.
#[derive(Debug, Clone)]
pub(crate) struct SharedReader(Arc<Mutex<Arc<File>>>);

/// The file, from its beginning. It has a place of its own to read at.
#[derive(Debug)]
struct ReadAt {
    file: Arc<File>,
    at: u64,
}

impl SharedReader {
    /// The file as the last append has left it.
    ///
    /// # Errors
    /// None here.
    pub(crate) fn open(&self) -> Result<impl Read + Seek + use<>, PlaceError> {
        Ok(ReadAt { file: Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner)), at: 0 })
    }

    pub(super) fn follow(&self, file: &Arc<File>) {
        let mut read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&read, file) {
            *read = Arc::clone(file);
        }
    }
}

impl Read for ReadAt {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for ReadAt {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        let to = match to {
            io::SeekFrom::Start(at) => Some(at),
            io::SeekFrom::Current(by) => self.at.checked_add_signed(by),
            io::SeekFrom::End(by) => self.file.metadata()?.len().checked_add_signed(by),
        };
        self.at = to.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl SharedFile {
    /// Opens the regular file at `path`, or makes it; as [`open_to_append`](crate::files::open_to_append) does, no link is followed.
    ///
    /// # Errors
    /// As that.
    pub(crate) fn open(path: &Path, changeable: &[&Path]) -> Result<Self, PlaceError> {
        let place = Place::open(path, changeable)?;
        let file = appended::open_regular(&place, OpenFor::Both, true)?;
        let identity = identity_of(&file).map_err(|source| PlaceError::System { source })?;
        let file = Arc::new(file);
        let reader = SharedReader(Arc::new(Mutex::new(Arc::clone(&file))));
        let (path, changeable) = (path.to_owned(), changeable.iter().map(|&path| path.to_owned()).collect());
        Ok(Self { place, path, changeable, patience: Patience::new(), file, reader, identity })
    }

    /// Returns a reader of the file for another thread.
    pub(crate) fn reader(&self) -> SharedReader {
        self.reader.clone()
    }

    /// Takes another file, and gives the one before, which is unlocked.
    fn take(&mut self, file: File) -> io::Result<Arc<File>> {
        self.identity = identity_of(&file)?;
        let before = std::mem::replace(&mut self.file, Arc::new(file));
        // Now, whoever else holds it open.
        unlock(&before);
        Ok(before)
    }

    /// The place, if the directory that was held is removed and has been made again.
    fn made_again(&self) -> Option<Place> {
        rustix::fs::fstat(self.place.directory()).ok().filter(|directory| directory.st_nlink == 0)?;
        let changeable: Vec<&Path> = self.changeable.iter().map(PathBuf::as_path).collect();
        Place::open(&self.path, &changeable).ok()
    }

    /// Waits for the right to append, at most a second while nobody appends; see [`Patience`].
    ///
    /// # Errors
    /// [`SharedFileError`].
    pub(crate) fn lock(&mut self) -> Result<Locked<'_>, SharedFileError> {
        use rustix::fs::{AtFlags, FlockOperation, flock};
        use rustix::io::Errno;
        let (mut wait, mut before) = (Wait::default(), None);
        loop {
            match flock(&*self.file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {
                    let size = rustix::fs::fstat(&*self.file).map_or(0, size_of);
                    self.patience.wait(&mut wait, size).map_err(|waited| SharedFileError::Busy { waited })?;
                    continue;
                }
                Err(error) => return Err(io::Error::from(error).into()),
            }
            // From here on the lock is held, and dropped with what follows.
            match rustix::fs::statat(self.place.directory(), self.place.name(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(named) if (named.st_dev, named.st_ino) == self.identity && named.st_nlink > 1 => {
                    unlock(&self.file);
                    return Err(SharedFileError::SecondName);
                }
                Ok(named) if (named.st_dev, named.st_ino) == self.identity => {
                    let size = size_of(named);
                    self.patience.had(&wait, size);
                    return Ok(Locked { shared: self, is_another: before.is_some(), before, size });
                }
                Ok(_) => {
                    // Another process has begun a new file.
                    let opened = OpenFor::Both;
                    let file = appended::open_regular(&self.place, opened, false);
                    let old = file.map_err(SharedFileError::from).and_then(|file| Ok(self.take(file)?));
                    before.get_or_insert(old.inspect_err(|_| unlock(&self.file))?);
                }
                Err(error) => {
                    unlock(&self.file);
                    if let Some(place) = (error == Errno::NOENT).then(|| self.made_again()).flatten() {
                        self.place = place;
                        continue;
                    }
                    return Err(if error == Errno::NOENT {
                        SharedFileError::Gone
                    } else {
                        io::Error::from(error).into()
                    });
                }
            }
        }
    }
}

fn size_of(stat: rustix::fs::Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

fn identity_of(file: &File) -> io::Result<(rustix::fs::Dev, u64)> {
    let stat = rustix::fs::fstat(file)?;
    Ok((stat.st_dev, stat.st_ino))
}

pub(super) fn unlock(file: &File) {
    // This fails only for an invalid descriptor, and then the next lock would fail too.
    let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingUnlock);
}

impl Locked<'_> {
    /// The file, open for reading anywhere and for writing at its end.
    pub(crate) fn file(&self) -> &File {
        &self.shared.file
    }

    /// The file of the append before, if it is another one.
    pub(crate) fn before(&self) -> Option<&File> {
        self.before.as_deref()
    }

    /// The names in the directory of the file, as far as they can be read.
    pub(crate) fn names(&self) -> Vec<OsString> {
        use rustix::fs::{Dir, Mode, OFlags, openat};
        use std::os::unix::ffi::OsStringExt;
        // The handle itself may be one that only leads to the directory.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(self.shared.place.directory(), ".", flags, Mode::empty()).and_then(Dir::new);
        let entries = directory.into_iter().flatten().map_while(Result::ok);
        entries.map(|entry| OsString::from_vec(entry.file_name().to_bytes().to_vec())).collect()
    }

    /// Another file of this kind in the same directory.
    pub(crate) fn beside(&self, name: &OsStr) -> Option<File> {
        // The name comes from the file, which anybody may have written.
        appended::open_regular(&self.shared.place.beside(name)?, OpenFor::Reading, false).ok()
    }

    /// Moves the file to another name in its directory, which nothing has, and begins a new one in its place. The new one is
    /// locked before it has the name, where the file system allows that: else another server could begin it, or a process that
    /// reads it could lock it first.
    ///
    /// # Errors
    /// The system's error; `AlreadyExists` if the name is taken. [`SharedFileError::Busy`] if the new file could not be
    /// locked before it got the name, and another process has locked it by now.
    pub(crate) fn begin_anew(&mut self, moved_to: &OsString) -> Result<(), SharedFileError> {
        use rustix::fs::{AtFlags, FlockOperation, flock, statat};
        use rustix::io::Errno;
        let place = &self.shared.place;
        if statat(place.directory(), moved_to, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
        }
        let lock = |file: &File| flock(file, FlockOperation::NonBlockingLockExclusive);
        let unnamed = appended::unnamed(place).filter(|file| lock(file).is_ok());
        rename(place, place.name(), moved_to)?;
        let named = unnamed.filter(|file| appended::give_name(file, place).is_ok());
        let file = match named {
            Some(file) => file,
            // If there can be no new file, as on a full disk, the old one gets its name back, and the next record finds it. If that
            // fails too, the file is gone until the next start.
            None => appended::create_new(place).inspect_err(|_| drop(rename(place, moved_to, place.name())))?,
        };
        // This never waits: a process could hold the lock forever, and the loop would be blocked.
        let busy = || SharedFileError::Busy { waited: Duration::ZERO };
        lock(&file).map_err(|error| if error == Errno::AGAIN { busy() } else { io::Error::from(error).into() })?;
        if file.metadata()?.len() > 0 {
            return Err(busy());
        }
        // Who waits for the old one finds the new one by its name.
        self.shared.take(file)?;
        self.size = 0;
        Ok(())
    }
}

/// Gives a file another name in its directory, in one step, unless something has it.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn rename(place: &Place, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let directory = place.directory();
    rustix::fs::renameat_with(directory, from, directory, to, rustix::fs::RenameFlags::NOREPLACE)?;
    Ok(())
}

/// The same in two steps, since a rename would replace what has the name.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn rename(place: &Place, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let directory = place.directory();
    use rustix::fs::{AtFlags, linkat, unlinkat};
    linkat(directory, from, directory, to, AtFlags::empty())?;
    unlinkat(directory, from, AtFlags::empty())?;
    Ok(())
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // What this append has added is not of others.
        self.shared.patience.appended(self.size);
        unlock(&self.shared.file);
    }
}
