//! The requests of the table that are about other calls, and the calls that go on in the background.

use std::time::Duration;

use crate::exec::StopReason;
use crate::mcp::Revision;
use crate::server::replies::Reply;
use crate::server::requests::{Cancelled, Entry, LaneName, Reading, Requests};

/// The most reads that are pending at the same time, and the most requests that wait for the ends of tasks.
pub(super) const MOST_READS: usize = 1_000;

/// The fate of a call whose task is cancelled.
#[derive(Debug)]
pub(in crate::server) enum CancelledTask {
    /// It never starts.
    NeverStarts(Box<Cancelled>),
    /// Its command is being ended, and the end will answer it.
    Ends,
}

impl Requests {
    /// Ends the command of a running call; returns whether there is one.
    pub(in crate::server) fn end(&mut self, key: u64, why: StopReason) -> bool {
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

    /// Gives up the call of this task, if it has not ended.
    pub(in crate::server) fn cancel_task(&mut self, task: u64) -> Option<CancelledTask> {
        let is_meant = |state: &Entry| state.reply().and_then(Reply::task) == Some(task);
        let (key, state) = self.entries.iter().find(|(_, state)| is_meant(state))?;
        let key = *key;
        // The call still belongs to its task, so the end of the command answers it.
        if matches!(state, Entry::Running { .. } | Entry::Background { .. }) {
            self.end(key, StopReason::Cancelled);
            return Some(CancelledTask::Ends);
        }
        self.give_up_request(key).map(|cancelled| CancelledTask::NeverStarts(Box::new(cancelled)))
    }

    /// Adds a read, which waits for a look at its output; returns its number.
    ///
    /// # Errors
    /// The read, if there are too many.
    pub(in crate::server) fn read(&mut self, reading: Reading) -> Result<u64, Box<Reading>> {
        if self.readings().len() >= MOST_READS {
            return Err(Box::new(reading));
        }
        let key = self.other_number();
        self.entries.insert(key, Entry::Reading(reading));
        Ok(key)
    }

    /// The numbers of the pending reads.
    pub(in crate::server) fn readings(&self) -> Vec<u64> {
        let is_reading = |(_, state): &(&u64, &Entry)| matches!(state, Entry::Reading(_));
        self.entries.iter().filter(is_reading).map(|(key, _)| *key).collect()
    }

    /// The pending read with this number.
    pub(in crate::server) fn reading(&mut self, key: u64) -> Option<&mut Reading> {
        if let Entry::Reading(reading) = self.entries.get_mut(&key)? { Some(reading) } else { None }
    }

    /// Takes a read, to answer it.
    pub(in crate::server) fn take_reading(&mut self, key: u64) -> Option<Reading> {
        self.reading(key)?;
        if let Entry::Reading(reading) = self.entries.remove(&key)? { Some(reading) } else { None }
    }

    /// Makes a request wait for the end of the task of this number.
    ///
    /// # Errors
    /// The reply, if too many requests wait.
    pub(in crate::server) fn await_task(&mut self, reply: Reply, task: u64) -> Result<(), Reply> {
        let waiting = self.entries.values().filter(|state| matches!(state, Entry::Awaiting { .. }));
        if waiting.count() >= MOST_READS {
            return Err(reply);
        }
        let key = self.other_number();
        self.entries.insert(key, Entry::Awaiting { reply, task });
        Ok(())
    }

    /// Takes the requests that wait for the end of this task, in the order of their arrival.
    pub(in crate::server) fn take_awaiting(&mut self, task: u64) -> Vec<Reply> {
        let is_meant = |state: &Entry| matches!(state, Entry::Awaiting { task: awaited, .. } if *awaited == task);
        let keys: Vec<u64> = self.entries.iter().filter(|(_, state)| is_meant(state)).map(|(key, _)| *key).collect();
        let taken = keys.into_iter().filter_map(|key| match self.entries.remove(&key)? {
            Entry::Awaiting { reply, .. } => Some(reply),
            _ => None,
        });
        taken.collect()
    }

    /// Whether a call is ended at the latest when it would be handed over.
    pub(in crate::server) fn ends_by_then(&mut self, key: u64, hand_over: Option<Duration>) -> bool {
        let timeout = self.running(key).and_then(|pending| pending.facts.timeout());
        timeout.zip(hand_over).is_some_and(|(timeout, after)| timeout <= after)
    }

    /// The revision of a running call that could go on in the background; `None` if it can't.
    pub(in crate::server) fn can_go_on(&mut self, key: u64) -> Option<Revision> {
        let has_room = self.has_room_in_background();
        self.running(key).filter(|_| has_room).map(|pending| pending.feedback.revision())
    }

    /// Lets a running call go on in the background; returns the right to answer it. `None` if it has ended, if there is no
    /// room any more, or if a task keeps the answer.
    pub(in crate::server) fn hand_over(&mut self, key: u64) -> Option<Reply> {
        self.can_go_on(key)?;
        let (lane, pending, stop) = match self.entries.remove(&key)? {
            Entry::Running { lane, pending, stop: Some(stop), .. } => (lane, pending, stop),
            other => {
                self.entries.insert(key, other);
                return None;
            }
        };
        let is_of_shell = lane == LaneName::Shell;
        // The shell itself stays busy.
        if is_of_shell {
            self.in_shell = Some(key);
        } else {
            self.give_up(lane);
        }
        self.background.running += 1;
        self.run_in_background(key, pending, stop, is_of_shell)
    }

    /// Tells the thread that runs a call in the background that there is more input for the command.
    pub(in crate::server) fn feed(&self, key: u64) {
        if let Some(Entry::Background { stop, .. }) = self.entries.get(&key) {
            stop.feed();
        }
    }
}
