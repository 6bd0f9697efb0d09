//! The calls of commands, each on a thread of its own: it is decided and recorded, and if its turn has come, it runs to its end,
//! or is given to the persistent shell. Nobody else waits for it.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::auditor::Auditor;
use super::event::{CallEnded, Event};
use super::facts::Facts;
use super::inbox::EventSender;
use super::job::{Job, RunsWith, note_start, run};
use super::line_job::LineJob;
use super::log::Fields;
use super::narrowing::{CalledIn, Narrowing};
use super::not_run::NotRun;
use super::parts::Parts;
use super::planned::{CommandCall, Deciding, Planned, Stopped};
use super::question::CallToApprove;
use super::requests::Work;
use super::shell_runner::{CheckedTurn, ShellRunner, ShellTurn};
use super::tool_call::ToolCall;
use super::workers::{Pool, ThreadWork, Workers};
use crate::exec::{Executor, Spool, Stop, StopSignal, stop};
use crate::jsonrpc::RequestId;

/// The most calls without a turn that are decided on at the same time; the others wait.
const MOST_DECIDING: usize = 48;
/// The number of the work that is for no call.
pub(super) const NO_CALL: u64 = 0;

/// A call on which nothing is decided yet.
#[derive(Debug)]
pub(super) struct UndecidedCall {
    /// The number of the call, and the id of its request.
    pub key: u64,
    pub id: RequestId,
    pub tool_call: Arc<ToolCall>,
    pub call: CommandCall,
    pub called_in: CalledIn,
    /// The approvals that hold until the session ends.
    pub remembered: Vec<Arc<CallToApprove>>,
    /// The person's approval of this very call.
    pub approved: Option<Arc<CallToApprove>>,
    /// Where its thread writes what it finds out, and reads whether the call was given up.
    pub facts: Facts,
    /// If its turn has come; else it waits for that once it is decided.
    pub turn: Option<Turn>,
}

/// The turn of a call.
#[derive(Debug)]
pub(super) struct Turn {
    /// Ends its command.
    pub stop: StopSignal,
    /// Where its whole output is kept.
    pub spool: Option<Arc<Spool>>,
    /// Whether the client wants to hear that it is allowed.
    pub tells_allowed: bool,
}

/// The decision on a call that does not run, or not before its turn.
#[derive(Debug)]
pub(super) struct CallDecided {
    /// The number of the call.
    pub key: u64,
    /// The fields of the log lines about the decision.
    pub described: Fields,
    /// The call that waits for its turn, or why it does not go on.
    pub outcome: Result<Planned, Stopped>,
}

/// The threads of calls, as the loop uses them.
pub(super) struct CallThreads(Arc<Shared>);

/// Everything that a call needs on its thread.
struct Shared {
    parts: Arc<Parts>,
    audit: Auditor,
    workers: Arc<Workers>,
    narrowing: Arc<Narrowing>,
    shell: ShellRunner,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    /// The numbers of the calls without a turn that are being decided on.
    deciding: BTreeSet<u64>,
    /// The calls that wait for that.
    undecided: VecDeque<Box<UndecidedCall>>,
    /// Those that were decided on and do not run, for the loop.
    decided: VecDeque<CallDecided>,
}

impl CallThreads {
    pub(super) fn new(
        (parts, events): (Arc<Parts>, EventSender),
        audit: Auditor,
        narrowing: Arc<Narrowing>,
        shell: ShellRunner,
    ) -> Self {
        let workers = Workers::new(events);
        Self(Arc::new(Shared { parts, audit, workers, narrowing, shell, calls: Mutex::default() }))
    }

    /// Gives a call to a thread that decides on it, and runs it if its turn has come. Whatever does not run comes back by
    /// [`next_decided`](Self::next_decided).
    pub(super) fn decide_and_run(&self, call: Box<UndecidedCall>) {
        if call.turn.is_none() {
            let mut calls = self.0.calls();
            if calls.deciding.len() >= MOST_DECIDING {
                return calls.undecided.push_back(call);
            }
            calls.deciding.insert(call.key);
        }
        self.0.begin(call);
    }

    /// Lets a thread do something for the call, or for another request, of this number.
    ///
    /// # Errors
    /// [`NotRun::NoThread`].
    pub(super) fn on_a_thread(
        &self,
        key: u64,
        does: impl FnOnce() -> Option<Event> + Send + 'static,
    ) -> Result<(), NotRun> {
        let work = ThreadWork { key, does: Box::new(does) };
        self.0.workers.give(&Pool::OfCalls, self.0.of_calls(), work).map_err(|source| NotRun::NoThread { source })
    }

    /// Takes the next call that was decided on and does not run, or not before its turn.
    pub(super) fn next_decided(&self) -> Option<CallDecided> {
        self.0.calls().decided.pop_front()
    }

    /// Waits no longer for the decision on a call. Returns whether a thread has begun with it, which is then not counted any
    /// more.
    pub(super) fn give_up(&self, key: u64) -> bool {
        let mut calls = self.0.calls();
        let waiting = calls.undecided.iter().position(|call| call.key == key);
        if waiting.and_then(|at| calls.undecided.remove(at)).is_some() {
            return false;
        }
        drop(calls);
        self.0.has_decided(key);
        true
    }

    /// Begins a command that was decided on; returns what ends it.
    ///
    /// # Errors
    /// [`NotRun::NoPipe`] and [`NotRun::NoThread`].
    pub(super) fn run_decided(&self, job: Box<Job>) -> Result<Stop, NotRun> {
        // First, so that nothing runs that can't be ended.
        let (stop, signal) = stop().map_err(|source| NotRun::NoPipe { source })?;
        let (pool, executor) = self.0.place_of(&job);
        self.0.give(&pool, executor, job, signal).map_err(|source| NotRun::NoThread { source })?;
        Ok(stop)
    }

    /// Begins a line that was decided on; returns what ends it.
    ///
    /// # Errors
    /// [`NotRun::NoPipe`] and [`NotRun::NoThread`].
    pub(super) fn run_decided_line(&self, job: Box<LineJob>) -> Result<Stop, NotRun> {
        let (stop, signal) = stop().map_err(|source| NotRun::NoPipe { source })?;
        let shared = Arc::clone(&self.0);
        let key = job.key();
        self.on_a_thread(key, move || Some(Event::Ended(shared.run_line(job, signal))))?;
        Ok(stop)
    }

    /// Checks a call of the persistent shell that was decided on, at its turn, and begins it; returns what ends it. If it does not run
    /// after all, it comes back by [`next_decided`](Self::next_decided).
    ///
    /// # Errors
    /// [`NotRun::NoPipe`] and [`NotRun::NoThread`].
    pub(super) fn run_decided_in_shell(
        &self,
        key: u64,
        mut turn: Box<ShellTurn>,
        facts: Facts,
    ) -> Result<Stop, NotRun> {
        let (stop, signal) = stop().map_err(|source| NotRun::NoPipe { source })?;
        let (shared, described) = (Arc::clone(&self.0), turn.take_described());
        self.on_a_thread(key, move || {
            let checked = shared.shell.check(*turn, shared.parts.policy.directories());
            let begun = checked.and_then(|turn| match facts.start() {
                true => shared.run_in_shell(key, turn, signal),
                false => Err(NotRun::GivenUp),
            });
            let outcome = Err(begun.err()?.into());
            Some(shared.does_not_run(CallDecided { key, described, outcome }))
        })?;
        Ok(stop)
    }
}

impl Drop for CallThreads {
    fn drop(&mut self) {
        self.0.workers.close();
    }
}

impl Shared {
    /// Gives a call to a thread. If there is none, neither is there one for those that wait for their decision.
    fn begin(self: &Arc<Self>, call: Box<UndecidedCall>) {
        let mut next = Some(call);
        while let Some(call) = next.take() {
            let (key, has_turn, shared) = (call.key, call.turn.is_some(), Arc::clone(self));
            let work = ThreadWork { key, does: Box::new(move || shared.call(*call)) };
            if let Err(source) = self.workers.give(&Pool::OfCalls, self.of_calls(), work) {
                let outcome = Err(NotRun::NoThread { source }.into());
                self.calls().decided.push_back(CallDecided { key, described: Fields::default(), outcome });
                next = if has_turn { None } else { self.take_next(key) };
            }
        }
    }

    /// Decides on a call, and runs it if its turn has come. Returns the event for the loop; `None` if another thread will tell it.
    fn call(self: &Arc<Self>, call: UndecidedCall) -> Option<Event> {
        let UndecidedCall { key, id, tool_call, call, called_in, remembered, approved, facts, turn } = call;
        // Also after a panic.
        let place = turn.is_none().then(|| PlaceToDecide { shared: self, key });
        let mut deciding = Deciding {
            parts: &self.parts,
            tool_call: &tool_call,
            key,
            id: &id,
            remembered: &remembered,
            approved: approved.as_deref(),
            audit: &self.audit,
            facts: &facts,
            described: Fields::default(),
        };
        let operators = self.parts.policy.directories();
        let directories = match facts.is_given_up() {
            true => Err(NotRun::GivenUp),
            false => self.narrowing.directories(called_in, &mut deciding.described),
        };
        let outcome = match (directories, call) {
            (Err(why), _) => Err(why.into()),
            (Ok(directories), CommandCall::Process(call)) => {
                deciding.process(call, directories.as_deref().unwrap_or(operators))
            }
            (Ok(directories), CommandCall::Shell(call)) => deciding.shell(call, directories, &self.shell),
        };
        let described = deciding.described;
        drop(place);
        let (planned, turn) = match (outcome, turn) {
            (Ok(planned), Some(turn)) => (planned, turn),
            (outcome, _) => return Some(self.does_not_run(CallDecided { key, described, outcome })),
        };
        let Planned { work, allowed: (command, rule), known, cost: _ } = planned;
        let work = self.at_turn(work, turn.spool).and_then(|work| {
            facts.set(known);
            if facts.start() { Ok(work) } else { Err(NotRun::GivenUp) }
        });
        let work = match work {
            Ok(work) => work,
            Err(why) => return Some(self.does_not_run(CallDecided { key, described, outcome: Err(why.into()) })),
        };
        if turn.tells_allowed {
            // If the loop is gone, nobody wants to hear it.
            self.workers.events().send(Event::Allowed { key, command, rule });
        }
        let given = match work {
            WorkAtTurn::Process(job) => match self.place_of(&job) {
                (Pool::OfCalls, _) => return Some(Event::Ended(self.run_job(*job, None, turn.stop))),
                (pool, executor) => {
                    self.give(&pool, executor, job, turn.stop).map_err(|source| NotRun::NoThread { source })
                }
            },
            WorkAtTurn::Line(job) => return Some(Event::Ended(self.run_line(job, turn.stop))),
            WorkAtTurn::Shell(call) => self.run_in_shell(key, *call, turn.stop),
        };
        let outcome = Err(given.err()?.into());
        Some(self.does_not_run(CallDecided { key, described, outcome }))
    }

    /// Finds out about a call what is known only at its turn.
    fn at_turn(&self, work: Work, spool: Option<Arc<Spool>>) -> Result<WorkAtTurn, NotRun> {
        Ok(match work {
            Work::Process(job) => WorkAtTurn::Process(Box::new(Job { spool, ..*job })),
            Work::Line(mut job) => {
                job.keep(spool);
                WorkAtTurn::Line(job)
            }
            Work::Shell(mut turn) => {
                turn.keep(spool);
                WorkAtTurn::Shell(Box::new(self.shell.check(*turn, self.parts.policy.directories())?))
            }
        })
    }

    /// Leaves the decision to the loop.
    fn does_not_run(&self, decided: CallDecided) -> Event {
        self.calls().decided.push_back(decided);
        Event::DecidedOnly
    }

    /// Begins the next call that waits for its decision, in the place of this one.
    fn has_decided(self: &Arc<Self>, key: u64) {
        self.take_next(key).into_iter().for_each(|next| self.begin(next));
    }

    /// Takes the next call that waits for its decision, in the place of this one, unless it was given up.
    fn take_next(&self, key: u64) -> Option<Box<UndecidedCall>> {
        let mut calls = self.calls();
        if !calls.deciding.remove(&key) {
            return None;
        }
        let next = calls.undecided.pop_front()?;
        calls.deciding.insert(next.key);
        Some(next)
    }

    /// The executor of the commands that run on the threads of calls; `None` if only lines do.
    fn of_calls(&self) -> Option<&Arc<dyn Executor>> {
        (!self.parts.confinement.is_on()).then_some(&self.parts.executor)
    }

    /// The threads that run this command, and their executor if it is not that of all others.
    fn place_of(&self, job: &Job) -> (Pool, Option<Arc<dyn Executor>>) {
        let rule = job.command.rule();
        match rule.and_then(|rule| Some((rule.name.clone(), self.parts.executor.for_rule(rule)?))) {
            Some((rule, executor)) => (Pool::OfRule(rule), Some(executor)),
            None if self.parts.confinement.is_on() => (Pool::Confined, Some(Arc::clone(&self.parts.executor))),
            None => (Pool::OfCalls, None),
        }
    }

    /// Lets a thread of the pool run the command.
    fn give(
        self: &Arc<Self>,
        pool: &Pool,
        executor: Option<Arc<dyn Executor>>,
        job: Box<Job>,
        stop: StopSignal,
    ) -> io::Result<()> {
        let (shared, of_thread) = (Arc::clone(self), executor.clone());
        let key = job.key;
        let does = Box::new(move || Some(Event::Ended(shared.run_job(*job, executor, stop))));
        self.workers.give(pool, of_thread.as_ref().or(self.of_calls()), ThreadWork { key, does })
    }

    /// Lets the thread of the persistent shell run a call.
    fn run_in_shell(&self, key: u64, turn: CheckedTurn, stop: StopSignal) -> Result<(), NotRun> {
        let on_start = self.audit.is_on().then(|| note_start(key, None, &self.audit));
        self.shell.run(turn, stop, on_start)
    }

    fn run_job(&self, job: Job, executor: Option<Arc<dyn Executor>>, stop: StopSignal) -> CallEnded {
        run(&self.runs_with(executor), self.workers.events(), job, stop)
    }

    fn run_line(&self, job: Box<LineJob>, stop: StopSignal) -> CallEnded {
        job.run(&self.runs_with(None), self.workers.events(), stop)
    }

    fn runs_with(&self, executor: Option<Arc<dyn Executor>>) -> RunsWith {
        let executor = executor.unwrap_or_else(|| Arc::clone(&self.parts.executor));
        RunsWith { audit: self.audit.clone(), executor, parts: Arc::clone(&self.parts) }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The work of a call whose turn has come.
enum WorkAtTurn {
    Process(Box<Job>),
    Line(Box<LineJob>),
    Shell(Box<CheckedTurn>),
}

/// The place of a call that is decided on without a turn; the next call takes it.
struct PlaceToDecide<'a> {
    shared: &'a Arc<Shared>,
    key: u64,
}

impl Drop for PlaceToDecide<'_> {
    fn drop(&mut self) {
        self.shared.has_decided(self.key);
    }
}
