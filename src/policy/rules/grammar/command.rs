//! The rule for a command, with the settings for all its calls.

use std::time::Duration;

use super::{Arguments, Effect, Example, Level, Origin};
use super::{EnvRule, LimitsRule, SandboxRule};

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
