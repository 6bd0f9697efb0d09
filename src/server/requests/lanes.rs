//! The calls in the table: they are queued, run when their turn comes, may go on in the background, and finish.

use super::entries::{Entry, Finished, InBackground, LaneName, Pending, Undecided, Work};
use super::{Lane, Requests};
use crate::exec::Stop;
use crate::mcp::Revision;
use crate::server::feedback::Feedback;
use crate::server::replies::Reply;

impl Requests {
    /// The limit of calls in the background, if it is reached and this would be one more.
    pub(in crate::server) fn has_no_room_for(&self, work: &Work) -> Option<usize> {
        let most = self.background.most_running;
        (work.lane() == LaneName::Background && !self.has_room_in_background()).then_some(most)
    }

    pub(in crate::server) fn has_room_in_background(&self) -> bool {
        self.background.running + self.background.waiting.len() < self.background.most_running
    }

    /// Queues the call with this number.
    ///
    /// # Errors
    /// The call, if the queue is full.
    pub(in crate::server) fn queue(
        &mut self,
        key: u64,
        pending: Pending,
        (work, undecided): (Work, Undecided),
    ) -> Result<(), Box<Pending>> {
        if self.are_too_many() {
            return Err(Box::new(pending));
        }
        self.enter_lane(key, work.lane());
        self.entries.insert(key, Entry::Queued { pending, work, undecided: Box::new(undecided) });
        Ok(())
    }

    /// Takes a place in a lane. Calls are decided on beside each other, and wait in the order of their arrival.
    pub(super) fn enter_lane(&mut self, key: u64, lane: LaneName) {
        let waiting = &mut self.lane(lane).waiting;
        waiting.insert(waiting.partition_point(|before| *before < key), key);
    }

    /// Gives up the place in a lane, if the call has one.
    pub(super) fn leave_lane(&mut self, key: u64, lane: LaneName) {
        self.lane(lane).waiting.retain(|waiting| *waiting != key);
    }

    /// Takes the next call whose turn it is, unless it is still decided on. It counts among the running until
    /// [`finish`](Self::finish).
    pub(in crate::server) fn next(&mut self, name: LaneName) -> Option<(u64, Pending, (Work, Undecided))> {
        let Self { entries, processes, shell, background, .. } = self;
        let lane = match name {
            LaneName::Processes => processes,
            LaneName::Shell => shell,
            LaneName::Background => background,
        };
        if lane.running >= lane.most_running {
            return None;
        }
        let key = *lane.waiting.front()?;
        let (pending, work, undecided) = match entries.remove(&key)? {
            Entry::Queued { pending, work, undecided } => (pending, work, undecided),
            other => {
                entries.insert(key, other);
                return None;
            }
        };
        lane.waiting.pop_front();
        lane.running += 1;
        Some((key, pending, (work, *undecided)))
    }

    /// Notes that the call whose turn it was runs, and that `stop` ends it; `stop` is `None` if it has ended already.
    pub(in crate::server) fn insert_running(&mut self, key: u64, lane: LaneName, pending: Pending, stop: Option<Stop>) {
        self.entries.insert(key, Entry::Running { lane, pending, stop, undecided: None });
    }

    /// Notes that the call whose turn it was runs in the background; returns the right to answer it, unless a task keeps the
    /// answer.
    pub(in crate::server) fn run_in_background(
        &mut self,
        key: u64,
        pending: Pending,
        stop: Stop,
        is_of_shell: bool,
    ) -> Option<Reply> {
        let Pending { mut reply, facts, feedback } = pending;
        let charge = reply.take_charge();
        let (of_task, reply) = if reply.task().is_some() { (Some(reply), None) } else { (None, Some(reply)) };
        let background = Box::new(InBackground { facts, feedback, is_of_shell, of_task });
        self.entries.insert(key, Entry::Background { background, stop, _charge: charge });
        reply
    }

    /// The call that the persistent shell runs, if it was handed over to the background.
    pub(in crate::server) fn shell_is_busy_with(&self) -> Option<u64> {
        self.in_shell
    }

    /// Takes the next call that waits for the persistent shell, with its number and the revision of its result.
    pub(in crate::server) fn take_waiting_for_shell(&mut self) -> Option<(u64, Pending, Revision)> {
        let is_queued = |key: &u64| matches!(self.entries.get(key), Some(Entry::Queued { .. }));
        let key = self.shell.waiting.iter().copied().find(is_queued)?;
        self.leave_lane(key, LaneName::Shell);
        // It was just found there, so this never fails.
        let Entry::Queued { pending, work, .. } = self.entries.remove(&key)? else { return None };
        Some((key, pending, work.revision()))
    }

    /// Notes that the call whose turn it was does not run, or no longer.
    pub(in crate::server) fn give_up(&mut self, lane: LaneName) {
        let lane = self.lane(lane);
        lane.running = lane.running.saturating_sub(1);
    }

    /// Takes a call whose command has ended; `None` if nobody wants its result.
    pub(in crate::server) fn finish(&mut self, key: u64) -> Option<Finished> {
        self.forget_decision(key);
        let (lane, finished) = match self.entries.remove(&key)? {
            Entry::Running { lane, pending: Pending { reply, facts, feedback }, .. } => {
                (lane, Some(Finished { facts, feedback, reply: Some(reply), is_background: false }))
            }
            Entry::Answered { lane, .. } => (lane, None),
            Entry::Background { background, .. } => {
                let InBackground { facts, feedback, is_of_shell, of_task } = *background;
                if is_of_shell {
                    self.in_shell = None;
                    self.give_up(LaneName::Shell);
                }
                let finished = Finished { facts, feedback, reply: of_task, is_background: true };
                (LaneName::Background, Some(finished))
            }
            other @ (Entry::Held(_)
            | Entry::Asked(_)
            | Entry::Deciding { .. }
            | Entry::Queued { .. }
            | Entry::Reading(_)
            | Entry::Awaiting { .. }
            | Entry::Explained { .. }
            | Entry::Subscribed(_)) => {
                self.entries.insert(key, other);
                return None;
            }
        };
        self.give_up(lane);
        finished
    }

    /// A running call whose answer somebody wants.
    pub(in crate::server) fn running(&mut self, key: u64) -> Option<&mut Pending> {
        if let Entry::Running { pending, .. } = self.entries.get_mut(&key)? { Some(pending) } else { None }
    }

    /// Returns the messages to the client about a running call: until the answer, or for a task until its end.
    pub(in crate::server) fn feedback(&mut self, key: u64) -> Option<&mut Feedback> {
        match self.entries.get_mut(&key)? {
            Entry::Running { pending, .. } => Some(&mut *pending.feedback),
            Entry::Background { background, .. } if background.of_task.is_some() => Some(&mut *background.feedback),
            _ => None,
        }
    }

    pub(super) fn lane(&mut self, name: LaneName) -> &mut Lane {
        match name {
            LaneName::Processes => &mut self.processes,
            LaneName::Shell => &mut self.shell,
            LaneName::Background => &mut self.background,
        }
    }
}
