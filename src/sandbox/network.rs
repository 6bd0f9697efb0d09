//! The network that commands in the sandbox have.

use std::fmt;

use super::Level;

/// The sockets that commands in the sandbox can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// No sockets except the two ends of a socketpair(2).
    None,
    /// A loopback interface of the call's own, and nothing else.
    Loopback,
    /// Everything that they could do without the sandbox, except abstract Unix sockets outside it.
    Full,
}

impl Network {
    /// All of them, the strictest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Loopback, Self::Full];

    /// The word for it in a setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Loopback => "loopback",
            Self::Full => "full",
        }
    }

    /// The default at a level.
    pub fn of(level: Level) -> Self {
        match level {
            Level::Off | Level::Workspace => Self::Full,
            Level::Strict => Self::None,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
