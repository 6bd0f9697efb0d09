//! Stands where a call of several commands at its turn would, in a build without them: there is no such call.

use std::sync::Arc;

use super::event::CallEnded;
use super::inbox::EventSender;
use super::job::RunsWith;
use crate::exec::{Spool, StopSignal};
use crate::mcp::Revision;

/// A line that may run when its turn comes; there is none.
#[derive(Debug)]
pub(super) enum LineJob {}

impl LineJob {
    pub(super) fn key(&self) -> u64 {
        match *self {}
    }

    pub(super) fn revision(&self) -> Revision {
        match *self {}
    }

    pub(super) fn is_background(&self) -> bool {
        match *self {}
    }

    pub(super) fn keep(&mut self, _: Option<Arc<Spool>>) {
        match *self {}
    }

    #[expect(clippy::boxed_local, reason = "a build with lines keeps it in its box")]
    pub(super) fn run(self: Box<Self>, _: &RunsWith, _: &EventSender, _: StopSignal) -> CallEnded {
        match *self {}
    }
}
