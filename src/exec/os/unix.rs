//! Watching one command on a Unix: its pipes, its exit, its deadline and the wish to end it, in one poll(2).
//!
//! The thread that watches is the only one that signals and the only one that reaps, so that no signal can meet a
//! process of another command: as long as the command is not reaped, or its group has members, its number is taken.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, test_kill_process_group, waitpgid};

use crate::exec::{Beats, Capture, End, Heartbeat, Limits, Output, StopReason, StopSignal};

/// How long what a command left running in its group has to end politely, once the command itself has ended.
const LEFTOVER_GRACE: Duration = Duration::from_millis(80);
/// How long pipes are still read after everything was killed.
const DRAIN: Duration = Duration::from_millis(80);
/// How long a killed command has until it is left to be reaped later, because the kernel holds it.
const UNKILLABLE: Duration = Duration::from_secs(1);
/// The most grace that is given when the server ends.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(500);
/// How often a group is looked at whose end nothing else would tell.
const TICK: Duration = Duration::from_millis(5);

/// Makes a pipe that no command inherits: the end to read from, the end to write to.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    #[cfg(not(target_vendor = "apple"))]
    {
        Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
    }
    #[cfg(target_vendor = "apple")]
    {
        let (receiver, sender) = rustix::pipe::pipe()?;
        for end in [&receiver, &sender] {
            rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
        }
        Ok((receiver, sender))
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
pub(in crate::exec) fn spawn(mut command: Command) -> io::Result<Child> {
    reap_late();
    command.spawn()
}

/// Watches the command to its end: reads its output, feeds its input, keeps its deadline, ends its tree, reaps it.
pub(in crate::exec) fn supervise(
    mut child: Child,
    input: Vec<u8>,
    stop: &StopSignal,
    limits: Limits,
    started: Instant,
    heartbeat: Option<Heartbeat>,
) -> io::Result<Output> {
    let mut streams = [
        Stream { pipe: child.stdout.take().map(OwnedFd::from), capture: Capture::new(limits.max_output) },
        Stream { pipe: child.stderr.take().map(OwnedFd::from), capture: Capture::new(limits.max_output) },
    ];
    let mut input = Input::new(child.stdin.take(), input);
    let mut tree = Tree::new(child)?;
    let watched = Watch {
        exit: Some(exit_descriptor(tree.group).inspect_err(|_| tree.signal(Signal::KILL))?),
        stop: Some(stop),
        phase: Phase::Running { until: started + limits.timeout },
        ended_by_us: None,
        limits,
        beats: heartbeat.map(|heartbeat| Beats::new(heartbeat, started)),
        heard: 0,
    }
    .run(&mut tree, &mut streams, &mut input);
    if watched.is_err() {
        tree.signal(Signal::KILL);
    }
    let end = match (watched?, tree.status) {
        (Some(end), _) => end,
        (None, Some(status)) => match (status.code(), status.signal()) {
            (Some(code), _) => End::Exited(code),
            (None, signal) => End::Signaled(signal.unwrap_or_default()),
        },
        (None, None) => return Err(io::Error::other("its exit status was lost")),
    };
    let [stdout, stderr] = streams.map(|stream| stream.capture.finish());
    Ok(Output { end, stdout, stderr, elapsed: started.elapsed() })
}

/// Where the watch stands.
#[derive(Clone, Copy)]
enum Phase {
    /// Until the deadline.
    Running { until: Instant },
    /// The tree was asked to end.
    Ending { until: Instant },
    /// The tree was killed.
    Killed { until: Instant },
}

struct Watch<'a> {
    /// Readable once the command has exited; `None` once it was seen.
    exit: Option<OwnedFd>,
    /// `None` once the server itself ends, which nothing can hurry further.
    stop: Option<&'a StopSignal>,
    phase: Phase,
    ended_by_us: Option<End>,
    limits: Limits,
    beats: Option<Beats>,
    /// The place of the stream that something was read from last.
    heard: usize,
}

impl Watch<'_> {
    /// Returns how the command ended where it was the server that ended it.
    fn run(mut self, tree: &mut Tree, streams: &mut [Stream; 2], input: &mut Input) -> io::Result<Option<End>> {
        loop {
            let is_read = streams.iter().all(|stream| stream.pipe.is_none());
            if tree.is_reaped() && is_read && tree.is_gone() {
                return Ok(self.ended_by_us);
            }
            let (Phase::Running { until } | Phase::Ending { until } | Phase::Killed { until }) = self.phase;
            let mut wait = until.saturating_duration_since(Instant::now());
            if tree.is_reaped() && is_read {
                wait = wait.min(TICK);
            }
            if let (Phase::Running { .. }, Some(beats)) = (self.phase, &mut self.beats) {
                let heard = streams.get(self.heard);
                let beat = beats.beat(|longest| heard.map_or_else(Vec::new, |heard| heard.capture.last_line(longest)));
                wait = wait.min(beat);
            }
            let ready = wait_for(&self, streams, input, wait)?;
            self.heard = ready.streams.iter().position(|ready| *ready).unwrap_or(self.heard);
            streams
                .iter_mut()
                .zip(ready.streams)
                .filter(|(_, ready)| *ready)
                .try_for_each(|(stream, _)| stream.read())?;
            if ready.input {
                input.write();
            }
            if ready.stop {
                self.stop_wished();
                self.end(tree);
            }
            if ready.exit {
                self.exited(tree)?;
            }
            if Instant::now() >= until && self.over(tree) {
                return Ok(self.ended_by_us);
            }
        }
    }

    /// The command has exited: what it left in its group is asked to end, and then it is reaped. In this order, since
    /// the number of the group is its own for as long as it is not reaped.
    fn exited(&mut self, tree: &mut Tree) -> io::Result<()> {
        self.exit = None;
        if let Phase::Running { .. } = self.phase {
            // It fails where the command left its group, and nobody is in it.
            let _ = kill_process_group(tree.group, Signal::TERM);
            self.phase = Phase::Ending { until: Instant::now() + LEFTOVER_GRACE };
        }
        tree.reap()?;
        if tree.is_gone() {
            // Only what left the group can still hold the pipes.
            self.phase = Phase::Killed { until: Instant::now() + DRAIN };
        }
        Ok(())
    }

    fn stop_wished(&mut self) {
        let reason = self.stop.map_or(Ok(StopReason::Shutdown), StopSignal::read).unwrap_or(StopReason::Shutdown);
        if reason == StopReason::Shutdown {
            self.stop = None;
            self.limits.grace = self.limits.grace.min(SHUTDOWN_GRACE);
        }
        if let Phase::Running { .. } = self.phase {
            self.ended_by_us = Some(End::Stopped);
        }
    }

    /// Asks the tree to end, or shortens the grace that it was given.
    fn end(&mut self, tree: &Tree) {
        let sooner = Instant::now() + self.limits.grace;
        match self.phase {
            Phase::Running { .. } => {
                tree.signal(Signal::TERM);
                // What is stopped can't answer before it is continued.
                tree.signal(Signal::CONT);
                self.phase = Phase::Ending { until: sooner };
            }
            Phase::Ending { until } => self.phase = Phase::Ending { until: until.min(sooner) },
            Phase::Killed { .. } => {}
        }
    }

    /// The time of the phase is over; says whether the watch is.
    fn over(&mut self, tree: &mut Tree) -> bool {
        let now = Instant::now();
        match self.phase {
            Phase::Running { until } if now >= until => {
                self.ended_by_us = Some(End::TimedOut(self.limits.timeout));
                self.end(tree);
                false
            }
            Phase::Ending { until } if now >= until => {
                tree.signal(Signal::KILL);
                self.phase = Phase::Killed { until: now + if tree.is_reaped() { DRAIN } else { UNKILLABLE } };
                false
            }
            Phase::Killed { until } => now >= until,
            // The phase changed in this very round.
            Phase::Running { .. } | Phase::Ending { .. } => false,
        }
    }
}

#[derive(Default)]
struct Ready {
    streams: [bool; 2],
    input: bool,
    exit: bool,
    stop: bool,
}

/// Waits until something can be done, for at most `wait`.
fn wait_for(watch: &Watch<'_>, streams: &[Stream; 2], input: &Input, wait: Duration) -> io::Result<Ready> {
    let [stdout, stderr] = streams.each_ref().map(|stream| stream.pipe.as_ref().map(AsFd::as_fd));
    let sources = [
        (stdout, PollFlags::IN),
        (stderr, PollFlags::IN),
        (input.pipe.as_ref().map(AsFd::as_fd), PollFlags::OUT),
        (watch.exit.as_ref().map(AsFd::as_fd), PollFlags::IN),
        (watch.stop.map(|stop| stop.wish.as_fd()), PollFlags::IN),
    ];
    let [stdout, stderr, input, exit, stop] = poll_ready(&sources, wait)?;
    Ok(Ready { streams: [stdout, stderr], input, exit, stop })
}

/// poll(2) for at most `wait` over those of the `sources` that there are; says which are ready, the end of a stream and
/// an error included.
pub(crate) fn poll_ready<const N: usize>(
    sources: &[(Option<BorrowedFd<'_>>, PollFlags); N],
    wait: Duration,
) -> io::Result<[bool; N]> {
    let open =
        || sources.iter().enumerate().filter_map(|(place, (source, flags))| source.map(|fd| (place, fd, *flags)));
    let mut polled: Vec<PollFd<'_>> = open().map(|(_, fd, flags)| PollFd::from_borrowed_fd(fd, flags)).collect();
    // A wait that no timespec holds is longer than any server lives.
    let timeout = Timespec::try_from(wait).ok();
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready = [false; N];
    for ((place, ..), polled) in open().zip(&polled) {
        if let Some(ready) = ready.get_mut(place) {
            *ready = !polled.revents().is_empty();
        }
    }
    Ok(ready)
}

/// One of the command's output streams; `pipe` is `None` at its end.
struct Stream {
    pipe: Option<OwnedFd>,
    capture: Capture,
}

impl Stream {
    fn read(&mut self) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        let mut piece = [0; 32 * 1024];
        match rustix::io::read(pipe, &mut piece) {
            Ok(0) => self.pipe = None,
            Ok(count) => self.capture.push(piece.get(..count).unwrap_or_default()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// What the command is given to read; `pipe` is `None` once it has it all, or wants no more.
struct Input {
    pipe: Option<ChildStdin>,
    bytes: Vec<u8>,
    written: usize,
}

impl Input {
    fn new(pipe: Option<ChildStdin>, bytes: Vec<u8>) -> Self {
        // Our end alone: the other end is another description of the pipe, and stays as programs expect it.
        let pipe = pipe.filter(|pipe| rustix::io::ioctl_fionbio(pipe, true).is_ok() && !bytes.is_empty());
        Self { pipe, bytes, written: 0 }
    }

    fn write(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let rest = self.bytes.get(self.written..).unwrap_or_default();
        match pipe.write(rest) {
            Ok(count) => self.written += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // A command that closes its input early wants no more of it, which is its right.
            Err(_) => self.written = self.bytes.len(),
        }
        if self.written >= self.bytes.len() {
            self.pipe = None;
        }
    }
}

/// The command and what it started, as far as it stays in the command's group.
struct Tree {
    child: Option<Child>,
    group: Pid,
    status: Option<ExitStatus>,
}

impl Tree {
    fn new(child: Child) -> io::Result<Self> {
        // A child's number is never 0 or negative.
        let number = i32::try_from(child.id()).map_err(io::Error::other)?;
        let group = Pid::from_raw(number).ok_or_else(|| io::Error::other("a child without a number"))?;
        Ok(Self { child: Some(child), group, status: None })
    }

    fn is_reaped(&self) -> bool {
        self.status.is_some()
    }

    /// Signals the group, and the command itself where it has left its group.
    fn signal(&self, signal: Signal) {
        // Both fail where there is nothing left to signal, or where the system forbids it (a command that changed its
        // user), and then there is nothing else to be done.
        if !self.is_reaped() {
            let _ = kill_process_group(self.group, signal);
            let _ = kill_process(self.group, signal);
        } else if !self.is_gone() {
            let _ = kill_process_group(self.group, signal);
        }
    }

    fn reap(&mut self) -> io::Result<()> {
        if let Some(child) = &mut self.child {
            self.status = Some(child.wait()?);
        }
        Ok(())
    }

    /// Whether nothing is left in the group of the command, which was reaped.
    fn is_gone(&self) -> bool {
        if test_kill_process_group(self.group) == Err(Errno::SRCH) {
            return true;
        }
        // Members whose parents ended are ours to reap where this process is a subreaper; until then they count.
        while let Ok(Some(_)) = waitpgid(self.group, WaitOptions::NOHANG) {}
        test_kill_process_group(self.group) == Err(Errno::SRCH)
    }
}

impl Drop for Tree {
    /// A command that even SIGKILL has not ended within its time is left to a later one of this thread to reap. A thread
    /// of its own would be in the sandbox of this one, and be met there by the signals of commands.
    fn drop(&mut self) {
        if let Some(child) = self.child.take().filter(|_| self.status.is_none()) {
            UNREAPED.with_borrow_mut(|unreaped| unreaped.push(child));
        }
    }
}

thread_local! {
    /// The commands of this thread that the kernel had not let go when their calls ended.
    static UNREAPED: RefCell<Vec<Child>> = const { RefCell::new(Vec::new()) };
}

/// Reaps what has ended since of the commands that outlived their calls.
fn reap_late() {
    UNREAPED.with_borrow_mut(|unreaped| unreaped.retain_mut(|child| matches!(child.try_wait(), Ok(None))));
}

/// A descriptor that becomes readable when the command has exited, before it is reaped.
pub(crate) fn exit_descriptor(command: Pid) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    if let Ok(descriptor) = rustix::process::pidfd_open(command, rustix::process::PidfdFlags::empty()) {
        return Ok(descriptor);
    }
    // Where there is no pidfd, a thread waits and leaves the command for us to reap.
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let (receiver, sender) = pipe()?;
    let wait = move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(command), options), Err(Errno::INTR)) {}
        drop(sender);
    };
    std::thread::Builder::new().name("exit".into()).spawn(wait)?;
    Ok(receiver)
}
