//! One process a call: spawned, bounded in time and output, ended with its whole tree, reaped.
//!
//! Takes an [`AllowedCommand`](crate::policy::AllowedCommand) and nothing weaker, and uses it up. Knows nothing of MCP.
//! `Command::new` stands in `run.rs` and nowhere else.
//!
//! - [`Processes`] is the [`Executor`] of the server.
//! - [`Environment`] is what commands find in their environment, built once.
//! - [`Capture`] keeps the head and the tail of a stream.
//! - [`stop`] makes the two ends of the wish to end a command.
//! - `Orphans` finds and ends what left the tree of its command (Linux).
//! - `Timer` keeps the deadlines of the server's loop.

mod capture;
mod environment;
mod os;
mod output;
mod run;
mod stop;
mod timer;

pub use capture::{Capture, Captured};
pub use environment::{Environment, EnvironmentSettings, Variable};
pub(crate) use os::Orphans;
pub use os::become_subreaper;
#[cfg(unix)]
pub(crate) use os::pipe;
pub use output::{End, ExecError, Output};
pub use run::{Executor, Invocation, Limits, Processes};
pub use stop::{Stop, StopReason, StopSignal, stop};
pub(crate) use timer::Timer;
