//! The threads that run commands. They are started when they are needed and then kept, since a new thread is expensive
//! compared with a spawn.

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use super::event::{CallEnded, Event};
use super::inbox::EventSender;
use super::job::{Job, RunsWith, Untold, take_start, tell_start};
#[cfg(unix)]
use super::line_job::LineJob;
use super::not_run::NotRun;
use super::parts::Parts;
#[cfg(unix)]
use crate::exec::is_worn;
use crate::exec::{Executor, Stop, StopSignal, own_children, stop};

/// A command or a line for a thread.
enum Runs {
    Command(Box<Job>),
    #[cfg(unix)]
    Line(Box<LineJob>),
}

/// The work, and its stop signal.
type Assignment = (Runs, StopSignal);

/// The threads that run a call: those of a rule with a sandbox or limits of its own, those of lines, which no sandbox confines, or
/// those of all others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Pool {
    Common,
    OfRule(String),
    #[cfg(unix)]
    OfLines,
}

/// How a thread gets its assignments.
type Assignments = Sender<Assignment>;

/// The threads.
///
/// A confined thread stays confined, so each rule with its own sandbox or limits has its own threads.
pub(super) struct Workers {
    parts: Arc<Parts>,
    events: EventSender,
    /// Idle threads.
    idle: HashMap<Pool, Vec<Assignments>>,
    /// Threads that run a call, by the number of the call.
    busy: HashMap<u64, (Pool, Assignments)>,
}

impl Workers {
    pub(super) fn new(parts: Arc<Parts>, events: EventSender) -> Self {
        let (idle, busy) = Default::default();
        Self { parts, events, idle, busy }
    }

    /// Begins the job; returns what ends it.
    ///
    /// # Errors
    /// [`NotRun::NoPipe`] and [`NotRun::NoThread`].
    pub(super) fn run(&mut self, job: Box<Job>) -> Result<Stop, NotRun> {
        // First, so that nothing runs that can't be ended.
        let (stop, signal) = stop().map_err(|source| NotRun::NoPipe { source })?;
        self.run_on_thread(job, signal).map_err(|source| NotRun::NoThread { source })?;
        Ok(stop)
    }

    fn run_on_thread(&mut self, job: Box<Job>, signal: StopSignal) -> io::Result<()> {
        let of_rule =
            job.command.rule().and_then(|rule| Some((rule.name.clone(), self.parts.executor.for_rule(rule)?)));
        let (pool, executor) = match of_rule {
            Some((rule, executor)) => (Pool::OfRule(rule), Some(executor)),
            None => (Pool::Common, None),
        };
        self.give(job.key, pool, executor, (Runs::Command(job), signal))
    }

    /// Begins a line; returns what ends it.
    ///
    /// # Errors
    /// [`NotRun::NoPipe`] and [`NotRun::NoThread`].
    #[cfg(unix)]
    pub(super) fn run_line(&mut self, job: Box<LineJob>) -> Result<Stop, NotRun> {
        let (stop, signal) = stop().map_err(|source| NotRun::NoPipe { source })?;
        let given = self.give(job.key, Pool::OfLines, None, (Runs::Line(job), signal));
        given.map_err(|source| NotRun::NoThread { source })?;
        Ok(stop)
    }

    /// Gives the assignment to an idle thread, or to a new one.
    fn give(
        &mut self,
        key: u64,
        pool: Pool,
        executor: Option<Arc<dyn Executor>>,
        mut assignment: Assignment,
    ) -> io::Result<()> {
        loop {
            let assignments = match self.idle.get_mut(&pool).and_then(Vec::pop) {
                Some(assignments) => assignments,
                None => self.start(executor.clone())?,
            };
            match assignments.send(assignment) {
                Ok(()) => {
                    self.busy.insert(key, (pool, assignments));
                    return Ok(());
                }
                // That thread has ended.
                Err(mpsc::SendError(returned)) => assignment = returned,
            }
        }
    }

    /// Starts a thread, for the executor of a rule or for the commands of all others.
    fn start(&self, executor: Option<Arc<dyn Executor>>) -> io::Result<Assignments> {
        let (assignments, receiver) = mpsc::channel::<Assignment>();
        let executor = executor.unwrap_or_else(|| Arc::clone(&self.parts.executor));
        let with = RunsWith { executor, parts: Arc::clone(&self.parts) };
        let events = self.events.clone();
        let work = move || {
            own_children();
            while let Ok((job, signal)) = receiver.recv() {
                let (ended, is_worn) = match job {
                    Runs::Command(job) => (run(&with, &events, *job, signal), with.executor.has_worn_thread()),
                    #[cfg(unix)]
                    Runs::Line(job) => (job.run(&with, &events, signal), is_worn()),
                };
                if is_worn {
                    // Dropped first, so that the loop can't give this thread another assignment.
                    drop(receiver);
                    events.send(Event::Ended(ended));
                    return;
                }
                if !events.send(Event::Ended(ended)) {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("worker".into()).spawn(work)?;
        Ok(assignments)
    }

    /// Takes back the thread of a call that has ended.
    pub(super) fn release(&mut self, key: u64) {
        if let Some((pool, assignments)) = self.busy.remove(&key) {
            self.idle.entry(pool).or_default().push(assignments);
        }
    }
}

fn run(with: &RunsWith, events: &EventSender, job: Job, stop: StopSignal) -> CallEnded {
    let (key, is_audited, untold) = (job.key, job.is_audited, Untold::default());
    let (mut invocation, ending) = job.split(stop, events, with);
    invocation.on_start = is_audited.then(|| tell_start(key, events.clone(), Arc::clone(&untold)));
    // A panic ends only the call, with an error, and neither the thread nor the server.
    let outcome = catch_unwind(AssertUnwindSafe(|| with.executor.run(invocation)));
    ending.of(outcome, take_start(&untold))
}
