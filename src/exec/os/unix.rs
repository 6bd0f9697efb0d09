//! Watches one command on a Unix: its pipes, its exit, its deadline and its stop signal, in one poll(2).

mod tree;

use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;

pub(crate) use tree::ProcessTree;
use tree::{reap_late, unreaped};

use crate::exec::phases::{DRAIN, Due, Phases};
use crate::exec::{
    Beats, Capture, End, Failure, Feed, Launch, Limits, Output, Spool, StopReason, StopSignal, StreamName, Told,
};
use crate::poll::poll_ready;

/// How long to wait for a killed command before it is left to be reaped later, because the kernel holds it.
const UNKILLABLE: Duration = Duration::from_secs(1);
/// How often to look at a group whose end nothing else reports.
const TICK: Duration = Duration::from_millis(5);

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

/// Watches the command to its end: reads its output, feeds its input, keeps its deadline, ends its tree, reaps it.
pub(in crate::exec) fn supervise(
    mut child: Child,
    input: Vec<u8>,
    stop: &StopSignal,
    limits: Limits,
    started: Instant,
    told: Told,
    launch: Option<Launch>,
) -> io::Result<(Output, Option<Failure>)> {
    let Told { heartbeat, spool, feed } = told;
    let pipes = [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
    let [stdout, stderr] = pipes.map(|pipe| (pipe, limits.capture(), spool.clone()));
    let stream = |(pipe, capture, spool), name| Stream { pipe, capture, name, spool };
    let mut streams = [stream(stdout, StreamName::Stdout), stream(stderr, StreamName::Stderr)];
    let mut input = Input::new(child.stdin.take(), input, feed);
    let mut tree = ProcessTree::new(child, launch)?;
    let watch = Watch {
        stop,
        phases: Phases::new(started, limits),
        beats: heartbeat.map(|heartbeat| Beats::new(heartbeat, started)),
        heard: 0,
    };
    let watched = watch.run(&mut tree, &mut streams, &mut input).inspect_err(|_| tree.kill());
    tree.end();
    super::end_leftovers(&unreaped());
    let end = match (watched?, tree.status()) {
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

struct Watch<'a> {
    stop: &'a StopSignal,
    phases: Phases,
    beats: Option<Beats>,
    /// The index of the stream that was read last.
    heard: usize,
}

impl Watch<'_> {
    /// Returns how the command ended, if the server ended it.
    fn run(mut self, tree: &mut ProcessTree, streams: &mut [Stream; 2], input: &mut Input) -> io::Result<Option<End>> {
        loop {
            let is_read = streams.iter().all(|stream| stream.pipe.is_none());
            if tree.is_reaped() && is_read && tree.is_gone() {
                return Ok(self.phases.ended_by_us());
            }
            let mut wait = self.phases.until().saturating_duration_since(Instant::now());
            if tree.is_reaped() && is_read {
                wait = wait.min(TICK);
            }
            if let Some(beats) = self.beats.as_mut().filter(|_| self.phases.is_running()) {
                let heard = streams.get(self.heard);
                let beat = beats.beat(|longest| heard.map_or_else(Vec::new, |heard| heard.capture.last_line(longest)));
                wait = wait.min(beat);
            }
            let ready = self.wait_for(tree, streams, input, wait)?;
            self.heard = ready.streams.iter().position(|ready| *ready).unwrap_or(self.heard);
            streams
                .iter_mut()
                .zip(ready.streams)
                .filter(|(_, ready)| *ready)
                .try_for_each(|(stream, _)| stream.read())?;
            if ready.input {
                input.write();
            }
            let now = Instant::now();
            if ready.stop {
                input.refill();
                // If it can't be read, nobody is left to stop the command.
                let reason = self.stop.read().unwrap_or(Some(StopReason::Shutdown));
                let Some(reason) = reason else { continue };
                match self.phases.stop(reason, now) {
                    true if reason == StopReason::Interrupted => tree.interrupt(),
                    true => tree.terminate(),
                    false => {}
                }
            }
            if ready.exit {
                // The rest of the group gets SIGTERM before the command is reaped: until then the number of the group
                // can't be reused.
                if self.phases.exited(now) {
                    tree.terminate_group();
                }
                tree.reap()?;
                if tree.is_gone() {
                    // Only processes that left the group can still hold the pipes.
                    self.phases.killed(now, DRAIN);
                }
            }
            match self.phases.due(now) {
                Due::Nothing => {}
                Due::Terminate => tree.terminate(),
                Due::Kill => {
                    tree.kill();
                    self.phases.killed(now, if tree.is_reaped() { DRAIN } else { UNKILLABLE });
                }
                Due::GiveUp => return Ok(self.phases.ended_by_us()),
            }
        }
    }

    /// Waits until something can be done, for at most `wait`.
    fn wait_for(&self, tree: &ProcessTree, streams: &[Stream; 2], input: &Input, wait: Duration) -> io::Result<Ready> {
        let [stdout, stderr] = streams.each_ref().map(|stream| stream.pipe.as_ref().map(AsFd::as_fd));
        let sources = [
            (stdout, PollFlags::IN),
            (stderr, PollFlags::IN),
            (input.pipe.as_ref().filter(|_| input.has_more()).map(AsFd::as_fd), PollFlags::OUT),
            (Some(tree.exit()).filter(|_| !tree.is_reaped()), PollFlags::IN),
            (Some(self.stop.wish.as_fd()).filter(|_| !self.phases.is_shutdown()), PollFlags::IN),
        ];
        let [stdout, stderr, input, exit, stop] = poll_ready(&sources, wait)?;
        Ok(Ready { streams: [stdout, stderr], input, exit, stop })
    }
}

#[derive(Default)]
struct Ready {
    streams: [bool; 2],
    input: bool,
    exit: bool,
    stop: bool,
}

/// One of the command's output streams; `pipe` is `None` at its end.
struct Stream {
    pipe: Option<OwnedFd>,
    capture: Capture,
    name: StreamName,
    spool: Option<Arc<Spool>>,
}

impl Stream {
    fn read(&mut self) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        let mut piece = [0; 32 * 1024];
        match rustix::io::read(pipe, &mut piece) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                let piece = piece.get(..count).unwrap_or_default();
                self.capture.push(piece);
                if let Some(spool) = &self.spool {
                    spool.push(self.name, piece);
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// The command's input; `pipe` is `None` once the command has read all of it, or wants no more.
struct Input {
    pipe: Option<ChildStdin>,
    bytes: Vec<u8>,
    written: usize,
    /// What may come behind the bytes; `None` once nothing can.
    feed: Option<Arc<Feed>>,
}

impl Input {
    fn new(pipe: Option<ChildStdin>, bytes: Vec<u8>, feed: Option<Arc<Feed>>) -> Self {
        // Only our end: the other end is another file description, and stays as programs expect it.
        let is_wanted = !bytes.is_empty() || feed.is_some();
        let pipe = pipe.filter(|pipe| rustix::io::ioctl_fionbio(pipe, true).is_ok() && is_wanted);
        let mut input = Self { pipe, bytes, written: 0, feed };
        // It may have been given something before it was started.
        input.refill();
        input
    }

    /// Whether there is something to be written now.
    fn has_more(&self) -> bool {
        self.written < self.bytes.len()
    }

    /// Takes what was given to the command since the last time.
    fn refill(&mut self) {
        let Some(feed) = &self.feed else { return };
        let (more, is_closed) = feed.take();
        self.bytes.drain(..self.written);
        self.written = 0;
        self.bytes.extend(more);
        if is_closed {
            self.feed = None;
            self.pipe = self.pipe.take().filter(|_| self.has_more());
        }
    }

    fn write(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let rest = self.bytes.get(self.written..).unwrap_or_default();
        match pipe.write(rest) {
            Ok(count) => {
                self.written += count;
                if let Some(feed) = &self.feed {
                    feed.read(count);
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // A command may close its input early.
            Err(_) => self.end(),
        }
        if !self.has_more() && self.feed.is_none() {
            self.pipe = None;
        }
    }

    fn end(&mut self) {
        self.written = self.bytes.len();
        self.pipe = None;
        if let Some(feed) = self.feed.take() {
            feed.close();
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.end();
    }
}
