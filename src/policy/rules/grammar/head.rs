//! The part of a rule that is known before its arguments are read.

use super::{CommandRule, LimitsRule, SandboxRule};

/// The part of a rule that a start needs. That of a shipped profile is in a table, so that a start reads no profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleHead<'r> {
    /// The first word of a call.
    pub name: &'r str,
    /// The name or path by which its program is looked for.
    pub sought: &'r str,
    /// The sandbox of its calls.
    pub sandbox: &'r SandboxRule,
    /// The resource limits of its calls.
    pub limits: &'r LimitsRule,
    /// Whether no allowed call changes anything.
    pub read_only: bool,
    /// Whether a person has to approve some of its calls.
    pub asks: bool,
    /// Whether some of its arguments are paths.
    pub has_paths: bool,
    /// Whether it says anything about the words of its calls.
    pub describes_arguments: bool,
    /// Whether it allows anything and sets nothing, as `--allow NAME` does.
    pub is_plain_any: bool,
}

impl CommandRule {
    /// Returns all but its arguments.
    pub fn head(&self) -> RuleHead<'_> {
        RuleHead {
            name: &self.name,
            sought: self.sought(),
            sandbox: &self.sandbox,
            limits: &self.limits,
            read_only: self.read_only,
            asks: self.asks(),
            has_paths: self.level.has_paths(),
            describes_arguments: self.describes_arguments(),
            is_plain_any: self.is_plain_any(),
        }
    }
}
