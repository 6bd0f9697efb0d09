//! The commands that the loop runs itself (Linux): it starts them, includes their pipes and exits in its own poll(2), and
//! hands them to threads as soon as they turn out not to be quick.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use rustix::event::PollFd;

use super::event::{CallEnded, Event};
use super::inbox::EventSender;
use super::job::{Ending, Job, RunsWith};
use super::watches::Watches;
use crate::exec::{QuickStarts, Running, StartedCommand, Step, StopSignal};

/// The commands of the loop.
#[derive(Default)]
pub(super) struct InLoop {
    /// Whether there is a loop that watches them.
    pub is_on: bool,
    quick: QuickStarts,
    running: Vec<Left>,
    /// Those that the loop can't go on watching.
    leaving: Vec<Left>,
    ended: VecDeque<CallEnded>,
}

/// A command that was started by the loop.
pub(super) struct Left {
    running: Running,
    ending: Ending,
}

impl InLoop {
    /// Starts the job if it can be started without waiting, and the loop runs no other; returns its start if that is
    /// recorded.
    ///
    /// vfork(2) blocks the thread that starts a command until the program is loaded. If several calls are in flight, workers
    /// start the others in parallel.
    ///
    /// # Errors
    /// The job and its stop signal, if a thread has to run it.
    pub(super) fn begin(
        &mut self,
        job: Box<Job>,
        signal: StopSignal,
        with: &dyn Fn() -> RunsWith,
        events: &EventSender,
    ) -> Result<Option<StartedCommand>, (Box<Job>, StopSignal)> {
        if !self.is_on || !self.running.is_empty() || job.feed.is_some() {
            return Err((job, signal));
        }
        let with = with();
        let processes = with.executor.as_processes();
        let Some(start) = processes.and_then(|processes| self.quick.of(processes, &job.command)) else {
            return Err((job, signal));
        };
        let is_audited = job.is_audited;
        let (invocation, ending) = job.split(signal, events, &with);
        let outcome = match catch_unwind(AssertUnwindSafe(|| start.begin(invocation, is_audited))) {
            Ok(Ok((running, started))) => {
                self.running.push(Left { running, ending });
                return Ok(started);
            }
            Ok(Err(error)) => Ok(Err(error)),
            Err(panic) => Err(panic),
        };
        self.ended.push_back(ending.of(outcome, None));
        Ok(None)
    }

    /// Whether the loop is watching a command.
    pub(super) fn has_some(&self) -> bool {
        !self.running.is_empty()
    }

    /// Takes the commands that a thread has to watch from now on: `all`, or only those that are not quick.
    pub(super) fn leave(&mut self, all: bool) -> Vec<Left> {
        let mut left = std::mem::take(&mut self.leaving);
        if all {
            left.append(&mut self.running);
        }
        left
    }

    /// Takes back a command that no thread can watch.
    pub(super) fn take_back(&mut self, mut left: Left) {
        left.running.stay();
        self.running.push(left);
    }
}

impl Watches for InLoop {
    fn next(&mut self) -> Option<Event> {
        let leaves = || (!self.leaving.is_empty()).then_some(Event::LeavesLoop);
        self.ended.pop_front().map(Event::Ended).or_else(leaves)
    }

    fn wait(&mut self) -> Option<Duration> {
        self.running.iter_mut().map(|left| left.running.wait()).min()
    }

    fn sources<'a>(&'a self, polled: &mut Vec<PollFd<'a>>) {
        let sources = self.running.iter().flat_map(|left| left.running.sources());
        polled.extend(sources.filter_map(|(source, flags)| Some(PollFd::from_borrowed_fd(source?, flags))));
    }

    fn step(&mut self, ready: &[bool]) {
        let mut ready = ready.iter().copied();
        for mut left in std::mem::take(&mut self.running) {
            // The descriptors are in the order in which they were added.
            let of_this =
                left.running.sources().map(|(source, _)| source.is_some() && ready.next().unwrap_or_default());
            match catch_unwind(AssertUnwindSafe(|| left.running.step(of_this))) {
                Ok(Step::Watch) => self.running.push(left),
                Ok(Step::Leave) => self.leaving.push(left),
                Ok(Step::Over(over)) => {
                    let Left { running, ending } = left;
                    let outcome = catch_unwind(AssertUnwindSafe(|| running.finish(over)));
                    self.ended.push_back(ending.of(outcome, None));
                }
                Err(panic) => self.ended.push_back(left.ending.of(Err(panic), None)),
            }
        }
    }
}

impl Left {
    /// The number of the call.
    pub(super) fn key(&self) -> u64 {
        self.ending.key
    }

    /// Watches the command to its end on this thread.
    pub(super) fn run_to_end(self) -> CallEnded {
        let Self { running, ending } = self;
        ending.of(catch_unwind(AssertUnwindSafe(|| running.run_to_end())), None)
    }
}
