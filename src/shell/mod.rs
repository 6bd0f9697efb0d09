//! The one persistent shell: started once, fed one line a call, and started anew only when it must be.
//!
//! Takes a [`ShellCommand`](crate::policy::ShellCommand) and nothing weaker. Knows nothing of MCP. `Command::new` stands in
//! `session` and nowhere else in this layer.
//!
//! - `dialect` is what differs between shells: pure functions, under the same names for each.
//! - [`decide`] makes the one kind of command that it takes, or says why not.
//! - [`Marker`] ends the output of one command; `Until` reads a stream up to it.
//! - `session` is the process, as each platform watches it.
//! - [`Shell`] runs the calls of the session one by one, the longer ones on a thread of its own.

mod call;
mod decision;
pub(crate) mod dialect;
mod error;
mod handle;
mod marker;
mod session;
mod worker;

pub use call::{Answer, Finished, ShellJob, ShellSettings, Task};
pub use decision::{ShellDecision, decide};
pub use error::ShellError;
pub use handle::{First, Shell};
pub use marker::Marker;
pub use worker::Work;
