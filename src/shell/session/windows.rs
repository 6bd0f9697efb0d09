//! The shell process on Windows: in a job of its own, with a thread for each stream, ended with its job.
//!
//! A command can't be ended without its shell here: there is no SIGTERM, and everything in the job ends together. So
//! ending a command ends the shell with its state, and another shell is started.

use std::io::{self, Read, Write};
use std::os::windows::process::ExitStatusExt;
use std::path::Path;
use std::process::{ChildStdin, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::time::{Duration, Instant};

use win32job::Job;

use super::{AtStop, Ending, Ran, ShellLine, Step, Watched, spawn};
use crate::exec::{Beats, End, Host, Limit, Limits, Spawned, StopReason, StopSignal, spawn as spawn_in_job};
use crate::files::Held;
use crate::policy::Base;
use crate::shell::call::ShellSettings;
use crate::shell::dialect::current as dialect;
use crate::shell::error::ShellError;
use crate::shell::marker::Until;

/// How long pipes are still read after the shell has ended.
const DRAIN: Duration = Duration::from_millis(80);
/// How long to wait for the end of a job, before it is left to the system.
const UNKILLABLE: Duration = Duration::from_secs(1);
/// How often to look for a stop signal while a command runs: it comes over another channel than the output.
const TICK: Duration = Duration::from_millis(10);
/// How many pieces of output may wait to be taken; then the shell waits.
const PIECES: usize = 16;

/// The shell, alive as far as is known.
#[derive(Debug)]
pub(in crate::shell) struct Session {
    input: ChildStdin,
    said: Receiver<Said>,
    /// `None` once it was ended.
    job: Option<Arc<Job>>,
    has_exited: bool,
    host: Host,
}

/// A message from a thread of a session.
#[derive(Debug)]
enum Said {
    /// A piece of standard output (0) or standard error (1).
    Piece(usize, Vec<u8>),
    /// One of the two has ended, or can't be read any more.
    Ended,
    Exited(io::Result<ExitStatus>),
}

impl Session {
    /// Starts the shell in the directory, without a window.
    pub(super) fn start(program: &Path, settings: &ShellSettings, directory: &Base) -> Result<Self, ShellError> {
        let pipes = [(); 3].map(|()| Stdio::piped());
        let Spawned { mut child, job } = spawn(program, settings, directory, pipes, spawn_in_job)?;
        let no_shell = || ShellError::NoShell { program: program.to_owned() };
        let pipes = child.inner_mut();
        let (Some(input), Some(stdout), Some(stderr)) = (pipes.stdin.take(), pipes.stdout.take(), pipes.stderr.take())
        else {
            return Err(no_shell());
        };
        let (sender, said) = mpsc::sync_channel(PIECES);
        let session = Self { input, said, job: Some(job), has_exited: false, host: Host::default() };
        let exit = sender.clone();
        let wait = move || {
            // Not the wrapper's own wait, which also waits for a message of its job. The session may be over by then.
            let _ = exit.send(Said::Exited(child.inner_mut().wait()));
        };
        let watched = std::thread::Builder::new()
            .name("shell-exit".into())
            .spawn(wait)
            .and_then(|_| listen(0, stdout, sender.clone()))
            .and_then(|()| listen(1, stderr, sender));
        watched.map(|()| session).map_err(|source| ShellError::Lost { source })
    }

    /// Whether it must not be used any more: never, since what its commands leave behind is in their jobs.
    #[expect(clippy::unused_self, reason = "elsewhere it depends on the session")]
    pub(in crate::shell) fn is_spent(&self) -> bool {
        false
    }

    /// Limits are not enforced here.
    pub(super) fn failure(&self) -> Option<io::Error> {
        None
    }

    /// Limits are not enforced here.
    pub(in crate::shell) fn hit(&mut self, _end: ExitStatus) -> Option<Limit> {
        None
    }

    /// Returns the identity of the processes that its commands leave behind: none, since they stay in its job.
    pub(in crate::shell) fn host(&self) -> &Host {
        &self.host
    }

    /// Drops what came since the last command, which belongs to no call; returns whether the shell is alive.
    pub(in crate::shell) fn settle(&mut self) -> io::Result<bool> {
        loop {
            match self.said.try_recv() {
                Ok(Said::Piece(..)) => {}
                Err(TryRecvError::Empty) => return Ok(true),
                Ok(Said::Ended) | Err(TryRecvError::Disconnected) => return Ok(false),
                Ok(Said::Exited(status)) => {
                    self.has_exited = true;
                    return status.map(|_| false);
                }
            }
        }
    }

    /// Sends the line, and reads both streams up to the marker; if there is a `patience`, no longer than that from its
    /// start.
    pub(in crate::shell) fn watch(
        &mut self,
        mut watch: Watch,
        stop: Option<&StopSignal>,
        patience: Option<Duration>,
    ) -> io::Result<Watched> {
        // It does not block: the line fits into the pipe, and everything before it was read.
        match self.input.write_all(&std::mem::take(&mut watch.line)) {
            // Its exit, which is reported soon, says more.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let ending = match watch.run(self, stop, patience)? {
            Step::Waits => return Ok(Watched::Waits(Box::new(watch))),
            Step::Complete => None,
            Step::Over(ending) => Some(ending),
        };
        let Watch { outputs: [stdout, stderr], ended_by_us, is_shutdown, .. } = watch;
        let (stdout, note) = stdout.finish();
        let (stderr, _) = stderr.finish();
        let ending = match ending {
            // How it ended means nothing if the server ended it.
            _ if ended_by_us.is_some() => Ending::Unresponsive,
            None => note.as_deref().and_then(dialect::status).map_or(Ending::Unresponsive, Ending::Answered),
            Some(ending) => ending,
        };
        Ok(Watched::Ended(Ran { ending, stdout: stdout.finish(), stderr: stderr.finish(), ended_by_us, is_shutdown }))
    }

    /// Only the shell knows its directory.
    pub(in crate::shell) fn held_directory(&self) -> Option<Held> {
        None
    }
}

impl Drop for Session {
    /// Ends the shell with everything in its job, and waits for its exit, since there must never be two shells.
    fn drop(&mut self) {
        self.job = None;
        if self.has_exited {
            return;
        }
        let until = Instant::now() + UNKILLABLE;
        loop {
            match self.said.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Said::Piece(..) | Said::Ended) => {}
                Ok(Said::Exited(_)) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

/// The watch of one line.
#[derive(Debug)]
pub(in crate::shell) struct Watch {
    /// Empty once it was sent.
    line: Vec<u8>,
    started: Instant,
    limits: Limits,
    outputs: [Until; 2],
    /// How many of the streams have not ended yet.
    open: usize,
    /// The deadline of the command; once its job was ended, the deadline for reading.
    until: Instant,
    status: Option<ExitStatus>,
    ended_by_us: Option<End>,
    is_shutdown: bool,
    /// The index of the stream that was heard last.
    heard: usize,
    /// The heartbeat of the command.
    pub(in crate::shell) beats: Option<Beats>,
    /// The effect of a stop signal; at first it ends the command.
    pub(super) at_stop: AtStop,
}

impl Watch {
    /// Makes the watch of a line whose time runs from `started` on; the line is sent when the watch first runs.
    pub(in crate::shell) fn new(line: ShellLine, started: Instant) -> Self {
        // Everything that it starts stays in its job.
        let outputs = line.outputs();
        let ShellLine { line, limits, .. } = line;
        Self {
            line,
            started,
            limits,
            outputs,
            open: 2,
            until: started + limits.timeout,
            status: None,
            ended_by_us: None,
            is_shutdown: false,
            heard: 0,
            beats: None,
            at_stop: AtStop::Ends,
        }
    }

    fn run(
        &mut self,
        session: &mut Session,
        stop: Option<&StopSignal>,
        patience: Option<Duration>,
    ) -> io::Result<Step> {
        let gives_up = patience.map(|patience| self.started + patience);
        while !self.is_complete() {
            if self.open == 0 && self.status.is_some() {
                break;
            }
            let heard = self.outputs.get(self.heard);
            if let Some(beats) = self.beats.as_mut().filter(|_| session.job.is_some()) {
                beats.beat(|longest| heard.map_or_else(Vec::new, |heard| heard.last_line(longest)));
            }
            let left = gives_up.unwrap_or(self.until).min(self.until).saturating_duration_since(Instant::now());
            match session.said.recv_timeout(left.min(TICK)) {
                Ok(Said::Piece(stream, piece)) => {
                    self.heard = stream;
                    if let Some(output) = self.outputs.get_mut(stream) {
                        output.push(&piece);
                    }
                }
                Ok(Said::Ended) => self.open = self.open.saturating_sub(1),
                Ok(Said::Exited(status)) => {
                    session.has_exited = true;
                    // Everything that it left running ends with it.
                    session.job = None;
                    self.status = Some(status?);
                    self.until = Instant::now() + DRAIN;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let is_over = Instant::now() >= self.until;
            if session.job.is_none() {
                if is_over {
                    break;
                }
                continue;
            }
            let wished = stop.map_or(Ok(None), |stop| stop.wait(Duration::ZERO))?;
            if wished.is_some() && self.at_stop == AtStop::Waits {
                return Ok(Step::Waits);
            }
            self.is_shutdown = wished == Some(StopReason::Shutdown);
            if wished.is_some() || is_over {
                let timed_out = End::TimedOut(self.limits.timeout);
                self.ended_by_us = Some(if wished.is_some() { End::Stopped } else { timed_out });
                session.job = None;
                self.until = Instant::now() + UNKILLABLE;
            } else if gives_up.is_some_and(|gives_up| Instant::now() >= gives_up) && !self.is_complete() {
                return Ok(Step::Waits);
            }
        }
        if self.is_complete() {
            return Ok(Step::Complete);
        }
        Ok(Step::Over(self.status.map_or(Ending::Unresponsive, Ending::Died)))
    }
}

impl Watch {
    fn is_complete(&self) -> bool {
        self.outputs.iter().all(Until::is_complete)
    }
}

/// Reads a stream to its end on a thread of its own.
fn listen(stream: usize, mut pipe: impl Read + Send + 'static, said: SyncSender<Said>) -> io::Result<()> {
    let listen = move || {
        let mut piece = vec![0; 32 * 1024];
        loop {
            let told = match pipe.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(count @ 1..) => said.send(Said::Piece(stream, piece.get(..count).unwrap_or_default().to_vec())),
                // A stream that can't be read any more counts as ended, and the shell is not used again.
                Ok(0) | Err(_) => {
                    // The session may be over.
                    let _ = said.send(Said::Ended);
                    return;
                }
            };
            if told.is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("shell-output".into()).spawn(listen).map(drop)
}

/// The exit code that a shell reports, as an exit status of the system.
pub(in crate::shell) fn exit_status(code: i32) -> ExitStatus {
    ExitStatus::from_raw(u32::from_ne_bytes(code.to_ne_bytes()))
}

/// None: every exit status of Windows is a number.
pub(super) fn signal(_status: ExitStatus) -> i32 {
    0
}
