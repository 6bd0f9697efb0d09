//! Stands where the runner of the persistent shell would, in a build without it: no call can use one.

use std::io;
use std::sync::Arc;

use super::inbox::EventSender;
use super::log::Fields;
use super::not_run::NotRun;
use super::observer::Observer;
use crate::exec::{OnStart, Spool, StopSignal};
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

    pub(super) fn take_described(&mut self) -> Fields {
        match *self {}
    }

    pub(super) fn keep(&mut self, _: Option<Arc<Spool>>) {
        match *self {}
    }
}

/// Never made.
pub(super) enum CheckedTurn {}

/// Runs no shell.
#[derive(Clone, Default)]
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

    pub(super) fn place(&self) -> ShellPlace {
        ShellPlace {}
    }

    pub(super) fn check(&self, turn: ShellTurn, _: &Directories) -> Result<CheckedTurn, NotRun> {
        match turn {}
    }

    pub(super) fn run(&self, turn: CheckedTurn, _: StopSignal, _: Option<OnStart>) -> Result<(), NotRun> {
        match turn {}
    }

    pub(super) fn take(&self, state: ShellState) {
        match state {}
    }

    pub(super) fn tell_later(&self, _: Option<String>) {}

    pub(super) fn give_up(&self) -> bool {
        false
    }

    pub(super) fn close(&self) -> bool {
        true
    }
}

/// Where no shell is.
pub(super) struct ShellPlace {}

impl ShellPlace {
    pub(super) fn directories(&self) -> ShellDirectories<'_> {
        ShellDirectories::default()
    }
}
