//! The operator's settings for lines of several commands.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Whether a call may be a line of several commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lines {
    /// A call is one plain command.
    #[default]
    Off,
    /// A call may be several commands, connected by pipes and lists.
    On,
    /// The same, and commands may read and write files by redirections.
    Files,
}

impl Lines {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Off, Self::On, Self::Files];

    /// The word for it in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Files => "files",
        }
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Lines {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|lines| lines.name() == text).ok_or(())
    }
}

/// Settings for the lines of all calls.
#[derive(Debug, Clone, Default)]
pub struct LineRules {
    /// The setting `--lines`.
    pub lines: Lines,
    /// The variables that words may hold besides `PWD`: those that the server makes itself, none of which is a secret.
    pub variables: BTreeMap<String, String>,
    /// The directories and files that the sandbox lets commands write; empty without one.
    pub writable: Vec<PathBuf>,
}
