//! The examples in a policy: command lines, and what must be decided for them.

use std::fmt;

use super::Origin;

/// A command line, and what must be decided for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// Where it is in the policy.
    pub origin: Origin,
    /// The command line.
    pub line: ExampleLine,
    /// The expected decision.
    pub expected: Expected,
}

/// How an example is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExampleLine {
    /// As a line, which is split like a client's.
    Line(String),
    /// As a list of words.
    Words(Vec<String>),
}

impl fmt::Display for ExampleLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Words(words) => f.write_str(&crate::policy::rules::written(words)),
        }
    }
}

/// A decision, as examples name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// It runs.
    Allow,
    /// A person has to approve it.
    Ask,
    /// It does not run.
    Refuse,
}

impl Expected {
    /// The word for it in a policy.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Refuse => "refuse",
        }
    }

    /// Describes the mismatch with the decision `came`, and why it was made. A line of another command is wrong though
    /// both are the same.
    pub(crate) fn unmet(self, came: Self, why: &str) -> String {
        let reason = if why.is_empty() { String::new() } else { format!(": {why}") };
        if self == came { why.to_owned() } else { format!("expected {}, got {}{reason}", self.name(), came.name()) }
    }
}
