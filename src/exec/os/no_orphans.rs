//! The platforms where nothing that left its tree can be found again.

// With braces, so that it is made in the same words as where it holds something.
/// Finds nothing on this platform.
#[derive(Debug, Default)]
pub struct Orphans {}

/// Does nothing on this platform.
#[cfg(not(windows))]
pub fn own_descendants() {}

impl Orphans {
    /// Does nothing on this platform.
    pub fn after(&mut self, _ended: u64, _running: &[u64]) {}

    /// Does nothing on this platform.
    pub fn after_command_of(&mut self, _host: &crate::exec::Host, _ended: u64, _running: &[u64]) {}

    /// Does nothing on this platform.
    pub fn end_all(&mut self) {}
}
