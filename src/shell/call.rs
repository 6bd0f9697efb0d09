//! What is asked of the persistent shell, and what it answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::dialect::current as dialect;
use super::marker::Marker;
use super::session::Order;
use crate::exec::{Environment, Host, Limits, Output};
use crate::policy::ShellCommand;
use crate::sandbox::Sandbox;

/// What the shell is made of.
#[derive(Debug, Clone)]
pub struct ShellSettings {
    /// The program, by its absolute path, or why there is none.
    pub program: Result<PathBuf, String>,
    /// What it and its commands find in their environment.
    pub environment: Environment,
    /// What it and its commands are confined to; `None` for nothing.
    pub sandbox: Option<Arc<Sandbox>>,
}

impl ShellSettings {
    /// The home directory that the shell is given.
    pub fn home(&self) -> Option<&Path> {
        self.environment.variables().find(|(name, _)| *name == "HOME").map(|(_, home)| Path::new(home))
    }
}

/// One call, ready to run.
#[derive(Debug)]
pub struct ShellJob<T> {
    /// What the caller wants back with the call's end.
    pub context: T,
    /// Why the shell that is there must not be used any more, where it must not.
    pub distrust: Option<String>,
    /// What to do.
    pub task: Task,
    /// Where a shell starts that has to be started for this call.
    pub start_directory: PathBuf,
    /// Its bounds.
    pub limits: Limits,
}

/// What a call asks of the shell.
#[derive(Debug)]
pub enum Task {
    /// To run a command, which is used up.
    Run(ShellCommand),
    /// To change its directory to this canonical path, which was checked.
    ChangeDirectory(PathBuf),
    /// To end, and to be started anew, for this reason.
    Restart(String),
}

impl Task {
    /// Whether the shell does it by itself, and so mostly in no time.
    pub(super) fn is_brief(&self) -> bool {
        match self {
            Self::Run(command) => dialect::runs_alone(command.words()),
            Self::ChangeDirectory(_) => true,
            Self::Restart(_) => false,
        }
    }

    /// Whether the shell stands afterwards where it stood before.
    pub(super) fn stays(&self) -> bool {
        matches!(self, Self::Run(_)) && self.is_brief()
    }

    /// What the shell is given for it, with a marker that was never used before.
    pub(super) fn order(self, limits: Limits, marker: Marker) -> Result<Order, String> {
        let words = match self {
            Self::Restart(_) => return Err("a new shell is no command".to_owned()),
            Self::Run(command) => command.into_shell_words(),
            Self::ChangeDirectory(path) => {
                let path = path.to_str().ok_or("the path of the directory is no UTF-8, so no call can name it")?;
                dialect::change_to(path).map_err(|refused| refused.to_string())?
            }
        };
        let by_shell_alone = dialect::runs_alone(&words);
        Ok(Order { line: dialect::line(&words, &marker), marker, limits, by_shell_alone })
    }
}

/// A call that has ended.
#[derive(Debug)]
pub struct Finished<T> {
    /// As the job brought it.
    pub context: T,
    /// What it came to, or why there is no shell to ask.
    pub answer: Result<Answer, String>,
    /// Tells what the call left behind; of no shell, where there is none. `None` where the shell did it by itself, and so
    /// started nothing that could be left.
    pub host: Option<Host>,
}

/// What a call came to.
#[derive(Debug)]
pub struct Answer {
    /// How the command ended and what it printed, from the call's turn to its end.
    pub output: Output,
    /// Where the shell stands now.
    pub directory: Arc<Path>,
    /// Why the shell had to be started anew.
    pub restarted: Option<String>,
}
