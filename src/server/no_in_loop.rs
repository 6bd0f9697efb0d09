//! Replaces `in_loop` on platforms where threads run all commands.

use super::event::CallEnded;
use super::inbox::EventSender;
use super::job::{Job, RunsWith};
use super::watches::Watches;
use crate::exec::{StartedCommand, StopSignal};

/// Has no commands on this platform.
#[derive(Default)]
pub(super) struct InLoop {
    #[cfg(unix)]
    pub is_on: bool,
}

/// Never made here.
pub(super) enum Left {}

impl InLoop {
    /// Leaves the job to a thread.
    ///
    /// # Errors
    /// The job and its signal.
    #[expect(clippy::unused_self, reason = "elsewhere there is something to begin with")]
    pub(super) fn begin(
        &mut self,
        job: Box<Job>,
        signal: StopSignal,
        _with: &dyn Fn() -> RunsWith,
        _events: &EventSender,
    ) -> Result<Option<StartedCommand>, (Box<Job>, StopSignal)> {
        Err((job, signal))
    }

    /// Has none on this platform.
    #[cfg(unix)]
    #[expect(clippy::unused_self, reason = "elsewhere there are some")]
    pub(super) fn has_some(&self) -> bool {
        false
    }

    /// Has none on this platform.
    #[expect(clippy::unused_self, reason = "elsewhere there are some")]
    pub(super) fn leave(&mut self, _all: bool) -> Vec<Left> {
        Vec::new()
    }

    /// Is given none on this platform.
    #[expect(clippy::unused_self, reason = "elsewhere there are some")]
    pub(super) fn take_back(&mut self, left: Left) {
        match left {}
    }
}

impl Watches for InLoop {}

impl Left {
    pub(super) fn key(&self) -> u64 {
        match *self {}
    }

    pub(super) fn run_to_end(self) -> CallEnded {
        match self {}
    }
}
