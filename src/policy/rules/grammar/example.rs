//! Command lines of a policy with what is to be decided for them.

use std::fmt;

use super::Origin;

/// A command line with what is to be decided for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// Where it stands.
    pub origin: Origin,
    /// The command line.
    pub line: ExampleLine,
    /// What is to be decided.
    pub expected: Expected,
}

/// How an example is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExampleLine {
    /// As a line, which is split as a client's is.
    Line(String),
    /// As words.
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

/// What is decided for a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// It runs.
    Allow,
    /// A person decides.
    Ask,
    /// It does not.
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
}
