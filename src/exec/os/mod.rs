//! What differs between platforms, under the same names: how a process is prepared, watched and ended with its tree.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod no_orphans;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::signal_descendants;
#[cfg(target_os = "linux")]
pub use linux::{Orphans, own_descendants};
#[cfg(not(target_os = "linux"))]
pub use no_orphans::Orphans;
#[cfg(not(any(target_os = "linux", windows)))]
pub use no_orphans::own_descendants;
#[cfg(unix)]
pub(crate) use unix::{exit_descriptor, pipe, poll_ready};
#[cfg(unix)]
pub(super) use unix::{prepare, spawn, supervise};
#[cfg(windows)]
pub use windows::own_descendants;
#[cfg(windows)]
pub(crate) use windows::{Spawned, spawn};
#[cfg(windows)]
pub(super) use windows::{Wake, prepare, supervise};
