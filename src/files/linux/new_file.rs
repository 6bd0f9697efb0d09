//! An empty file that is created for somebody else to write, and removed if nobody does (Linux).

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::{
    AtFlags, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_OMIT, fstat, futimens, openat, statat, unlinkat,
};

use crate::files::Held;

/// The modification time of a file that nobody has written, in seconds since 1970: any write changes it.
const NEVER: i64 = 0;

/// An empty file that was not there before.
#[derive(Debug)]
pub(crate) struct NewFile {
    directory: Arc<Held>,
    name: OsString,
    held: Arc<Held>,
}

impl NewFile {
    /// Creates the file in a held directory, with mode 666 less the umask. Its modification time is the beginning of
    /// 1970.
    ///
    /// # Errors
    /// The system's error, including if the name is taken.
    pub(crate) fn create(directory: &Arc<Held>, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&**directory, name, flags, Mode::from_raw_mode(0o666))?;
        let made = || {
            let last_modification = Timespec { tv_sec: NEVER, tv_nsec: 0 };
            let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
            futimens(&file, &Timestamps { last_access, last_modification })?;
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let held = openat(&**directory, name, flags, Mode::empty())?;
            if !is_same(&fstat(&held)?, &fstat(&file)?) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Held::from_handle(held, &directory.path().join(name))
        };
        match made() {
            Ok(held) => Ok(Self { directory: Arc::clone(directory), name: name.to_owned(), held: Arc::new(held) }),
            Err(error) => {
                // Only if the name still leads to it: a file that a command has put in its place stays.
                if named(directory, name, &file).is_some() {
                    // Only the first error is reported; the empty file may stay.
                    let _ = unlinkat(&**directory, name, AtFlags::empty());
                }
                Err(error)
            }
        }
    }

    /// The file.
    pub(crate) fn held(&self) -> &Arc<Held> {
        &self.held
    }

    /// Removes it if it still has its name and nobody has written, truncated or touched it.
    pub(crate) fn remove_unless_used(self) {
        let Some(now) = named(&self.directory, &self.name, &*self.held) else { return };
        if now.st_size == 0 && now.st_mtime == NEVER && now.st_mtime_nsec == 0 {
            // If it can't be removed, an empty file stays.
            let _ = unlinkat(&*self.directory, &*self.name, AtFlags::empty());
        }
    }
}

/// The state of what has this name, if it is this file. It opens nothing, so it works even if no descriptor is left.
fn named(directory: &Held, name: &OsStr, file: impl AsFd) -> Option<Stat> {
    let now = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    fstat(file).is_ok_and(|own| is_same(&own, &now)).then_some(now)
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_new_file_goes_unless_somebody_has_used_it() {
        let dir = tempfile::tempdir().unwrap();
        let held = Arc::new(Held::open_directory(dir.path()).unwrap());
        let path = |name: &str| dir.path().join(name);
        type Use = fn(&std::path::Path);
        let uses: [(&str, Use); 5] = [
            ("unused", |_| {}),
            ("written", |path| fs::write(path, "x").unwrap()),
            ("cut", |path| fs::write(path, "").unwrap()),
            ("touched", |path| {
                fs::File::options().write(true).open(path).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
            }),
            ("replaced", |path| {
                fs::remove_file(path).unwrap();
                fs::write(path, "").unwrap();
            }),
        ];
        for (name, used) in uses {
            let file = NewFile::create(&held, name.as_ref()).unwrap();
            assert_eq!(fs::read(path(name)).unwrap(), b"");
            used(&path(name));
            file.remove_unless_used();
            assert_eq!(path(name).exists(), name != "unused", "{name}");
        }
        std::os::unix::fs::symlink("elsewhere", path("link")).unwrap();
        for taken in ["written", "link"] {
            assert_eq!(NewFile::create(&held, taken.as_ref()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert!(!path("elsewhere").exists());
    }
}
