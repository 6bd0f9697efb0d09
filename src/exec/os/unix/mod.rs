//! Starts commands on a Unix, and watches them to their end.

mod phases;
mod streams;
mod tree;
mod watched;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

pub use super::descendants::own_descendants;
pub(crate) use phases::{DRAIN, Due, LEFTOVER_GRACE, Phases};
pub(crate) use tree::ProcessTree;
use tree::reap_late;
pub(in crate::exec) use tree::unreaped;
pub(in crate::exec) use watched::{Role, Script, Watch};

use crate::exec::{End, Failure, Feed, Limits, Output, Started, StopSignal, Told};

/// A process that was started.
pub(crate) type Spawned = Child;

/// The other ends of the standard streams of a command or a line.
pub(crate) enum Streams {
    /// Its output is read and kept; its input is that of the call.
    Captured,
    /// They are the caller's, and nothing of them is read here.
    Own {
        /// `None` for nothing to read.
        stdin: Option<OwnedFd>,
        /// Standard output and standard error.
        output: [OwnedFd; 2],
    },
}

/// Where the standard streams of a command lead.
#[derive(Debug)]
pub(crate) struct Ends {
    /// Its standard input; `None` for none.
    pub stdin: Option<OwnedFd>,
    /// Its standard output.
    pub stdout: OwnedFd,
    /// Its standard error.
    pub stderr: OwnedFd,
}

impl Ends {
    /// Gives them to the command.
    pub(in crate::exec) fn connect(self, command: &mut Command) {
        let Self { stdin, stdout, stderr } = self;
        command.stdin(stdin.map_or_else(Stdio::null, Stdio::from)).stdout(stdout).stderr(stderr);
    }
}

/// Gives the command its `argv[0]` and a process group of its own. Both keep std on posix_spawn(3).
pub(in crate::exec) fn prepare(command: &mut Command, words: &[String]) {
    if let Some(word) = words.first() {
        command.arg0(word);
    }
    command.process_group(0);
}

/// Starts the command.
pub(in crate::exec) fn spawn(mut command: Command) -> io::Result<Spawned> {
    reap_late();
    super::start_registered(|| command.spawn())
}

/// Runs one command to its end on this thread, with the input of the call if its streams are captured. `start` starts it with these
/// ends of its streams.
///
/// # Errors
/// Those of `start`, and the system's.
pub(in crate::exec) fn run<E: From<io::Error>>(
    streams: Streams,
    (input, feed): (Option<Vec<u8>>, Option<Arc<Feed>>),
    stop: &StopSignal,
    limits: Limits,
    told: Told,
    start: impl FnOnce(Ends) -> Result<Started, E>,
) -> Result<io::Result<(Output, Option<Failure>)>, E> {
    let (mut watch, stdin, [stdout, stderr]) = match streams {
        Streams::Captured => {
            let (mut watch, output) = Watch::new(limits, told)?;
            let has_input = input.is_some() || feed.is_some();
            let stdin = has_input.then(|| watch.input(input.unwrap_or_default(), feed)).transpose()?;
            (watch, stdin, output)
        }
        Streams::Own { stdin, output } => {
            let (watch, output) = Watch::passing_through(limits, told, output)?;
            (watch, stdin, output)
        }
    };
    let started = start(Ends { stdin, stdout, stderr })?;
    let mut alone = Alone { failure: None };
    let watched = watch.watch(started).and_then(|_| watch.run(&mut alone, stop));
    Ok(watched.map(|output| (output, alone.failure)))
}

/// The script of a command that nothing follows.
struct Alone {
    failure: Option<Failure>,
}

impl Script for Alone {
    fn begin(&mut self, _watch: &mut Watch) -> Option<End> {
        None
    }

    fn ended(&mut self, _number: usize, end: End, failure: Option<Failure>, _watch: &mut Watch) -> Option<End> {
        self.failure = failure;
        Some(end)
    }

    fn stopped(&mut self) {}
}
