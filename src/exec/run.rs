//! Starting a command: the one place where a process is made for a call.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Captured, End, Environment, ExecError, Heartbeat, Output, StopSignal, os};
use crate::policy::AllowedCommand;
use crate::sandbox::Sandbox;

/// How long a command may take, and how much of its output is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the start to the polite end.
    pub timeout: Duration,
    /// Between the polite end and the forced one.
    pub grace: Duration,
    /// Bytes kept of each stream; 0 for as many as a message can carry.
    pub max_output: u64,
}

/// Everything that one execution needs.
#[derive(Debug)]
pub struct Invocation {
    /// What to run, which is used up.
    pub command: AllowedCommand,
    /// What the command reads on its standard input; `None` for nothing at all.
    pub input: Option<Vec<u8>>,
    /// Its bounds.
    pub limits: Limits,
    /// Where the wish to end it arrives.
    pub stop: StopSignal,
    /// Who hears of it while it runs; `None` for nobody.
    pub heartbeat: Option<Heartbeat>,
}

/// Runs allowed commands. The server has one, and calls it from several threads at once.
///
/// A program that embeds the server can bring its own, to run commands elsewhere or not at all. It keeps the limits and
/// heeds the wish to stop itself.
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
///         Ok(Output { end: End::Exited(0), stdout, stderr: Captured::default(), elapsed: Duration::ZERO })
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
    /// [`ExecError`], where it could not be started or watched.
    fn run(&self, invocation: Invocation) -> Result<Output, ExecError>;

    /// The executor for commands that may also work in these directories, which a client named and the operator allows;
    /// `None`, the default, where this one runs them as well. One thread runs commands for one of them only.
    fn with_directories(&self, directories: &[PathBuf]) -> Option<Arc<dyn Executor>> {
        let _ = directories;
        None
    }

    /// Does beforehand what the first command would have to wait for; nothing by default.
    fn prepare(&self) {}
}

/// The executor that starts processes of the operating system.
#[derive(Debug, Clone)]
pub struct Processes {
    environment: Environment,
    sandbox: Option<Arc<Sandbox>>,
}

impl Processes {
    /// Gives every command this environment.
    pub fn new(environment: Environment) -> Self {
        Self { environment, sandbox: None }
    }

    /// Confines commands by this sandbox: a thread that runs one is confined by its first, for good.
    #[must_use]
    pub fn with_sandbox(self, sandbox: Sandbox) -> Self {
        Self { sandbox: Some(Arc::new(sandbox)), ..self }
    }
}

impl Executor for Processes {
    /// Starts the program by its absolute path, with the client's word as `argv[0]`, in its own process group, in the
    /// directory that was checked, and with standard input from nowhere or from the call.
    fn run(&self, invocation: Invocation) -> Result<Output, ExecError> {
        let Invocation { command: allowed, input, limits, stop, heartbeat } = invocation;
        if let Some(sandbox) = &self.sandbox {
            sandbox.confine_thread().map_err(|source| ExecError::Confine { source })?;
            // The rules may have taken longer than the server lives.
            if stop.wait(Duration::ZERO).map_err(|source| ExecError::Lost { source })?.is_some() {
                let [stdout, stderr] = [Captured::default(), Captured::default()];
                return Ok(Output { end: End::Stopped, stdout, stderr, elapsed: Duration::ZERO });
            }
        }
        // The time that the rules take is not the command's.
        let started = Instant::now();
        let mut command = Command::new(allowed.program());
        command
            .args(allowed.words().iter().skip(1))
            .current_dir(allowed.directory().spawn_path())
            .env_clear()
            .envs(self.environment.variables())
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        os::prepare(&mut command, allowed.words());
        let child = os::spawn(command).map_err(|source| spawn_error(&allowed, source))?;
        // The child has its directory now; nothing is held for it while it runs.
        drop(allowed);
        os::supervise(child, input.unwrap_or_default(), &stop, limits, started, heartbeat)
            .map_err(|source| ExecError::Lost { source })
    }

    fn prepare(&self) {
        if let Some(sandbox) = &self.sandbox {
            sandbox.prepare();
        }
    }

    fn with_directories(&self, directories: &[PathBuf]) -> Option<Arc<dyn Executor>> {
        let sandbox = self.sandbox.as_ref().filter(|sandbox| sandbox.is_on())?;
        let sandbox = Arc::new(sandbox.with_directories(directories));
        Some(Arc::new(Self { environment: self.environment.clone(), sandbox: Some(sandbox) }))
    }
}

fn spawn_error(allowed: &AllowedCommand, source: io::Error) -> ExecError {
    let program = allowed.program().to_owned();
    if source.kind() != io::ErrorKind::NotFound {
        return ExecError::Spawn { program, source };
    }
    // The directory is held open, so it is not what is missing.
    if program.exists() { ExecError::InterpreterMissing { program } } else { ExecError::ProgramGone { program } }
}
