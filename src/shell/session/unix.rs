//! The one process on a Unix: watched by poll(2) while it runs a command, ended with its tree.
//!
//! The thread that owns the session is the only one that writes to the shell, reads from it, signals it and reaps it.

use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use super::{Ending, Order, Ran, Watched, spawn};
use crate::exec::{Beats, End, Environment, Host, Limits, StopReason, StopSignal, exit_descriptor, poll_ready};
use crate::shell::dialect::{Status, current as dialect};
use crate::shell::error::ShellError;
use crate::shell::marker::{Marker, Until};

/// How long a new shell has until its first marker.
const OPENING: Duration = Duration::from_secs(10);
/// How long what a command left running has to end politely, once the command itself has ended.
#[cfg(target_os = "linux")]
const LEFTOVER_GRACE: Duration = Duration::from_millis(80);
/// How long pipes are still read after the shell has ended.
const DRAIN: Duration = Duration::from_millis(80);
/// The least that the shell has to answer once its command was killed, whatever the grace is.
const LEAST_ANSWER: Duration = Duration::from_millis(500);
/// How long only that stream is waited for where the last marker comes: what ends within this time wakes the server once
/// instead of once a write.
const SHORT: Duration = Duration::from_micros(200);
/// How much a pipe holds at most.
const PIPE: usize = 64 * 1024;
/// How much of a stream is read at once.
const PIECE: usize = 32 * 1024;
/// The most grace that is given when the server ends.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(400);

/// The shell, alive as far as is known.
#[derive(Debug)]
pub(in crate::shell) struct Session {
    child: Child,
    pid: Pid,
    input: ChildStdin,
    streams: [OwnedFd; 2],
    exit: OwnedFd,
    /// Where the streams are read to.
    piece: Box<[u8]>,
    /// Lists the shell's own children, where the kernel can.
    #[cfg(target_os = "linux")]
    children: Option<std::fs::File>,
    host: Host,
}

impl Session {
    /// Starts the shell in the directory, and waits for its first marker.
    ///
    /// What the thread has confined itself to, its shell inherits.
    pub(in crate::shell) fn start(
        program: &Path,
        environment: &Environment,
        directory: &Path,
    ) -> Result<Self, ShellError> {
        let mut child = spawn(program, environment, directory, |mut command| {
            command.arg0(program.file_name().unwrap_or(program.as_os_str())).process_group(0).spawn()
        })?;
        let (Some(input), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(ShellError::NoShell { program: program.to_owned() });
        };
        let mut session =
            Self::hold(child, input, [stdout.into(), stderr.into()]).map_err(|source| ShellError::Lost { source })?;
        let marker = Marker::fresh();
        let limits = Limits { timeout: OPENING, grace: Duration::ZERO, max_output: 1024 };
        let line = dialect::opening_line(&marker);
        match session.watch(Self::begin(Order { line, marker, limits, by_shell_alone: false }), None, None) {
            Ok(Watched::Ended(Ran { ending: Ending::Answered(Status { code: 0, .. }), ended_by_us: None, .. })) => {
                Ok(session)
            }
            Ok(_) => Err(ShellError::NoShell { program: program.to_owned() }),
            Err(source) => Err(ShellError::Lost { source }),
        }
    }

    fn hold(mut child: Child, input: ChildStdin, streams: [OwnedFd; 2]) -> io::Result<Self> {
        let held = || -> io::Result<(Pid, OwnedFd, Vec<u64>)> {
            // Our ends alone: what the shell reads and writes stays as shells expect it.
            rustix::io::ioctl_fionbio(&input, true)?;
            streams.iter().try_for_each(|stream| rustix::io::ioctl_fionbio(stream, true))?;
            let number = i32::try_from(child.id()).map_err(io::Error::other)?;
            let pid = Pid::from_raw(number).ok_or_else(|| io::Error::other("a child without a number"))?;
            let inodes =
                streams.iter().map(|stream| Ok(rustix::fs::fstat(stream)?.st_ino)).collect::<io::Result<_>>()?;
            Ok((pid, exit_descriptor(pid)?, inodes))
        };
        match held() {
            Ok((pid, exit, pipes)) => {
                #[cfg(target_os = "linux")]
                let children = std::fs::File::open(format!("/proc/{pid}/task/{pid}/children", pid = child.id())).ok();
                let host = Host { group: child.id(), pipes };
                Ok(Self {
                    child,
                    pid,
                    input,
                    streams,
                    exit,
                    piece: vec![0; PIECE].into(),
                    #[cfg(target_os = "linux")]
                    children,
                    host,
                })
            }
            Err(error) => {
                child.kill().and_then(|()| child.wait()).map_err(|_| io::Error::other(error.to_string()))?;
                Err(error)
            }
        }
    }

    /// What tells the processes that its commands leave behind.
    pub(in crate::shell) fn host(&self) -> &Host {
        &self.host
    }

    /// Drops what came since the last command, which belongs to no call; says whether the shell lives.
    pub(in crate::shell) fn settle(&mut self) -> io::Result<bool> {
        loop {
            let [stdout, stderr] = self.streams.each_ref().map(|stream| (Some(stream.as_fd()), PollFlags::IN));
            let [stdout, stderr, ended] =
                poll_ready(&[stdout, stderr, (Some(self.exit.as_fd()), PollFlags::IN)], Duration::ZERO)?;
            if ended {
                return Ok(false);
            }
            let ready: Vec<&OwnedFd> = self
                .streams
                .iter()
                .zip([stdout, stderr])
                .filter(|(_, ready)| *ready)
                .map(|(stream, _)| stream)
                .collect();
            if ready.is_empty() {
                return Ok(true);
            }
            let mut dropped = [0; 16 * 1024];
            for stream in ready {
                if rustix::io::read(stream, &mut dropped)? == 0 {
                    // It has closed a stream of its own, and can't be heard any more.
                    return Ok(false);
                }
            }
        }
    }

    /// Makes the watch of one line, which is sent as the watch begins.
    pub(in crate::shell) fn begin(order: Order) -> Watch {
        let Order { line, marker, limits, by_shell_alone } = order;
        Watch {
            is_shutdown: false,
            phase: Phase::Running { until: Instant::now() + limits.timeout },
            ended_by_us: None,
            limits,
            by_shell_alone,
            line,
            written: 0,
            outputs: [(); 2].map(|()| Until::new(&marker, dialect::LINE_END, limits.max_output)),
            open: [true, true],
            heard: 0,
            beats: None,
        }
    }

    /// Sends the line, and reads both streams up to the marker; for no longer than the `patience`, where there is one.
    pub(in crate::shell) fn watch(
        &mut self,
        mut watch: Watch,
        stop: Option<&StopSignal>,
        patience: Option<Duration>,
    ) -> io::Result<Watched> {
        let ending = match watch.run(self, stop, patience)? {
            Step::Waits => return Ok(Watched::Waits(Box::new(watch))),
            Step::Complete => None,
            Step::Over(ending) => Some(ending),
        };
        let Watch { outputs: [stdout, stderr], ended_by_us, is_shutdown, by_shell_alone, .. } = watch;
        let (stdout, note) = stdout.finish();
        let (stderr, _) = stderr.finish();
        let ending = match ending {
            None => note.as_deref().and_then(dialect::status).map_or(Ending::Unresponsive, Ending::Answered),
            Some(ending) => ending,
        };
        if matches!(ending, Ending::Answered(_)) && !by_shell_alone {
            self.end_leftovers();
        }
        Ok(Watched::Ended(Ran { ending, stdout: stdout.finish(), stderr: stderr.finish(), ended_by_us, is_shutdown }))
    }

    /// Where the shell stands: the kernel's word where there is one, else the shell's own.
    pub(in crate::shell) fn directory(&self, status: &Status) -> PathBuf {
        if cfg!(target_os = "linux") {
            if let Ok(directory) = std::fs::read_link(format!("/proc/{}/cwd", self.child.id())) {
                return directory;
            }
        }
        PathBuf::from(&status.directory)
    }

    /// Asks the command to end, with all that it started. The shell catches the signal, see the dialect.
    fn ask_to_end(&self) {
        // They fail where nothing is left to signal, or where the system forbids it, and then nothing else can be done.
        let _ = kill_process_group(self.pid, Signal::TERM);
        let _ = kill_process_group(self.pid, Signal::CONT);
        #[cfg(target_os = "linux")]
        crate::exec::signal_descendants(self.pid, Signal::TERM);
    }

    /// Kills the command and all that it started, but not the shell. Where the children of a process can't be found, it
    /// is left to the end of the shell.
    fn kill_command(&self) {
        #[cfg(target_os = "linux")]
        for _ in 0..8 {
            if crate::exec::signal_descendants(self.pid, Signal::KILL) == 0 {
                return;
            }
        }
    }

    /// Ends what the command left running below the shell; what left that tree is for [`crate::exec::Orphans`].
    #[cfg(target_os = "linux")]
    fn end_leftovers(&self) {
        use std::os::unix::fs::FileExt;
        let Some(children) = &self.children else { return };
        let mut list = [0; 16];
        if !matches!(children.read_at(&mut list, 0), Ok(1..))
            || crate::exec::signal_descendants(self.pid, Signal::TERM) == 0
        {
            return;
        }
        let until = Instant::now() + LEFTOVER_GRACE;
        while Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            if crate::exec::signal_descendants(self.pid, Signal::CONT) == 0 {
                return;
            }
        }
        self.kill_command();
    }

    /// Asks what is left in the shell's group to end. The shell itself catches the signal.
    #[cfg(not(target_os = "linux"))]
    fn end_leftovers(&self) {
        // It can't fail while the shell lives, and if it has died the next call finds out.
        let _ = kill_process_group(self.pid, Signal::TERM);
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        // Before it is reaped its group is surely its own. It fails where nobody is left in it.
        let _ = kill_process_group(self.pid, Signal::KILL);
        self.child.wait()
    }
}

impl Drop for Session {
    /// Ends the shell and everything below it.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        self.kill_command();
        // A shell that even SIGKILL does not end at once is held by the kernel, and reaped with this process.
        let _ = self.reap();
    }
}

/// Where the watch stands.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Until the deadline.
    Running { until: Instant },
    /// The command was asked to end.
    Ending { until: Instant },
    /// The command was killed.
    Killed { until: Instant },
}

/// How far a watch has come.
enum Step {
    /// Both streams are complete.
    Complete,
    /// The line ended otherwise.
    Over(Ending),
    /// Its patience has.
    Waits,
}

/// The watch of one line.
#[derive(Debug)]
pub(in crate::shell) struct Watch {
    /// Whether the server itself ends, which nothing can hurry further.
    is_shutdown: bool,
    phase: Phase,
    ended_by_us: Option<End>,
    limits: Limits,
    by_shell_alone: bool,
    line: Vec<u8>,
    written: usize,
    outputs: [Until; 2],
    open: [bool; 2],
    /// The place of the stream that something was read from last.
    heard: usize,
    beats: Option<Beats>,
}

impl Watch {
    /// Has somebody hear of the command, as long as it runs.
    pub(in crate::shell) fn hear(&mut self, beats: Beats) {
        self.beats = Some(beats);
    }

    fn run(
        &mut self,
        session: &mut Session,
        stop: Option<&StopSignal>,
        patience: Option<Duration>,
    ) -> io::Result<Step> {
        let gives_up = patience.map(|patience| Instant::now() + patience);
        // What has already run for a while is no longer short.
        let mut is_first = self.written == 0;
        loop {
            self.write(&mut session.input)?;
            let (Phase::Running { until } | Phase::Ending { until } | Phase::Killed { until }) = self.phase;
            let [mut stdout, mut stderr] = self.streams_of(session);
            if is_first {
                // The stream where the last marker comes tells when all of it is there.
                let other = if self.by_shell_alone { &mut stderr } else { &mut stdout };
                other.0 = None;
            }
            let input = Some(session.input.as_fd()).filter(|_| self.written < self.line.len());
            let wait = gives_up.unwrap_or(until).min(until).saturating_duration_since(Instant::now());
            let wait = if is_first { wait.min(SHORT) } else { self.beat().map_or(wait, |beat| wait.min(beat)) };
            is_first = false;
            let sources = [
                stdout,
                stderr,
                (input, PollFlags::OUT),
                (Some(session.exit.as_fd()), PollFlags::IN),
                (stop.filter(|_| !self.is_shutdown).map(|stop| stop.wish.as_fd()), PollFlags::IN),
            ];
            let [stdout_ready, stderr_ready, _, exit, wish] = poll_ready(&sources, wait)?;
            // Where something has come on one, the other may have come before it: that needs no other wait.
            let [_, error] = self.read(session, [stdout_ready || stderr_ready; 2])?;
            if self.is_complete() {
                if self.by_shell_alone {
                    self.drain_error(session, error)?;
                }
                return Ok(Step::Complete);
            }
            if exit {
                return self.died(session).map(Step::Over);
            }
            if wish {
                self.stop_wished(session, stop);
            }
            let now = Instant::now();
            if now >= until && self.over(session, stop.is_some()) {
                return Ok(Step::Over(Ending::Unresponsive));
            }
            if gives_up.is_some_and(|gives_up| now >= gives_up) {
                return Ok(Step::Waits);
            }
        }
    }

    /// Beats where it is time; says how long it is until the next beat, where there is one.
    fn beat(&mut self) -> Option<Duration> {
        let heard = self.outputs.get(self.heard);
        let beats = self.beats.as_mut().filter(|_| matches!(self.phase, Phase::Running { .. }))?;
        Some(beats.beat(|longest| heard.map_or_else(Vec::new, |heard| heard.last_line(longest))))
    }

    /// Reads the rest of what the shell has said on its error before the marker, after a read of `count` bytes. That is
    /// no more than its pipe holds; what still comes then is another process's.
    fn drain_error(&mut self, session: &mut Session, mut count: usize) -> io::Result<()> {
        let mut pieces = PIPE / PIECE;
        while count == PIECE && pieces > 0 {
            [_, count] = self.read(session, [false, true])?;
            pieces -= 1;
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        let [stdout, stderr] = &self.outputs;
        stdout.is_complete() && (self.by_shell_alone || stderr.is_complete())
    }

    /// The streams that have not ended yet, as poll(2) takes them.
    fn streams_of<'s>(&self, session: &'s Session) -> [(Option<BorrowedFd<'s>>, PollFlags); 2] {
        let ([stdout, stderr], [stdout_open, stderr_open]) = (&session.streams, self.open);
        [(stdout, stdout_open), (stderr, stderr_open)]
            .map(|(stream, is_open)| (is_open.then(|| stream.as_fd()), PollFlags::IN))
    }

    fn write(&mut self, input: &mut ChildStdin) -> io::Result<()> {
        while let Some(rest @ [_, ..]) = self.line.get(self.written..) {
            match input.write(rest) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // Its exit, which is seen in a moment, says more.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => self.written = self.line.len(),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads a piece of each stream that may have one; says how much there was.
    fn read(&mut self, session: &mut Session, ready: [bool; 2]) -> io::Result<[usize; 2]> {
        let Session { streams, piece, .. } = session;
        let mut counts = [0; 2];
        let streams = streams.iter().zip(&mut self.outputs).zip(&mut self.open).zip(&mut counts).zip(ready);
        for ((((stream, output), open), read), _) in streams.filter(|(_, ready)| *ready) {
            match rustix::io::read(stream, &mut **piece) {
                Ok(0) => *open = false,
                Ok(count) => {
                    output.push(piece.get(..count).unwrap_or_default());
                    *read = count;
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.heard = counts.iter().position(|&count| count > 0).unwrap_or(self.heard);
        Ok(counts)
    }

    /// The shell has ended: what it leaves behind is killed, and what it said is read to the end.
    fn died(&mut self, session: &mut Session) -> io::Result<Ending> {
        session.kill_command();
        let status = session.reap()?;
        let until = Instant::now() + DRAIN;
        while self.open.contains(&true) && Instant::now() < until {
            let ready = poll_ready(&self.streams_of(session), until.saturating_duration_since(Instant::now()))?;
            self.read(session, ready)?;
        }
        Ok(Ending::Died(status))
    }

    fn stop_wished(&mut self, session: &Session, stop: Option<&StopSignal>) {
        let reason = stop.map_or(Ok(StopReason::Shutdown), StopSignal::read).unwrap_or(StopReason::Shutdown);
        if reason == StopReason::Shutdown {
            self.is_shutdown = true;
            self.limits.grace = self.limits.grace.min(SHUTDOWN_GRACE);
        }
        match self.phase {
            Phase::Running { .. } => {
                self.ended_by_us = Some(End::Stopped);
                self.end(session);
            }
            Phase::Ending { until } => {
                self.phase = Phase::Ending { until: until.min(Instant::now() + self.limits.grace) };
            }
            Phase::Killed { .. } => {}
        }
    }

    fn end(&mut self, session: &Session) {
        session.ask_to_end();
        self.phase = Phase::Ending { until: Instant::now() + self.limits.grace };
    }

    /// The time of the phase is over; says whether the watch is.
    fn over(&mut self, session: &Session, may_be_stopped: bool) -> bool {
        let now = Instant::now();
        match self.phase {
            Phase::Running { until } if now >= until => {
                self.ended_by_us = Some(End::TimedOut(self.limits.timeout));
                self.end(session);
                false
            }
            Phase::Ending { until } if now >= until => {
                session.kill_command();
                // Where the server ends there is nobody left that the shell could live on for.
                let lives_on = may_be_stopped && !self.is_shutdown;
                let answer = if lives_on { self.limits.grace.max(LEAST_ANSWER) } else { Duration::ZERO };
                self.phase = Phase::Killed { until: now + answer };
                false
            }
            Phase::Killed { until } => now >= until,
            // The phase changed in this very round.
            Phase::Running { .. } | Phase::Ending { .. } => false,
        }
    }
}
