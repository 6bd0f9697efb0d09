//! The differences between platforms, under the same names: how a process is prepared, watched and ended with its tree.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod no_orphans;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::is_worn;
#[cfg(target_os = "linux")]
pub use linux::own_descendants;
#[cfg(target_os = "linux")]
pub(super) use linux::{LETTING_GO, end_leftovers, end_tracers, end_tracers_of_group};
#[cfg(target_os = "linux")]
pub(crate) use linux::{Orphans, end_beside, end_domain, group_of, own_children, signal_descendants, start_registered};
#[cfg(not(target_os = "linux"))]
pub(crate) use no_orphans::is_worn;
#[cfg(not(any(target_os = "linux", windows)))]
pub use no_orphans::own_descendants;
#[cfg(not(any(target_os = "linux", windows)))]
pub(super) use no_orphans::{LETTING_GO, end_leftovers, end_tracers, end_tracers_of_group};
#[cfg(not(target_os = "linux"))]
pub(crate) use no_orphans::{Orphans, own_children};
#[cfg(not(any(target_os = "linux", windows)))]
pub(crate) use no_orphans::{group_of, start_registered};
#[cfg(unix)]
pub(crate) use unix::ProcessTree;
#[cfg(unix)]
pub(crate) use unix::{Ends, Spawned};
#[cfg(unix)]
pub(super) use unix::{Role, Script, Watch, prepare, run, run_passing_through, spawn, unreaped};
#[cfg(windows)]
pub use windows::own_descendants;
#[cfg(windows)]
pub(super) use windows::{Ends, Wake, prepare, run};
#[cfg(windows)]
pub(crate) use windows::{Spawned, spawn};

/// The result of a look for what a call has left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Looked {
    /// The call.
    pub key: u64,
    /// Whether everything that had to end has.
    pub is_gone: bool,
}
