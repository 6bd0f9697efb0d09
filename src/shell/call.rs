//! The calls of the persistent shell, and their answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::dialect::current as dialect;
use super::directories::{ShellDirectories, ShellDirectory};
use super::marker::Marker;
use super::session::ShellLine;
use crate::exec::{Environment, Host, Launcher, Limits, OnStart, Output, Spool, since_1970};
use crate::integrity::{Guard, Untrusted};
use crate::policy::{Base, ShellCommand};
use crate::sandbox::Sandbox;

/// The settings of the shell.
#[derive(Debug, Clone)]
pub struct ShellSettings {
    /// The program, by its absolute path, or why there is none.
    pub program: Result<PathBuf, String>,
    /// The environment of the shell and its commands.
    pub environment: Environment,
    /// The sandbox of the shell and its commands, if there is one.
    pub sandbox: Option<Arc<Sandbox>>,
    /// The resource limits of the shell and its commands, if there are any.
    pub launcher: Option<Launcher>,
    /// The demands on the shell's program and on those that it starts, if there are any.
    pub guard: Option<Arc<Guard>>,
}

impl ShellSettings {
    /// Checks a program right before it is started; the shell opens it again by its path.
    pub(super) fn vouch(&self, program: &Path) -> Result<(), Untrusted> {
        self.guard.as_ref().map_or(Ok(()), |guard| guard.check(program, since_1970()).map(drop))
    }

    /// The program, or why there is none.
    pub fn program(&self) -> Result<&Path, &str> {
        self.program.as_deref().map_err(String::as_str)
    }

    /// The sandbox of the shell and its commands, if there is one.
    pub fn sandbox(&self) -> Option<&Sandbox> {
        self.sandbox.as_deref()
    }

    /// Whether the shell itself runs the command of this name.
    pub fn has_builtin(&self, name: &str) -> bool {
        dialect::is_builtin(name)
    }

    /// The directories of the shell before its first call.
    pub fn at_start(&self) -> ShellDirectories<'_> {
        ShellDirectories { home: self.home(), ..Default::default() }
    }

    /// The home directory of the shell.
    pub fn home(&self) -> Option<&Path> {
        self.environment.variables().find(|(name, _)| *name == "HOME").map(|(_, home)| Path::new(home))
    }
}

/// One call, ready to run.
#[derive(Debug)]
pub struct ShellJob<T> {
    /// The caller's value, returned when the call ends.
    pub context: T,
    /// Why the running shell must not be used any more, if so.
    pub distrust: Option<String>,
    /// The action of the call.
    pub action: ShellAction,
    /// The directory of a new shell, if one has to be started for this call.
    pub start_directory: Base,
    /// Its timeout and its bounds of output.
    pub limits: Limits,
    /// Keeps its whole output; `None` if that is not kept.
    pub spool: Option<Arc<Spool>>,
    /// Is told when the shell gets a command whose program the policy has found; `None` if nobody is.
    pub on_start: Option<OnStart>,
}

/// A request of a call to the shell.
#[derive(Debug)]
pub enum ShellAction {
    /// Runs a command, which is consumed.
    Run(ShellCommand),
    /// Changes the directory to this canonical path, which was checked.
    ChangeDirectory(PathBuf),
    /// Ends the shell and starts a new one, for this reason.
    Restart(String),
}

impl ShellAction {
    /// Whether the shell runs it itself, which usually takes almost no time.
    pub(super) fn is_brief(&self) -> bool {
        match self {
            Self::Run(command) => dialect::runs_alone(command.words()),
            Self::ChangeDirectory(_) => true,
            Self::Restart(_) => false,
        }
    }

    /// Whether it was decided for the shell's current directory.
    pub(super) fn is_bound_to_directory(&self) -> bool {
        matches!(self, Self::Run(command) if command.rule().is_some())
    }

    /// Whether a person approved it for the current state of the shell.
    pub(super) fn relies_on_changes(&self) -> bool {
        matches!(self, Self::Run(command) if command.relies_on_changes())
    }

    /// The program that the shell is to start, if the policy has found one.
    pub(super) fn program(&self) -> Option<&Path> {
        match self {
            Self::Run(command) => command.program(),
            Self::ChangeDirectory(_) | Self::Restart(_) => None,
        }
    }

    /// Whether the shell's directory stays the same.
    pub(super) fn stays(&self) -> bool {
        matches!(self, Self::Run(_)) && self.is_brief()
    }

    /// Makes the line for the shell, with a marker that was never used before.
    pub(super) fn shell_line(
        self,
        limits: Limits,
        spool: Option<Arc<Spool>>,
        marker: Marker,
    ) -> Result<ShellLine, String> {
        let words = match self {
            Self::Restart(_) => return Err("a restart isn't a command".to_owned()),
            Self::Run(command) => command.into_shell_words(),
            Self::ChangeDirectory(path) => {
                let path =
                    path.to_str().ok_or("the path of the directory isn't valid UTF-8, so no call can name it")?;
                dialect::change_to(path).map_err(|refused| refused.to_string())?
            }
        };
        let by_shell_alone = dialect::runs_alone(&words);
        Ok(ShellLine { line: dialect::line(&words, &marker), marker, limits, spool, by_shell_alone })
    }
}

/// A call that has ended.
#[derive(Debug)]
pub struct Finished<T> {
    /// The context of the job.
    pub context: T,
    /// The answer, or why there is no shell.
    pub answer: Result<Answer, String>,
    /// Identifies what the call left behind; the default value if there is no shell. `None` if the shell ran the
    /// command itself, and so started nothing that could be left.
    pub host: Option<Host>,
    /// Which shell it is, counted from 1; 0 before the first.
    pub shell: u64,
    /// The shell's directory now, even after a call without an answer; `None` if there is no shell.
    pub directory: Option<ShellDirectory>,
}

/// The persistent shell after a call.
#[derive(Debug)]
pub struct ShellState {
    /// Identifies the processes that the call may have left behind; `None` if there can't be any.
    pub host: Option<Host>,
    /// Which shell it is, counted from the first.
    pub shell: u64,
    /// Why the shell was restarted, if it was.
    pub restarted: Option<String>,
    /// The current directory of the shell, if it is known.
    pub directory: Option<ShellDirectory>,
}

impl ShellState {
    /// Identifies the processes that the call may have left behind; `None` if there can't be any.
    pub fn host(&self) -> Option<&Host> {
        self.host.as_ref()
    }

    /// Why the shell was restarted, if it was.
    pub fn restarted(&self) -> Option<&str> {
        self.restarted.as_deref()
    }
}

/// The answer to a call.
#[derive(Debug)]
pub struct Answer {
    /// How the command ended and what it printed, from the call's turn to its end.
    pub output: Output,
    /// The shell's directory now.
    pub directory: ShellDirectory,
    /// Why a new shell had to be started.
    pub restarted: Option<String>,
}
