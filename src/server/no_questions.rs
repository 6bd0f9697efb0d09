//! Stands where the open questions to a person would be, in a build without rules: there are none.

use std::sync::Arc;

use super::inbox::EventSender;
use super::observer::Observer;
use super::question::CallToApprove;
use crate::config::Config;
use crate::policy::{AllowList, Programs, SearchPath};

/// How a person is asked: not at all.
#[derive(Debug, Clone, Copy)]
pub struct AskSettings;

impl AskSettings {
    pub(super) fn of(_: &Config, _: &Programs, _: &SearchPath) -> Self {
        Self
    }

    pub(super) fn problem(&self) -> Option<String> {
        None
    }

    pub(super) fn warnings(&self, _: &AllowList, _: bool) -> Vec<String> {
        Vec::new()
    }
}

/// The questions that the operator's program is asking: none.
pub(super) struct Asker;

impl Asker {
    pub(super) fn new(_: EventSender) -> Self {
        Self
    }

    pub(super) fn is_idle(&self) -> bool {
        true
    }

    pub(super) fn end_all(&self) {}
}

/// The open questions: none.
pub(super) struct Questions;

impl Questions {
    pub(super) fn new(_: Arc<dyn Observer>) -> Self {
        Self
    }

    pub(super) fn remembered(&self) -> Vec<Arc<CallToApprove>> {
        Vec::new()
    }

    pub(super) fn shut_down(&self) {}
}
