//! Empties a directory through its handle, so that nothing else is emptied, wherever its name or a link in it leads.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, ResolveFlags, chmod, fchmod, fstat, openat, openat2, unlinkat};
use rustix::io::Errno;

use super::held::identity;
use crate::files::Held;

/// The cost of a directory, in files: it is opened and read, and again after each directory in it.
const DIRECTORY: usize = 10;

/// Removes everything in a directory, but not the directory itself. It uses no path, follows no link, enters no
/// file system that was mounted in it, and needs two descriptors and no stack however deep the tree is. It stops after so much
/// `work`: a file is 1, and a directory that is not empty [`DIRECTORY`].
///
/// # Errors
/// The error of the first file that can't be removed; `TimedOut` if there is more work.
pub fn remove_within(directory: &Held, mut work: usize) -> io::Result<()> {
    let mut here = match open(directory, c".") {
        Err(Errno::ACCESS) => {
            chmod(directory.spawn_path(), OWN)?;
            open(directory, c".")?
        }
        opened => opened?,
    };
    let mut done = |cost: usize| {
        work = work.checked_sub(cost).ok_or(io::ErrorKind::TimedOut)?;
        Ok::<_, io::Error>(())
    };
    // The name of each directory on the way down, and the directory that it lies in.
    let mut above = Vec::new();
    loop {
        let mut inner = None;
        for entry in Dir::read_from(&here)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            done(1)?;
            match unlinkat(&here, name, AtFlags::empty()) {
                Err(Errno::ISDIR | Errno::PERM) => {}
                removed => {
                    removed?;
                    continue;
                }
            }
            match unlinkat(&here, name, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY | Errno::EXIST) => {}
                removed => {
                    removed?;
                    continue;
                }
            }
            inner = Some((open_inner(&here, name)?, name.to_owned()));
            break;
        }
        if let Some((inner, name)) = inner {
            done(DIRECTORY)?;
            above.push((name, identity(&here)?));
            here = inner;
            continue;
        }
        let Some((name, outer)) = above.pop() else { return Ok(()) };
        here = open(&here, c"..")?;
        if identity(&here)? != outer {
            return Err(io::Error::other("the directory was moved while it was removed"));
        }
        // If it is not empty now, it is being filled, and going down again might never end.
        unlinkat(&here, name, AtFlags::REMOVEDIR)?;
    }
}

/// The permissions of its owner that a directory needs so that it can be emptied. A command may have taken them from
/// one of its own.
const OWN: Mode = Mode::RWXU;

/// Opens a directory to empty it.
fn open(outer: impl AsFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(outer, name, flags, Mode::empty())?;
    if !Mode::from_raw_mode(fstat(&opened)?.st_mode).contains(OWN) {
        fchmod(&opened, OWN)?;
    }
    Ok(opened)
}

/// The same for one within, but of no other file system: what is mounted here must not be emptied.
fn open_inner(outer: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let same_mount = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    let place = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat2(outer, name, place, Mode::empty(), same_mount)?;
    match open(&place, c".") {
        Err(Errno::ACCESS) => {
            // Its own path may be longer than any path that the kernel takes.
            chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), OWN)?;
            Ok(open(&place, c".")?)
        }
        opened => Ok(opened?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::mkdirat;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn all_goes_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("gone/a/b")).unwrap();
        fs::create_dir_all(base.join("gone/empty")).unwrap();
        fs::create_dir_all(base.join("kept")).unwrap();
        for file in ["gone/x", "gone/a/x", "gone/a/b/x", "kept/x"] {
            fs::write(base.join(file), "").unwrap();
        }
        symlink(base.join("kept"), base.join("gone/a/link")).unwrap();
        symlink("missing", base.join("gone/dangling")).unwrap();
        let held = Held::open_directory(&base.join("gone")).unwrap();
        // Another directory has its name by then.
        fs::rename(base.join("gone"), base.join("moved")).unwrap();
        symlink("kept", base.join("gone")).unwrap();
        remove_within(&held, usize::MAX).unwrap();
        assert_eq!(fs::read_dir(base.join("moved")).unwrap().count(), 0);
        assert!(base.join("kept/x").exists());
    }

    #[test]
    fn directories_that_their_owner_may_not_enter_go_too() {
        let dir = tempfile::tempdir().unwrap();
        let set = |path: &str, mode: u32| {
            fs::set_permissions(dir.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
        };
        fs::create_dir_all(dir.path().join("unreadable/inner")).unwrap();
        fs::create_dir_all(dir.path().join("read-only/inner")).unwrap();
        let held = Held::open_directory(dir.path()).unwrap();
        for (path, mode) in [("unreadable", 0), ("read-only", 0o500), (".", 0)] {
            set(path, mode);
        }
        remove_within(&held, usize::MAX).unwrap();
        set(".", 0o700);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_tree_deeper_than_any_path_takes_no_descriptors_and_no_stack() {
        let dir = tempfile::tempdir().unwrap();
        let held = Held::open_directory(dir.path()).unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut here = openat(&held, ".", flags, Mode::empty()).unwrap();
        for _ in 0..2_500 {
            mkdirat(&here, "d", Mode::RWXU).unwrap();
            here = openat(&here, "d", flags, Mode::empty()).unwrap();
        }
        // As much as there is time for, and the rest later.
        let unfinished = remove_within(&held, 1_000).unwrap_err();
        assert_eq!(unfinished.kind(), io::ErrorKind::TimedOut);
        remove_within(&held, usize::MAX).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
