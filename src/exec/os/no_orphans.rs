//! The platforms where nothing that left its tree can be found again.

use std::time::Duration;

use super::Looked;
use crate::exec::Host;

// With braces, so that the code that makes it is the same on all platforms.
/// Finds nothing on this platform.
pub(crate) struct Orphans {}

/// Does nothing on this platform.
pub fn own_descendants() {}

/// Does nothing on this platform.
pub(crate) fn own_children() {}

/// Does nothing on this platform.
pub(in crate::exec) fn end_leftovers<Pid>(_held: &[Pid]) {}

/// Nothing is known here of what traces a process.
pub(in crate::exec) fn end_tracers<Pid>(_killed: Pid) {}

/// The same.
pub(in crate::exec) fn end_tracers_of_group<Pid>(_group: Pid) {}

/// How long a killed process may take to end before [`end_tracers`] is called.
pub(in crate::exec) const LETTING_GO: Duration = Duration::from_millis(20);

/// No thread is worn on this platform.
pub(crate) fn is_worn() -> bool {
    false
}

/// Nothing is reaped meanwhile on this platform.
pub(in crate::exec) fn try_reaping() -> Option<()> {
    Some(())
}

/// Starts a child.
pub(crate) fn start_registered(
    start: impl FnOnce() -> std::io::Result<std::process::Child>,
) -> std::io::Result<std::process::Child> {
    start()
}

/// The group of a process.
#[cfg(unix)]
pub(crate) fn group_of(pid: rustix::process::Pid) -> Option<rustix::process::Pid> {
    rustix::process::getpgid(Some(pid)).ok()
}

impl Orphans {
    /// Never calls `tell` on this platform.
    pub(crate) fn new(_tell: impl Fn(Looked) + Send + Sync + 'static) -> Self {
        Self {}
    }

    /// Does nothing on this platform.
    pub(crate) fn begins(&mut self, _key: u64) {}

    /// Does nothing on this platform.
    pub(crate) fn ends(&mut self, _key: u64) {}

    /// Does nothing on this platform.
    pub(crate) fn after(&mut self, _ended: u64, _host: Option<&Host>) -> bool {
        true
    }

    /// Does nothing on this platform.
    pub(crate) fn end_all(&mut self, _within: Duration) -> bool {
        true
    }
}
