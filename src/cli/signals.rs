//! The signals of the process: those that end it, and those that its parent made it ignore.
//!
//! Signals that a parent ignores stay ignored through exec(3), see execve(2), and so in every command: if SIGCHLD is ignored, a
//! command can't be watched, and if SIGTERM is ignored, it can't end in order. A handler does not survive exec(3), so a signal
//! that has a handler here has its default action in commands.

#[cfg_attr(unix, path = "signals/unix.rs")]
#[cfg_attr(windows, path = "signals/windows.rs")]
mod platform;

pub(super) use platform::{Relay, Signals};
