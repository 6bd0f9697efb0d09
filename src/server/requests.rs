//! The request table: every request of the client's that is not answered by its handler at once, and what it waits for.
//!
//! | state | waits for | left by |
//! |---|---|---|
//! | held | the client's answer to a request of ours | being served anew |
//! | asked | a person's approval | being served anew, or its refusal |
//! | queued | its turn | its turn, which runs it or answers it |
//! | running | the end of its command | the answer |
//! | answered | the end of its command, of which nobody wants to hear | that end |
//! | background | the end of its command, which can be asked about | that end |
//! | reading | the output of another call | its answer |
//! | awaiting | the end of a task | its answer |
//! | subscribed | either side to end it | that end |
//!
//! What a client cancels is looked for here and nowhere else. Requests of our own stand in [`outgoing`](super::outgoing).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::approval::CallToApprove;
use super::budget::Charge;
use super::feedback::Feedback;
use super::job::Job;
use super::log::Fields;
use super::replies::Reply;
use super::shell::ShellTurn;
use crate::audit::Received;
use crate::exec::{Stop, StopReason};
use crate::jsonrpc::{Request, RequestId};
use crate::mcp::Revision;
use crate::tools::ReadOutput;

/// How many calls are queued at most.
pub(super) const MOST_QUEUED: usize = 10_000;
/// How many reads are served or wait at once, and how many requests wait for the ends of tasks.
pub(super) const MOST_READS: usize = 1_000;
/// The numbers of reads are larger.
const FIRST_READ: u64 = 1 << 62;
/// How many subscriptions may be open at once.
pub(super) const MOST_SUBSCRIPTIONS: usize = 1_000;

/// A call that has no answer yet.
#[derive(Debug)]
pub(super) struct Pending {
    /// The right to answer it, and the charge for what it holds.
    pub reply: Reply,
    /// What the log says of it.
    pub description: Fields,
    /// What its client hears before the answer.
    pub feedback: Box<Feedback>,
}

/// A request that is served, now or once the client has answered what the server asked.
#[derive(Debug)]
pub(super) struct HeldCall {
    pub request: Request,
    pub reply: Reply,
    /// What a person has approved of it.
    pub approved: Option<Box<ApprovedCall>>,
    /// What the audit log is to tell of it, if it runs nothing.
    pub received: Option<Box<Received>>,
}

/// A call that waits for a person's approval.
#[derive(Debug)]
pub(super) struct AskedCall {
    /// Its request, to be served anew.
    pub request: Request,
    pub pending: Pending,
    /// The number of the call.
    pub key: u64,
    /// The number of the question.
    pub question: u64,
}

/// What a person has approved of a call that is served anew.
#[derive(Debug)]
pub(super) struct ApprovedCall {
    pub asked: Arc<CallToApprove>,
    /// The number of the call.
    pub key: u64,
    /// What its client has heard of it so far.
    pub feedback: Box<Feedback>,
}

/// A read of another call's output.
#[derive(Debug)]
pub(super) struct Reading {
    pub reply: Reply,
    pub read: Arc<ReadOutput>,
    pub answers: Answers,
    pub revision: Revision,
    /// How much of the output was looked at, in bytes.
    pub looked_at: u64,
    /// Whether the thread looks now.
    pub is_looked_at: bool,
    /// Whether it waits no more.
    pub is_due: bool,
}

/// What a read is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// The output.
    Read,
    /// How the call has ended that was to end.
    Stop,
}

/// A request that its client has cancelled.
#[derive(Debug)]
pub(super) struct Cancelled {
    /// Its number in the table.
    pub key: u64,
    pub reply: Reply,
    /// What the log says of a call.
    pub call: Option<Fields>,
    pub was: CancelledAs,
}

/// What a cancelled request was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CancelledAs {
    /// A call on which nothing was decided.
    Undecided,
    /// The call of this number, which was allowed and never starts.
    Queued(u64),
    /// Anything else: its end is told otherwise.
    Other,
}

/// What becomes of a call whose task is cancelled.
#[derive(Debug)]
pub(super) enum CancelledTask {
    /// It never starts.
    NeverStarts(Box<Cancelled>),
    /// Its command is being ended; that end answers it.
    Ends,
}

/// What runs when the turn of a call comes.
#[derive(Debug)]
pub(super) enum Work {
    /// A process of its own.
    Process(Box<Job>),
    /// A line for the persistent shell.
    Shell(Box<ShellTurn>),
}

impl Work {
    fn lane(&self) -> LaneName {
        match self {
            Self::Process(job) if job.is_background => LaneName::Background,
            Self::Process(_) => LaneName::Processes,
            Self::Shell(_) => LaneName::Shell,
        }
    }

    /// How long it may run.
    pub(super) fn timeout(&self) -> Duration {
        match self {
            Self::Process(job) => job.limits.timeout,
            Self::Shell(turn) => turn.limits.timeout,
        }
    }

    /// What its result must be valid in.
    pub(super) fn revision(&self) -> Revision {
        match self {
            Self::Process(job) => job.revision,
            Self::Shell(turn) => turn.context.revision,
        }
    }
}

/// The part of the queue that a call waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaneName {
    /// Calls that start a process each: as many run at once as the operator says.
    Processes,
    /// Calls of the persistent shell: one runs at a time.
    Shell,
    /// Calls that were answered and go on, with a number of their own.
    Background,
}

/// What a request waits for.
#[derive(Debug)]
enum Entry {
    Held(Box<HeldCall>),
    Asked(Box<AskedCall>),
    Queued { pending: Pending, work: Work },
    Running { lane: LaneName, pending: Pending, stop: Option<Stop> },
    Answered { lane: LaneName, stop: Option<Stop>, _charge: Charge },
    Background { background: Box<InBackground>, stop: Stop, _charge: Charge },
    Reading(Reading),
    Awaiting { reply: Reply, task: u64 },
    Subscribed(Subscription),
}

/// An open subscription.
#[derive(Debug)]
pub(super) struct Subscription {
    pub reply: Reply,
    pub revision: Revision,
    /// The tasks whose changes it tells, by their numbers.
    pub tasks: Vec<u64>,
}

impl Entry {
    /// The right to answer it, unless it was used.
    fn reply(&self) -> Option<&Reply> {
        match self {
            Self::Held(held) => Some(&held.reply),
            Self::Subscribed(Subscription { reply, .. })
            | Self::Reading(Reading { reply, .. })
            | Self::Awaiting { reply, .. } => Some(reply),
            Self::Asked(asked) => Some(&asked.pending.reply),
            Self::Queued { pending, .. } | Self::Running { pending, .. } => Some(&pending.reply),
            Self::Background { background, .. } => background.of_task.as_ref(),
            Self::Answered { .. } => None,
        }
    }
}

/// A call that was answered before its end.
#[derive(Debug)]
pub(super) struct InBackground {
    pub id: RequestId,
    pub description: Fields,
    pub feedback: Box<Feedback>,
    /// Whether it is the persistent shell's, which waits for it as well.
    is_of_shell: bool,
    /// The right to say what its task comes to, where it has one.
    pub of_task: Option<Reply>,
}

/// A call whose command has ended.
#[derive(Debug)]
pub(super) enum Finished {
    /// It has no answer yet.
    Pending(Pending),
    /// It was answered before.
    Background(Box<InBackground>),
}

/// One part of the queue.
#[derive(Debug)]
struct Lane {
    waiting: VecDeque<u64>,
    running: usize,
    most_running: usize,
}

/// The table.
#[derive(Debug)]
pub(super) struct Requests {
    /// In the order of their arrival.
    entries: BTreeMap<u64, Entry>,
    processes: Lane,
    shell: Lane,
    background: Lane,
    /// The call in the background that runs in the persistent shell.
    in_shell: Option<u64>,
    last: u64,
    last_read: u64,
}

impl Requests {
    /// Makes it for calls of which so many processes run at once, and so many in the background.
    pub(super) fn new(most_processes: usize, most_background: usize) -> Self {
        let lane = |most_running| Lane { waiting: VecDeque::new(), running: 0, most_running };
        Self {
            entries: BTreeMap::new(),
            processes: lane(most_processes),
            shell: lane(1),
            background: lane(most_background),
            in_shell: None,
            last: 0,
            last_read: 0,
        }
    }

    /// A number that no request had.
    pub(super) fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Holds a request until [`release`](Self::release); what it takes is charged to its reply.
    pub(super) fn hold(&mut self, request: Request, reply: Reply, approved: Option<Box<ApprovedCall>>) {
        let key = self.number();
        self.entries.insert(key, Entry::Held(Box::new(HeldCall { request, reply, approved, received: None })));
    }

    /// Takes the held requests, in the order of their arrival.
    pub(super) fn release(&mut self) -> Vec<HeldCall> {
        self.take(|state| match state {
            Entry::Held(held) => Ok(*held),
            other => Err(other),
        })
    }

    /// Has a call wait for a person's answer, until [`take_asked`](Self::take_asked).
    pub(super) fn wait_for_approval(&mut self, asked: AskedCall) {
        let key = self.number();
        self.entries.insert(key, Entry::Asked(Box::new(asked)));
    }

    /// Takes the calls that wait for the answer to this question, in the order of their arrival.
    pub(super) fn take_asked(&mut self, question: u64) -> Vec<AskedCall> {
        self.take(|state| match state {
            Entry::Asked(asked) if asked.question == question => Ok(*asked),
            other => Err(other),
        })
    }

    /// How many calls wait for the answer to this question.
    pub(super) fn count_asked(&self, question: u64) -> usize {
        let waits = |entry: &&Entry| matches!(entry, Entry::Asked(asked) if asked.question == question);
        self.entries.values().filter(waits).count()
    }

    /// The calls that wait for the answer to this question.
    pub(super) fn asked(&mut self, question: u64) -> impl Iterator<Item = &mut AskedCall> {
        self.entries.values_mut().filter_map(move |state| match state {
            Entry::Asked(asked) if asked.question == question => Some(&mut **asked),
            Entry::Asked(_)
            | Entry::Held(_)
            | Entry::Queued { .. }
            | Entry::Running { .. }
            | Entry::Answered { .. }
            | Entry::Background { .. }
            | Entry::Reading(_)
            | Entry::Awaiting { .. }
            | Entry::Subscribed(_) => None,
        })
    }

    /// Has a read wait for its look; gives its number.
    ///
    /// # Errors
    /// The read, where there are too many.
    pub(super) fn read(&mut self, reading: Reading) -> Result<u64, Box<Reading>> {
        if self.readings().len() >= MOST_READS {
            return Err(Box::new(reading));
        }
        // Their numbers are none of a call's, so that calls are numbered one after another.
        self.last_read += 1;
        let key = FIRST_READ + self.last_read;
        self.entries.insert(key, Entry::Reading(reading));
        Ok(key)
    }

    /// The numbers of the reads that have no answer yet.
    pub(super) fn readings(&self) -> Vec<u64> {
        let is_reading = |(_, state): &(&u64, &Entry)| matches!(state, Entry::Reading(_));
        self.entries.iter().filter(is_reading).map(|(key, _)| *key).collect()
    }

    /// A read that has no answer yet.
    pub(super) fn reading(&mut self, key: u64) -> Option<&mut Reading> {
        if let Entry::Reading(reading) = self.entries.get_mut(&key)? { Some(reading) } else { None }
    }

    /// Takes a read off, to answer it.
    pub(super) fn take_reading(&mut self, key: u64) -> Option<Reading> {
        self.reading(key)?;
        if let Entry::Reading(reading) = self.entries.remove(&key)? { Some(reading) } else { None }
    }

    /// Has a request wait for the end of the task of this number.
    ///
    /// # Errors
    /// The reply, where too many wait.
    pub(super) fn await_task(&mut self, reply: Reply, task: u64) -> Result<(), Reply> {
        let waiting = self.entries.values().filter(|state| matches!(state, Entry::Awaiting { .. }));
        if waiting.count() >= MOST_READS {
            return Err(reply);
        }
        self.last_read += 1;
        self.entries.insert(FIRST_READ + self.last_read, Entry::Awaiting { reply, task });
        Ok(())
    }

    /// Takes the requests that wait for the end of this task, in the order of their arrival.
    pub(super) fn take_awaiting(&mut self, task: u64) -> Vec<Reply> {
        let is_meant = |state: &Entry| matches!(state, Entry::Awaiting { task: awaited, .. } if *awaited == task);
        let keys: Vec<u64> = self.entries.iter().filter(|(_, state)| is_meant(state)).map(|(key, _)| *key).collect();
        let taken = keys.into_iter().filter_map(|key| match self.entries.remove(&key)? {
            Entry::Awaiting { reply, .. } => Some(reply),
            _ => None,
        });
        taken.collect()
    }

    /// Opens a subscription.
    ///
    /// # Errors
    /// It, where too many are open.
    pub(super) fn subscribe(&mut self, subscription: Subscription) -> Result<(), Box<Subscription>> {
        let open = self.entries.values().filter(|state| matches!(state, Entry::Subscribed(_)));
        if open.count() >= MOST_SUBSCRIPTIONS {
            return Err(Box::new(subscription));
        }
        let key = self.number();
        self.entries.insert(key, Entry::Subscribed(subscription));
        Ok(())
    }

    /// The ids of the subscriptions that tell the changes of this task.
    pub(super) fn subscribed_to(&self, task: u64) -> impl Iterator<Item = &RequestId> {
        self.entries.values().filter_map(move |state| match state {
            Entry::Subscribed(open) if open.tasks.contains(&task) => Some(open.reply.id()),
            _ => None,
        })
    }

    /// Takes the open subscriptions, in the order in which they were opened.
    pub(super) fn end_subscriptions(&mut self) -> Vec<Subscription> {
        self.take(|state| match state {
            Entry::Subscribed(open) => Ok(open),
            other => Err(other),
        })
    }

    /// How many calls run in the background, if that is all that may and this is one more.
    pub(super) fn has_no_room_for(&self, work: &Work) -> Option<usize> {
        let most = self.background.most_running;
        (work.lane() == LaneName::Background && !self.has_room_in_background()).then_some(most)
    }

    fn has_room_in_background(&self) -> bool {
        self.background.running + self.background.waiting.len() < self.background.most_running
    }

    /// Queues the call of this number.
    ///
    /// # Errors
    /// The call, where the queue is full.
    pub(super) fn queue(&mut self, key: u64, pending: Pending, work: Work) -> Result<(), Box<Pending>> {
        if self.processes.waiting.len() + self.shell.waiting.len() + self.background.waiting.len() >= MOST_QUEUED {
            return Err(Box::new(pending));
        }
        self.lane(work.lane()).waiting.push_back(key);
        self.entries.insert(key, Entry::Queued { pending, work });
        Ok(())
    }

    /// Takes the next call whose turn it is. It counts among the running until [`finish`](Self::finish).
    pub(super) fn next(&mut self, name: LaneName) -> Option<(u64, Pending, Work)> {
        let Self { entries, processes, shell, background, .. } = self;
        let lane = match name {
            LaneName::Processes => processes,
            LaneName::Shell => shell,
            LaneName::Background => background,
        };
        if lane.running >= lane.most_running {
            return None;
        }
        let key = lane.waiting.pop_front()?;
        // Whoever takes a queued call off the table takes it off its lane, so this never fails.
        let Entry::Queued { pending, work } = entries.remove(&key)? else { return None };
        lane.running += 1;
        Some((key, pending, work))
    }

    /// The call whose turn it was runs, until somebody uses `stop`; `None` where it has ended already.
    pub(super) fn run(&mut self, key: u64, lane: LaneName, pending: Pending, stop: Option<Stop>) {
        self.entries.insert(key, Entry::Running { lane, pending, stop });
    }

    /// The call whose turn it was runs in the background; gives the right to answer it, unless a task keeps the answer.
    pub(super) fn run_in_background(
        &mut self,
        key: u64,
        pending: Pending,
        stop: Stop,
        is_of_shell: bool,
    ) -> Option<Reply> {
        let Pending { mut reply, description, feedback } = pending;
        let (id, charge) = (reply.id().clone(), reply.take_charge());
        let (of_task, reply) = if reply.task().is_some() { (Some(reply), None) } else { (None, Some(reply)) };
        let background = Box::new(InBackground { id, description, feedback, is_of_shell, of_task });
        self.entries.insert(key, Entry::Background { background, stop, _charge: charge });
        reply
    }

    /// Whether a call that runs could go on in the background.
    pub(super) fn can_go_on(&mut self, key: u64) -> Option<Revision> {
        let has_room = self.has_room_in_background();
        self.running(key).filter(|_| has_room).map(|pending| pending.feedback.revision())
    }

    /// Has a call that runs go on in the background; gives the right to answer it. `None` where it has ended, there is no
    /// room any more, or a task keeps the answer.
    pub(super) fn hand_over(&mut self, key: u64) -> Option<Reply> {
        self.can_go_on(key)?;
        let (lane, pending, stop) = match self.entries.remove(&key)? {
            Entry::Running { lane, pending, stop: Some(stop) } => (lane, pending, stop),
            other => {
                self.entries.insert(key, other);
                return None;
            }
        };
        let is_of_shell = lane == LaneName::Shell;
        // The shell itself is busy on.
        if is_of_shell {
            self.in_shell = Some(key);
        } else {
            self.give_up(lane);
        }
        self.background.running += 1;
        self.run_in_background(key, pending, stop, is_of_shell)
    }

    /// The call that the persistent shell runs, where that was handed over.
    pub(super) fn shell_is_busy_with(&self) -> Option<u64> {
        self.in_shell
    }

    /// Takes the next call off that waits for the persistent shell, with its number and what its result must be valid in.
    pub(super) fn take_waiting_for_shell(&mut self) -> Option<(u64, Pending, Revision)> {
        let key = self.shell.waiting.pop_front()?;
        // As in `next`.
        let Entry::Queued { pending, work } = self.entries.remove(&key)? else { return None };
        Some((key, pending, work.revision()))
    }

    /// Ends the command of a call that runs; whether there is one.
    pub(super) fn end(&mut self, key: u64, why: StopReason) -> bool {
        match self.entries.get(&key) {
            Some(
                Entry::Running { stop: Some(stop), .. }
                | Entry::Answered { stop: Some(stop), .. }
                | Entry::Background { stop, .. },
            ) => {
                stop.send(why);
                true
            }
            Some(_) | None => false,
        }
    }

    /// Tells whoever runs a call in the background that there is more for it to read.
    pub(super) fn feed(&self, key: u64) {
        if let Some(Entry::Background { stop, .. }) = self.entries.get(&key) {
            stop.feed();
        }
    }

    /// Ends the commands of all calls in the background: nobody is left to ask about them.
    pub(super) fn end_background(&mut self) {
        for state in self.entries.values() {
            if let Entry::Background { stop, .. } = state {
                stop.send(StopReason::Shutdown);
            }
        }
    }

    /// The call whose turn it was does not run.
    pub(super) fn give_up(&mut self, lane: LaneName) {
        let lane = self.lane(lane);
        lane.running = lane.running.saturating_sub(1);
    }

    /// Takes a call off whose command has ended; `None` where nobody wants to hear of it.
    pub(super) fn finish(&mut self, key: u64) -> Option<Finished> {
        let (lane, finished) = match self.entries.remove(&key)? {
            Entry::Running { lane, pending, .. } => (lane, Some(Finished::Pending(pending))),
            Entry::Answered { lane, .. } => (lane, None),
            Entry::Background { background, .. } => {
                if background.is_of_shell {
                    self.in_shell = None;
                    self.give_up(LaneName::Shell);
                }
                (LaneName::Background, Some(Finished::Background(background)))
            }
            other @ (Entry::Held(_)
            | Entry::Asked(_)
            | Entry::Queued { .. }
            | Entry::Reading(_)
            | Entry::Awaiting { .. }
            | Entry::Subscribed(_)) => {
                self.entries.insert(key, other);
                return None;
            }
        };
        self.give_up(lane);
        finished
    }

    /// A call that runs and whose answer somebody wants.
    pub(super) fn running(&mut self, key: u64) -> Option<&mut Pending> {
        match self.entries.get_mut(&key)? {
            Entry::Running { pending, .. } => Some(pending),
            Entry::Held(_)
            | Entry::Asked(_)
            | Entry::Queued { .. }
            | Entry::Answered { .. }
            | Entry::Background { .. }
            | Entry::Reading(_)
            | Entry::Awaiting { .. }
            | Entry::Subscribed(_) => None,
        }
    }

    /// What the client hears of a call that runs: until it is answered, and of a task until its end.
    pub(super) fn feedback(&mut self, key: u64) -> Option<&mut Feedback> {
        match self.entries.get_mut(&key)? {
            Entry::Running { pending, .. } => Some(&mut *pending.feedback),
            Entry::Background { background, .. } if background.of_task.is_some() => Some(&mut *background.feedback),
            _ => None,
        }
    }

    /// Gives up every request of this id: what waits at once, what runs by ending its command.
    pub(super) fn cancel(&mut self, id: &RequestId) -> Vec<Cancelled> {
        let is_meant = |state: &Entry| state.reply().is_some_and(|reply| reply.answers(id));
        let keys: Vec<u64> = self.entries.iter().filter(|(_, state)| is_meant(state)).map(|(key, _)| *key).collect();
        keys.into_iter().filter_map(|key| self.give_up_request(key)).collect()
    }

    /// Gives up the call of this task, where it has not ended.
    pub(super) fn cancel_task(&mut self, task: u64) -> Option<CancelledTask> {
        let is_meant = |state: &Entry| state.reply().and_then(Reply::task) == Some(task);
        let (key, state) = self.entries.iter().find(|(_, state)| is_meant(state))?;
        let key = *key;
        // It is the task's still, whoever has wished for the end.
        if matches!(state, Entry::Running { .. } | Entry::Background { .. }) {
            self.end(key, StopReason::Cancelled);
            return Some(CancelledTask::Ends);
        }
        self.give_up_request(key).map(|cancelled| CancelledTask::NeverStarts(Box::new(cancelled)))
    }

    fn give_up_request(&mut self, key: u64) -> Option<Cancelled> {
        let (reply, call, was) = match self.entries.remove(&key)? {
            Entry::Held(held) => (held.reply, Some(Fields::default()), CancelledAs::Undecided),
            Entry::Asked(asked) => {
                let Pending { reply, description, .. } = asked.pending;
                (reply, Some(description), CancelledAs::Other)
            }
            Entry::Subscribed(Subscription { reply, .. }) | Entry::Awaiting { reply, .. } => {
                (reply, None, CancelledAs::Other)
            }
            Entry::Reading(reading) => (reading.reply, Some(Fields::default()), CancelledAs::Other),
            Entry::Queued { pending, work } => {
                self.lane(work.lane()).waiting.retain(|waiting| *waiting != key);
                (pending.reply, Some(pending.description), CancelledAs::Queued(key))
            }
            Entry::Running { lane, pending, stop } => {
                let reply = self.stop(key, lane, stop, StopReason::Cancelled, pending.reply);
                (reply, Some(pending.description), CancelledAs::Other)
            }
            other @ (Entry::Answered { .. } | Entry::Background { .. }) => {
                self.entries.insert(key, other);
                return None;
            }
        };
        Some(Cancelled { key, reply, call, was })
    }

    /// Gives up every call there is, at the server's end, where nothing is answered any more; gives the numbers of those that
    /// were allowed and never start.
    pub(super) fn shut_down(&mut self) -> Vec<u64> {
        let mut queued = Vec::new();
        for lane in [&mut self.processes, &mut self.shell, &mut self.background] {
            lane.waiting.clear();
        }
        for (key, state) in std::mem::take(&mut self.entries) {
            match state {
                Entry::Running { lane, pending, stop } => {
                    // It is dropped, and noted as lost.
                    drop(self.stop(key, lane, stop, StopReason::Shutdown, pending.reply));
                }
                Entry::Answered { lane, stop, _charge } => {
                    if let Some(stop) = &stop {
                        stop.send(StopReason::Shutdown);
                    }
                    self.entries.insert(key, Entry::Answered { lane, stop, _charge });
                }
                background @ Entry::Background { .. } => {
                    if let Entry::Background { stop, .. } = &background {
                        stop.send(StopReason::Shutdown);
                    }
                    self.entries.insert(key, background);
                }
                Entry::Queued { .. } => queued.push(key),
                Entry::Held(_)
                | Entry::Asked(_)
                | Entry::Reading(_)
                | Entry::Awaiting { .. }
                | Entry::Subscribed(_) => {}
            }
        }
        queued
    }

    /// Waits for no call of the shell's any more.
    pub(super) fn abandon_shell(&mut self) {
        (self.shell.running, self.in_shell) = (0, None);
        let entries = std::mem::take(&mut self.entries).into_iter();
        let (background, rest): (BTreeMap<_, _>, BTreeMap<_, _>) = entries
            .partition(|(_, state)| matches!(state, Entry::Background { background, .. } if background.is_of_shell));
        self.background.running -= background.len().min(self.background.running);
        self.entries = rest;
        self.entries.retain(|_, state| {
            !matches!(
                state,
                Entry::Running { lane: LaneName::Shell, .. } | Entry::Answered { lane: LaneName::Shell, .. }
            )
        });
    }

    /// Whether no call runs, or waits for its turn, for a person or for an output.
    pub(super) fn is_empty(&self) -> bool {
        let waits = |state: &Entry| matches!(state, Entry::Asked(_) | Entry::Reading(_) | Entry::Awaiting { .. });
        let lanes = [&self.processes, &self.shell, &self.background];
        let is_queued = lanes.iter().any(|lane| !lane.waiting.is_empty());
        self.is_idle() && !is_queued && !self.entries.values().any(waits)
    }

    /// Whether no call runs.
    pub(super) fn is_idle(&self) -> bool {
        self.processes.running == 0 && self.shell.running == 0 && self.background.running == 0
    }

    /// Ends the command of a call; what it holds is charged until it has ended.
    fn stop(&mut self, key: u64, lane: LaneName, stop: Option<Stop>, why: StopReason, mut reply: Reply) -> Reply {
        if let Some(stop) = &stop {
            stop.send(why);
        }
        self.entries.insert(key, Entry::Answered { lane, stop, _charge: reply.take_charge() });
        reply
    }

    fn lane(&mut self, name: LaneName) -> &mut Lane {
        match name {
            LaneName::Processes => &mut self.processes,
            LaneName::Shell => &mut self.shell,
            LaneName::Background => &mut self.background,
        }
    }

    /// Takes what `pick` takes of the entries, in their order.
    fn take<T>(&mut self, pick: impl Fn(Entry) -> Result<T, Entry>) -> Vec<T> {
        let mut taken = Vec::new();
        for (key, state) in std::mem::take(&mut self.entries) {
            match pick(state) {
                Ok(picked) => taken.push(picked),
                Err(state) => drop(self.entries.insert(key, state)),
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::exec::{Limits, StopSignal, stop};
    use crate::jsonrpc::{Incoming, Message};
    use crate::mcp::{RequestMeta, Revision::V2025_06_18};
    use crate::server::replies::{Called, Destination, Replies};
    use crate::server::session::RequestContext;
    use crate::server::shell::{CallContext, TurnOf};
    use crate::tools::ShellCommandFacts;

    struct Table {
        requests: Requests,
        replies: Replies,
    }

    impl Table {
        fn new() -> Self {
            Self { requests: Requests::new(2, 1), replies: Replies::default() }
        }

        fn reply(&self, id: u64) -> Reply {
            self.replies.open(id.into(), Called::default(), Destination::Client)
        }

        fn pending(&self, id: u64) -> Pending {
            let params = Map::new();
            let meta = RequestMeta::of(&params);
            let context = RequestContext {
                revision: V2025_06_18,
                client_capabilities: Arc::default(),
                client_info: None,
                progress_token: meta.progress_token(),
                log_level: None,
                trace: meta.trace_context(),
            };
            let reply = self.reply(id);
            let feedback = Box::new(Feedback::new(reply.id(), "restart", &context));
            Pending { reply, description: Fields::default(), feedback }
        }

        /// Queues a call of the shell with the id; gives its number.
        fn queue(&mut self, id: u64) -> Result<u64, Box<Pending>> {
            let (key, pending) = (self.requests.number(), self.pending(id));
            let context = CallContext {
                key,
                facts: ShellCommandFacts::default(),
                revision: V2025_06_18,
                is_audited: false,
                is_kept: false,
                restarted: None,
            };
            let limits =
                Limits { timeout: Default::default(), grace: Default::default(), max_output: 0, has_digests: false };
            let turn = ShellTurn {
                request: TurnOf::Restart,
                context,
                limits,
                directories: None,
                wants_progress: false,
                shown: Vec::new(),
                spool: None,
            };
            self.requests.queue(key, pending, Work::Shell(Box::new(turn))).map(|()| key)
        }

        /// Runs the next call of the shell; gives its number and what hears that it is to end.
        fn run(&mut self) -> Option<(u64, StopSignal)> {
            let (key, pending, _) = self.requests.next(LaneName::Shell)?;
            let (stop, signal) = stop().unwrap();
            self.requests.run(key, LaneName::Shell, pending, Some(stop));
            Some((key, signal))
        }

        /// Cancels the requests of this id; says how many there were.
        fn cancel(&mut self, id: u64) -> usize {
            let cancelled = self.requests.cancel(&id.into());
            cancelled
                .into_iter()
                .map(|Cancelled { reply, .. }| {
                    assert_eq!(reply.id(), &id.into());
                    assert_eq!(self.replies.withdraw(reply), None);
                })
                .count()
        }

        /// How many requests were dropped without an answer.
        fn lost(&mut self) -> usize {
            self.replies.answer_lost().len()
        }
    }

    fn request(id: u64) -> Request {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call"}).to_string();
        match Incoming::parse(line.as_bytes()) {
            Ok(Incoming::Single(Message::Request(request))) => request,
            other => panic!("{other:?}"),
        }
    }

    fn subscription(reply: Reply) -> Subscription {
        Subscription { reply, revision: Revision::V2026_07_28, tasks: vec![1] }
    }

    #[test]
    fn a_request_is_cancelled_in_whatever_state_it_is() {
        let mut table = Table::new();
        let reply = table.reply(1);
        table.requests.hold(request(1), reply, None);
        let reply = table.reply(2);
        table.requests.subscribe(subscription(reply)).unwrap();
        let running = table.queue(3).unwrap();
        let (key, signal) = table.run().unwrap();
        let queued = table.queue(4).unwrap();
        assert_eq!(key, running);
        assert!(table.run().is_none(), "the shell has one call at a time");
        assert_eq!([1, 2, 4, 5].map(|id| table.cancel(id)), [1, 1, 1, 0]);
        assert_eq!(table.requests.release().len() + table.requests.end_subscriptions().len(), 0);
        assert_eq!(signal.wait(Default::default()).unwrap(), None);
        assert_eq!(table.cancel(3), 1);
        assert_eq!(signal.wait(Default::default()).unwrap(), Some(StopReason::Cancelled));
        // Nobody wants its answer, and it still runs.
        assert!(table.requests.running(running).is_none() && !table.requests.is_idle());
        assert_eq!(table.cancel(3), 0);
        assert!(table.requests.finish(queued).is_none());
        assert!(!table.requests.is_idle());
        assert!(table.requests.finish(running).is_none());
        assert!(table.requests.is_empty() && table.lost() == 0);
    }

    #[test]
    fn all_requests_of_an_id_are_cancelled() {
        let mut table = Table::new();
        let reply = table.reply(7);
        table.requests.hold(request(7), reply, None);
        table.queue(7).unwrap();
        let (key, _signal) = table.run().unwrap();
        table.queue(7).unwrap();
        assert_eq!(table.cancel(7), 3);
        assert!(table.requests.finish(key).is_none() && table.requests.is_empty());
    }

    #[test]
    fn held_requests_go_on_in_the_order_of_their_arrival() {
        let mut table = Table::new();
        for id in [3, 1, 2] {
            let reply = table.reply(id);
            table.requests.hold(request(id), reply, None);
        }
        let ids: Vec<_> = table.requests.release().iter().map(|held| held.request.id.clone()).collect();
        assert_eq!(ids, [3, 1, 2].map(RequestId::from));
        assert_eq!(table.lost(), 3);
    }

    #[test]
    fn the_queue_and_the_subscriptions_are_bounded() {
        let mut table = Table::new();
        assert!((0..10_000).all(|id| table.queue(id).is_ok()));
        assert_eq!(table.queue(1).unwrap_err().reply.id(), &1.into());
        assert_eq!(table.cancel(9_999), 1);
        assert!(table.queue(1).is_ok());
        for id in 0..1_000 {
            let reply = table.reply(id);
            table.requests.subscribe(subscription(reply)).unwrap();
        }
        let reply = table.reply(1);
        assert!(table.requests.subscribe(subscription(reply)).is_err());
    }

    #[test]
    fn at_the_end_what_runs_is_stopped_and_what_waits_is_dropped() {
        let mut table = Table::new();
        table.queue(1).unwrap();
        let (key, signal) = table.run().unwrap();
        table.queue(2).unwrap();
        table.requests.shut_down();
        assert_eq!(signal.wait(Default::default()).unwrap(), Some(StopReason::Shutdown));
        assert_eq!(table.lost(), 2);
        assert!(table.run().is_none() && !table.requests.is_idle());
        table.requests.shut_down();
        assert_eq!(signal.wait(Default::default()).unwrap(), Some(StopReason::Shutdown));
        table.requests.abandon_shell();
        assert!(table.requests.is_empty() && table.requests.finish(key).is_none());
    }
}
