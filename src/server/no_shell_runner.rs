//! Stands where the runner of the persistent shell would, in a build without it: no call can use one.

use std::io;
use std::sync::Arc;

use super::inbox::EventSender;
use super::not_run::NotRun;
use super::observer::Observer;
use crate::exec::{Spool, StartedCommand, Stop};
use crate::mcp::Revision;
use crate::policy::{Base, Directories};
use crate::shell::{ShellDirectories, ShellSettings, ShellState};
use crate::tools::ReportSettings;

/// Never made.
#[derive(Debug)]
pub(super) enum ShellTurn {}

impl ShellTurn {
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
