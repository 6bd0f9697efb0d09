//! The questions that a person has not answered yet, and what was approved until the session ends.
//!
//! A waiting call is an entry of the request table: it occupies no thread, and its timeout does not run. If the question
//! is part of a result, nothing waits here, and [`outgoing`](super::outgoing) keeps what it was about.

mod asker;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

pub use self::asker::AskSettings;
pub(super) use self::asker::Asker;
use super::deadlines::Since;
use super::log::Fields;
use super::observer::Observer;
use super::outgoing::Question;
use super::question::{Answer, CallToApprove, Channel};

/// How many approved calls are remembered until the session ends; if there are more, the oldest is asked about again.
const MOST_REMEMBERED: usize = 256;

/// The questions.
pub(super) struct Questions {
    pub(super) observer: Arc<dyn Observer>,
    /// The questions that calls of the request table wait for.
    pub(super) open: Vec<Open>,
    /// The numbers of questions that nobody is waiting for any more, but whose program has not ended yet.
    pub(super) ending: HashSet<u64>,
    /// The calls that run without a question, the oldest first.
    remembered: VecDeque<Arc<CallToApprove>>,
    /// Whether the client is gone, so that nobody waits for an answer.
    pub(super) is_closed: bool,
    /// Whether the input has ended, so that the client answers nothing.
    pub(super) is_input_over: bool,
    /// How many were asked.
    pub(super) last: u64,
}

/// A question that is open.
#[derive(Debug)]
pub(super) struct Open {
    pub number: u64,
    pub asked: Arc<CallToApprove>,
    pub by: By,
    pub since: Since,
}

/// The asker, with the place of the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The client, by the request of this number.
    Client(u64),
    Program,
    /// The client, which finds the question in the task of this number.
    Task(u64),
}

impl By {
    /// The channel, for the log and the observer.
    pub(super) fn channel(self) -> Channel {
        match self {
            Self::Client(_) | Self::Task(_) => Channel::Client,
            Self::Program => Channel::Program,
        }
    }
}

impl Questions {
    pub(super) fn new(observer: Arc<dyn Observer>) -> Self {
        let (open, ending, remembered) = Default::default();
        Self { observer, open, ending, remembered, is_closed: false, is_input_over: false, last: 0 }
    }

    /// The open question of this number.
    pub(super) fn open(&self, number: u64) -> Option<&Open> {
        self.open.iter().find(|open| open.number == number)
    }

    /// Takes the open question of this number.
    pub(super) fn take(&mut self, number: u64) -> Option<Open> {
        let place = self.open.iter().position(|open| open.number == number)?;
        Some(self.open.swap_remove(place))
    }

    /// The number of the open question that this task shows under this key.
    pub(super) fn in_task(&self, task: u64, key: &str) -> Option<u64> {
        let is_meant = |open: &&Open| open.by == By::Task(task) && key_in_task(open.number) == key;
        self.open.iter().find(is_meant).map(|open| open.number)
    }

    /// The calls that were approved until the session ends.
    pub(super) fn remembered(&self) -> Vec<Arc<CallToApprove>> {
        self.remembered.iter().map(Arc::clone).collect()
    }

    /// Forgets what was approved until the session ends.
    pub(super) fn forget_remembered(&mut self) {
        self.remembered.clear();
    }

    /// Lets this call run without a question until the session ends.
    pub(super) fn remember(&mut self, asked: Arc<CallToApprove>) {
        if self.remembered.iter().any(|before| before.is_same(&asked)) {
            return;
        }
        if self.remembered.len() >= MOST_REMEMBERED {
            self.remembered.pop_front();
        }
        self.remembered.push_back(asked);
    }

    /// Forgets everything, at the end of the server.
    pub(super) fn shut_down(&mut self) {
        (self.open, self.is_closed) = (Vec::new(), true);
        self.remembered.clear();
    }
}

/// The key of a question in its task, unique among the questions of that task.
pub(super) fn key_in_task(number: u64) -> String {
    format!("{}-{number}", Question::Approval.key())
}

/// Adds the answer to the fields of a log line.
pub(super) fn told(fields: Fields, channel: Channel, answer: &Answer, waited: Duration) -> Fields {
    let waited = format_args!("{:.1}s", waited.as_secs_f64()).to_string();
    let fields = fields.ours("approval", answer.name()).ours("by", channel).ours("waited", waited);
    match answer {
        Answer::Failed(why) => fields.reason("failed", why),
        Answer::Once
        | Answer::Session
        | Answer::Declined
        | Answer::Cancelled
        | Answer::TimedOut
        | Answer::Withdrawn => fields,
    }
}
