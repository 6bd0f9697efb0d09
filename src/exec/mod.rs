//! One process a call: spawned, bounded in time and output, ended with its whole tree, reaped.
//!
//! Takes an [`AllowedCommand`](crate::policy::AllowedCommand) and nothing weaker, and uses it up. Knows nothing of MCP.
//! `Command::new` stands in `run.rs` and nowhere else.
//!
//! - [`Processes`] is the [`Executor`] of the server.
//! - [`Environment`] is what commands find in their environment, built once.
//! - [`Capture`] keeps the head and the tail of a stream.
//! - [`Heartbeat`] tells how long a command has run, and what it printed last.
//! - [`stop`] makes the two ends of the wish to end a command.
//! - `Orphans` finds and ends what left the tree of its command (Linux).
//! - `Timer` keeps the deadlines of the server's loop.

mod capture;
mod environment;
mod heartbeat;
mod os;
mod output;
mod run;
mod stop;
mod timer;

pub use capture::{Capture, Captured};
pub use environment::{Environment, EnvironmentSettings, Variable};
pub(crate) use heartbeat::Beats;
pub use heartbeat::Heartbeat;
pub(crate) use os::Orphans;
pub use os::own_descendants;
#[cfg(target_os = "linux")]
pub(crate) use os::signal_descendants;
#[cfg(windows)]
pub(crate) use os::{Spawned, spawn as spawn_in_job};
#[cfg(unix)]
pub(crate) use os::{exit_descriptor, pipe, poll_ready};
pub use output::{End, ExecError, Host, Output};
pub use run::{Executor, Invocation, Limits, Processes};
pub use stop::{Stop, StopReason, StopSignal, stop};
pub(crate) use timer::Timer;
