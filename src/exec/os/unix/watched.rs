//! A command that runs, with all that watches it: its pipes, its exit, its deadline and its stop signal. A thread that does
//! nothing else waits for it by poll(2) until it has ended.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::super::{LETTING_GO, end_leftovers};
use super::streams::{Input, Stream};
use super::tree::{ProcessTree, TICK, UNKILLABLE, unreaped};
use crate::exec::phases::{DRAIN, Due, Phases};
use crate::exec::{Beats, End, Failure, Launch, Limits, Output, StopReason, StopSignal, StreamName, Told};
use crate::poll::poll_ready;

/// How many sources there are.
const SOURCES: usize = 5;

/// What a command waits for, as [`poll_ready`] takes it: both outputs, the input, the exit, the stop signal.
type Sources<'a> = [(Option<BorrowedFd<'a>>, PollFlags); SOURCES];

/// A command that runs.
pub(super) struct Watched<'a> {
    tree: ProcessTree,
    streams: [Stream; 2],
    input: Input,
    stop: &'a StopSignal,
    phases: Phases,
    beats: Option<Beats>,
    /// The index of the stream that was read last.
    heard: usize,
    started: Instant,
    /// Whether it has exited, even if it could not be reaped yet.
    has_exited: bool,
    /// When it was killed, if it was.
    killed: Option<Instant>,
    /// Whether nothing of it is left but its output.
    is_draining: bool,
}

/// What a command has come to that runs no more, and was reaped or given up.
struct Over {
    /// How the server has ended it, if it did.
    ended_by_us: Option<End>,
}

impl<'a> Watched<'a> {
    /// Takes a command that was started.
    ///
    /// # Errors
    /// If it can't be watched; then it was killed.
    pub(super) fn new(
        mut child: Child,
        input: Vec<u8>,
        stop: &'a StopSignal,
        limits: Limits,
        started: Instant,
        told: Told,
        launch: Option<Launch>,
    ) -> io::Result<Self> {
        let Told { heartbeat, spool, feed } = told;
        let pipes = [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
        let stdin = child.stdin.take();
        let tree = ProcessTree::new(child, launch)?;
        let [stdout, stderr] = pipes;
        let stream = |pipe, name| Stream::new(pipe, name, limits.capture(), spool.clone());
        let streams = stream(stdout, StreamName::Stdout).and_then(|out| Ok([out, stream(stderr, StreamName::Stderr)?]));
        let streams = streams.inspect_err(|_| tree.kill())?;
        Ok(Self {
            tree,
            streams,
            input: Input::new(stdin, input, feed),
            stop,
            phases: Phases::new(started, limits),
            beats: heartbeat.map(|heartbeat| Beats::new(heartbeat, started)),
            heard: 0,
            started,
            has_exited: false,
            killed: None,
            is_draining: false,
        })
    }

    /// Watches it to its end on this thread, which has no other command: reads its output, feeds its input, keeps its
    /// deadline, ends its tree, reaps it.
    pub(super) fn run_to_end(mut self) -> io::Result<(Output, Option<Failure>)> {
        let over = loop {
            let stepped = match self.over() {
                Some(over) => Ok(Some(over)),
                None => {
                    let wait = self.wait();
                    poll_ready(&self.sources(), wait).and_then(|ready| self.step(ready))
                }
            };
            if let Some(over) = stepped.transpose() {
                break over;
            }
        };
        let over = over.inspect_err(|_| self.tree.kill());
        self.tree.end();
        end_leftovers(&unreaped());
        self.finish(over?)
    }

    /// Whether it was reaped, its output read, and nothing of its group is left.
    fn over(&self) -> Option<Over> {
        let is_over = self.tree.is_reaped() && self.is_read() && self.tree.is_gone();
        is_over.then(|| Over { ended_by_us: self.phases.ended_by_us() })
    }

    fn is_read(&self) -> bool {
        self.streams.iter().all(|stream| stream.pipe.is_none())
    }

    /// How long to wait at most until the next [`step`](Self::step).
    fn wait(&mut self) -> Duration {
        let mut wait = self.phases.until().saturating_duration_since(Instant::now());
        let is_ending = self.has_exited || self.killed.is_some();
        if is_ending && (self.is_read() || !self.is_draining) {
            wait = wait.min(TICK);
        }
        if let Some(beats) = self.beats.as_mut().filter(|_| self.phases.is_running()) {
            let heard = self.streams.get(self.heard);
            let beat = beats.beat(|longest| heard.map_or_else(Vec::new, |heard| heard.capture.last_line(longest)));
            wait = wait.min(beat);
        }
        wait
    }

    /// What to wait for.
    fn sources(&self) -> Sources<'_> {
        let [stdout, stderr] = self.streams.each_ref().map(|stream| stream.pipe.as_ref().map(AsFd::as_fd));
        let input = &self.input;
        [
            (stdout, PollFlags::IN),
            (stderr, PollFlags::IN),
            (input.pipe.as_ref().filter(|_| input.has_more()).map(AsFd::as_fd), PollFlags::OUT),
            (Some(self.tree.exit()).filter(|_| !self.has_exited), PollFlags::IN),
            (Some(self.stop.receiver.as_fd()).filter(|_| !self.phases.is_shutdown()), PollFlags::IN),
        ]
    }

    /// Does what can be done, now that these sources are ready; returns what the command has come to if it is given up.
    fn step(&mut self, ready: [bool; SOURCES]) -> io::Result<Option<Over>> {
        let [stdout, stderr, input, exit, stop] = ready;
        let ready = [stdout, stderr];
        self.heard = ready.iter().position(|ready| *ready).unwrap_or(self.heard);
        let of_ready = self.streams.iter_mut().zip(ready).filter(|(_, ready)| *ready);
        of_ready.map(|(stream, _)| stream).try_for_each(Stream::read)?;
        if input {
            self.input.write();
        }
        let now = Instant::now();
        if stop {
            self.input.refill();
            // If it can't be read, nobody is left to stop the command.
            let reason = self.stop.read().unwrap_or(Some(StopReason::Shutdown));
            let Some(reason) = reason else { return Ok(None) };
            match self.phases.stop(reason, now) {
                true if reason == StopReason::Interrupted => self.tree.interrupt(),
                true => self.tree.terminate(),
                false => {}
            }
        }
        if exit {
            // The rest of the group gets SIGTERM before the command is reaped: until then the number of the group can't be
            // reused.
            if self.phases.exited(now) {
                self.tree.terminate_group();
            }
            self.has_exited = true;
        }
        if self.has_exited && !self.tree.is_reaped() {
            // What traces it may keep its exit back.
            self.tree.try_reap()?;
        }
        if self.tree.is_reaped() && !self.is_draining && self.tree.is_gone() {
            // Only processes that left the group can still hold the pipes.
            self.is_draining = true;
            self.phases.killed(now, DRAIN);
        }
        let is_kept_back = self.has_exited && !self.tree.is_reaped();
        let is_held = |killed: Instant| is_kept_back || now.duration_since(killed) >= LETTING_GO;
        if !self.is_draining && self.killed.is_some_and(is_held) {
            self.tree.end_tracers();
        }
        match self.phases.due(now) {
            Due::Nothing => {}
            Due::Terminate => self.tree.terminate(),
            Due::Kill => {
                self.tree.kill();
                self.killed = Some(now);
                self.phases.killed(now, if self.tree.is_reaped() { DRAIN } else { UNKILLABLE });
            }
            Due::GiveUp => return Ok(Some(Over { ended_by_us: self.phases.ended_by_us() })),
        }
        Ok(None)
    }

    /// What it has come to, and why it never began, if setting its limits failed.
    fn finish(self, over: Over) -> io::Result<(Output, Option<Failure>)> {
        let Self { mut tree, streams, started, .. } = self;
        let end = match (over.ended_by_us, tree.status()) {
            (Some(end), _) => end,
            (None, Some(status)) => match (status.code(), status.signal()) {
                (Some(code), _) => End::Exited(code),
                (None, signal) => End::Signaled(signal.unwrap_or_default()),
            },
            (None, None) => return Err(io::Error::other("its exit status was lost")),
        };
        let [stdout, stderr] = streams.map(|stream| stream.capture.finish());
        let limit = tree.status().and_then(|status| tree.hit(status));
        let output = Output { end, stdout, stderr, limit, elapsed: started.elapsed() };
        Ok((output, tree.failure(end)))
    }
}
