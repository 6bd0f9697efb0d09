//! A call without a loop, for a program that embeds the tools and has no client.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use serde_json::{Map, Value};
use thiserror::Error;

use super::{CommandEnded, CommandOutcome, Decided, Parts};
use crate::exec::{ExecError, Invocation, Limits, Output, StopSignal, stop};
use crate::mcp::CallToolResult;
use crate::policy::Refusal;
use crate::tools::{ArgumentError, Call, Called, execute_result};

/// Why a call has no result. What a command itself makes of its call, a non-zero exit or a deadline, is a result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CallError {
    /// No tool has this name.
    #[error("unknown tool `{}`; the tools are {}", name.escape_debug(), known.join(", "))]
    UnknownTool {
        /// As it was given.
        name: String,
        /// The names of all tools.
        known: Vec<String>,
    },
    /// The arguments break the tool's schema.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// The tool runs on the persistent shell, which is a server's.
    #[error("the tool `{name}` runs on the persistent shell, which only a server has")]
    NeedsServer {
        /// As it was given.
        name: String,
    },
    /// The policy does not allow it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The process has no means left to watch a command.
    #[error("no means are left to run a command: {source}")]
    NoMeans {
        /// What the system says.
        source: std::io::Error,
    },
    /// The command could not be started, or was lost.
    #[error(transparent)]
    Exec(#[from] ExecError),
}

impl Parts {
    /// Runs one tool on this thread by the way that a client's call takes, and waits for its result.
    ///
    /// ```
    /// use allowexec::config::{Config, Surroundings};
    /// use allowexec::server::Parts;
    ///
    /// let config = Config::builder(Surroundings::of_this_process()?).allow(["whoami"]).build()?;
    /// let arguments = serde_json::json!({"command": "whoami"});
    /// let result = Parts::new(&config).call("execute_command", arguments.as_object().cloned().unwrap_or_default())?;
    /// assert!(result.text.starts_with("exit_code: 0\nstdout: "), "{}", result.text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CallError`], where nothing ran or what ran was lost.
    pub fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<CallToolResult, CallError> {
        let (_stop, signal) = stop().map_err(|source| CallError::NoMeans { source })?;
        self.call_until(signal, tool, arguments)
    }

    /// Likewise, and ends the command early where the other end of `stop` wishes it; see [`stop`].
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
        let Called::Execute(Call { command, cwd, input, timeout }) = self.toolbox.read(kind, arguments)? else {
            return Err(CallError::NeedsServer { name: tool.to_owned() });
        };
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let decision = self.policy.examine(command, cwd.as_deref());
        let explanation = &decision.explanation;
        self.observer.decided(&Decided { call, tool, explanation, refusal: decision.outcome.as_ref().err() });
        let invocation = Invocation {
            command: decision.outcome?,
            input: input.map(String::into_bytes),
            limits: Limits { timeout, ..self.limits },
            stop,
            heartbeat: None,
        };
        let outcome = self.run(invocation);
        let seen = outcome.as_ref().map_or_else(CommandOutcome::Failed, CommandOutcome::Ran);
        observe_end(self, call, seen);
        Ok(execute_result(outcome?, decision.explanation.literal_pattern, self.report))
    }
}

impl Parts {
    /// A confined command needs a thread that confines itself for good, and the caller's own is not for that.
    fn run(&self, invocation: Invocation) -> Result<Output, ExecError> {
        if !self.confinement.is_on() {
            return self.executor.run(invocation);
        }
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| self.executor.run(invocation));
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

fn observe_end(parts: &Parts, call: u64, outcome: CommandOutcome<'_>) {
    // As in a worker: the hook's panic is not the call's.
    let _ = catch_unwind(AssertUnwindSafe(|| parts.observer.ended(&CommandEnded { call, outcome })));
}
