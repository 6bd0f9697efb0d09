//! The terms of a call, on which a person approves it.

use std::time::Duration;

/// How a call runs its command: what a client chooses besides the command and its directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Terms {
    /// The tool that was called.
    pub tool: String,
    /// The standard input of the command. It reads nothing else.
    pub input: Option<String>,
    /// The timeout, if the call gives one or runs in the background.
    pub timeout: Option<Duration>,
    /// Whether it would be answered when it starts, and go on.
    pub is_background: bool,
    /// Whether it would run in the persistent shell.
    pub is_in_shell: bool,
}
