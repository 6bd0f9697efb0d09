//! The interface between a call and what runs its command.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{Capture, ExecError, Feed, Heartbeat, Output, Processes, Spool, StopSignal};
use crate::files::FileState;
use crate::policy::AllowedCommand;
use crate::policy::rules::CommandRule;

/// How long a command may take, and how much of its output is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the start to SIGTERM.
    pub timeout: Duration,
    /// Between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Bytes kept of each stream; 0 means as many as a message can carry.
    pub max_output: u64,
    /// Whether the digest of a stream is computed that is not kept whole.
    pub has_digests: bool,
}

impl Limits {
    /// The default of bytes kept of each stream, 16 KiB: some clients show the model only a part of longer answers.
    pub const DEFAULT_MAX_OUTPUT: u64 = 16 * 1024;

    /// Returns an empty capture for a stream.
    pub(crate) fn capture(self) -> Capture {
        Capture::new(self.max_output).with_digest(self.has_digests)
    }
}

/// Everything that one execution needs.
#[derive(Debug)]
pub struct Invocation {
    /// The command to run, which is used up.
    pub command: AllowedCommand,
    /// The standard input of the command; `None` for nothing at all.
    pub input: Option<Vec<u8>>,
    /// Its bounds.
    pub limits: Limits,
    /// Where the stop signal arrives.
    pub stop: StopSignal,
    /// Where its progress is reported; `None` for nowhere.
    pub heartbeat: Option<Heartbeat>,
    /// Where its whole output is kept; `None` for nowhere.
    pub spool: Option<Arc<Spool>>,
    /// Further input after `input`; `None` if the standard input ends there.
    pub feed: Option<Arc<Feed>>,
    /// Where its start is reported; `None` for nowhere.
    pub on_start: Option<OnStart>,
}

/// Is told that a command has started.
pub struct OnStart(pub Box<dyn FnOnce(StartedCommand) + Send>);

impl std::fmt::Debug for OnStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnStart").finish_non_exhaustive()
    }
}

/// A command that has started.
#[derive(Debug, Clone)]
pub struct StartedCommand {
    /// The number of its process, where it has one.
    pub pid: Option<u32>,
    /// The program that it runs.
    pub program: PathBuf,
    /// The state of that file just before the start.
    pub file: Option<FileState>,
    /// The SHA-256 of that file, if it was read to be checked.
    pub sha256: Option<[u8; 32]>,
}

/// Runs allowed commands. The server has one, and calls it from several threads at once.
///
/// A program that embeds the server can bring its own, to run commands elsewhere or not at all. That one has to enforce
/// the limits and obey the stop signal itself.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use allowexec::config::{Config, Surroundings};
/// use allowexec::exec::{Captured, End, ExecError, Executor, Invocation, Output};
/// use allowexec::server::Parts;
///
/// struct Fake;
///
/// impl Executor for Fake {
///     fn run(&self, invocation: Invocation) -> Result<Output, ExecError> {
///         let said = format!("would run {:?}", invocation.command.words());
///         let stdout = Captured { head: said.into_bytes(), ..Captured::default() };
///         Ok(Output { end: End::Exited(0), stdout, stderr: Captured::default(), limit: None, elapsed: Duration::ZERO })
///     }
/// }
///
/// let config = Config::builder(Surroundings::of_this_process()?).allow(["whoami"]).build()?;
/// let mut parts = Parts::new(&config);
/// parts.executor = Arc::new(Fake);
/// let arguments = serde_json::json!({"command": "whoami --help"});
/// let result = parts.call("execute_command", arguments.as_object().cloned().unwrap_or_default())?;
/// assert!(result.text.contains(r#"would run ["whoami", "--help"]"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Executor: Send + Sync {
    /// Runs one command to its end, and blocks until then.
    ///
    /// # Errors
    /// [`ExecError`] if it could not be started or watched.
    fn run(&self, invocation: Invocation) -> Result<Output, ExecError>;

    /// The executor for the commands of a rule with a sandbox or limits of its own; `None`, the default, if this one
    /// runs them too. A thread runs commands for only one of these executors.
    fn for_rule(&self, rule: &CommandRule) -> Option<Arc<dyn Executor>> {
        let _ = rule;
        None
    }

    /// Whether the calling thread, which has run a command, must not run another one, because it could not end
    /// everything that the command left. By default `false`.
    fn has_worn_thread(&self) -> bool {
        false
    }

    /// These [`Processes`], if this executor is nothing else; `None` by default. Hints in results depend on their sandbox.
    fn as_processes(&self) -> Option<&Processes> {
        None
    }
}
