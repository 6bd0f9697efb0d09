//! Commands that run, with all that watches them: their pipes, their exits, their deadline and their stop signal. A thread that
//! does nothing else waits for them by poll(2) until all of them have ended.
//!
//! A call that runs one command is a list of one. In a line, a [`Script`] says what starts when a command has ended. No command
//! is reaped before the script is over: until then the numbers of their groups stay theirs, and what they left running goes on.

mod spared;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::super::{LETTING_GO, end_leftovers};
use super::phases::{DRAIN, Due, Phases};
use super::streams::{Input, Stream};
use super::tree::{ProcessTree, TICK, UNKILLABLE, unreaped};
use crate::exec::{Beats, End, Failure, Feed, Limits, Output, Started, StopReason, StopSignal, StreamName, Told};
use crate::poll::poll_each;

/// The sources in front of the inputs and the exits: both outputs and the stop signal.
const FIRST_SOURCES: usize = 3;

/// How long an exit may be kept back before what follows it is given up.
const LOST: Duration = LETTING_GO.saturating_mul(5);

/// The part of a command in a pipeline, in the order in which commands are ended at the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// It reads from no other command.
    Begins,
    /// It reads from another command, and another one reads what it prints.
    Passes,
    /// It reads from another command, and what it prints is the output of the call.
    Prints,
}

/// Decides what starts and when everything is over.
pub(crate) trait Script {
    /// Starts what comes first. Returns how the whole has ended, if nothing runs.
    fn begin(&mut self, watch: &mut Watch) -> Option<End>;

    /// Hears how the command of this number has ended, or why it never began, and starts what follows. Returns how the whole has
    /// ended, if this was the last.
    fn ended(&mut self, number: usize, end: End, failure: Option<Failure>, watch: &mut Watch) -> Option<End>;

    /// The part of the command of this number; by default it reads from no other.
    fn role(&self, number: usize) -> Role {
        let _ = number;
        Role::Begins
    }

    /// Hears that the commands are being ended, so that nothing starts any more and nothing is heard of them.
    fn stopped(&mut self);
}

/// One of the commands.
struct Running {
    tree: ProcessTree,
    /// When it exited, if it has.
    exited: Option<Instant>,
    /// Whether the script has heard of it.
    is_told: bool,
    /// Its part, if the deadline has ended those before it and it may still print what they wrote.
    spared: Option<Role>,
}

/// The commands that run, and their streams.
pub(crate) struct Watch {
    children: Vec<Running>,
    streams: [Stream; 2],
    inputs: Vec<Input>,
    phases: Phases,
    beats: Option<Beats>,
    /// The index of the stream that was read last.
    heard: usize,
    started: Instant,
    /// When everything was killed, if it was.
    killed: Option<Instant>,
    /// Until when commands are spared, once all others have ended.
    spared_until: Option<Instant>,
    /// Whether nothing of the commands is left but their output.
    is_draining: bool,
    /// How the whole has ended by itself.
    end: Option<End>,
}

impl Watch {
    /// Makes the pipes that commands write to; returns the ends for standard output and standard error.
    ///
    /// # Errors
    /// If there are no pipes.
    pub(crate) fn new(limits: Limits, told: Told) -> io::Result<(Self, [OwnedFd; 2])> {
        let (stdout, out) = Stream::new(StreamName::Stdout, limits.capture(), told.spool.clone())?;
        let (stderr, err) = Stream::new(StreamName::Stderr, limits.capture(), told.spool.clone())?;
        Ok((Self::of([stdout, stderr], limits, told), [out, err]))
    }

    /// Passes through what commands write: the ends lead to these, for standard output and standard error.
    ///
    /// # Errors
    /// If they can't be duplicated.
    pub(crate) fn passing_through(
        limits: Limits,
        told: Told,
        [stdout, stderr]: [OwnedFd; 2],
    ) -> io::Result<(Self, [OwnedFd; 2])> {
        let (stdout, out) = Stream::own(StreamName::Stdout, stdout)?;
        let (stderr, err) = Stream::own(StreamName::Stderr, stderr)?;
        Ok((Self::of([stdout, stderr], limits, told), [out, err]))
    }

    fn of(streams: [Stream; 2], limits: Limits, told: Told) -> Self {
        let Told { started, heartbeat, spool: _ } = told;
        Self {
            children: Vec::new(),
            streams,
            inputs: Vec::new(),
            phases: Phases::new(started, limits),
            beats: heartbeat.map(|heartbeat| Beats::new(heartbeat, started)),
            heard: 0,
            started,
            killed: None,
            spared_until: None,
            is_draining: false,
            end: None,
        }
    }

    /// The end of a new pipe, from which a command reads these bytes and what the `feed` brings.
    ///
    /// # Errors
    /// If there is no pipe.
    pub(crate) fn input(&mut self, bytes: Vec<u8>, feed: Option<Arc<Feed>>) -> io::Result<OwnedFd> {
        let (input, theirs) = Input::new(bytes, feed)?;
        self.inputs.push(input);
        Ok(theirs)
    }

    /// Adds what the server itself says in place of a command, after what was written to that stream before.
    ///
    /// # Errors
    /// If the stream can't be read.
    pub(crate) fn say(&mut self, name: StreamName, text: &[u8]) -> io::Result<()> {
        let [stdout, stderr] = &mut self.streams;
        let stream = match name {
            StreamName::Stdout => stdout,
            StreamName::Stderr => stderr,
        };
        stream.say(text)
    }

    /// Takes a command that was started; returns its number.
    ///
    /// # Errors
    /// If it can't be watched; then it was killed.
    pub(crate) fn watch(&mut self, started: Started) -> io::Result<usize> {
        let Started { child, launch } = started;
        let tree = ProcessTree::new(child, launch)?;
        self.children.push(Running { tree, exited: None, is_told: false, spared: None });
        Ok(self.children.len() - 1)
    }

    /// Shortens the time that everything may take.
    pub(crate) fn at_most(&mut self, timeout: Duration) {
        self.phases.at_most(timeout);
    }

    /// Watches everything to its end on this thread: reads the output, feeds the inputs, keeps the deadline, ends the trees, reaps.
    ///
    /// # Errors
    /// If the commands can't be watched; then they were killed.
    pub(crate) fn run(mut self, script: &mut dyn Script, stop: &StopSignal) -> io::Result<Output> {
        if let Some(end) = script.begin(&mut self) {
            self.wind_up(end, Instant::now());
        }
        let watched = loop {
            if self.is_over() {
                break Ok(());
            }
            let wait = self.wait();
            let stepped = poll_each(&self.sources(stop), wait).and_then(|ready| self.step(script, stop, &ready));
            match stepped {
                Ok(false) => {}
                Ok(true) => break Ok(()),
                Err(error) => {
                    self.children.iter().for_each(|child| child.tree.kill());
                    break Err(error);
                }
            }
        };
        self.children.iter_mut().for_each(|child| child.tree.end());
        end_leftovers(&unreaped());
        watched?;
        self.finish()
    }

    /// Whether all were reaped, their output read, and nothing of their groups is left.
    fn is_over(&self) -> bool {
        !self.phases.is_running() && self.is_read() && self.is_gone()
    }

    fn is_read(&self) -> bool {
        self.streams.iter().all(|stream| stream.pipe.is_none())
    }

    /// Whether all were reaped, and nothing of their groups is left.
    fn is_gone(&self) -> bool {
        self.children.iter().all(|child| child.tree.is_reaped() && child.tree.is_gone())
    }

    /// How long to wait at most until the next [`step`](Self::step).
    fn wait(&mut self) -> Duration {
        let until = self.spared_until.map_or(self.phases.until(), |spared| spared.min(self.phases.until()));
        let mut wait = until.saturating_duration_since(Instant::now());
        let is_untold = |child: &Running| child.exited.is_some() && !child.is_told;
        let is_ending = match self.phases.is_running() {
            // Its exit is kept back, and no descriptor tells when it is not any more.
            true => self.children.iter().any(is_untold),
            false => self.killed.is_some() || self.children.iter().any(|child| child.exited.is_some()),
        };
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

    /// Returns the descriptors to poll.
    fn sources<'a>(&'a self, stop: &'a StopSignal) -> Vec<(Option<BorrowedFd<'a>>, PollFlags)> {
        let outputs = self.streams.iter().map(|stream| (stream.pipe.as_ref().map(AsFd::as_fd), PollFlags::IN));
        let stop = Some(stop.receiver.as_fd()).filter(|_| !self.phases.is_shutdown());
        let inputs = self
            .inputs
            .iter()
            .map(|input| (input.pipe.as_ref().filter(|_| input.has_more()).map(AsFd::as_fd), PollFlags::OUT));
        let exits = self.children.iter();
        let exits = exits.map(|child| (Some(child.tree.exit()).filter(|_| child.exited.is_none()), PollFlags::IN));
        outputs.chain([(stop, PollFlags::IN)]).chain(inputs).chain(exits).collect()
    }

    /// Does what can be done, now that these sources are ready; returns whether to wait no longer.
    fn step(&mut self, script: &mut dyn Script, stop: &StopSignal, ready: &[bool]) -> io::Result<bool> {
        let (first, rest) = ready.split_at(FIRST_SOURCES.min(ready.len()));
        let (inputs, exits) = rest.split_at(self.inputs.len().min(rest.len()));
        self.heard = first.iter().take(2).position(|ready| *ready).unwrap_or(self.heard);
        for (stream, _) in self.streams.iter_mut().zip(first).filter(|(_, ready)| **ready) {
            stream.read()?;
        }
        for (input, _) in self.inputs.iter_mut().zip(inputs).filter(|(_, ready)| **ready) {
            input.write();
        }
        let now = Instant::now();
        for (child, _) in self.children.iter_mut().zip(exits).filter(|(_, ready)| **ready) {
            child.exited = Some(now);
        }
        if first.get(2).is_some_and(|ready| *ready) && !self.stopped(script, stop, now) {
            return Ok(false);
        }
        if self.phases.is_running() {
            self.tell(script, now)?;
        }
        if !self.phases.is_running() {
            self.reap(now)?;
        }
        self.end_spared(now);
        match self.phases.due(now) {
            Due::Nothing => {}
            Due::Terminate => {
                self.terminate_but_readers(script);
                script.stopped();
            }
            Due::Kill if self.kill_but_printing(now) => {}
            Due::Kill => {
                self.children.iter().for_each(|child| child.tree.kill());
                self.killed = Some(now);
                let is_reaped = self.children.iter().all(|child| child.tree.is_reaped());
                self.phases.killed(now, if is_reaped { DRAIN } else { UNKILLABLE });
            }
            Due::GiveUp => return Ok(true),
        }
        Ok(false)
    }

    /// Takes a stop signal; returns whether it was one, and not only more input.
    fn stopped(&mut self, script: &mut dyn Script, stop: &StopSignal, now: Instant) -> bool {
        self.inputs.iter_mut().for_each(Input::refill);
        // If it can't be read, nobody is left to stop the commands.
        let reason = stop.read().unwrap_or(Some(StopReason::Shutdown));
        let Some(reason) = reason else { return false };
        // Whoever stops the call does not wait for more of its output.
        self.spare_nobody();
        if self.phases.stop(reason, now) {
            match reason {
                StopReason::Interrupted => self.children.iter().for_each(|child| child.tree.interrupt()),
                _ => self.children.iter().for_each(|child| child.tree.terminate()),
            }
        }
        script.stopped();
        true
    }

    /// Tells the script of the commands that have exited.
    fn tell(&mut self, script: &mut dyn Script, now: Instant) -> io::Result<()> {
        for number in 0..self.children.len() {
            let Some(child) = self.children.get_mut(number) else { break };
            let Some(exited) = child.exited.filter(|_| !child.is_told) else { continue };
            let Some(end) = child.tree.peek()? else {
                let kept_back = now.duration_since(exited);
                if kept_back >= LETTING_GO {
                    // What traces it keeps its exit back.
                    child.tree.end_tracers();
                }
                if kept_back >= LOST {
                    // It can't be ended, as a tracer outside of the server can't.
                    script.stopped();
                    self.end_rest(now);
                    break;
                }
                continue;
            };
            child.is_told = true;
            let failure = child.tree.failure(end);
            if let Some(end) = script.ended(number, end, failure, self) {
                self.wind_up(end, now);
                break;
            }
        }
        Ok(())
    }

    /// Ends what the commands left running, now that all of them have ended.
    fn wind_up(&mut self, end: End, now: Instant) {
        self.end = Some(end);
        self.end_rest(now);
    }

    fn end_rest(&mut self, now: Instant) {
        // The rest of each group gets SIGTERM before the command is reaped: until then the number of the group can't be reused.
        if self.phases.exited(now) {
            self.children.iter().for_each(|child| child.tree.terminate_group());
        }
    }

    /// Reaps the commands that have exited.
    fn reap(&mut self, now: Instant) -> io::Result<()> {
        for child in self.children.iter_mut().filter(|child| child.exited.is_some() && !child.tree.is_reaped()) {
            // What traces it may keep its exit back.
            child.tree.try_reap()?;
        }
        if !self.is_draining && self.is_gone() {
            // Only processes that left their groups can still hold the pipes.
            self.is_draining = true;
            self.phases.killed(now, DRAIN);
        }
        let Some(killed) = self.killed.filter(|_| !self.is_draining) else { return Ok(()) };
        for child in &self.children {
            let is_kept_back = child.exited.is_some() && !child.tree.is_reaped();
            if is_kept_back || now.duration_since(killed) >= LETTING_GO {
                child.tree.end_tracers();
            }
        }
        Ok(())
    }

    /// Returns the result of everything that ran.
    fn finish(self) -> io::Result<Output> {
        let Self { mut children, streams, started, phases, end, .. } = self;
        let of_last = || {
            let status = children.last()?.tree.status()?;
            Some(match (status.code(), status.signal()) {
                (Some(code), _) => End::Exited(code),
                (None, signal) => End::Signaled(signal.unwrap_or_default()),
            })
        };
        let end = phases.ended_by_us().or(end).or_else(of_last);
        let end = end.ok_or_else(|| io::Error::other("its exit status was lost"))?;
        let [stdout, stderr] = streams.map(|stream| stream.capture.finish());
        let hit = |child: &mut Running| child.tree.status().and_then(|status| child.tree.hit(status));
        let limit = children.iter_mut().find_map(hit);
        Ok(Output { end, stdout, stderr, limit, elapsed: started.elapsed() })
    }
}
