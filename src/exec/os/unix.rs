//! Starts commands on a Unix, and watches each to its end.

mod streams;
mod tree;
mod watched;

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Instant;

pub(crate) use tree::ProcessTree;
use tree::reap_late;
use watched::Watched;

use crate::exec::{Failure, Launch, Limits, Output, StopSignal, Told};

/// Gives the command its `argv[0]` and a process group of its own. Both keep std on posix_spawn(3).
pub(in crate::exec) fn prepare(command: &mut Command, words: &[String]) {
    if let Some(word) = words.first() {
        command.arg0(word);
    }
    command.process_group(0);
}

/// Starts the command.
pub(in crate::exec) fn spawn(mut command: Command) -> io::Result<Child> {
    reap_late();
    super::start_registered(|| command.spawn())
}

/// Watches the command to its end, on this thread.
pub(in crate::exec) fn supervise(
    child: Child,
    input: Vec<u8>,
    stop: &StopSignal,
    limits: Limits,
    started: Instant,
    told: Told,
    launch: Option<Launch>,
) -> io::Result<(Output, Option<Failure>)> {
    Watched::new(child, input, stop, limits, started, told, launch)?.run_to_end()
}
