//! Stands where calls that go on after their answer would, in a build without them: nothing is kept, and no call becomes a task.

use std::sync::Arc;

use super::event::HowEnded;
use super::facts::Facts;
use super::inbox::EventSender;
use super::requests::LaneName;
use crate::exec::{Feed, Keeper, Spool};
use crate::mcp::Revision;
use crate::text::Secrets;

/// A call that can be asked about; there is none.
#[derive(Debug)]
pub(super) enum KeptCall {}

/// The calls that can be asked about: none.
#[derive(Debug)]
pub(super) struct KeptCalls(());

impl KeptCalls {
    pub(super) fn new(_: EventSender, _: Arc<Secrets>) -> Self {
        Self(())
    }

    pub(super) fn begin(&mut self, _: u64, keeper: &Keeper, _: Facts, _: LaneName) -> Arc<Spool> {
        match *keeper {}
    }

    pub(super) fn ended(&mut self, _: u64, _: &HowEnded) {}

    pub(super) fn forget(&mut self, _: u64) {}

    pub(super) fn forget_all(&mut self) {}

    pub(super) fn get(&self, _: u64) -> Option<&KeptCall> {
        None
    }

    pub(super) fn feed(&mut self, _: u64) -> Option<Arc<Feed>> {
        None
    }

    pub(super) fn was_stopped(&self, _: u64) -> bool {
        false
    }

    pub(super) fn goes_on(&self, _: u64) -> Option<&str> {
        None
    }
}

/// The thread that reads kept output, of which there is none.
#[derive(Debug)]
pub(super) struct Reads(());

impl Reads {
    pub(super) fn new(_: EventSender) -> Self {
        Self(())
    }
}

/// The tasks of the session: none.
#[derive(Debug, Default)]
pub(super) struct Tasks(());

impl Tasks {
    pub(super) fn id_of(&self, _: u64) -> Option<String> {
        None
    }

    pub(super) fn find(&self, _: &str, _: Revision) -> Option<u64> {
        None
    }
}
