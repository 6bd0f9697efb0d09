//! The processes below the shell, of which only its group is known, and its streams, on Unixes other than Linux.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::fstat;
use rustix::process::Signal;

use crate::exec::ProcessTree;
pub(super) use crate::poll::pipe as stream;

/// Nothing is known of them.
#[derive(Debug)]
pub(super) struct Below;

impl Below {
    pub(super) fn of(_shell: u32) -> Self {
        Self
    }

    /// Not determined: on Linux the kernel is asked about it.
    pub(super) fn is_in_doubt(&self) -> bool {
        false
    }

    /// Sends SIGTERM to what is left in the shell's group. The shell itself catches the signal.
    pub(super) fn end_leftovers(&self, tree: &ProcessTree) -> bool {
        tree.terminate_group();
        true
    }
}

/// Does nothing: they get what the group gets.
pub(super) fn terminate_below(_tree: &ProcessTree) {}

/// Sends SIGINT to the shell's group.
pub(super) fn interrupt_below(tree: &ProcessTree) {
    tree.signal_group(Signal::INT);
}

/// Does nothing: they can't be found.
pub(super) fn kill_below(_tree: &ProcessTree) {}

/// Does nothing: there are no domains.
pub(super) fn end_domain() {}

/// Nothing is held: no path leads to the descriptors of another process.
#[derive(Debug, Default)]
pub(super) struct Shared {}

impl Shared {
    pub(super) fn of(_ends: [&OwnedFd; 2]) -> io::Result<Self> {
        Ok(Self {})
    }

    /// The inode numbers of the streams that commands write to: both ends of a pipe have the same.
    pub(super) fn inodes(&self, ours: &[OwnedFd; 2]) -> rustix::io::Result<Vec<u64>> {
        ours.iter().map(|end| Ok(fstat(end)?.st_ino)).collect()
    }

    /// Does nothing.
    pub(super) fn restore(&self) {}
}
