//! The temporary directory, made and removed through handles.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, Stat, fstat, mkdirat, openat, unlinkat};
use rustix::process::geteuid;

use super::left_behind;
pub(in crate::sandbox) use super::left_behind::remove_from as remove_left_behind;
use crate::files::Held;

/// Shows other servers that this one is running; `None` if the file system has no locks.
pub(in crate::sandbox) type Lock = Option<OwnedFd>;

/// Makes the directory for its owner alone, and locks it.
pub(in crate::sandbox) fn make(parent: &Held, name: &OsStr) -> io::Result<(Held, Lock)> {
    mkdirat(parent, name, Mode::RWXU)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = openat(parent, name, flags, Mode::empty()).map_err(|error| gone(error.into()))?;
    if !is_private(&fstat(&made)?) {
        return Err(io::Error::other("somebody else has put another directory in its place"));
    }
    let held = Held::from_handle(made, &parent.path().join(name)).map_err(gone)?;
    let lock = left_behind::lock(&held).map_err(gone)?;
    if held.is_removed() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    Ok((held, lock))
}

/// Until it is locked, another server may mistake it for one that was left behind, and remove it. Then it is made again,
/// with another name.
fn gone(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::NotFound => io::ErrorKind::AlreadyExists.into(),
        _ => error,
    }
}

/// Whether it belongs to this user, and nobody else has access.
pub(super) fn is_private(stat: &Stat) -> bool {
    let others = Mode::RWXG | Mode::RWXO;
    stat.st_uid == geteuid().as_raw() && !Mode::from_raw_mode(stat.st_mode).intersects(others)
}

/// Removes the directory, unless its name leads to another one.
pub(in crate::sandbox) fn remove(parent: &Held, name: &OsStr, held: &Held) -> io::Result<()> {
    let found = Held::from_handle(parent.open_beneath(Path::new(name))?, &parent.path().join(name))?;
    if found.identity() == held.identity() {
        unlinkat(parent, name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::files::Walked;
    use crate::sandbox::TemporaryDirectory;

    #[test]
    fn it_is_made_while_other_servers_remove_what_was_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        let parent = Walked::to(dir.path()).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    left_behind::remove_all(parent.held());
                }
            });
            let made: Vec<_> = (0..2000).map(|_| TemporaryDirectory::make(&parent).map(drop)).collect();
            is_over.store(true, Ordering::Relaxed);
            for made in made {
                made.unwrap();
            }
        });
    }
}
