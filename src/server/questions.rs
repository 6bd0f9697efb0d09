//! The questions that a person has not answered yet, and what was approved until the session ends.
//!
//! A waiting call is an entry of the request table: it occupies no thread, and its timeout does not run. If the question
//! is part of a result, nothing waits here, and [`outgoing`](super::outgoing) keeps what it was about.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::approval::{Answer, AnswerOf, CallToApprove, Channel, LONGEST_TEXT, MOST_EQUAL};
use super::asker::AskSettings;
use super::deadlines::Since;
use super::log::Fields;
use super::not_run::NotRun;
use super::observer::Observer;
use super::outgoing::{Outgoing, Question};
use super::requests::{AskedCall, Requests};
use super::session::RequestContext;
use crate::audit;
use crate::exec::OperatorProgram;
use crate::mcp::has_form_elicitation;

/// The most questions that are open at the same time.
pub(super) const MOST_OPEN: usize = 16;
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
    /// The number of handshakes so far. A call that came before the last one is neither asked about nor begun in the background.
    pub(super) sessions: u64,
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

/// How a person is asked about a call that waits for the answer.
#[derive(Debug)]
pub(super) enum Way {
    /// By the operator's program.
    Program(Arc<OperatorProgram>),
    /// By a request to the client.
    Request,
    /// In the task that the call has become.
    Task,
}

/// How much of the client's session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionEnd {
    /// The session before a new handshake.
    Handshake,
    /// The input; calls may go on until their own deadlines.
    Input,
    /// All of the session.
    Client,
}

impl Questions {
    pub(super) fn new(observer: Arc<dyn Observer>) -> Self {
        let (open, ending, remembered) = Default::default();
        Self { observer, open, ending, remembered, is_closed: false, is_input_over: false, sessions: 0, last: 0 }
    }

    /// How a person can be asked about this call; `None` in its result, and then nothing waits.
    ///
    /// # Errors
    /// [`NotRun`], if nobody can be asked.
    pub(super) fn way(
        &self,
        settings: &AskSettings,
        context: &RequestContext,
        asked: &CallToApprove,
        (requests, outgoing): (&Requests, &Outgoing),
    ) -> Result<Option<Way>, NotRun> {
        let sentence = || asked.proposal.to_string();
        if self.is_closed {
            return Err(NotRun::NobodyToAsk { sentence: sentence() });
        }
        if asked.text(AnswerOf::EqualCalls).is_none() {
            return Err(NotRun::TooLongToShow { sentence: sentence(), most: LONGEST_TEXT });
        }
        let in_results = outgoing.asked_in_results();
        let is_open = self.open.iter().map(|open| &open.asked).chain(in_results.iter().copied());
        let open = self.open.len() + self.ending.len() + in_results.len();
        if open >= MOST_OPEN && !is_open.into_iter().any(|open| open.is_same(asked)) {
            return Err(NotRun::TooManyQuestions { sentence: sentence(), most: MOST_OPEN });
        }
        let shows_forms = context.revision.has_elicitation() && has_form_elicitation(&context.client_capabilities);
        let way = match &settings.program {
            Some(Ok(program)) => Way::Program(Arc::clone(program)),
            Some(Err(why)) => return Err(NotRun::NotAsked { sentence: sentence(), why: why.clone() }),
            None if !shows_forms || self.is_input_over => return Err(NotRun::NobodyToAsk { sentence: sentence() }),
            None if context.revision.is_modern() => return Ok(None),
            None => Way::Request,
        };
        // The text told the person the most calls that the answer can be for.
        let equal = self.open.iter().find(|open| !matches!(open.by, By::Task(_)) && open.asked.is_same(asked));
        if equal.is_some_and(|open| requests.count_asked(open.number) >= MOST_EQUAL) {
            return Err(NotRun::TooManyEqual { sentence: sentence(), most: MOST_EQUAL });
        }
        Ok(Some(way))
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

    /// The record of a question that a call waits for, which is withdrawn at the server's end.
    pub(super) fn withdrawn(&self, call: &AskedCall) -> Option<audit::Event> {
        let open = self.open.iter().find(|open| open.number == call.question)?;
        Some(Answer::Withdrawn.to_record(call.key, open.by.channel(), open.since.elapsed()))
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
