//! A call without a loop, for a program that embeds the tools and has no client.

#[cfg(unix)]
mod line;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value};
use thiserror::Error;

use super::job::{observe_end, report_of};
use super::observer::{CommandOutcome, Decided};
use super::parts::Parts;
use crate::exec::{ExecError, Executor, Invocation, Limits, Output, StopSignal, stop};
use crate::mcp::CallToolResult;
use crate::policy::line::ReadLine;
use crate::policy::{Approved, Refusal, Requested};
use crate::tools::{ArgumentError, Call, Called, Written, execute_result};

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
        let Call { command, only_reads, cwd, input, timeout, is_background: _, is_fed: _ } =
            match self.toolbox.read(kind, arguments)? {
                Called::Execute(call) => call,
                Called::Done(result) => return Ok(result),
                Called::Shell(_) | Called::Calls(_) => return Err(CallError::NeedsServer { name: tool.to_owned() }),
            };
        if self.audit.is_some() {
            return Err(CallError::NotRecorded);
        }
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let command = match command {
            Written::Command(command) => command,
            Written::Line(text) => match self.policy.read_line(&text) {
                Ok(ReadLine::Command(command)) if only_reads => {
                    self.toolbox.check_read_only(&command)?;
                    Ok(command)
                }
                Ok(ReadLine::Command(command)) => Ok(command),
                #[cfg(unix)]
                Ok(ReadLine::Line(line)) => {
                    let cwd = cwd.as_deref();
                    let called =
                        line::LineAlone { call, tool, line, text: &text, cwd, input, timeout, only_reads, stop };
                    return self.run_line(called);
                }
                #[cfg(not(unix))]
                Ok(ReadLine::Line(_)) => return Err(CallError::Exec(ExecError::NoLines)),
                Err(error) => Err(error),
            },
        };
        let requested =
            Requested { command, cwd: cwd.as_deref(), has_input: input.is_some(), approved: Approved::default() };
        let decision = self.policy.evaluate(self.policy.directories(), requested);
        let explanation = &decision.explanation;
        self.observer.decided(&Decided { call, tool, explanation, refusal: decision.outcome.as_ref().err() });
        let command = decision.outcome?;
        let success = command.success_exit_codes().to_vec();
        let invocation = Invocation {
            limits: Limits { timeout: command.timeout(timeout, self.limits.timeout), ..self.limits },
            command,
            input: input.map(String::into_bytes),
            stop,
            heartbeat: None,
            spool: None,
            feed: None,
            on_start: None,
        };
        let own = invocation.command.rule().and_then(|rule| self.executor.for_rule(rule));
        let report = report_of(&self.report, &**own.as_ref().unwrap_or(&self.executor), invocation.command.rule());
        let outcome = self.run(invocation, own);
        let seen = outcome.as_ref().map_or_else(CommandOutcome::Failed, CommandOutcome::Ran);
        observe_end(&*self.observer, call, seen);
        Ok(execute_result(outcome?, decision.explanation.literal_pattern, &success, &report))
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
