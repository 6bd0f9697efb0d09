//! The executor of the server, which starts processes of the operating system.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::new_files::NewFiles;
use super::{
    CallNetwork, Captured, End, Environment, ExecError, Executor, Failure, Heartbeat, Invocation, Launcher,
    LimitsError, Output, Spool, Streams, failed, os, spawn_error,
};
use crate::files::{Held, Reached};
use crate::integrity::Guard;
use crate::policy::rules::{Access, CommandRule, HeldClaim};
use crate::sandbox::Sandbox;

/// The start of commands, and their observers while they run.
#[derive(Debug)]
pub(crate) struct Told {
    /// From when their time runs.
    pub started: Instant,
    pub heartbeat: Option<Heartbeat>,
    pub spool: Option<Arc<Spool>>,
}

/// A thread that is ready to start commands of one sandbox.
pub(crate) struct Ready {
    /// Starts commands with limits, or in a network of their own; `None` if nothing has to.
    pub(super) launcher: Option<Launcher>,
    /// Removed at the end where they were not used.
    _new_files: Option<NewFiles>,
}

/// The executor that starts processes of the operating system.
#[derive(Debug, Clone)]
pub struct Processes {
    pub(super) environment: Environment,
    sandbox: Option<Arc<Sandbox>>,
    limits: Result<Option<Launcher>, Arc<LimitsError>>,
    /// Checks programs before they run; `None` for no check.
    pub(super) guard: Option<Arc<Guard>>,
    /// Whether each command may access only the paths that it names, and so has a sandbox of its own.
    pub(super) is_claimed: bool,
    /// The sandbox and the limits of single commands, by the command whose rule sets them.
    rules: Arc<HashMap<String, RuleExecution>>,
    /// The threads that start commands of lines, while no line uses them.
    idle: Arc<super::line::Idle>,
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
    /// The `TMPDIR` of the commands, if the sandbox has a temporary directory.
    pub temporary: Option<PathBuf>,
}

impl Processes {
    /// Gives every command this environment.
    pub fn new(environment: Environment) -> Self {
        Self {
            environment,
            sandbox: None,
            limits: Ok(None),
            guard: None,
            is_claimed: false,
            rules: Arc::default(),
            idle: Arc::default(),
        }
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

    /// The threads that start commands of lines, while no line uses them.
    pub(super) fn idle(&self) -> &super::line::Idle {
        &self.idle
    }

    /// Whether a thread can start several commands: not where each has a sandbox or a network of its own.
    pub(super) fn is_shared(&self) -> bool {
        // A confined thread can't have another network made.
        !self.is_claimed && !self.sandbox.as_ref().is_some_and(|sandbox| sandbox.has_own_network())
    }

    /// These, or those for the commands of a rule with a sandbox or limits of its own.
    pub(super) fn of_rule(&self, rule: Option<&CommandRule>) -> Cow<'_, Self> {
        let Some(own) = rule.and_then(|rule| self.rules.get(&rule.name)) else { return Cow::Borrowed(self) };
        let RuleExecution { sandbox, is_claimed, limits, temporary } = own.clone();
        let mut environment = self.environment.clone();
        if let Some(temporary) = temporary {
            environment.set("TMPDIR", temporary.into());
        }
        Cow::Owned(Self { environment, sandbox, limits, is_claimed, rules: Arc::default(), ..self.clone() })
    }

    /// The launcher for the limits of the commands; `None` if they have none.
    ///
    /// # Errors
    /// [`ExecError::Limits`], if the limits can't be enforced.
    pub(super) fn launcher(&self) -> Result<Option<Launcher>, ExecError> {
        self.limits.clone().map_err(|error| ExecError::Limits { source: io::Error::other(error.to_string()) })
    }

    /// Confines the calling thread for a command with these claims, for good. If the sandbox has a network of its
    /// own, it is that of the line; without a line, a new one is made.
    ///
    /// # Errors
    /// [`ExecError::Confine`] and [`ExecError::Limits`].
    pub(crate) fn confine(&self, claims: &[HeldClaim], network: Option<&CallNetwork>) -> Result<Ready, ExecError> {
        let new_files = self.is_claimed.then(|| NewFiles::of(claims)).transpose();
        let new_files = new_files.map_err(|source| ExecError::Lost { source })?;
        let sandbox = self.sandbox_for(claims, new_files.iter().flat_map(NewFiles::held));
        let mut launcher = self.launcher()?;
        if let Some(sandbox) = sandbox {
            let made = Launcher::for_sandbox(launcher, &sandbox, network);
            launcher = made.map_err(|source| ExecError::Confine { source })?;
            sandbox.confine_thread().map_err(|source| ExecError::Confine { source })?;
        }
        Ok(Ready { launcher, _new_files: new_files })
    }

    /// The sandbox for one command with these claims, which may also write the files in `new`.
    fn sandbox_for(&self, claims: &[HeldClaim], new: impl Iterator<Item = Arc<Held>>) -> Option<Arc<Sandbox>> {
        let sandbox = self.sandbox.as_ref()?;
        if !self.is_claimed {
            return Some(Arc::clone(sandbox));
        }
        let claimed = |access: Access| {
            let claims = claims.iter().filter(move |claim| claim.access == access);
            claims.filter_map(|claim| match &claim.reached {
                Some(Reached::There { held, .. }) => Some(Arc::clone(held)),
                Some(Reached::Missing { .. }) | None => None,
            })
        };
        Some(Arc::new(sandbox.with_claims(claimed(Access::Read), claimed(Access::Write).chain(new))))
    }
}

impl Executor for Processes {
    /// Runs it on the calling thread, which confines itself before, in its own process group, in the directory that was
    /// checked, and with standard input from nowhere or from the call.
    fn run(&self, invocation: Invocation) -> Result<Output, ExecError> {
        self.run_with(invocation, Streams::Captured)
    }

    fn has_worn_thread(&self) -> bool {
        !self.is_shared() || os::is_worn()
    }

    fn for_rule(&self, rule: &CommandRule) -> Option<Arc<dyn Executor>> {
        match self.of_rule(Some(rule)) {
            Cow::Borrowed(_) => None,
            Cow::Owned(processes) => Some(Arc::new(processes)),
        }
    }

    fn as_processes(&self) -> Option<&Processes> {
        Some(self)
    }
}

impl Processes {
    /// Runs it on the calling thread, which confines itself before. Its streams lead there.
    ///
    /// # Errors
    /// [`ExecError`].
    pub(crate) fn run_with(&self, invocation: Invocation, streams: Streams) -> Result<Output, ExecError> {
        let Invocation { command: allowed, input, limits, stop, heartbeat, spool, feed, on_start } = invocation;
        let program = allowed.program().to_owned();
        let ready = self.confine(allowed.claims(), None)?;
        // Making the rules of the sandbox may have taken until after the end of the server.
        if self.sandbox.is_some() && stop.wait(Duration::ZERO).map_err(|source| ExecError::Lost { source })?.is_some() {
            let [stdout, stderr] = [Captured::default(), Captured::default()];
            return Ok(Output { end: End::Stopped, stdout, stderr, limit: None, elapsed: Duration::ZERO });
        }
        // The time for making the rules does not count as the command's.
        let told = Told { started: Instant::now(), heartbeat, spool };
        // The child has its directory once it is started; nothing needs to be held for it while it runs.
        let start = |ends| self.start(ready.launcher.as_ref(), &allowed, ends, on_start).inspect(|_| drop(allowed));
        let not_started = |error| match error {
            NotStarted::Exec(error) => error,
            NotStarted::System(source) => spawn_error(program.clone(), source),
        };
        let start = |ends| start(ends).map_err(NotStarted::Exec);
        let ran = os::run(streams, (input, feed), &stop, limits, told, start);
        result(ran.map_err(not_started)?, &program)
    }
}

/// The time of the system's clock, with which times of files are compared.
pub(crate) fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Why a command was not started.
enum NotStarted {
    Exec(ExecError),
    System(io::Error),
}

impl From<io::Error> for NotStarted {
    fn from(source: io::Error) -> Self {
        Self::System(source)
    }
}

/// Converts the outcome of a watched command into its result.
pub(super) fn result(ran: io::Result<(Output, Option<Failure>)>, program: &Path) -> Result<Output, ExecError> {
    let (output, failure) = ran.map_err(|source| ExecError::Lost { source })?;
    match failure {
        None => Ok(output),
        Some(failure) => Err(failed(failure, program)),
    }
}
