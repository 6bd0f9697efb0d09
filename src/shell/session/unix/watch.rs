//! The watch of one line of the shell, in one poll(2): its output up to the marker, its deadline, its stop signal.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;

use super::{PIECE, Session};
use crate::exec::{Beats, DRAIN, Due, Phases, StopReason, StopSignal};
use crate::poll::poll_ready;
use crate::shell::dialect::current as dialect;
use crate::shell::marker::Until;
use crate::shell::session::{AtStop, Ending, Ran, ShellLine, Step};

/// The least time that the shell has to answer once its command was killed, whatever the grace period is.
const LEAST_ANSWER: Duration = Duration::from_millis(500);
/// How long to wait only for the stream on which the last marker comes: a command that ends within this time wakes the
/// server once instead of at each write.
const SHORT: Duration = Duration::from_micros(200);
/// How long to poll for what the shell does itself, before the server sleeps: waking up costs more than that.
const SOON: Duration = Duration::from_micros(30);
/// The most that a stream holds: net.core.wmem_default of sockets on common systems, and more than a pipe.
const HELD: usize = 256 * 1024;

/// The watch of one line.
#[derive(Debug)]
pub(in crate::shell) struct Watch {
    started: Instant,
    phases: Phases,
    by_shell_alone: bool,
    line: Vec<u8>,
    written: usize,
    outputs: [Until; 2],
    open: [bool; 2],
    /// The index of the stream that was read last.
    heard: usize,
    /// The heartbeat of the command.
    pub(in crate::shell) beats: Option<Beats>,
    /// The effect of a stop signal; at first it ends the command.
    pub(in crate::shell::session) at_stop: AtStop,
}

impl Watch {
    /// Makes the watch of a line whose time runs from `started` on; the line is sent when the watch first runs.
    pub(in crate::shell) fn new(line: ShellLine, started: Instant) -> Self {
        let outputs = line.outputs();
        let ShellLine { line, limits, by_shell_alone, .. } = line;
        Self {
            started,
            phases: Phases::new(started, limits),
            by_shell_alone,
            line,
            written: 0,
            outputs,
            open: [true, true],
            heard: 0,
            beats: None,
            at_stop: AtStop::Ends,
        }
    }

    pub(super) fn by_shell_alone(&self) -> bool {
        self.by_shell_alone
    }

    /// The result of the line, with the `ending` if it did not end by the markers.
    pub(super) fn finish(self, ending: Option<Ending>) -> Ran {
        let Self { outputs: [stdout, stderr], phases, .. } = self;
        let (stdout, note) = stdout.finish();
        let (stderr, _) = stderr.finish();
        let ending = match ending {
            None => note.as_deref().and_then(dialect::status).map_or(Ending::Unresponsive, Ending::Answered),
            Some(ending) => ending,
        };
        Ran {
            ending,
            stdout: stdout.finish(),
            stderr: stderr.finish(),
            ended_by_us: phases.ended_by_us(),
            is_shutdown: phases.is_shutdown(),
        }
    }

    /// Sends the line, and reads both streams up to the marker; if there is a `patience`, no longer than that from its
    /// start.
    pub(super) fn run(
        &mut self,
        session: &mut Session,
        stop: Option<&StopSignal>,
        patience: Option<Duration>,
    ) -> io::Result<Step> {
        let gives_up = patience.map(|patience| self.started + patience);
        // A command that has already run for a while is not short any more.
        let mut is_first = self.written == 0;
        if is_first && self.by_shell_alone && self.ends_soon(session)? {
            return Ok(Step::Complete);
        }
        loop {
            self.write(&session.streams.input)?;
            let until = self.phases.until();
            let [mut stdout, mut stderr] = self.streams_of(session);
            if is_first {
                // When the last marker comes on its stream, everything is there.
                let other = if self.by_shell_alone { &mut stderr } else { &mut stdout };
                other.0 = None;
            }
            let input = Some(session.streams.input.as_fd()).filter(|_| self.written < self.line.len());
            let wait = gives_up.unwrap_or(until).min(until).saturating_duration_since(Instant::now());
            let wait = if is_first { wait.min(SHORT) } else { self.beat().map_or(wait, |beat| wait.min(beat)) };
            is_first = false;
            let sources = [
                stdout,
                stderr,
                (input, PollFlags::OUT),
                (Some(session.tree.exit()), PollFlags::IN),
                (stop.filter(|_| !self.phases.is_shutdown()).map(|stop| stop.receiver.as_fd()), PollFlags::IN),
            ];
            let [stdout_ready, stderr_ready, _, exit, wish] = poll_ready(&sources, wait)?;
            // If something has come on one stream, more may have come before on the other, which needs no further wait.
            if self.completes(session, [stdout_ready || stderr_ready; 2])? {
                return Ok(Step::Complete);
            }
            if exit {
                return self.died(session).map(Step::Over);
            }
            let now = Instant::now();
            match self.at_stop {
                AtStop::Ends if wish => self.stop_wished(session, stop, now),
                AtStop::Waits if wish => return Ok(Step::Waits),
                AtStop::Ends | AtStop::Waits => {}
            }
            if self.is_over(session, stop.is_some(), now) {
                return Ok(Step::Over(Ending::Unresponsive));
            }
            if gives_up.is_some_and(|gives_up| now >= gives_up) {
                return Ok(Step::Waits);
            }
        }
    }

    /// Sends the line and polls for its end, without sleeping; returns whether it has come.
    fn ends_soon(&mut self, session: &mut Session) -> io::Result<bool> {
        self.write(&session.streams.input)?;
        // The write itself may have let the shell run.
        while !self.completes(session, [true, false])? {
            if self.started.elapsed() >= SOON {
                return Ok(false);
            }
            std::thread::yield_now();
        }
        Ok(true)
    }

    /// Beats if it is time; returns the time until the next beat, if there is one.
    fn beat(&mut self) -> Option<Duration> {
        let heard = self.outputs.get(self.heard);
        let beats = self.beats.as_mut().filter(|_| self.phases.is_running())?;
        Some(beats.beat(|longest| heard.map_or_else(Vec::new, |heard| heard.last_line(longest))))
    }

    /// Reads a piece of the streams that may have one; returns whether that was the end of the line's output.
    fn completes(&mut self, session: &mut Session, ready: [bool; 2]) -> io::Result<bool> {
        self.read(session, ready)?;
        if !self.is_complete() {
            return Ok(false);
        }
        if self.by_shell_alone {
            self.drain_error(session)?;
        }
        Ok(true)
    }

    /// Reads what the shell printed on standard error before the marker. That is no more than the stream holds;
    /// anything beyond that comes from another process.
    fn drain_error(&mut self, session: &mut Session) -> io::Result<()> {
        for _ in 0..=HELD / PIECE {
            let [_, count] = self.read(session, [false, true])?;
            if count < PIECE {
                break;
            }
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        let [stdout, stderr] = &self.outputs;
        stdout.is_complete() && (self.by_shell_alone || stderr.is_complete())
    }

    /// The streams that have not ended yet, as poll(2) takes them.
    fn streams_of<'s>(&self, session: &'s Session) -> [(Option<BorrowedFd<'s>>, PollFlags); 2] {
        let ([stdout, stderr], [stdout_open, stderr_open]) = (&session.streams.outputs, self.open);
        [(stdout, stdout_open), (stderr, stderr_open)]
            .map(|(stream, is_open)| (is_open.then(|| stream.as_fd()), PollFlags::IN))
    }

    fn write(&mut self, input: &OwnedFd) -> io::Result<()> {
        while let Some(rest @ [_, ..]) = self.line.get(self.written..) {
            match rustix::io::write(input, rest) {
                Ok(count) => self.written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                // Its exit, which is seen soon, says more.
                Err(Errno::PIPE | Errno::CONNRESET) => self.written = self.line.len(),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads a piece of each stream that may have one; returns how much there was.
    fn read(&mut self, session: &mut Session, ready: [bool; 2]) -> io::Result<[usize; 2]> {
        let Session { streams, piece, .. } = session;
        let mut counts = [0; 2];
        let streams = streams.outputs.iter().zip(&mut self.outputs).zip(&mut self.open).zip(&mut counts).zip(ready);
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

    /// Handles the end of the shell: kills what it leaves behind, and reads its output to the end.
    fn died(&mut self, session: &mut Session) -> io::Result<Ending> {
        session.kill_command();
        let status = session.reap()?;
        session.streams.let_go();
        let until = Instant::now() + DRAIN;
        while self.open.contains(&true) && Instant::now() < until {
            let ready = poll_ready(&self.streams_of(session), until.saturating_duration_since(Instant::now()))?;
            self.read(session, ready)?;
        }
        Ok(Ending::Died(status))
    }

    fn stop_wished(&mut self, session: &Session, stop: Option<&StopSignal>, now: Instant) {
        // If it can't be read, nobody is left to stop the command.
        let shutdown = Some(StopReason::Shutdown);
        let reason = stop.map_or(Ok(shutdown), StopSignal::read).unwrap_or(shutdown);
        let Some(reason) = reason else { return };
        if self.phases.stop(reason, now) {
            match reason {
                StopReason::Interrupted => session.interrupt(),
                StopReason::Cancelled | StopReason::Shutdown | StopReason::Killed => session.ask_to_end(),
            }
        }
    }

    /// Does what is due now; returns whether the watch is over.
    fn is_over(&mut self, session: &Session, may_be_stopped: bool, now: Instant) -> bool {
        match self.phases.due(now) {
            Due::Nothing => {}
            Due::Terminate => session.ask_to_end(),
            Due::Kill => {
                session.kill_command();
                // If the server ends, there is no reason to spare the shell; and if it did not even start, nobody waits
                // for it again.
                let lives_on = may_be_stopped && !self.phases.is_shutdown() && self.at_stop == AtStop::Ends;
                let answer = if lives_on { self.phases.grace().max(LEAST_ANSWER) } else { Duration::ZERO };
                self.phases.killed(now, answer);
            }
            Due::GiveUp => return true,
        }
        false
    }
}
