//! The client's roots, as the server knows them.

use std::sync::Arc;

use super::outgoing::Outgoing;
use crate::config::RootsMode;
use crate::policy::Directories;

/// The state of the client's roots.
#[derive(Debug)]
pub(super) struct Roots {
    pub(super) mode: RootsMode,
    /// The number of the request whose answer is not known yet.
    pub(super) asked: Option<u64>,
    /// Whether the answer has come, and a thread narrows the directories to it.
    pub(super) is_answered: bool,
    /// Whether calls are no longer held for the answer.
    pub(super) is_overdue: bool,
    /// Whether the roots have changed since the request was sent.
    pub(super) is_stale: bool,
    /// The answer of a legacy client.
    pub(super) known: Option<Arc<Directories>>,
}

impl Roots {
    pub(super) fn new(mode: RootsMode) -> Self {
        Self { mode, asked: None, is_answered: false, is_overdue: false, is_stale: false, known: None }
    }

    /// Forgets the client before a new handshake. Held calls go on at the deadline that was set for them.
    pub(super) fn reset(&mut self, outgoing: &mut Outgoing) {
        (self.asked, self.known) = (None, None);
        outgoing.forget_sent();
    }

    /// Whether calls are held until the client's roots are known.
    pub(super) fn are_awaited(&self) -> bool {
        self.asked.is_some() && !self.is_overdue
    }
}
