//! Stands where the audit log of a session would, in a build without it. No setting can ask for a log there; if a program that embeds the
//! server does, nothing can be recorded, so nothing runs.

use std::convert::Infallible;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::configured::AnchorSettings;
use super::event::{CallEnded, EndOfCommand};
use super::facts::Facts;
use super::inbox::EventSender;
use super::not_run::NotRun;
use super::not_started::NotStarted;
use super::recorded::RecordedDecision;
use super::replies::{Called, Reply};
use crate::audit::Received;
use crate::config::{Config, LogLevel};
use crate::exec::{End, Output, StartedCommand};
use crate::files::Held;
use crate::jsonrpc::{Notification, Request, RequestId, Response};
use crate::mcp::Implementation;
use crate::text::escape_os;
use crate::tools::ToolKind;

const WHY: &str = "this build has no `--audit`; it was built without `evidence`";

/// A log that can't be opened.
pub(super) struct AuditPlan {
    /// As the operator named it.
    pub file: PathBuf,
}

impl AuditPlan {
    pub(super) fn of(config: &Config) -> Option<Self> {
        config.audit.value.clone().map(|file| Self { file })
    }
}

/// Refuses to start if a log is asked for.
///
/// # Errors
/// [`NotStarted::Audit`].
pub(crate) fn check_audit(config: &Config) -> Result<(), NotStarted> {
    config.audit.value.as_deref().map_or(Ok(()), |file| Err(not_opened(file)))
}

fn not_opened(file: &Path) -> NotStarted {
    NotStarted::Audit { file: escape_os(file.as_os_str()).into_owned(), why: WHY.to_owned() }
}

/// The thread that keeps the log's head elsewhere, of which there is none.
#[derive(Debug)]
pub(super) struct Anchor(Infallible);

impl Anchor {
    pub(super) fn start(_: Option<AnchorSettings>, _: &Auditor, _: EventSender) -> Result<Option<Self>, String> {
        Ok(None)
    }

    pub(super) fn end(self) -> Result<(), String> {
        match self.0 {}
    }
}

/// A line from the client.
pub(super) struct ReceivedLine<'a>(PhantomData<&'a [u8]>);

impl<'a> ReceivedLine<'a> {
    pub(super) fn new(_: &'a [u8]) -> Self {
        Self(PhantomData)
    }
}

/// Nothing, since nobody reads it.
pub(super) fn end_of(_: &Output) -> EndOfCommand {
    EndOfCommand::default()
}

/// The audit log of a session: none, or one that can't be written.
#[derive(Debug, Clone, Default)]
pub(super) struct Auditor(Option<PathBuf>);

impl Auditor {
    pub(super) fn new(plan: Option<AuditPlan>) -> Self {
        Self(plan.map(|plan| plan.file))
    }

    /// Says that nothing is recorded that should be.
    fn record(&self) -> Result<(), NotRun> {
        if self.is_on() { Err(NotRun::NotRecorded { why: WHY.to_owned() }) } else { Ok(()) }
    }

    pub(super) fn write_on_a_thread(&self, _: impl Fn() + Send + 'static) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn broken(&self) -> Option<NotStarted> {
        self.0.as_deref().map(not_opened)
    }

    pub(super) fn hears(&self, _: Option<&Arc<Implementation>>) {}

    pub(super) fn decided<'a>(
        &self,
        _: (u64, &Facts),
        _: Option<&Arc<Implementation>>,
        _: (&RequestId, &str),
        _: impl FnOnce() -> Vec<RecordedDecision<'a>>,
    ) -> Result<(), NotRun> {
        self.record()
    }

    pub(super) fn decided_parts(&self, _: (u64, &RequestId, &str), _: Vec<RecordedDecision<'_>>) -> Result<(), NotRun> {
        self.record()
    }

    pub(super) fn called(&self, _: &Request) -> Option<Called> {
        None
    }

    pub(super) fn received(&self, _: Received) -> Result<(), NotRun> {
        self.record()
    }

    pub(super) fn note_received(&self, received: Received) {
        match received {}
    }

    pub(super) fn roots(&self, _: &[Arc<Held>], _: &[String]) {}

    pub(super) fn refused(&self, _: &Reply, _: Option<i32>, _: &str) {}

    pub(super) fn malformed(&self, _: Option<&RequestId>, _: i32, _: &str, _: Option<&ReceivedLine<'_>>) {}

    pub(super) fn of_request(
        &self,
        _: &Request,
        _: impl FnOnce(&str) -> Option<ToolKind>,
        _: &ReceivedLine<'_>,
    ) -> Option<Box<Received>> {
        None
    }

    pub(super) fn notified(&self, _: &Notification, _: &ReceivedLine<'_>) {}

    pub(super) fn responded(&self, _: &Response, _: &ReceivedLine<'_>) {}

    pub(super) fn waits_for_ends(&self) -> bool {
        false
    }

    pub(super) fn lose_ends(&self) {}

    pub(super) fn not_started(&self, _: u64, _: Option<&str>) {}

    pub(super) fn given_up(&self, _: u64, _: &Reply, _: &str) {}

    pub(super) fn does_not_run(&self, _: u64, _: &Reply, _: &NotRun) {}

    pub(super) fn asked(&self, _: u64, _: &'static str, _: impl FnOnce() -> String) {}

    pub(super) fn answered(&self, _: (u64, &'static str), _: (&'static str, bool), _: Duration) {}

    pub(super) fn part_ended(&self, _: u64, _: usize, _: End) {}

    pub(super) fn started(&self, _: u64, _: Option<usize>, _: &StartedCommand) {}

    pub(super) fn ended(&self, _: &CallEnded) {}

    pub(super) fn told(&self) -> Vec<(LogLevel, String)> {
        Vec::new()
    }

    pub(super) fn end(&self) {}
}
