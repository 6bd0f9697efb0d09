//! A call without a loop, for a program that embeds the tools and has no client.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value};
use thiserror::Error;

use super::auditor::Auditor;
use super::facts::Facts;
use super::job::{Job, observe_end, report_of};
use super::log::Fields;
use super::not_run::NotRun;
use super::observer::CommandOutcome;
use super::parts::Parts;
use super::planned::{Deciding, Stopped};
use super::requests::Work;
use super::tool_call::ToolCall;
use crate::exec::{ExecError, Executor, Invocation, Output, StopSignal, stop};
use crate::mcp::CallToolResult;
use crate::policy::Refusal;
use crate::tools::{ArgumentError, Call, Called, ReportSettings, execute_result};

/// Why a call has no result. If a command exits with an error or runs into its deadline, that is a result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CallError {
    /// No tool has this name.
    #[error("unknown tool `{}`; the tools are {}", crate::text::escape(name), known.join(", "))]
    UnknownTool {
        /// As it was given.
        name: String,
        /// The names of all tools.
        known: Vec<String>,
    },
    /// The arguments don't match the tool's schema.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// The tool needs the persistent shell or other calls, which only a server has.
    #[error("the tool `{name}` needs the persistent shell or other calls, which only a server has")]
    NeedsServer {
        /// As it was given.
        name: String,
    },
    /// The policy does not allow it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The operator wants calls to be recorded, which only a server does.
    #[error("`--audit` records the calls of a server, and this call has none, so it was not run")]
    NotRecorded,
    /// The system has no pipe left, which is needed to end the command.
    #[error("cannot create a pipe: {source}")]
    NoPipe {
        /// The system's error.
        source: std::io::Error,
    },
    /// The command could not be started, or was lost.
    #[error(transparent)]
    Exec(#[from] ExecError),
}

impl Parts {
    /// Runs one tool on this thread, with the same code as a client's call, and waits for its result.
    ///
    /// ```
    /// use allowexec::config::{Config, Surroundings};
    /// use allowexec::server::Parts;
    ///
    /// let config = Config::builder(Surroundings::of_this_process()?).allow(["whoami"]).build()?;
    /// let arguments = serde_json::json!({"command": "whoami"});
    /// let result = Parts::new(&config).call("execute_command", arguments.as_object().cloned().unwrap_or_default())?;
    /// assert!(result.text.starts_with("exit_code: 0\n"), "{}", result.text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A call that a person has to approve is refused, and nobody is asked: there is no client, and only a server runs the
    /// program of `--ask-with`. The error holds the [`Proposal`](crate::policy::Proposal), which is everything that would run.
    /// Ask the person yourself, and pass the proposal to a new decision on the same command. If that decision has the same
    /// result, it allows a command that an [`Executor`](crate::exec::Executor) can run:
    ///
    /// ```
    /// use allowexec::config::{Config, Surroundings};
    /// use allowexec::policy::{Approved, CommandLine, Refusal, Requested};
    /// use allowexec::server::{CallError, Parts};
    ///
    /// let config = Config::builder(Surroundings::of_this_process()?).setting("ask", ["whoami"]).build()?;
    /// let parts = Parts::new(&config);
    /// let arguments = serde_json::json!({"command": "whoami"});
    /// let refused = parts.call("execute_command", arguments.as_object().cloned().unwrap_or_default());
    /// let Err(CallError::Refused(Refusal::NeedsApproval(proposal))) = refused else { panic!("{refused:?}") };
    /// println!("run {:?} of {:?} in {:?}?", proposal.words(), proposal.program(), proposal.directory());
    ///
    /// let command = CommandLine::parse("whoami");
    /// let approved = Approved { now: Some(&proposal), before: &[] };
    /// let requested = Requested { command, cwd: None, has_input: false, approved };
    /// let allowed = parts.policy.evaluate(parts.policy.directories(), requested).outcome?;
    /// assert!(allowed.is_approved());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CallError`], if nothing ran or the command was lost.
    pub fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<CallToolResult, CallError> {
        let (_stop, signal) = stop().map_err(|source| CallError::NoPipe { source })?;
        self.call_until(signal, tool, arguments)
    }

    /// Like [`Parts::call`], but ends the command early if the other end of `stop` asks for that; see [`stop`].
    ///
    /// # Errors
    /// As [`Parts::call`].
    pub fn call_until(
        &self,
        stop: StopSignal,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallToolResult, CallError> {
        let Some(kind) = self.toolbox.find(tool) else {
            let known = self.toolbox.list().map(|tool| tool.name.clone()).collect();
            return Err(CallError::UnknownTool { name: tool.to_owned(), known });
        };
        // Without a loop there is no background: the call is answered at its end.
        let call = match self.toolbox.read(kind, arguments)? {
            Called::Execute(call) => Call { is_background: false, is_fed: false, ..call },
            Called::Done(result) => return Ok(result),
            Called::Shell(_) | Called::Calls(_) => return Err(CallError::NeedsServer { name: tool.to_owned() }),
        };
        if self.audit.is_some() {
            return Err(CallError::NotRecorded);
        }
        let key = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let mut deciding = Deciding {
            parts: self,
            tool_call: &ToolCall::without_client(tool),
            key,
            id: &key.into(),
            remembered: &[],
            approved: None,
            audit: &Auditor::default(),
            facts: &Facts::default(),
            described: Fields::default(),
        };
        match deciding.process(call, self.policy.directories())?.work {
            Work::Process(job) => self.run_job(*job, stop),
            Work::Line(job) => self.run_line(*job, stop),
            Work::Shell(_) => Err(CallError::NeedsServer { name: tool.to_owned() }),
        }
    }

    fn run_job(&self, job: Job, stop: StopSignal) -> Result<CallToolResult, CallError> {
        let Job { key, command, input, limits, literal_pattern, .. } = job;
        let success = command.success_exit_codes().to_vec();
        let own = command.rule().and_then(|rule| self.executor.for_rule(rule));
        let report = report_of(&self.report, &**own.as_ref().unwrap_or(&self.executor), command.rule());
        let report = ReportSettings { directory: Some(command.directory().path().to_owned()), ..report };
        let invocation =
            Invocation { command, input, limits, stop, heartbeat: None, spool: None, feed: None, on_start: None };
        let outcome = self.run(invocation, own);
        let seen = outcome.as_ref().map_or_else(CommandOutcome::Failed, CommandOutcome::Ran);
        observe_end(&*self.observer, key, seen);
        Ok(execute_result(outcome?, literal_pattern, &success, &report))
    }
}

impl From<Stopped> for CallError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::NotRun(NotRun::Arguments(error)) => Self::Arguments(error),
            Stopped::NotRun(NotRun::Policy(refusal)) => Self::Refused(refusal),
            Stopped::Asks(asked) => Self::Refused(asked.into_refusal()),
            // Nothing is recorded, and nothing else stops a decision.
            Stopped::NotRun(_) => Self::NotRecorded,
        }
    }
}

impl Parts {
    /// A confined command runs on a thread of its own, because a thread that confines itself stays confined.
    fn run(&self, invocation: Invocation, own: Option<Arc<dyn Executor>>) -> Result<Output, ExecError> {
        if !self.confinement.is_on() && own.is_none() {
            return self.executor.run(invocation);
        }
        let executor = own.as_ref().unwrap_or(&self.executor);
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| executor.run(invocation));
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}
