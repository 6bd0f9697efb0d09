//! The calls that have no answer yet: those that run, and those that wait for their turn.

use std::collections::{HashMap, VecDeque};

use super::feedback::Feedback;
use super::replies::ReplyTo;
use super::workers::Job;
use crate::exec::{Stop, StopReason};
use crate::jsonrpc::RequestId;

/// How many calls wait at most.
pub(super) const MOST_WAITING: usize = 10_000;
/// How many bytes of input the waiting calls hold at most.
pub(super) const MOST_WAITING_BYTES: usize = 64 * 1024 * 1024;

/// A call that has no answer yet.
#[derive(Debug)]
pub(super) struct Pending {
    /// The id of its request.
    pub id: RequestId,
    /// Where its answer goes.
    pub reply_to: ReplyTo,
    /// What the log says of it.
    pub description: String,
    /// What its client hears before the answer.
    pub feedback: Box<Feedback>,
}

/// A call that waits for its turn.
#[derive(Debug)]
pub(super) struct Waiting {
    pub pending: Pending,
    pub stop: Stop,
    pub job: Box<Job>,
}

#[derive(Debug)]
struct Running {
    /// `None` once nobody wants the answer any more.
    pending: Option<Pending>,
    stop: Stop,
}

/// The calls in flight.
#[derive(Debug)]
pub(super) struct Calls {
    running: HashMap<u64, Running>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    most_running: usize,
}

impl Calls {
    pub(super) fn new(most_running: usize) -> Self {
        Self { running: HashMap::new(), waiting: VecDeque::new(), waiting_bytes: 0, most_running }
    }

    /// Puts a call in the queue; gives it back where the queue is full.
    pub(super) fn queue(&mut self, call: Waiting) -> Result<(), Waiting> {
        if self.waiting.len() >= MOST_WAITING || self.waiting_bytes >= MOST_WAITING_BYTES {
            return Err(call);
        }
        self.waiting_bytes += call.size();
        self.waiting.push_back(call);
        Ok(())
    }

    /// Takes the next call that may run now, and counts it among the running.
    pub(super) fn next(&mut self) -> Option<Box<Job>> {
        if self.running.len() >= self.most_running {
            return None;
        }
        let call = self.waiting.pop_front()?;
        self.waiting_bytes -= call.size();
        let Waiting { pending, stop, job } = call;
        self.running.insert(job.key, Running { pending: Some(pending), stop });
        Some(job)
    }

    /// Takes a call off that has ended; `None` where nobody wants its answer.
    pub(super) fn finish(&mut self, key: u64) -> Option<Pending> {
        self.running.remove(&key).and_then(|running| running.pending)
    }

    /// A call that runs and whose answer somebody wants.
    pub(super) fn get_mut(&mut self, key: u64) -> Option<&mut Pending> {
        self.running.get_mut(&key)?.pending.as_mut()
    }

    /// Gives up every call of this request: a waiting one at once, a running one by ending its tree.
    pub(super) fn cancel(&mut self, id: &RequestId) -> Vec<Pending> {
        let (gone, waiting): (Vec<Waiting>, Vec<Waiting>) =
            self.waiting.drain(..).partition(|call| call.pending.id == *id);
        self.waiting = waiting.into();
        self.waiting_bytes -= gone.iter().map(Waiting::size).sum::<usize>();
        let mut cancelled: Vec<Pending> = gone.into_iter().map(|call| call.pending).collect();
        for call in self.running.values_mut() {
            if let Some(pending) = call.pending.take_if(|pending| pending.id == *id) {
                call.stop.wish(StopReason::Cancelled);
                cancelled.push(pending);
            }
        }
        cancelled
    }

    /// Gives up every call there is.
    pub(super) fn shut_down(&mut self) {
        self.waiting.clear();
        self.waiting_bytes = 0;
        for call in self.running.values_mut() {
            call.pending = None;
            call.stop.wish(StopReason::Shutdown);
        }
    }

    /// The keys of the calls that run.
    pub(super) fn running(&self) -> Vec<u64> {
        self.running.keys().copied().collect()
    }

    /// Whether no call runs or waits.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    /// Whether no call runs.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }
}

impl Waiting {
    fn size(&self) -> usize {
        let words = self.job.invocation.command.words().iter().map(String::len).sum::<usize>();
        words + self.job.invocation.input.as_ref().map_or(0, Vec::len)
    }
}
