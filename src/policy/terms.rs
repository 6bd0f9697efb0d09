//! The terms of a command: what a rule sets for its calls besides their words.

use std::collections::BTreeMap;
use std::time::Duration;

use super::rules::{ValueType, accepts};
use crate::network::Network;

/// Environment variables for the calls of a command or a subcommand. They take precedence over all other settings of the
/// environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnvRule {
    /// Variables to set, with their values.
    pub set: BTreeMap<String, String>,
    /// Variables to remove.
    pub unset: Vec<String>,
    /// Variables that a line may set before the command, with what they may be.
    pub accept: BTreeMap<String, ValueType>,
}

impl EnvRule {
    /// Sets a variable, and no longer removes it.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.unset.retain(|unset| unset != name);
        self.set.insert(name.to_owned(), value.to_owned());
    }

    /// Removes a variable, and no longer sets it.
    pub(super) fn unset(&mut self, name: &str) {
        self.set.remove(name);
        if !self.unset.iter().any(|unset| unset == name) {
            self.unset.push(name.to_owned());
        }
    }

    /// Adds the variables of a level below, which take precedence.
    pub(crate) fn add(&mut self, below: &Self) {
        below.unset.iter().for_each(|name| self.unset(name));
        below.set.iter().for_each(|(name, value)| self.set(name, value));
        self.accept.extend(below.accept.clone());
    }

    /// Whether a line may set this variable to this value.
    pub(crate) fn accepts(&self, name: &str, value: &str) -> bool {
        self.accept.get(name).is_some_and(|accepted| accepts(accepted, value))
    }
}

/// The sandbox of one command's calls. `None` leaves a setting as the server has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxRule {
    /// The level: `off`, `workspace` or `strict`.
    pub level: Option<SandboxWord>,
    /// Whether calls may execute only the rule's own program.
    pub exec_own: bool,
    /// The network of calls.
    pub network: Option<Network>,
    /// Whether a call may access only those files of the project that its words name.
    pub paths_claimed: bool,
    /// Whether calls may write what the level allows; `false` for nothing at all, whatever the level is.
    pub writes: Option<bool>,
}

impl SandboxRule {
    /// Whether it names a level that confines calls.
    pub fn is_confining(&self) -> bool {
        self.level.is_some_and(|level| level != SandboxWord::Off)
    }

    /// Whether calls may write nothing.
    pub fn writes_nothing(&self) -> bool {
        self.writes == Some(false)
    }
}

/// A level of the sandbox, as a policy names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxWord {
    /// No sandbox.
    Off,
    /// Calls may read the system, and read and write the operator's directories.
    Workspace,
    /// The same, and calls may execute only allowed programs.
    Strict,
}

impl SandboxWord {
    /// All levels.
    pub const ALL: [Self; 3] = [Self::Off, Self::Workspace, Self::Strict];

    /// The word for it in a policy.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Workspace => "workspace",
            Self::Strict => "strict",
        }
    }
}

/// The resource limits of one command's calls. `None` leaves a limit as the server has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LimitsRule {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// The largest file that a call may write, in bytes.
    pub file_size: Option<u64>,
    /// Processor time.
    pub cpu: Option<Duration>,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Open files of each process.
    pub open_files: Option<u64>,
}

/// A program's access to a file that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Reads it.
    Read,
    /// Writes, creates or removes it.
    Write,
}

impl Access {
    /// The word for it in a policy.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}
