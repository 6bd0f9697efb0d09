//! A violation that the check found, with its line, side and rule.

use std::fmt;

/// The side that made the mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

impl Side {
    /// Returns the receiver of this side's messages.
    pub(super) fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}

/// One thing that the protocol does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The line of the file, counted from 1.
    pub line: usize,
    /// The side that wrote it.
    pub side: Side,
    /// The rule that it breaks: `framing`, `jsonrpc`, `id`, `lifecycle`, `capability`, `progress`, `cancellation` or
    /// `schema`.
    pub rule: &'static str,
    /// Describes the mistake.
    pub what: String,
}
