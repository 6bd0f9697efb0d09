//! Which prompt a thread fills in.

/// The prompts that threads fill in.
#[derive(Debug, Default)]
pub(super) struct Prompting {
    /// The number of the request whose turn it is.
    pub(super) filled: Option<u64>,
    /// How many threads still fill in one that nobody waits for any more.
    pub(super) hanging: usize,
}
