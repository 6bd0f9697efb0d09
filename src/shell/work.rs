//! A call on its way to the shell's thread, and how far it has come.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::call::ShellAction;
use super::session::{Ran, Watch};
use crate::exec::{Heartbeat, Limits, Spool, StopSignal};
use crate::policy::Base;

/// A call for the thread, which may have begun already.
#[derive(Debug)]
pub struct Work<T> {
    pub(super) context: T,
    pub(super) start_directory: Base,
    pub(super) stage: Stage,
}

/// The state of a call.
#[derive(Debug)]
pub(super) enum Stage {
    /// Nothing was done yet.
    New { distrust: Option<String>, action: ShellAction, limits: Limits, spool: Option<Arc<Spool>> },
    /// The shell has its line.
    Watching { begun: Begun, watch: Box<Watch> },
    /// It can't be put into a line, for this reason.
    Refused(String),
    /// The line has ended, or can't be watched any more.
    Ran { begun: Begun, ran: io::Result<Ran> },
}

/// What connects a call on the thread to the loop before it ends.
pub(super) struct Control {
    pub stop: StopSignal,
    pub heartbeat: Option<Heartbeat>,
}

/// What is known about a call since its turn.
#[derive(Debug)]
pub(super) struct Begun {
    pub started: Instant,
    pub restarted: Option<String>,
    /// Whether the shell itself runs a command that does not change its directory.
    pub stays: bool,
}
