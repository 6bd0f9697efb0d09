//! Stands where the decision on calls of several commands would, in a build without them: there is no such call.

use super::in_process::CallError;
use super::line_job::LineJob;
use super::parts::Parts;
use super::planned::{CalledLine, Deciding, Planned, Stopped};
use super::terms::Terms;
use crate::exec::StopSignal;
use crate::mcp::CallToolResult;
use crate::policy::Directories;
use crate::policy::line::LineProposal;

impl Deciding<'_> {
    pub(super) fn line(&mut self, called: CalledLine, _: Terms, _: &Directories) -> Result<Planned, Stopped> {
        match called.line.0 {}
    }
}

impl Parts {
    pub(super) fn run_line(&self, job: LineJob, _: StopSignal) -> Result<CallToolResult, CallError> {
        match job {}
    }
}

impl LineProposal {
    pub(super) fn length(&self) -> usize {
        match *self {}
    }

    pub(super) fn properties<S, P>(&self, _: S) -> Vec<P> {
        match *self {}
    }
}
