//! Temporary directories of servers that were killed: the next server that makes one in the same place removes them.
//!
//! Each server holds a lock on its own directory (flock(2)). The lock ends with the process, however that ends. So if a
//! directory can be locked, no server is using it. If a file system has no such locks, nothing is removed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat};
use rustix::io::Errno;

use super::temporary::is_private;
use crate::files::{Held, remove_within};
use crate::sandbox::temporary::PREFIX;

/// How many entries of the place are looked at, so that a start never takes long.
const MOST_ENTRIES: usize = 100_000;

/// A directory that is opened to be listed or locked.
const OPENED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Locks the directory of a running server, as long as the result is open; `None` if the file system has no locks.
///
/// # Errors
/// `AlreadyExists` if another server has locked the directory to remove it; otherwise the system's error.
pub(super) fn lock(directory: &Held) -> io::Result<Option<OwnedFd>> {
    let opened = openat(directory, ".", OPENED, Mode::empty())?;
    match flock(&opened, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(opened)),
        Err(Errno::WOULDBLOCK) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => Ok(None),
    }
}

/// Removes the unused directories in `parent`, on a separate thread, since they may contain much.
pub(in crate::sandbox) fn remove_from(parent: &Arc<Held>) {
    let parent = Arc::clone(parent);
    // If there is no thread, they stay until the next start.
    drop(std::thread::Builder::new().name("left-behind".into()).spawn(move || remove_all(&parent)));
}

pub(super) fn remove_all(parent: &Held) {
    for name in names(parent).unwrap_or_default() {
        // What can't be removed stays.
        let _ = remove(parent, &name);
    }
}

/// The names in the directory that a server could have chosen.
fn names(parent: &Held) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(openat(parent, ".", OPENED, Mode::empty())?)?.take(MOST_ENTRIES) {
        let name = entry?.file_name().to_bytes().to_owned();
        let random = name.strip_prefix(PREFIX.as_bytes());
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if random.is_some_and(|random| random.len() == 32 && random.iter().all(is_digit)) {
            names.push(OsString::from_vec(name));
        }
    }
    Ok(names)
}

/// Removes a directory, if it belongs to this user and no server is using it.
fn remove(parent: &Held, name: &OsStr) -> io::Result<()> {
    let opened = openat(parent, name, OPENED, Mode::empty())?;
    if !is_private(&fstat(&opened)?) {
        return Ok(());
    }
    flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
    let handle = openat(&opened, ".", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    remove_within(&Held::from_handle(handle, &parent.path().join(name))?, usize::MAX)?;
    // If something else has its name by now, that stays unless it is an empty directory.
    Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn only_what_a_server_has_left_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        let parent = Held::open_directory(&base).unwrap();
        let named = |digit: &str| base.join(format!("{PREFIX}{}", digit.repeat(32)));
        let make = |path: &std::path::Path, mode: u32| {
            fs::create_dir(path).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        fs::create_dir(base.join("kept")).unwrap();
        fs::write(base.join("kept/file"), "").unwrap();
        for (digit, mode) in [("0", 0o700), ("1", 0o700), ("2", 0o755)] {
            make(&named(digit), mode);
            fs::create_dir_all(named(digit).join("a/b")).unwrap();
            symlink(base.join("kept"), named(digit).join("a/link")).unwrap();
        }
        // A running server's, one with another name, a file, and a link.
        let lives = lock(&Held::open_directory(&named("1")).unwrap()).unwrap().unwrap();
        make(&base.join("allowexec-notes"), 0o700);
        fs::write(named("3"), "").unwrap();
        symlink(base.join("kept"), named("4")).unwrap();
        remove_all(&parent);
        let left = |digit: &str| fs::symlink_metadata(named(digit)).is_ok();
        assert_eq!(["0", "1", "2", "3", "4"].map(left), [false, true, true, true, true]);
        assert!(base.join("kept/file").exists() && base.join("allowexec-notes").exists());
        assert!(named("1").join("a/b").exists() && named("2").join("a/b").exists());
        drop(lives);
        remove_all(&parent);
        assert!(!left("1") && left("2"));
    }
}
