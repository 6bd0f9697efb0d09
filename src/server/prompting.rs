//! Which prompt a thread fills in.

/// The prompts that threads fill in.
#[derive(Debug, Default)]
pub(super) struct Prompting {
    /// The number of the request whose turn it is.
    pub(super) filled: Option<u64>,
    /// The number of threads that still fill in one for which nobody waits any more.
    pub(super) hanging: usize,
}
