//! The operator's demands on programs, as settings say them.

use std::fmt;

/// The largest lock file in bytes.
pub(crate) const LARGEST_LOCK: u64 = 16 * 1024 * 1024;

/// Which programs may run, by who can replace them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// Any allowed program; the default.
    #[default]
    Any,
    /// Only programs that nobody except root and the server's user can replace.
    Owner,
}

impl Trust {
    /// Both values.
    pub const ALL: [Self; 2] = [Self::Any, Self::Owner];

    /// The word for it in a setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Owner => "owner",
        }
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
