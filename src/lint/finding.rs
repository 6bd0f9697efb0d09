//! What the check finds: where, whose, and what.

use std::fmt;

/// Who made the mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

impl Side {
    /// Who gets what this side sends.
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
    /// Who has written it.
    pub side: Side,
    /// What it is about: `framing`, `jsonrpc`, `id`, `lifecycle`, `capability`, `progress`, `cancellation` or `schema`.
    pub rule: &'static str,
    /// What is wrong.
    pub what: String,
}
