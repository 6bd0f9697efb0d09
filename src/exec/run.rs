//! Starts commands: the one place where a process is made for a call, and for the operator's program that asks a person
//! about one.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

#[cfg(target_os = "linux")]
use super::new_files::NewFiles;
#[cfg(target_os = "linux")]
use super::own_directory::is_inherited;
use super::{
    Capture, Captured, End, Environment, ExecError, Failure, Feed, Heartbeat, Launch, Launcher, LimitsError, Output,
    Spool, StopSignal, os, own_binary,
};
use crate::files::{FileState, Held, Reached};
use crate::integrity::{Checked, Guard, Untrusted};
use crate::policy::AllowedCommand;
use crate::policy::rules::{Access, CommandRule};
use crate::sandbox::{Sandbox, SandboxError};

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

    /// What a stream is kept in.
    pub(crate) fn capture(self) -> Capture {
        Capture::new(self.max_output).with_digest(self.has_digests)
    }
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
    /// Where the stop signal arrives.
    pub stop: StopSignal,
    /// Where its progress is reported; `None` for nowhere.
    pub heartbeat: Option<Heartbeat>,
    /// Where its whole output is kept; `None` for nowhere.
    pub spool: Option<Arc<Spool>>,
    /// What it reads behind the `input`; `None` if its standard input ends there.
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
    /// What that file was just before.
    pub file: Option<FileState>,
    /// The SHA-256 of that file, if it was read to be checked.
    pub sha256: Option<[u8; 32]>,
}

/// Who hears of a command while it runs, and who gives it more to read.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub heartbeat: Option<Heartbeat>,
    pub spool: Option<Arc<Spool>>,
    pub feed: Option<Arc<Feed>>,
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

/// The executor that starts processes of the operating system.
#[derive(Debug, Clone)]
pub struct Processes {
    environment: Environment,
    sandbox: Option<Arc<Sandbox>>,
    limits: Result<Option<Launcher>, Arc<LimitsError>>,
    /// What is demanded of programs; `None` for nothing.
    guard: Option<Arc<Guard>>,
    /// Whether each command may access only the paths that it names, and so has a sandbox of its own.
    is_claimed: bool,
    /// What replaces the sandbox and the limits, by the command whose rule says so.
    rules: Arc<HashMap<String, RuleExecution>>,
}

/// How the commands of one rule run if they do not run like all others.
#[derive(Debug, Clone)]
pub struct RuleExecution {
    /// The sandbox; `None` for none at all.
    pub sandbox: Option<Arc<Sandbox>>,
    /// Whether the sandbox grants only these paths and those that a call names.
    pub is_claimed: bool,
    /// The launcher for the limits, or why they can't be enforced.
    pub limits: Result<Option<Launcher>, Arc<LimitsError>>,
    /// What the commands get as `TMPDIR`, if the sandbox has a temporary directory.
    pub temporary: Option<PathBuf>,
}

impl Processes {
    /// Gives every command this environment.
    pub fn new(environment: Environment) -> Self {
        Self { environment, sandbox: None, limits: Ok(None), guard: None, is_claimed: false, rules: Arc::default() }
    }

    /// Starts commands with the limits of this launcher, which the sandbox must allow them to execute; without a
    /// launcher, without limits; with an error, not at all.
    #[must_use]
    pub fn with_limits(self, limits: Result<Option<Launcher>, Arc<LimitsError>>) -> Self {
        Self { limits, ..self }
    }

    /// Starts only programs that the guard has nothing against.
    #[must_use]
    pub fn with_guard(self, guard: Option<Arc<Guard>>) -> Self {
        Self { guard, ..self }
    }

    /// Confines commands by this sandbox. A thread confines itself before its first command, for good.
    #[must_use]
    pub fn with_sandbox(self, sandbox: impl Into<Arc<Sandbox>>) -> Self {
        Self { sandbox: Some(sandbox.into()), ..self }
    }

    /// Runs the commands of these rules in their own way.
    #[must_use]
    pub fn with_rules(self, rules: HashMap<String, RuleExecution>) -> Self {
        Self { rules: Arc::new(rules), ..self }
    }

    /// The sandbox of the commands.
    pub(crate) fn sandbox(&self) -> Option<&Arc<Sandbox>> {
        self.sandbox.as_ref()
    }

    /// Opens and checks the program, where something is demanded of it. Then it is executed by its handle where that is
    /// possible; else by its path, since a program that is executed by a handle has another name in the list of processes.
    fn checked(&self, command: &AllowedCommand) -> Result<Option<Checked>, ExecError> {
        let program = || command.program().to_owned();
        let untrusted = |source| match source {
            Untrusted::Gone { program } => ExecError::ProgramGone { program },
            source => ExecError::Untrusted { source },
        };
        let checked = match &self.guard {
            Some(guard) => guard.check(command.program(), since_1970()).map_err(untrusted)?,
            None if command.is_approved() => {
                Checked::open(command.program()).map_err(|_| ExecError::ProgramChanged { program: program() })?
            }
            None => return Ok(None),
        };
        if command.is_changed_since_approval(&checked) {
            return Err(ExecError::ProgramChanged { program: program() });
        }
        Ok(Some(checked))
    }

    /// Starts the program at this path with the words of the command.
    pub(super) fn of_words(path: PathBuf, allowed: &AllowedCommand, has_input: bool) -> Command {
        let mut command = Command::new(path);
        let stdin = if has_input { Stdio::piped() } else { Stdio::null() };
        command.args(allowed.words().iter().skip(1)).stdin(stdin);
        command
    }

    /// Gives it the directory of the command and its environment, pipes for its output, and a group of its own.
    pub(super) fn surround(&self, command: &mut Command, allowed: &AllowedCommand) {
        #[cfg(target_os = "linux")]
        let is_inherited = is_inherited(allowed.directory().held());
        #[cfg(not(target_os = "linux"))]
        let is_inherited = false;
        if !is_inherited {
            command.current_dir(allowed.directory().spawn_path());
        }
        let variables = self.environment.variables();
        command.env_clear().envs(variables).stdout(Stdio::piped()).stderr(Stdio::piped());
        let describes = allowed.rule().is_some_and(|rule| rule.describes_arguments());
        for name in self.environment.of_reading().iter().filter(|_| describes) {
            command.env_remove(name);
        }
        for name in &allowed.env().unset {
            command.env_remove(name);
        }
        command.envs(&allowed.env().set);
        os::prepare(command, allowed.words());
    }

    /// The sandbox for one command, which may also write the files in `new`.
    fn sandbox_for(&self, command: &AllowedCommand, new: impl Iterator<Item = Arc<Held>>) -> Option<Arc<Sandbox>> {
        let sandbox = self.sandbox.as_ref()?;
        if !self.is_claimed {
            return Some(Arc::clone(sandbox));
        }
        let claimed = |access: Access| {
            let claims = command.claims().iter().filter(move |claim| claim.access == access);
            claims.filter_map(|claim| match &claim.reached {
                Some(Reached::There { held, .. }) => Some(Arc::clone(held)),
                Some(Reached::Missing { .. }) | None => None,
            })
        };
        Some(Arc::new(sandbox.with_claims(claimed(Access::Read), claimed(Access::Write).chain(new))))
    }
}

impl Executor for Processes {
    /// Starts the program by its absolute path, with the client's word as `argv[0]`, in its own process group, in the
    /// directory that was checked, and with standard input from nowhere or from the call.
    fn run(&self, invocation: Invocation) -> Result<Output, ExecError> {
        let Invocation { command: allowed, input, limits, stop, heartbeat, spool, feed, on_start } = invocation;
        let has_input = input.is_some() || feed.is_some();
        #[cfg(target_os = "linux")]
        let new_files = if self.is_claimed { NewFiles::of(allowed.claims()) } else { Ok(NewFiles::default()) }
            .map_err(|source| ExecError::Lost { source })?;
        #[cfg(target_os = "linux")]
        let new = new_files.held();
        #[cfg(not(target_os = "linux"))]
        let new = std::iter::empty();
        let mut limits_of_kernel = self.limits.clone();
        if let Some(sandbox) = self.sandbox_for(&allowed, new) {
            if let Ok(launcher) = &mut limits_of_kernel {
                let made = Launcher::for_sandbox(launcher.take(), &sandbox);
                *launcher = made.map_err(|source| ExecError::Confine { source })?;
            }
            sandbox.confine_thread().map_err(|source| ExecError::Confine { source })?;
            // Making the rules may have taken until after the end of the server.
            if stop.wait(Duration::ZERO).map_err(|source| ExecError::Lost { source })?.is_some() {
                let [stdout, stderr] = [Captured::default(), Captured::default()];
                return Ok(Output { end: End::Stopped, stdout, stderr, limit: None, elapsed: Duration::ZERO });
            }
        }
        // The time for making the rules does not count as the command's.
        let started = Instant::now();
        let checked = self.checked(&allowed)?;
        let begin = |launcher: &Launcher| launcher.begin(has_input, checked.as_ref());
        let launch = match &limits_of_kernel {
            Ok(launcher) => launcher.as_ref().map(begin).transpose(),
            Err(error) => Err(io::Error::other(error.to_string())),
        };
        let mut launch = launch.map_err(|source| ExecError::Limits { source })?;
        let mut command = match &mut launch {
            None => {
                let path = checked.as_ref().map_or_else(|| allowed.program().to_owned(), Checked::spawn_path);
                Self::of_words(path, &allowed, has_input)
            }
            Some(launch) => {
                let binary = own_binary().map_err(|source| ExecError::Limits { source })?;
                let mut command = Command::new(binary);
                command.args(Launch::arguments(allowed.program(), allowed.words())).stdin(launch.for_launcher());
                command
            }
        };
        self.surround(&mut command, &allowed);
        let program = allowed.program().to_owned();
        // As late as can be: what was checked is what runs.
        if checked.as_ref().is_some_and(|checked| !checked.is_unchanged()) {
            let source = Untrusted::Changed { program };
            return Err(ExecError::Untrusted { source });
        }
        let file = on_start.is_some().then(|| FileState::of(&program).ok()).flatten();
        let mut child = os::spawn(command).map_err(|source| match launch {
            // The launcher is started with the same words, and has some of its own.
            Some(_) if source.kind() != io::ErrorKind::ArgumentListTooLong => ExecError::Limits { source },
            None | Some(_) => spawn_error(program.clone(), source),
        })?;
        if let Some(launch) = &mut launch {
            launch.attach_input(&mut child);
        }
        if let Some(OnStart(tell)) = on_start {
            let sha256 = checked.as_ref().and_then(Checked::known_sha256);
            tell(StartedCommand { pid: Some(child.id()), program: program.clone(), file, sha256 });
        }
        // The child has its directory now; nothing needs to be held for it while it runs.
        drop(allowed);
        let tell = Told { heartbeat, spool, feed };
        result(os::supervise(child, input.unwrap_or_default(), &stop, limits, started, tell, launch), program)
    }

    fn has_worn_thread(&self) -> bool {
        // A confined thread can't have another network made.
        let has_own_network = self.sandbox.as_ref().is_some_and(|sandbox| sandbox.has_own_network());
        self.is_claimed || has_own_network || os::is_worn()
    }

    fn for_rule(&self, rule: &CommandRule) -> Option<Arc<dyn Executor>> {
        let RuleExecution { sandbox, is_claimed, limits, temporary } = self.rules.get(&rule.name)?.clone();
        let mut environment = self.environment.clone();
        if let Some(temporary) = temporary {
            environment.set("TMPDIR", temporary.into());
        }
        let guard = self.guard.clone();
        Some(Arc::new(Self { environment, sandbox, limits, guard, is_claimed, rules: Arc::default() }))
    }

    fn as_processes(&self) -> Option<&Processes> {
        Some(self)
    }
}

/// A program of the operator's own, which no client names and no sandbox confines.
#[derive(Debug, Clone)]
pub(crate) struct OperatorProgram {
    /// Its absolute path.
    pub program: PathBuf,
    /// `argv`, of which the first is what the operator calls it.
    pub words: Vec<String>,
    /// All of its environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// Where it runs.
    pub directory: PathBuf,
}

impl OperatorProgram {
    /// Runs it to its end, with this on its standard input, and blocks until then. Its tree ends with it.
    ///
    /// # Errors
    /// [`ExecError`], where it could not be started or watched.
    pub(crate) fn run(
        &self,
        input: Vec<u8>,
        variable: (&str, &str),
        limits: Limits,
        stop: &StopSignal,
    ) -> Result<Output, ExecError> {
        let started = Instant::now();
        let mut command = Command::new(&self.program);
        command
            .args(self.words.iter().skip(1))
            .current_dir(&self.directory)
            .env_clear()
            .envs(&self.environment)
            .env(variable.0, variable.1)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        os::prepare(&mut command, &self.words);
        let child = os::spawn(command).map_err(|source| spawn_error(self.program.clone(), source))?;
        let supervised = os::supervise(child, input, stop, limits, started, Told::default(), None);
        supervised.map(|(output, _)| output).map_err(|source| ExecError::Lost { source })
    }
}

/// The time of the system's clock, with which times of files are compared.
pub(crate) fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// What a command has come to that was watched.
pub(super) fn result(watched: io::Result<(Output, Option<Failure>)>, program: PathBuf) -> Result<Output, ExecError> {
    let (output, failure) = watched.map_err(|source| ExecError::Lost { source })?;
    match failure {
        None => Ok(output),
        Some(Failure::Exec(source)) => Err(spawn_error(program, source)),
        Some(Failure::Limits(source)) => Err(ExecError::Limits { source }),
        Some(Failure::Network(source)) => Err(ExecError::Confine { source: SandboxError::NotEntered { source } }),
    }
}

pub(super) fn spawn_error(program: PathBuf, source: io::Error) -> ExecError {
    if source.kind() == io::ErrorKind::ArgumentListTooLong {
        return ExecError::TooLong { program, source };
    }
    if source.kind() != io::ErrorKind::NotFound {
        return ExecError::Spawn { program, source };
    }
    // The directory is held open, so it can't be what is missing.
    if program.exists() { ExecError::InterpreterMissing { program } } else { ExecError::ProgramGone { program } }
}
