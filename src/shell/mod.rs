//! The one persistent shell: started once, given one line for each call, and replaced only when it must be.
//!
//! Takes a [`ShellCommand`](crate::policy::ShellCommand) and nothing weaker. Knows nothing of MCP. `Command::new` is
//! used in `session` and nowhere else in this layer.
//!
//! - `dialect` is what differs between shells: pure functions, with the same names for each.
//! - [`decide`] makes the only kind of command that the shell takes, or says why not.
//! - [`Marker`] ends the output of one command; `Until` reads a stream up to it.
//! - `session` is the shell process, and how each platform watches it.
//! - [`Shell`] runs the calls of the session one by one, the longer ones on a thread of its own.

mod call;
mod decision;
pub(crate) mod dialect;
mod directories;
mod error;
mod handle;
mod marker;
mod session;
mod worker;

pub use call::{Answer, Finished, ShellAction, ShellJob, ShellSettings};
pub use decision::{ShellArguments, ShellDecision, decide};
pub use directories::ShellDirectories;
pub use handle::{First, Shell};
pub use marker::Marker;
