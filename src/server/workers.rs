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
use super::not_run::NotRun;
use crate::exec::{Executor, Stop, StopSignal, own_children, stop};

/// A command to run, and what stops it.
type Assignment = (Box<Job>, StopSignal);

/// How a thread gets its assignments.
type Assignments = Sender<Assignment>;

/// The threads.
///
/// A confined thread stays confined, so each rule with its own sandbox or limits has its own threads.
pub(super) struct Workers {
    with: Box<dyn Fn() -> RunsWith>,
    events: EventSender,
    /// Idle threads, by the command whose rule they are for; `None` for all others.
    idle: HashMap<Option<String>, Vec<Assignments>>,
    /// Threads that run a call, by the number of the call.
    busy: HashMap<u64, (Option<String>, Assignments)>,
}

impl Workers {
    pub(super) fn new(with: impl Fn() -> RunsWith + 'static, events: EventSender) -> Self {
        let (idle, busy) = Default::default();
        Self { with: Box::new(with), events, idle, busy }
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
            job.command.rule().and_then(|rule| Some((rule.name.clone(), (self.with)().executor.for_rule(rule)?)));
        let (rule, executor) = of_rule.map_or((None, None), |(rule, executor)| (Some(rule), Some(executor)));
        self.give(job.key, rule, executor, (job, signal))
    }

    /// Gives the assignment to an idle thread, or to a new one.
    fn give(
        &mut self,
        key: u64,
        rule: Option<String>,
        executor: Option<Arc<dyn Executor>>,
        mut assignment: Assignment,
    ) -> io::Result<()> {
        loop {
            let assignments = match self.idle.get_mut(&rule).and_then(Vec::pop) {
                Some(assignments) => assignments,
                None => self.start(executor.clone())?,
            };
            match assignments.send(assignment) {
                Ok(()) => {
                    self.busy.insert(key, (rule, assignments));
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
        let mut with = (self.with)();
        with.executor = executor.unwrap_or(with.executor);
        let events = self.events.clone();
        let work = move || {
            own_children();
            while let Ok((job, signal)) = receiver.recv() {
                let ended = run(&with, &events, *job, signal);
                if with.executor.has_worn_thread() {
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
        if let Some((rule, assignments)) = self.busy.remove(&key) {
            self.idle.entry(rule).or_default().push(assignments);
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
