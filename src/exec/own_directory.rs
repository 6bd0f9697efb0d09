//! The server's own directory (Linux), which its commands inherit. Entering a directory by its handle is the most expensive
//! system call before execve(2): the kernel first has to make the entries of `/proc` for the new process.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use crate::files::Held;

/// Whether nothing in this process changes its directory, so that a command starts in the one that was compared.
static STAYS: AtomicBool = AtomicBool::new(false);

/// For a program whose directory never changes.
pub(crate) fn stay_in_directory() {
    STAYS.store(true, Ordering::Relaxed);
}

/// Whether this is the directory that a command inherits now, in the same mount: another mount of it may have other rights.
pub(super) fn is_inherited(directory: &Held) -> bool {
    STAYS.load(Ordering::Relaxed)
        && place(CWD, ".", AtFlags::empty())
            .is_some_and(|own| place(directory.as_fd(), "", AtFlags::EMPTY_PATH) == Some(own))
}

/// The device, the inode and the mount; `None` if the kernel does not tell all of them.
fn place(directory: impl AsFd, path: &str, flags: AtFlags) -> Option<(u32, u32, u64, u64)> {
    let wanted = StatxFlags::INO | StatxFlags::MNT_ID;
    let stat = statx(directory, path, flags, wanted).ok()?;
    let is_told = StatxFlags::from_bits_retain(stat.stx_mask).contains(wanted);
    is_told.then_some((stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino, stat.stx_mnt_id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_directory_is_inherited_by_its_identity_where_the_process_stays_in_it() {
        let (own, other) = (Held::open_directory(Path::new(".")).unwrap(), tempfile::tempdir().unwrap());
        let other = Held::open_directory(other.path()).unwrap();
        assert!(!is_inherited(&own), "who does not say that it stays enters each directory");
        let is_own = |held: &Held| place(CWD, ".", AtFlags::empty()) == place(held.as_fd(), "", AtFlags::EMPTY_PATH);
        assert!(is_own(&own) && !is_own(&other));
    }
}
