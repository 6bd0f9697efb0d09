//! Where rules come from: a file, profile or flag, and a line.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a policy comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PolicySource {
    /// A file of the operator's, by the path that was given.
    File(PathBuf),
    /// A profile that is shipped with the binary.
    Profile(String),
    /// The allow-list.
    Allow,
    /// The list of commands that a person approves.
    Ask,
}

impl fmt::Display for PolicySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => write!(f, "{}", file.display()),
            Self::Profile(name) => write!(f, "profile {name}"),
            Self::Allow => f.write_str("--allow"),
            Self::Ask => f.write_str("--ask"),
        }
    }
}

/// Where something is described: a source and a line, counted from 1; 0 if the source has no lines.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// The file, profile or flag.
    pub source: Arc<PolicySource>,
    /// The line.
    pub line: usize,
}

impl Origin {
    /// Whether it is a profile that comes with the program.
    pub fn is_shipped(&self) -> bool {
        matches!(*self.source, PolicySource::Profile(_))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 { write!(f, "{}", self.source) } else { write!(f, "{}:{}", self.source, self.line) }
    }
}
