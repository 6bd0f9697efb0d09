//! Stands where the audit log of a session would, in a build without it: nothing is recorded, and nothing waits for it.

use std::convert::Infallible;
use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

use super::configured::AnchorSettings;
use super::event::CallEnded;
use super::facts::Facts;
use super::inbox::EventSender;
use super::not_run::NotRun;
use super::not_started::NotStarted;
use super::replies::Reply;
use crate::audit::{DecidedRecord, Event, Received};
use crate::config::{Config, LogLevel};
use crate::exec::StartedCommand;
use crate::jsonrpc::{Notification, Request, RequestId, Response};
use crate::mcp::Implementation;
use crate::tools::ToolKind;

/// A log to be opened, of which there is none.
pub(crate) enum AuditPlan {}

impl AuditPlan {
    pub(crate) fn of(_: &Config) -> Option<Self> {
        None
    }
}

/// No log is asked for, since the build takes no setting that would.
pub(crate) fn check_audit(_: &Config) -> Result<(), NotStarted> {
    Ok(())
}

/// The thread that keeps the log's head elsewhere, of which there is none.
#[derive(Debug)]
pub(crate) struct Anchor(Infallible);

impl Anchor {
    pub(crate) fn start(_: Option<AnchorSettings>, _: &Auditor, _: EventSender) -> Result<Option<Self>, String> {
        Ok(None)
    }

    pub(crate) fn end(self) -> Result<(), String> {
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

/// The audit log of a session, of which there is none.
#[derive(Debug, Clone, Default)]
pub(super) struct Auditor(());

impl Auditor {
    pub(super) fn new(_: Option<AuditPlan>) -> Self {
        Self(())
    }

    pub(super) fn write_on_a_thread(&self, _: impl Fn() + Send + 'static) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn is_on(&self) -> bool {
        false
    }

    pub(super) fn broken(&self) -> Option<NotStarted> {
        None
    }

    pub(super) fn hears(&self, _: Option<&Arc<Implementation>>) {}

    pub(super) fn decided(
        &self,
        _: (u64, &Facts),
        _: Option<&Arc<Implementation>>,
        _: impl FnOnce() -> Vec<DecidedRecord>,
    ) -> Result<(), NotRun> {
        Ok(())
    }

    pub(super) fn decided_parts(&self, _: Vec<DecidedRecord>) -> Result<(), NotRun> {
        Ok(())
    }

    pub(super) fn received(&self, _: Received) -> Result<(), NotRun> {
        Ok(())
    }

    pub(super) fn note(&self, _: impl FnOnce() -> Event) {}

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

    pub(super) fn asked(&self, _: u64, _: impl FnOnce() -> Event) {}

    pub(super) fn started(&self, _: u64, _: Option<usize>, _: &StartedCommand) {}

    pub(super) fn ended(&self, _: &CallEnded) {}

    pub(super) fn told(&self) -> Vec<(LogLevel, String)> {
        Vec::new()
    }

    pub(super) fn end(&self) {}
}
