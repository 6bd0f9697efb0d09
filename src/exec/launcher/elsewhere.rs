//! The launcher's steps on Linux alone, where there are none: nothing tells who has made a socket, and there are no capabilities.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::integrity::Checked;

/// None: a program is executed by its path.
pub(super) fn handle(_program: &Checked) -> Option<BorrowedFd<'_>> {
    None
}

/// Succeeds: the kernel does not tell.
pub(super) fn started_by_peer(_control: impl AsFd) -> io::Result<()> {
    Ok(())
}

/// Does nothing: limits don't bind root here, so the server sets none for root.
pub(super) fn give_up_raising() -> io::Result<()> {
    Ok(())
}
