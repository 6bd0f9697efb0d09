//! The differences between platforms, under the same names: how a process is prepared, watched and ended with its tree.
//!
//! - `descendants` finds what has left the tree of its command (Linux).
//! - `platform` starts and watches processes.

#[cfg_attr(target_os = "linux", path = "linux/mod.rs")]
#[cfg_attr(not(target_os = "linux"), path = "no_orphans.rs")]
mod descendants;
#[cfg_attr(unix, path = "unix/mod.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod platform;

pub(crate) use descendants::*;
pub use platform::own_descendants;
pub(crate) use platform::*;

/// The result of a look for what a call has left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Looked {
    /// The call.
    pub key: u64,
    /// Whether everything that had to end has.
    pub is_gone: bool,
}
