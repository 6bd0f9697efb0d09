//! The request table: every client request that its handler does not answer immediately, and what it waits for.
//!
//! | state | waits for | left by |
//! |---|---|---|
//! | held | the client's answer to a request of ours | being served again |
//! | asked | a person's approval | being served again, or its refusal |
//! | deciding | its decision, on a thread | its turn, a question, or its refusal |
//! | queued | its turn | its turn, which runs it or answers it |
//! | running | the end of its command | the answer |
//! | answered | the end of its command; nobody waits for the result any more | that end |
//! | background | the end of its command; it was answered, and can be asked about | that end |
//! | reading | the output of another call | its answer |
//! | awaiting | the end of a task | its answer |
//! | explained | a thread that fills in a prompt | its answer |
//! | subscribed | either side to end it | that end |
//!
//! Cancellations look for the request only here. The server's own requests are in [`outgoing`](super::outgoing).
//!
//! - `entries`: the entries of the table
//! - `lanes`: the queue and the running calls
//! - `decisions`: the calls that threads decide on, also those that nobody waits for any more
//! - `ends`: how requests are cancelled or given up

mod decisions;
mod ends;
mod entries;
mod lanes;
#[cfg(test)]
#[cfg(feature = "workbench")]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use super::deadlines::Until;
use super::replies::Reply;
use crate::jsonrpc::{Request, RequestId};

use decisions::Decision;
pub(super) use decisions::Overdue;
pub(super) use ends::GivenUp;
pub(super) use entries::Entry;
pub(super) use entries::{
    Answers, ApprovedCall, AskedCall, Cancelled, CancelledAs, Finished, HeldCall, LaneName, Pending, Prompt, Reading,
    Subscription, Undecided, Work,
};

/// The most calls in the queue.
pub(super) const MOST_QUEUED: usize = 10_000;
/// The most prompts that wait to be filled in.
pub(super) const MOST_EXPLAINED: usize = 64;
/// The first key of a request that is not a call. Calls have smaller ones, so that they are numbered one after another.
const FIRST_OTHER: u64 = 1 << 62;
/// How many subscriptions may be open at once.
pub(super) const MOST_SUBSCRIPTIONS: usize = 1_000;

/// One part of the queue.
#[derive(Debug)]
pub(super) struct Lane {
    waiting: VecDeque<u64>,
    pub(super) running: usize,
    most_running: usize,
}

/// The table.
#[derive(Debug)]
pub(super) struct Requests {
    /// By their numbers, and so in the order of their arrival.
    pub(super) entries: BTreeMap<u64, Entry>,
    pub(super) processes: Lane,
    pub(super) shell: Lane,
    pub(super) background: Lane,
    /// The decisions that threads make, by the numbers of the calls.
    decisions: BTreeMap<u64, Decision>,
    /// The number of calls without a turn among them, but for those that hang.
    deciding: usize,
    /// When the decisions will be looked at that are overdue then.
    looks_at: Option<Until>,
    /// The call in the background that runs in the persistent shell.
    pub(super) in_shell: Option<u64>,
    last: u64,
    last_other: u64,
}

impl Requests {
    /// Makes a table that lets this many processes run concurrently, and this many calls in the background.
    pub(super) fn new(most_processes: usize, most_background: usize) -> Self {
        let lane = |most_running| Lane { waiting: VecDeque::new(), running: 0, most_running };
        Self {
            entries: BTreeMap::new(),
            processes: lane(most_processes),
            shell: lane(1),
            background: lane(most_background),
            decisions: BTreeMap::new(),
            deciding: 0,
            looks_at: None,
            in_shell: None,
            last: 0,
            last_other: 0,
        }
    }

    /// The number of the next call that is decided on.
    pub(super) fn next_number(&self) -> u64 {
        self.last + 1
    }

    /// Notes that a call has this number.
    pub(super) fn takes_number(&mut self, key: u64) {
        self.last = self.last.max(key);
    }

    /// Allocates a key for a request that is not (yet) a call.
    pub(super) fn other_number(&mut self) -> u64 {
        self.last_other += 1;
        FIRST_OTHER + self.last_other
    }

    /// Holds a request until [`release`](Self::release). Its memory is charged to its reply.
    pub(super) fn hold(&mut self, request: Request, reply: Reply, approved: Option<Box<ApprovedCall>>) {
        let key = self.other_number();
        self.entries.insert(key, Entry::Held(Box::new(HeldCall { request, reply, approved, received: None })));
    }

    /// Takes the held requests, in the order of their arrival.
    pub(super) fn release(&mut self) -> Vec<HeldCall> {
        self.take(|state| match state {
            Entry::Held(held) => Ok(*held),
            other => Err(other),
        })
    }

    /// Makes a request wait for a thread that fills in its prompt.
    ///
    /// # Errors
    /// The reply, if too many do.
    pub(super) fn explain(&mut self, reply: Reply, prompt: Prompt) -> Result<(), Reply> {
        if self.entries.values().filter(|state| matches!(state, Entry::Explained { .. })).count() >= MOST_EXPLAINED {
            return Err(reply);
        }
        let key = self.other_number();
        self.entries.insert(key, Entry::Explained { reply, prompt: Some(Box::new(prompt)) });
        Ok(())
    }

    /// Takes the next prompt that is to be filled in. Its request stays until [`take_explained`](Self::take_explained).
    pub(super) fn next_explained(&mut self) -> Option<(u64, Prompt)> {
        self.entries.iter_mut().find_map(|(key, state)| match state {
            Entry::Explained { prompt, .. } => Some((*key, *prompt.take()?)),
            _ => None,
        })
    }

    /// Takes a request whose prompt is filled in, or can't be; `None` if it was cancelled.
    pub(super) fn take_explained(&mut self, key: u64) -> Option<Reply> {
        match self.entries.remove(&key)? {
            Entry::Explained { reply, .. } => Some(reply),
            other => {
                self.entries.insert(key, other);
                None
            }
        }
    }

    /// Opens a subscription.
    ///
    /// # Errors
    /// The subscription, if too many are open.
    pub(super) fn subscribe(&mut self, subscription: Subscription) -> Result<(), Box<Subscription>> {
        let open = self.entries.values().filter(|state| matches!(state, Entry::Subscribed(_)));
        if open.count() >= MOST_SUBSCRIPTIONS {
            return Err(Box::new(subscription));
        }
        let key = self.other_number();
        self.entries.insert(key, Entry::Subscribed(subscription));
        Ok(())
    }

    /// The ids of the subscriptions that report the changes of this task.
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

    /// Whether no call is running, or waiting for its turn, for a person or for output, and no prompt is filled in.
    pub(super) fn is_empty(&self) -> bool {
        let waits = |state: &Entry| {
            matches!(
                state,
                Entry::Asked(_)
                    | Entry::Deciding { .. }
                    | Entry::Reading(_)
                    | Entry::Awaiting { .. }
                    | Entry::Explained { .. }
            )
        };
        let lanes = [&self.processes, &self.shell, &self.background];
        let is_queued = lanes.iter().any(|lane| !lane.waiting.is_empty());
        self.is_idle() && !is_queued && !self.entries.values().any(waits)
    }

    /// Whether no call is running.
    pub(super) fn is_idle(&self) -> bool {
        self.processes.running == 0 && self.shell.running == 0 && self.background.running == 0
    }

    /// Takes the entries that `pick` accepts, in order.
    pub(super) fn take<T>(&mut self, pick: impl Fn(Entry) -> Result<T, Entry>) -> Vec<T> {
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
