//! A line of several commands, called without a loop.

use std::sync::Arc;

use crate::exec::line::{LineInvocation, LineOutput, Unrecorded};
use crate::exec::{ExecError, StopSignal};
use crate::mcp::CallToolResult;
use crate::server::in_process::CallError;
use crate::server::job::observe_end;
use crate::server::line_job::{LineJob, report_of_line};
use crate::server::observer::CommandOutcome;
use crate::server::parts::Parts;
use crate::tools::line_report::line_result;

impl Parts {
    /// Runs a line on a thread of its own, and waits for its result.
    ///
    /// # Errors
    /// [`CallError`], if nothing ran or the line was lost.
    pub(in crate::server) fn run_line(&self, job: LineJob, stop: StopSignal) -> Result<CallToolResult, CallError> {
        let LineJob { key, planned, input, limits, .. } = job;
        let processes = self.executor.as_processes().ok_or(ExecError::NoLines)?;
        let run = || {
            let mut decides = Unrecorded { planned: &planned, policy: &self.policy };
            let line = Arc::clone(planned.line());
            let invocation = LineInvocation {
                line: &line,
                begin: planned.begin(),
                reader: planned.reader(),
                input,
                limits,
                stop,
                heartbeat: None,
                spool: None,
                decides: &mut decides,
                observes: &(),
            };
            processes.run_line(invocation)
        };
        let ran = std::thread::scope(|scope| {
            scope.spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let seen = ran.as_ref().map_or_else(CommandOutcome::Failed, |ran| CommandOutcome::Ran(&ran.output));
        observe_end(&*self.observer, key, seen);
        let LineOutput { output, failed, unopened, error } = ran?;
        let error = error.map(|error| error.to_string());
        let report = report_of_line(&self.report, &self.executor, &planned, (&failed, unopened));
        Ok(line_result(output, &failed, error.as_deref(), &report))
    }
}
