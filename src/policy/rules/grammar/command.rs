//! A command, with what holds for every call of it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Arguments, Effect, Example, Level, Origin};

/// A command, with what holds for every call of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRule {
    /// The first word of a call.
    pub name: String,
    /// Where it is described.
    pub origin: Origin,
    /// The program, where it is not the one that the name is looked up as.
    pub program: Option<String>,
    /// Its arguments.
    pub level: Level,
    /// The environment of its calls.
    pub env: EnvRule,
    /// Where its calls may run: beneath one of these directories, which are relative to the project; anywhere where empty.
    pub cwd_under: Vec<String>,
    /// Whether a call may give it `input`.
    pub stdin: bool,
    /// How long a call may take, where the rule says so.
    pub timeout: Option<Duration>,
    /// The exit codes that are no error with `--exit-error`; `0` alone where empty.
    pub success_exit_codes: Vec<i32>,
    /// The sandbox of its calls.
    pub sandbox: SandboxRule,
    /// What the kernel keeps its calls to.
    pub limits: LimitsRule,
    /// Whether what it can run changes nothing.
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
            env: EnvRule::default(),
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

    /// Whether it says nothing beyond the name: what `--allow NAME` means.
    pub fn is_plain_any(&self) -> bool {
        matches!(self.level.arguments, Arguments::Any { effect: Effect::Allow, .. })
            && self.level.insert.is_empty()
            && self.stdin
            && self.has_no_settings()
    }

    /// Whether a person has to approve each of its calls, whatever its arguments are.
    pub fn asks_always(&self) -> bool {
        matches!(self.level.arguments, Arguments::Any { effect: Effect::Ask, .. })
    }

    /// Whether a person has to approve some of its calls.
    pub fn asks(&self) -> bool {
        self.level.levels().into_iter().any(|level| match &level.arguments {
            Arguments::Any { effect, .. } => *effect == Effect::Ask,
            Arguments::Described { forms, .. } => forms.iter().any(|form| form.effect == Effect::Ask),
        })
    }

    /// What its program is looked for as: the file that the policy names, else its name.
    pub(crate) fn sought(&self) -> &str {
        self.program.as_ref().unwrap_or(&self.name)
    }

    /// Whether its calls get the sandbox, the environment and the limits of all commands.
    pub fn has_no_settings(&self) -> bool {
        self.env == EnvRule::default() && self.sandbox == SandboxRule::default() && self.limits == LimitsRule::default()
    }
}

/// Variables of one command's calls. They hold whatever else the environment is made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnvRule {
    /// Set to these values.
    pub set: BTreeMap<String, String>,
    /// Taken out.
    pub unset: Vec<String>,
}

/// The sandbox of one command's calls. What is `None` is as the server's settings have it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxRule {
    /// The level: `off`, `workspace` or `strict`.
    pub level: Option<SandboxWord>,
    /// Whether the rule's own program is all that its calls may execute.
    pub exec_own: bool,
    /// Whether they have a network.
    pub network: Option<bool>,
    /// Whether the files that a call names are all of the project that it may touch.
    pub paths_claimed: bool,
    /// Whether they may write what the level lets them write; `false` for nothing at all, whatever the server's level is.
    pub writes: Option<bool>,
}

impl SandboxRule {
    /// Whether it confines calls by itself to the directories of the work.
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
    /// Not at all.
    Off,
    /// To the system, read-only, and the directories of the work.
    Workspace,
    /// And to the allowed programs.
    Strict,
}

impl SandboxWord {
    /// The word for it in a policy.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Workspace => "workspace",
            Self::Strict => "strict",
        }
    }
}

/// The kernel's limits for one command's calls. What is `None` is as the server's settings have it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LimitsRule {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Bytes of the longest file.
    pub file_size: Option<u64>,
    /// Processor time.
    pub cpu: Option<Duration>,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Files that are open at once.
    pub open_files: Option<u64>,
}
