//! The processes below the shell, and its streams, on Linux.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_setfl, fstat};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::Signal;

pub(super) use crate::exec::end_domain;
use crate::exec::{LEFTOVER_GRACE, ProcessTree, end_beside, signal_descendants};

/// The kernel's files about the shell and its children, as far as it has them.
#[derive(Debug)]
pub(super) struct Below {
    /// The list of its children.
    children: Option<File>,
    /// Its state.
    stat: Option<File>,
}

impl Below {
    /// Opens those of this shell.
    pub(super) fn of(shell: u32) -> Self {
        let children = File::open(format!("/proc/{shell}/task/{shell}/children")).ok();
        Self { children, stat: File::open(format!("/proc/{shell}/stat")).ok() }
    }

    /// Whether another process may have faked the end of the command, or keeps the shell from going on. If the system
    /// allows it, a command can read the marker in the shell's memory (`/proc/PID/mem`); then the command still runs,
    /// or it has stopped the shell.
    pub(super) fn is_in_doubt(&self) -> bool {
        if self.children.is_some() && self.has_children() {
            return true;
        }
        let mut stat = [0; 256];
        let length = self.stat.as_ref().and_then(|file| file.read_at(&mut stat, 0).ok());
        // The state follows the name, which ends with the last parenthesis. See proc(5).
        let stat = stat.get(..length.unwrap_or_default()).unwrap_or_default();
        let name_end = stat.iter().rposition(|byte| *byte == b')');
        name_end.and_then(|end| stat.get(end + 2)).is_some_and(|state| matches!(state, b'T' | b't'))
    }

    /// Ends what the command left running below the shell, and what left that tree if it certainly belongs to the
    /// command; the rest is left to [`crate::exec::Orphans`]. Returns whether this was possible without ending the
    /// shell.
    pub(super) fn end_leftovers(&self, tree: &ProcessTree) -> bool {
        if !self.has_children() {
            return end_beside(None);
        }
        if signal_descendants(tree.leader(), Signal::TERM) == 0 {
            return end_beside(Some(tree.leader()));
        }
        let until = Instant::now() + LEFTOVER_GRACE;
        while Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
            if signal_descendants(tree.leader(), Signal::CONT) == 0 {
                break;
            }
        }
        end_beside(Some(tree.leader()))
    }

    /// Whether the shell has a child, as far as the kernel tells.
    fn has_children(&self) -> bool {
        self.children.as_ref().is_none_or(|children| matches!(children.read_at(&mut [0; 16], 0), Ok(1..)))
    }
}

/// Sends SIGTERM to all below the shell.
pub(super) fn terminate_below(tree: &ProcessTree) {
    signal_descendants(tree.leader(), Signal::TERM);
}

/// Sends SIGINT to all below the shell.
pub(super) fn interrupt_below(tree: &ProcessTree) {
    signal_descendants(tree.leader(), Signal::INT);
}

/// Kills all below the shell.
pub(super) fn kill_below(tree: &ProcessTree) {
    end_beside(Some(tree.leader()));
}

/// The shell's own ends of its two outputs, held to reset them.
#[derive(Debug, Default)]
pub(super) struct Shared(Vec<OwnedFd>);

impl Shared {
    pub(super) fn of(ends: [&OwnedFd; 2]) -> io::Result<Self> {
        Ok(Self(ends.into_iter().map(OwnedFd::try_clone).collect::<io::Result<_>>()?))
    }

    /// The inode numbers of the streams that commands write to.
    pub(super) fn inodes(&self, _ours: &[OwnedFd; 2]) -> rustix::io::Result<Vec<u64>> {
        self.0.iter().map(|end| Ok(fstat(end)?.st_ino)).collect()
    }

    /// Resets what a command may have changed.
    pub(super) fn restore(&self) {
        for end in &self.0 {
            // Neither fails on a socket of our own.
            let _ = fcntl_setfl(end, OFlags::RDWR);
            let _ = set_socket_timeout(end, Timeout::Send, None);
        }
    }
}

/// A stream that no command inherits: the end to read from, the end to write to.
pub(super) fn stream() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}
