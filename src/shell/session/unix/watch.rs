//! The watch of one line of the shell, by one poll(2): its output up to the marker, its deadline, the wish to end it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ChildStdin;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;

use super::{PIECE, Session};
use crate::exec::{Beats, End, Limits, StopReason, StopSignal, poll_ready};
use crate::shell::dialect::current as dialect;
use crate::shell::marker::Until;
use crate::shell::session::{AtWish, Ending, Order, Ran};

/// How long pipes are still read after the shell has ended.
const DRAIN: Duration = Duration::from_millis(80);
/// The least that the shell has to answer once its command was killed, whatever the grace is.
const LEAST_ANSWER: Duration = Duration::from_millis(500);
/// How long only that stream is waited for where the last marker comes: what ends within this time wakes the server once
/// instead of once a write.
const SHORT: Duration = Duration::from_micros(200);
/// How long the shell is given to do what it does by itself, before the server sleeps: to be woken costs more than that.
const SOON: Duration = Duration::from_micros(30);
/// How much a pipe holds at most.
const PIPE: usize = 64 * 1024;
/// The most grace that is given when the server ends.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(400);

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
pub(super) enum Step {
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
    started: Instant,
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
    at_wish: AtWish,
}

impl Watch {
    /// Makes the watch of a line whose time runs from `started` on; it is sent when the watch runs first.
    pub(super) fn new(order: Order, started: Instant) -> Self {
        let Order { line, marker, limits, by_shell_alone } = order;
        Self {
            is_shutdown: false,
            started,
            phase: Phase::Running { until: started + limits.timeout },
            ended_by_us: None,
            limits,
            by_shell_alone,
            line,
            written: 0,
            outputs: [marker.clone(), marker].map(|marker| Until::new(marker, dialect::LINE_END, limits.max_output)),
            open: [true, true],
            heard: 0,
            beats: None,
            at_wish: AtWish::Ends,
        }
    }

    /// Has the wish to stop do this; at first it ends the command.
    pub(in crate::shell::session) fn heed(&mut self, at_wish: AtWish) {
        self.at_wish = at_wish;
    }

    pub(super) fn by_shell_alone(&self) -> bool {
        self.by_shell_alone
    }

    /// What the line came to, with the `ending` where it is not the markers that ended it.
    pub(super) fn finish(self, ending: Option<Ending>) -> Ran {
        let Self { outputs: [stdout, stderr], ended_by_us, is_shutdown, .. } = self;
        let (stdout, note) = stdout.finish();
        let (stderr, _) = stderr.finish();
        let ending = match ending {
            None => note.as_deref().and_then(dialect::status).map_or(Ending::Unresponsive, Ending::Answered),
            Some(ending) => ending,
        };
        Ran { ending, stdout: stdout.finish(), stderr: stderr.finish(), ended_by_us, is_shutdown }
    }

    /// Has somebody hear of the command, as long as it runs.
    pub(in crate::shell) fn hear(&mut self, beats: Beats) {
        self.beats = Some(beats);
    }

    /// Sends the line, and reads both streams up to the marker; for no longer than the `patience` from its start, where
    /// there is one.
    pub(super) fn run(
        &mut self,
        session: &mut Session,
        stop: Option<&StopSignal>,
        patience: Option<Duration>,
    ) -> io::Result<Step> {
        let gives_up = patience.map(|patience| self.started + patience);
        // What has already run for a while is no longer short.
        let mut is_first = self.written == 0;
        if is_first && self.by_shell_alone && self.ends_soon(session)? {
            return Ok(Step::Complete);
        }
        loop {
            self.write(&session.input)?;
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
            if self.completes(session, [stdout_ready || stderr_ready; 2])? {
                return Ok(Step::Complete);
            }
            if exit {
                return self.died(session).map(Step::Over);
            }
            match self.at_wish {
                AtWish::Ends if wish => self.stop_wished(session, stop),
                AtWish::Waits if wish => return Ok(Step::Waits),
                AtWish::Ends | AtWish::Waits => {}
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

    /// Sends the line and looks for its end, without a sleep; says whether it has come.
    fn ends_soon(&mut self, session: &mut Session) -> io::Result<bool> {
        self.write(&session.input)?;
        // The write itself may have made way for the shell.
        while !self.completes(session, [true, false])? {
            if self.started.elapsed() >= SOON {
                return Ok(false);
            }
            std::thread::yield_now();
        }
        Ok(true)
    }

    /// Beats where it is time; says how long it is until the next beat, where there is one.
    fn beat(&mut self) -> Option<Duration> {
        let heard = self.outputs.get(self.heard);
        let beats = self.beats.as_mut().filter(|_| matches!(self.phase, Phase::Running { .. }))?;
        Some(beats.beat(|longest| heard.map_or_else(Vec::new, |heard| heard.last_line(longest))))
    }

    /// Reads a piece of the streams that may have one; says whether that was the end of the line's output.
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

    /// Reads what the shell has said on its error before the marker. That is no more than its pipe holds; what still comes
    /// then is another process's.
    fn drain_error(&mut self, session: &mut Session) -> io::Result<()> {
        for _ in 0..=PIPE / PIECE {
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
        let ([stdout, stderr], [stdout_open, stderr_open]) = (&session.streams, self.open);
        [(stdout, stdout_open), (stderr, stderr_open)]
            .map(|(stream, is_open)| (is_open.then(|| stream.as_fd()), PollFlags::IN))
    }

    fn write(&mut self, input: &ChildStdin) -> io::Result<()> {
        while let Some(rest @ [_, ..]) = self.line.get(self.written..) {
            match rustix::io::write(input, rest) {
                Ok(count) => self.written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                // Its exit, which is seen in a moment, says more.
                Err(Errno::PIPE) => self.written = self.line.len(),
                Err(error) => return Err(error.into()),
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
                // Where the server ends there is nobody left that the shell could live on for, and one that did not even
                // start is not waited for again.
                let lives_on = may_be_stopped && !self.is_shutdown && self.at_wish == AtWish::Ends;
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
