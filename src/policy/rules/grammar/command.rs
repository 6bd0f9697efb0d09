//! The rule for a command, with the settings for all its calls.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Arguments, Effect, Example, Level, Origin, ValueType};
use crate::network::Network;

/// The rule for a command: its arguments, and the settings for all its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRule {
    /// The first word of a call.
    pub name: String,
    /// Where it is described.
    pub origin: Origin,
    /// The program to look for; `None` if it has the command's name.
    pub program: Option<String>,
    /// Its arguments.
    pub level: Level,
    /// The directories under which its calls may run, relative to the project; empty for anywhere.
    pub cwd_under: Vec<String>,
    /// Whether its calls may have an `input`.
    pub stdin: bool,
    /// How long a call may take; `None` for the server's timeout.
    pub timeout: Option<Duration>,
    /// The exit codes that are not an error with `--exit-error`; empty for `0` only.
    pub success_exit_codes: Vec<i32>,
    /// The sandbox of its calls.
    pub sandbox: SandboxRule,
    /// The resource limits of its calls.
    pub limits: LimitsRule,
    /// Whether no allowed call changes anything.
    pub read_only: bool,
    /// Command lines with what is decided for them.
    pub examples: Vec<Example>,
}

impl CommandRule {
    /// A rule that sets nothing for its calls.
    pub(in crate::policy::rules) fn new(name: String, origin: Origin, level: Level) -> Self {
        Self {
            name,
            origin,
            program: None,
            level,
            cwd_under: Vec::new(),
            stdin: false,
            timeout: None,
            success_exit_codes: Vec::new(),
            sandbox: SandboxRule::default(),
            limits: LimitsRule::default(),
            read_only: false,
            examples: Vec::new(),
        }
    }

    /// Whether it allows anything and sets nothing, as `--allow NAME` does.
    pub fn is_plain_any(&self) -> bool {
        matches!(self.level.arguments, Arguments::Any { effect: Effect::Allow, .. })
            && self.level.insert.is_empty()
            && self.stdin
            && self.has_no_settings()
    }

    /// Whether it says anything about the words of its calls, so that it depends on how the program reads them.
    pub fn describes_arguments(&self) -> bool {
        !matches!(self.level.arguments, Arguments::Any { .. }) || !self.level.insert.is_empty()
    }

    /// Whether a person has to approve each of its calls, whatever its arguments are.
    pub fn asks_always(&self) -> bool {
        matches!(self.level.arguments, Arguments::Any { effect: Effect::Ask, .. })
    }

    /// Whether a person has to approve some of its calls.
    pub fn asks(&self) -> bool {
        self.level.decides(Effect::Ask)
    }

    /// The subcommands of which a person has to approve some calls, as they are written; the command alone if it is one of them.
    pub(crate) fn asking(&self) -> Vec<String> {
        let asks = |level: &&Level| level.decides_itself(Effect::Ask);
        match asks(&&self.level) {
            true => vec![self.name.clone()],
            false => self.level.levels().into_iter().filter(asks).map(Level::title).collect(),
        }
    }

    /// Whether some of its calls are denied.
    pub(crate) fn denies(&self) -> bool {
        self.level.decides(Effect::Deny)
    }

    /// The name or path by which its program is looked for.
    pub(crate) fn sought(&self) -> &str {
        self.program.as_ref().unwrap_or(&self.name)
    }

    /// Whether the words of a call are all that its decision rests on: it inserts none, and has no program, environment, sandbox
    /// or limits of its own. Else another shell that runs the words does something else.
    pub fn rests_on_words_alone(&self) -> bool {
        let inserts = self.level.levels().iter().any(|level| !level.insert.is_empty());
        !inserts && self.program.is_none() && self.has_no_settings()
    }

    /// Whether its calls have the same sandbox, environment and limits as those of other commands.
    pub fn has_no_settings(&self) -> bool {
        self.level.levels().iter().all(|level| level.env == EnvRule::default())
            && self.sandbox == SandboxRule::default()
            && self.limits == LimitsRule::default()
    }
}

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
    pub(in crate::policy::rules) fn set(&mut self, name: &str, value: &str) {
        self.unset.retain(|unset| unset != name);
        self.set.insert(name.to_owned(), value.to_owned());
    }

    /// Removes a variable, and no longer sets it.
    pub(in crate::policy::rules) fn unset(&mut self, name: &str) {
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
        self.accept.get(name).is_some_and(|accepted| super::super::matcher::accepts(accepted, value))
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
