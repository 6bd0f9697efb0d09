//! A file to which several processes append, one at a time.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;

use super::patience::{Patience, Wait};
use super::place::{Place, PlaceError};

/// A file that grows over many runs, to which several processes append. If this creates it, only its owner can read it.
///
/// The name is looked at again before each append, since another process may have moved the file away and begun a new one.
#[derive(Debug)]
pub(crate) struct SharedFile {
    place: Place,
    /// Where the place is opened again if its directory was removed, as [`Place::open`] takes it.
    path: PathBuf,
    changeable: Vec<PathBuf>,
    patience: Patience,
    /// Not on Windows: there the file is opened for each append, since only that keeps others from writing to it.
    #[cfg(unix)]
    file: Arc<File>,
    #[cfg(unix)]
    reader: SharedReader,
    /// Its device and inode, which stay the same as long as it is open.
    #[cfg(unix)]
    identity: (rustix::fs::Dev, u64),
}

/// The file, and the right to append to it until this is dropped.
#[derive(Debug)]
pub(crate) struct Locked<'a> {
    shared: &'a mut SharedFile,
    #[cfg(not(unix))]
    file: File,
    /// Whether it is another file than at the previous append.
    pub is_another: bool,
    /// The one of the append before, then.
    #[cfg(unix)]
    before: Option<Arc<File>>,
    /// How many bytes it has.
    pub size: u64,
}

/// Why nothing can be appended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum SharedFileError {
    /// The system refuses it.
    #[error(transparent)]
    System {
        /// What the system says.
        source: io::Error,
    },
    /// It is something else by now.
    #[error(transparent)]
    Taken {
        /// What it is.
        source: PlaceError,
    },
    /// Nothing has the name any more.
    #[error("it was removed or moved away; put it back, or create an empty file in its place")]
    Gone,
    /// Somebody has given it another name.
    #[error("it has a second name (a hard link) by now, through which others may change it; remove that name")]
    #[cfg_attr(not(unix), expect(dead_code, reason = "std does not tell how many names a file has there"))]
    SecondName,
    /// Another process keeps the lock.
    #[error("another process has kept it locked for {} ms", .waited.as_millis())]
    Busy {
        /// How long this has waited.
        waited: Duration,
    },
}

impl From<io::Error> for SharedFileError {
    fn from(source: io::Error) -> Self {
        Self::System { source }
    }
}

impl From<PlaceError> for SharedFileError {
    fn from(source: PlaceError) -> Self {
        match source {
            PlaceError::System { source } => Self::System { source },
            source => Self::Taken { source },
        }
    }
}

/// Reads the file from another thread, whatever has its name.
#[derive(Debug, Clone)]
#[cfg(unix)]
pub(crate) struct SharedReader(Arc<Mutex<Arc<File>>>);

/// The file, from its beginning. It has a place of its own to read at.
#[derive(Debug)]
#[cfg(unix)]
struct ReadAt {
    file: Arc<File>,
    at: u64,
}

#[cfg(unix)]
impl SharedReader {
    /// The file as the last append has left it.
    ///
    /// # Errors
    /// None here.
    pub(crate) fn open(&self) -> Result<impl Read + Seek + use<>, PlaceError> {
        Ok(ReadAt { file: Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner)), at: 0 })
    }

    fn follow(&self, file: &Arc<File>) {
        let mut read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&read, file) {
            *read = Arc::clone(file);
        }
    }
}

#[cfg(unix)]
impl Read for ReadAt {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(unix)]
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

#[cfg(unix)]
impl SharedFile {
    /// Opens the regular file at `path`, or makes it; as [`open_to_append`](super::open_to_append) does, no link is followed.
    ///
    /// # Errors
    /// As that.
    pub(crate) fn open(path: &Path, changeable: &[&Path]) -> Result<Self, PlaceError> {
        let place = Place::open(path, changeable)?;
        let file = super::appended::open_regular(&place, super::appended::Opened::Both, true)?;
        let identity = identity_of(&file).map_err(|source| PlaceError::System { source })?;
        let file = Arc::new(file);
        let reader = SharedReader(Arc::new(Mutex::new(Arc::clone(&file))));
        let (path, changeable) = (path.to_owned(), changeable.iter().map(|&path| path.to_owned()).collect());
        Ok(Self { place, path, changeable, patience: Patience::new(), file, reader, identity })
    }

    /// What reads the file from another thread.
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
        rustix::fs::fstat(&self.place.directory).ok().filter(|directory| directory.st_nlink == 0)?;
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
            match rustix::fs::statat(&self.place.directory, &self.place.name, AtFlags::SYMLINK_NOFOLLOW) {
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
                    let opened = super::appended::Opened::Both;
                    let file = super::appended::open_regular(&self.place, opened, false);
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

impl Locked<'_> {
    /// Appends `bytes` to the file.
    ///
    /// # Errors
    /// The system's. A part of `bytes` may be in the file then.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file().write_all(bytes);
        self.size = match written {
            Ok(()) => self.size + bytes.len() as u64,
            Err(_) => self.file().metadata().map_or(0, |metadata| metadata.len()),
        };
        // Not before: something that is no file of this kind may have taken its name.
        #[cfg(unix)]
        self.shared.reader.follow(&self.shared.file);
        written
    }
}

#[cfg(unix)]
fn size_of(stat: rustix::fs::Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

#[cfg(unix)]
fn identity_of(file: &File) -> io::Result<(rustix::fs::Dev, u64)> {
    let stat = rustix::fs::fstat(file)?;
    Ok((stat.st_dev, stat.st_ino))
}

#[cfg(unix)]
fn unlock(file: &File) {
    // This fails only for an invalid descriptor, and then the next lock would fail too.
    let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingUnlock);
}

#[cfg(unix)]
impl Locked<'_> {
    /// The file, open for reading anywhere and for writing at its end.
    pub(crate) fn file(&self) -> &File {
        &self.shared.file
    }

    /// The file of the append before, if it is another one.
    pub(crate) fn before(&self) -> Option<&File> {
        self.before.as_deref()
    }

    /// Another file of this kind in the same directory.
    pub(crate) fn beside(&self, name: &str) -> Option<File> {
        let directory = self.shared.place.directory.open_directory(Path::new("")).ok()?;
        let place = Place { directory, name: name.into() };
        // The name comes from the file, which anybody may have written.
        let is_name = !name.contains('/') && !matches!(name, "" | "." | "..");
        is_name.then(|| super::appended::open_regular(&place, super::appended::Opened::Reading, false).ok()).flatten()
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
        if statat(&place.directory, moved_to, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
        }
        let lock = |file: &File| flock(file, FlockOperation::NonBlockingLockExclusive);
        let unnamed = super::appended::unnamed(place).filter(|file| lock(file).is_ok());
        rename(place, moved_to)?;
        let named = unnamed.filter(|file| super::appended::give_name(file, place).is_ok());
        let file = match named {
            Some(file) => file,
            None => super::appended::create_new(place)?,
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

/// Gives the file another name, unless something has it.
#[cfg(target_os = "linux")]
fn rename(Place { directory, name }: &Place, to: &OsString) -> io::Result<()> {
    rustix::fs::renameat_with(directory, name, directory, to, rustix::fs::RenameFlags::NOREPLACE)?;
    Ok(())
}

/// Gives the file another name, unless something has it. A rename would replace that.
#[cfg(all(unix, not(target_os = "linux")))]
fn rename(Place { directory, name }: &Place, to: &OsString) -> io::Result<()> {
    use rustix::fs::{AtFlags, linkat, unlinkat};
    linkat(directory, name, directory, to, AtFlags::empty())?;
    unlinkat(directory, name, AtFlags::empty())?;
    Ok(())
}

#[cfg(unix)]
impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // What this append has added is not of others.
        self.shared.patience.appended(self.size);
        unlock(&self.shared.file);
    }
}

/// Reads the file from another thread.
#[derive(Debug, Clone)]
#[cfg(not(unix))]
pub(crate) struct SharedReader {
    path: PathBuf,
    changeable: Vec<PathBuf>,
}

#[cfg(not(unix))]
impl SharedReader {
    /// The file that has the name.
    ///
    /// # Errors
    /// As [`open_to_append`](super::open_to_append).
    pub(crate) fn open(&self) -> Result<impl Read + Seek + use<>, PlaceError> {
        let changeable: Vec<&Path> = self.changeable.iter().map(PathBuf::as_path).collect();
        super::open_appended(&self.path, &changeable)
    }
}

#[cfg(not(unix))]
impl SharedFile {
    /// Opens the regular file at `path`, or makes it; a link is not followed.
    ///
    /// # Errors
    /// What the system says, and [`PlaceError::Taken`] for a link.
    pub(crate) fn open(path: &Path, changeable: &[&Path]) -> Result<Self, PlaceError> {
        let place = Place::open(path, changeable)?;
        super::appended::open_alone(&place, true)?;
        let (path, changeable) = (path.to_owned(), changeable.iter().map(|&path| path.to_owned()).collect());
        Ok(Self { place, path, changeable, patience: Patience::new() })
    }

    /// What reads the file from another thread.
    pub(crate) fn reader(&self) -> SharedReader {
        SharedReader { path: self.path.clone(), changeable: self.changeable.clone() }
    }

    /// Waits for the right to append, at most a second while nobody appends; see [`Patience`]. On Windows this is the
    /// right to open the file for writing, which a process that reads the file can deny.
    ///
    /// # Errors
    /// [`SharedFileError`].
    pub(crate) fn lock(&mut self) -> Result<Locked<'_>, SharedFileError> {
        /// `ERROR_SHARING_VIOLATION`.
        const SHARING: i32 = 32;
        let mut wait = Wait::default();
        loop {
            match super::appended::open_alone(&self.place, false) {
                Ok(file) => {
                    let size = file.metadata()?.len();
                    self.patience.had(&wait, size);
                    return Ok(Locked { shared: self, file, is_another: false, size });
                }
                Err(PlaceError::System { source }) if source.raw_os_error() == Some(SHARING) => {
                    let path = self.place.directory.path().join(&self.place.name);
                    let size = std::fs::symlink_metadata(path).map_or(0, |metadata| metadata.len());
                    self.patience.wait(&mut wait, size).map_err(|waited| SharedFileError::Busy { waited })?;
                }
                Err(PlaceError::System { source }) if source.kind() == io::ErrorKind::NotFound => {
                    return Err(SharedFileError::Gone);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(not(unix))]
impl Locked<'_> {
    /// The file, open for reading anywhere and for writing at its end.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// None: the file is opened by its name for each append.
    pub(crate) fn before(&self) -> Option<&File> {
        None
    }

    /// Not looked for, as there is nothing before.
    pub(crate) fn beside(&self, _name: &str) -> Option<File> {
        None
    }

    /// Moves the file to another name in its directory, which nothing has, and begins a new one in its place.
    ///
    /// # Errors
    /// The system's error; `AlreadyExists` if the name is taken.
    pub(crate) fn begin_anew(&mut self, moved_to: &OsString) -> Result<(), SharedFileError> {
        let directory = self.shared.place.directory.path();
        let (from, to) = (directory.join(&self.shared.place.name), directory.join(moved_to));
        if std::fs::symlink_metadata(&to).is_ok() {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
        }
        std::fs::rename(from, to)?;
        (self.file, self.size) = (super::appended::open_alone(&self.shared.place, true)?, 0);
        Ok(())
    }
}

#[cfg(not(unix))]
impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // What this append has added was not added by others.
        self.shared.patience.appended(self.size);
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;

    #[test]
    fn who_only_holds_the_lock_is_waited_for_once_and_who_appends_each_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut own = SharedFile::open(&path, &[]).unwrap();
        // How long this waited, within bounds that also hold on a busy machine.
        let waited = |own: &mut SharedFile| match own.lock() {
            Err(SharedFileError::Busy { waited }) if waited >= Patience::MOST => Patience::MOST,
            Err(SharedFileError::Busy { waited }) if waited >= Patience::LEAST => Patience::LEAST,
            other => panic!("{other:?}"),
        };
        own.lock().unwrap().append(b"own\n").unwrap();
        // A descriptor for reading is enough.
        let reader = File::open(&path).unwrap();
        let lock = || rustix::fs::flock(&reader, rustix::fs::FlockOperation::NonBlockingLockShared).unwrap();
        lock();
        assert_eq!(waited(&mut own), Patience::MOST);
        assert_eq!(waited(&mut own), Patience::LEAST);
        assert_eq!(waited(&mut own), Patience::LEAST);
        // Releasing the lock for a moment does not restart the wait.
        unlock(&reader);
        own.lock().unwrap().append(b"own\n").unwrap();
        lock();
        assert_eq!(waited(&mut own), Patience::LEAST);
        // Somebody else has appended, and so can still be at it.
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"other\n").unwrap();
        assert_eq!(waited(&mut own), Patience::MOST);
        assert_eq!(waited(&mut own), Patience::LEAST);
        unlock(&reader);
        for _ in 0..100 {
            drop(own.lock().unwrap());
        }
        lock();
        assert_eq!(waited(&mut own), Patience::MOST);
    }

    #[test]
    fn a_file_that_grows_is_waited_for_until_the_turn_comes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let [mut own, mut other] = [(), ()].map(|()| SharedFile::open(&path, &[]).unwrap());
        let mut locked = other.lock().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // As several servers do that append in turn: the lock is never free, and the file grows.
                let end = Instant::now() + 2 * Patience::MOST;
                while Instant::now() < end {
                    locked.append(b"other\n").unwrap();
                    std::thread::sleep(Patience::MOST / 20);
                }
            });
            own.lock().unwrap().append(b"own\n").unwrap();
        });
        assert!(fs::read_to_string(&path).unwrap().ends_with("other\nown\n"));
    }

    #[test]
    fn one_at_a_time_has_the_right_to_append() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let [mut one, mut other] = [(), ()].map(|()| SharedFile::open(&path, &[]).unwrap());
        let locked = one.lock().unwrap();
        assert!(matches!(other.lock(), Err(SharedFileError::Busy { .. })));
        drop(locked);
        drop(other.lock().unwrap());
        one.lock().unwrap();
    }

    #[test]
    fn a_file_that_is_moved_away_is_unlocked_though_somebody_still_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut own = SharedFile::open(&path, &[]).unwrap();
        let mut locked = own.lock().unwrap();
        locked.append(b"old\n").unwrap();
        let mut read = locked.shared.reader().open().unwrap();
        locked.begin_anew(&"log.1".into()).unwrap();
        let old = File::open(directory.path().join("log.1")).unwrap();
        rustix::fs::flock(&old, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
        locked.append(b"new\n").unwrap();
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        locked.shared.reader().open().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "old\nnew\n");
    }

    #[test]
    fn a_new_file_is_found_by_all_and_what_was_removed_by_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let [mut one, mut other] = [(), ()].map(|()| SharedFile::open(&path, &[]).unwrap());
        let mut locked = one.lock().unwrap();
        locked.append(b"old\n").unwrap();
        fs::write(directory.path().join("log.1"), "taken").unwrap();
        assert!(locked.begin_anew(&"log.1".into()).is_err());
        locked.begin_anew(&"log.2".into()).unwrap();
        locked.append(b"new\n").unwrap();
        drop(locked);
        let mut locked = other.lock().unwrap();
        assert!(locked.is_another);
        locked.append(b"newer\n").unwrap();
        drop(locked);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new\nnewer\n");
        assert_eq!(fs::read_to_string(directory.path().join("log.2")).unwrap(), "old\n");
        fs::remove_file(&path).unwrap();
        assert!(matches!(one.lock(), Err(SharedFileError::Gone)));
        std::os::unix::fs::symlink(directory.path().join("log.1"), &path).unwrap();
        assert!(matches!(one.lock(), Err(SharedFileError::Taken { .. })));
        fs::remove_file(&path).unwrap();
        fs::write(&path, "").unwrap();
        assert!(one.lock().unwrap().is_another);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_new_file_is_locked_before_anybody_can_open_it() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut own = SharedFile::open(&path, &[]).unwrap();
        own.lock().unwrap().append(b"old\n").unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Waits until the name is missing, and locks what has it next.
            let other = scope.spawn(|| {
                let mut was_missing = false;
                while !is_over.load(Ordering::Relaxed) {
                    let Ok(file) = File::open(&path) else {
                        was_missing = true;
                        continue;
                    };
                    let locks =
                        || rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok();
                    if std::mem::take(&mut was_missing) && locks() && file.metadata().unwrap().len() == 0 {
                        return true;
                    }
                }
                false
            });
            for number in 0..200 {
                let Ok(mut locked) = own.lock() else { break };
                if locked.begin_anew(&format!("log.{number}").into()).is_err() {
                    break;
                }
                locked.append(b"new\n").unwrap();
            }
            is_over.store(true, Ordering::Relaxed);
            assert!(!other.join().unwrap());
        });
    }
}
