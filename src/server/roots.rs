//! The client's roots, as the server knows them.

use std::sync::Arc;

use super::outgoing::Outgoing;
use crate::config::RootsMode;
use crate::policy::Directories;

/// The state of the client's roots.
#[derive(Debug)]
pub(super) struct Roots {
    pub(super) mode: RootsMode,
    /// The number of the request that the client has not answered yet.
    pub(super) asked: Option<u64>,
    /// Whether calls are no longer held for that answer.
    pub(super) is_overdue: bool,
    /// Whether the roots have changed since the request was sent.
    pub(super) is_stale: bool,
    /// The number of the request with the latest answer.
    pub(super) latest: Option<u64>,
    /// The latest answer, as long as a thread still looks at the one before.
    pub(super) waiting: Option<(u64, Vec<String>)>,
    /// The number of the request whose answer a thread looks at.
    pub(super) looked_at: Option<u64>,
    /// The number of threads that look at answers for which nobody waits any more.
    pub(super) hanging: usize,
    /// Whether the latest answer could not be looked at, so that nobody knows where calls may run.
    pub(super) is_unknown: bool,
    /// The directories of the latest answer of a legacy client that was looked at.
    pub(super) known: Option<Arc<Directories>>,
}

impl Roots {
    pub(super) fn new(mode: RootsMode) -> Self {
        Self {
            mode,
            asked: None,
            is_overdue: false,
            is_stale: false,
            latest: None,
            waiting: None,
            looked_at: None,
            hanging: 0,
            is_unknown: false,
            known: None,
        }
    }

    /// Forgets the client before a new handshake. Held calls go on at the deadline that was set for them.
    pub(super) fn reset(&mut self, outgoing: &mut Outgoing) {
        self.give_up_look();
        *self = Self { hanging: self.hanging, ..Self::new(self.mode) };
        outgoing.forget_sent();
    }

    /// Waits no longer for the thread that looks at an answer.
    pub(super) fn give_up_look(&mut self) {
        self.hanging += usize::from(self.looked_at.take().is_some());
    }

    /// Takes the result of a thread that has looked at the answer to this request. Whether the result counts: there is no later answer, and no
    /// other handshake.
    pub(super) fn ends_look(&mut self, number: u64) -> bool {
        if self.looked_at == Some(number) {
            self.looked_at = None;
        } else {
            self.hanging = self.hanging.saturating_sub(1);
        }
        self.latest == Some(number)
    }

    /// Whether calls are held until the client's roots are known.
    pub(super) fn are_awaited(&self) -> bool {
        self.asked.is_some() && !self.is_overdue || self.looked_at.is_some() || self.waiting.is_some()
    }
}
