//! One process for each call: spawned, bounded in time and output, ended with its whole tree, reaped.
//!
//! Takes an [`AllowedCommand`](crate::policy::AllowedCommand) and nothing weaker, and consumes it. Knows nothing of
//! MCP. `Command::new` is used in `start.rs`.
//!
//! - [`Processes`] is the [`Executor`] of the server.
//! - `Environment` is the environment of commands, built once.
//! - `Launcher` starts commands with [`ResourceLimits`].
//! - `Capture` keeps the head and the tail of a stream.
//! - `Keeper` keeps the whole output of calls, each in a `Spool`.
//! - `Feed` is what a running command reads on its standard input.
//! - [`Heartbeat`] reports how long a command has run, and what it printed last.
//! - [`stop`] makes the two ends of a stop signal.
//! - `NewFiles` are the files that a call may create although its sandbox grants only files (Linux).
//! - `Orphans` finds and ends what left the tree of its command (Linux).

mod capture;
mod environment;
mod executor;
mod feed;
mod heartbeat;
#[cfg_attr(not(all(unix, feature = "limits")), path = "no_launcher.rs")]
mod launcher;
#[cfg_attr(not(all(unix, feature = "lines")), path = "no_line.rs")]
pub mod line;
#[cfg_attr(not(target_os = "linux"), path = "no_new_files.rs")]
mod new_files;
mod os;
mod output;
mod own_binary;
#[cfg_attr(not(target_os = "linux"), path = "no_own_directory.rs")]
mod own_directory;
mod processes;
mod resources;
#[cfg_attr(not(feature = "background"), path = "no_spool.rs")]
pub(crate) mod spool;
mod start;
mod stop;
mod stream_name;

pub(crate) use capture::Capture;
pub use capture::Captured;
pub(crate) use environment::{Environment, EnvironmentSettings, Variable};
pub use executor::{Executor, Invocation, Limits, OnStart, StartedCommand};
pub(crate) use feed::Feed;
pub(crate) use heartbeat::Beats;
pub use heartbeat::Heartbeat;
pub use launcher::launched;
pub(crate) use launcher::{CallNetwork, Launcher};
pub(crate) use launcher::{Failure, Launch};
pub use os::own_descendants;
pub(crate) use os::*;
pub use output::{End, ExecError, Host, Output};
use output::{failed, spawn_error};
pub(crate) use own_binary::own_binary;
pub(crate) use own_directory::stay_in_directory;
pub use processes::Processes;
pub(crate) use processes::{RuleExecution, Told, since_1970};
pub use resources::{Limit, LimitsError, ResourceLimits};
pub(crate) use spool::{Keeper, Spool};
pub(crate) use start::{OperatorProgram, Started};
pub use stop::{Stop, StopReason, StopSignal, stop};
pub(crate) use stream_name::StreamName;
