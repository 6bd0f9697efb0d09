//! Stands where the persistent shell would, in a build without it: there is never one, so that no call can use it.

use std::io;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::examine::Asked;
use super::inbox::EventSender;
use super::not_run::NotRun;
use super::observer::Observer;
use crate::config::Config;
use crate::exec::{Environment, Host, Launcher, LimitsError, Spool, StartedCommand, Stop};
use crate::integrity::Guard;
use crate::mcp::Revision;
use crate::policy::{AllowList, Base, Directories, Explanation, Policy, Programs, Refusal, Verdict};
use crate::sandbox::Sandbox;
use crate::tools::ReportSettings;

/// Never made.
#[derive(Debug, Clone)]
pub enum ShellSettings {}

impl ShellSettings {
    pub(super) fn program(&self) -> Result<&Path, &str> {
        match *self {}
    }

    pub(super) fn sandbox(&self) -> Option<&Sandbox> {
        match *self {}
    }

    pub(super) fn has_builtin(&self, _: &str) -> bool {
        match *self {}
    }

    pub(super) fn at_start(&self) -> ShellDirectories<'_> {
        match *self {}
    }
}

pub(super) fn settings(
    _: &Config,
    _: &AllowList,
    _: &Programs,
    _: &Environment,
    _: Option<&Sandbox>,
    _: &Result<Option<Launcher>, Arc<LimitsError>>,
    _: Option<&Arc<Guard>>,
) -> Option<ShellSettings> {
    None
}

pub(super) fn warnings(_: &Policy) -> Vec<String> {
    Vec::new()
}

/// Of no shell.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ShellDirectories<'a>(PhantomData<&'a ()>);

/// `--tools shell` can't be set, so nobody asks.
pub(super) fn examine(_: &Policy, _: Asked, _: Option<&str>, _: ShellDirectories<'_>) -> Verdict {
    let reason = "this build has no persistent shell; it was built without `shell`".to_owned();
    Verdict { explanation: Explanation::default(), refusal: Some(Refusal::InShell { reason }) }
}

/// Never made.
#[derive(Debug)]
pub(super) enum ShellTurn {}

impl ShellTurn {
    pub(super) fn timeout(&self) -> Duration {
        match *self {}
    }

    pub(super) fn revision(&self) -> Revision {
        match *self {}
    }

    pub(super) fn shown(&self) -> &[String] {
        match *self {}
    }

    pub(super) fn keep(&mut self, _: Option<Arc<Spool>>) {
        match *self {}
    }

    pub(super) fn started(&self) -> Option<StartedCommand> {
        match *self {}
    }
}

/// Never made.
#[derive(Debug)]
pub(super) enum ShellState {}

impl ShellState {
    pub(super) fn host(&self) -> Option<&Host> {
        match *self {}
    }

    pub(super) fn restarted(&self) -> Option<&str> {
        match *self {}
    }
}

/// Runs no shell.
#[derive(Default)]
pub(super) struct ShellRunner {}

impl ShellRunner {
    pub(super) fn start(
        _: Option<ShellSettings>,
        _: Base,
        _: ReportSettings,
        _: Arc<dyn Observer>,
        _: EventSender,
    ) -> io::Result<Self> {
        Ok(Self {})
    }

    pub(super) fn directories(&self) -> ShellDirectories<'_> {
        ShellDirectories::default()
    }

    pub(super) fn begin(&mut self, turn: ShellTurn, _: &Directories) -> Result<Stop, NotRun> {
        match turn {}
    }

    pub(super) fn take(&mut self, state: ShellState, _: &Directories) {
        match state {}
    }

    pub(super) fn tell_later(&mut self, _: Option<String>) {}

    pub(super) fn give_up(&self) -> bool {
        false
    }

    pub(super) fn close(&mut self) -> bool {
        true
    }
}
