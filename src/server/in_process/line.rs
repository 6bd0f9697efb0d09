//! A line of several commands, called without a loop.

use std::sync::Arc;
use std::time::Duration;

use super::CallError;
use crate::exec::line::{LineInvocation, LineOutput, Unrecorded};
use crate::exec::{ExecError, Limits, StopSignal};
use crate::lines::Line;
use crate::mcp::CallToolResult;
use crate::policy::line::{LineDecision, RequestedLine};
use crate::policy::{Explanation, Refusal, bounded};
use crate::server::job::observe_end;
use crate::server::line_job::{changing_part, shown_words};
use crate::server::observer::{CommandOutcome, Decided};
use crate::server::parts::Parts;
use crate::tools::line_result;

/// A line of a program that embeds the tools and has no client.
pub(super) struct LineAlone<'a> {
    /// The number of the call.
    pub call: u64,
    pub tool: &'a str,
    pub line: Line,
    pub text: &'a str,
    pub cwd: Option<&'a str>,
    pub input: Option<String>,
    pub timeout: Option<Duration>,
    pub only_reads: bool,
    pub stop: StopSignal,
}

impl Parts {
    /// Runs a line on a thread of its own, and waits for its result.
    ///
    /// # Errors
    /// [`CallError`], if nothing ran or the line was lost.
    pub(super) fn run_line(&self, called: LineAlone<'_>) -> Result<CallToolResult, CallError> {
        let LineAlone { call, tool, line, text, cwd, input, timeout, only_reads, stop } = called;
        let has_input = input.is_some();
        let directories = self.policy.directories();
        let asked = RequestedLine { line, text, cwd, has_input, approved: None, before: &[] };
        let LineDecision { parts, is_read_only, reader: _, outcome } = self.policy.plan(directories, asked);
        let explanation = Explanation { words: shown_words(&parts), ..Explanation::default() };
        let outcome = outcome.map_err(|refusal| Refusal::Line(Box::new(refusal)));
        self.observer.decided(&Decided { call, tool, explanation: &explanation, refusal: outcome.as_ref().err() });
        let planned = outcome?;
        if only_reads && !is_read_only {
            return Err(self.toolbox.not_read_only(&changing_part(&parts)).into());
        }
        let processes = self.executor.as_processes().ok_or(ExecError::NoLines)?;
        let limits = Limits { timeout: bounded(timeout, planned.timeout(), self.limits.timeout), ..self.limits };
        let input = input.map(String::into_bytes);
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
        observe_end(&*self.observer, call, seen);
        let LineOutput { output, failed, error } = ran?;
        let error = error.map(|error| error.to_string());
        Ok(line_result(output, &failed, error.as_deref(), &self.report))
    }
}
