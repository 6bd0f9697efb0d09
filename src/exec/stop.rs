//! The stop signal of a command: one end for those who may stop it, one for the code that runs it.
//!
//! On a Unix it is a pipe and not a flag, so that one poll(2) waits for output, for the exit and for this signal. On
//! Windows it is the channel over which the watch gets all other events, too.

#[cfg_attr(unix, path = "stop/unix.rs")]
#[cfg_attr(windows, path = "stop/windows.rs")]
mod platform;

pub use platform::{Stop, StopSignal, stop};

/// Why a command must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The client does not want the result any more: the configured grace period applies.
    Cancelled,
    /// The server ends: the grace period is at most half a second, even if a longer one has begun.
    Shutdown,
    /// The client wants it killed: there is no grace period.
    Killed,
    /// The client wants it interrupted: SIGINT comes first, in place of SIGTERM.
    Interrupted,
}

impl StopReason {
    /// Those that a client can have, and the number of the signal that each sends first.
    pub const OF_CLIENTS: [(Self, i32); 3] = [(Self::Cancelled, 15), (Self::Interrupted, 2), (Self::Killed, 9)];
}
