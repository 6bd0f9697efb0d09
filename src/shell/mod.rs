//! The persistent shell: started once, given one line for each call, and replaced only if necessary.
//!
//! It accepts only a [`ShellCommand`](crate::policy::ShellCommand), and knows nothing of MCP. In this layer, only
//! `session` uses `Command::new`.
//!
//! - `dialect` is what differs between shells: pure functions, with the same names for each.
//! - [`decide`] makes the only kind of command that the shell takes, or says why not.
//! - [`Marker`] ends the output of one command; `Until` reads a stream up to it.
//! - `session` is the shell process, and how each platform watches it.
//! - [`Shell`] runs the calls of the session one by one, on a thread of its own.

mod call;
mod decision;
pub(crate) mod dialect;
mod directories;
mod error;
mod handle;
mod marker;
mod session;
mod worker;

pub use call::{Answer, Finished, ShellAction, ShellJob, ShellSettings, ShellState};
pub use decision::{ShellArguments, ShellDecision, decide};
pub use directories::{ShellDirectories, ShellDirectory};
pub use handle::Shell;
pub use marker::Marker;
