//! The launcher's steps on Linux alone: it checks that its parent has made its socket, and gives up the capability to
//! raise limits.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, capabilities, capability_is_in_bounding_set, remove_capability_from_bounding_set, set_capabilities,
};

use crate::integrity::Checked;

/// The handle by which the launcher executes the program, if it can be executed by one.
pub(super) fn handle(program: &Checked) -> Option<BorrowedFd<'_>> {
    program.executable().map(AsFd::as_fd)
}

/// Fails unless the parent of this process has made the socket pair, as the server does.
pub(super) fn started_by_peer(control: impl AsFd) -> io::Result<()> {
    let peer = rustix::net::sockopt::socket_peercred(control)?;
    if rustix::process::getppid() == Some(peer.pid) { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Prevents the command from raising its limits, which root could do; see capabilities(7).
pub(super) fn give_up_raising() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    let raising = CapabilitySet::SYS_RESOURCE;
    // At execve(2) root gets the capabilities in the bounding set. An ordinary user gets none of them, and may not
    // change the set.
    if capability_is_in_bounding_set(raising)? {
        match remove_capability_from_bounding_set(raising) {
            Err(Errno::PERM) if !rustix::process::geteuid().is_root() => {}
            removed => removed?,
        }
    }
    for set in [&mut sets.effective, &mut sets.permitted, &mut sets.inheritable] {
        set.remove(raising);
    }
    Ok(set_capabilities(None, sets)?)
}
