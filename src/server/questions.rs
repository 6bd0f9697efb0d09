//! The questions that a person has not answered yet, the calls that wait for them, and what was approved until the
//! session ends.
//!
//! A waiting call is an entry of the request table: it occupies no worker, and its timeout does not run. If the question
//! is part of a result, nothing waits here, and [`outgoing`](super::outgoing) keeps what it was about.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::approval::{Answer, AnswerOf, CallToApprove, Channel, LONGEST_TEXT, MOST_EQUAL, Terms};
use super::asker::AskSettings;
use super::deadlines::Since;
use super::effects::{Effect, Effects, ProgramAsks};
use super::event::{Deadline, Progress};
use super::log::Fields;
use super::not_run::NotRun;
use super::observer::{Observer, QuestionAnswered, QuestionAsked};
use super::outgoing::{Outgoing, Question};
use super::requests::{ApprovedCall, AskedCall, HeldCall, Requests};
use super::session::RequestContext;
use super::tasks::TaskChange;
use crate::audit;
use crate::config::LogLevel;
use crate::jsonrpc::encode;
use crate::mcp::{CallToolResult, ELICITATION_CREATE, approval_params, has_form_elicitation};
use crate::policy::Proposal;
use crate::text::quote;

/// The most questions that are open at the same time.
pub(super) const MOST_OPEN: usize = 16;
/// How many approved calls are remembered until the session ends; if there are more, the oldest is asked about again.
const MOST_REMEMBERED: usize = 256;
/// The interval at which a client is told that its call is waiting.
const TICK: Duration = Duration::from_secs(1);
/// How many bytes of the program's standard error the log shows.
const LONGEST_SAID: usize = 200;

/// The questions.
pub(super) struct Questions {
    observer: Arc<dyn Observer>,
    /// The questions that calls of the request table wait for.
    open: Vec<Open>,
    /// The numbers of questions that nobody is waiting for any more, but whose program has not ended yet.
    ending: HashSet<u64>,
    /// The calls that run without a question, the oldest first.
    remembered: VecDeque<Arc<CallToApprove>>,
    /// Whether the client is gone, so that nobody waits for an answer.
    is_closed: bool,
    /// How many were asked.
    last: u64,
}

#[derive(Debug)]
struct Open {
    number: u64,
    asked: Arc<CallToApprove>,
    by: By,
    since: Since,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The client, by the request of this number.
    Client(u64),
    Program,
    /// The client, which finds the question in the task of this number.
    Task(u64),
}

impl By {
    fn channel(self) -> Channel {
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
    Program(Arc<crate::exec::OperatorProgram>),
    /// By a request to the client.
    Request,
    /// In the task that the call has become.
    Task,
}

impl Questions {
    pub(super) fn new(observer: Arc<dyn Observer>) -> Self {
        let (open, ending, remembered) = Default::default();
        Self { observer, open, ending, remembered, is_closed: false, last: 0 }
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
            None if !shows_forms => return Err(NotRun::NobodyToAsk { sentence: sentence() }),
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

    /// Makes a call wait for a person's answer, and asks the person unless the same question is open already.
    pub(super) fn wait(
        &mut self,
        (requests, outgoing): (&mut Requests, &mut Outgoing),
        way: Way,
        asked: CallToApprove,
        mut call: AskedCall,
        (context, settings): (&RequestContext, &AskSettings),
    ) -> Effects {
        let mut effects = Effects::default();
        let wants_progress = call.pending.feedback.wants_progress();
        let line = Fields::of_call(call.pending.reply.id()).and(&call.pending.description);
        let task = call.pending.reply.task();
        // A question of a task is asked only in that task.
        let is_elsewhere = |open: &&Open| !matches!((&way, open.by), (Way::Task, _) | (_, By::Task(_)));
        if let Some(open) = self.open.iter().filter(is_elsewhere).find(|open| open.asked.is_same(&asked)) {
            let channel = open.by.channel();
            effects.log(LogLevel::Info, line.ours("asked", channel).ours("question", open.number).as_str());
            call.question = open.number;
            if wants_progress {
                effects.push(Effect::Wait(TICK, Deadline::Asking(open.number)));
            }
            effects.send(call.pending.feedback.asked(channel.name()));
            if let (Some(task), By::Client(_)) = (task, open.by) {
                effects.push(Effect::Task(task, TaskChange::Asks(None)));
            }
            requests.wait_for_approval(call);
            return effects;
        }
        self.last += 1;
        let number = self.last;
        call.question = number;
        let answer_of = match &way {
            Way::Program(_) | Way::Request => AnswerOf::EqualCalls,
            Way::Task => AnswerOf::OneCall,
        };
        // The text was made before, and is short enough.
        let text = asked.text(answer_of).unwrap_or_default();
        let by = match way {
            Way::Program(program) => {
                let request = encode::to_json(&asked.to_json(context.client_info.as_deref()));
                effects.push(Effect::Ask(Box::new(ProgramAsks { number, program, request, text })));
                By::Program
            }
            Way::Request => {
                let params = call.pending.feedback.params(approval_params(&text, context.revision));
                let (sent, request) = outgoing.send(Question::Approval, &params);
                effects.push(Effect::Wait(settings.timeout, Deadline::Question(number)));
                effects.extend(task.map(|task| Effect::Task(task, TaskChange::Asks(None)).into()).unwrap_or_default());
                effects.push(Effect::Send(request));
                By::Client(sent)
            }
            Way::Task => {
                let params = approval_params(&text, context.revision);
                let asks = json!({key_in_task(number): {"method": ELICITATION_CREATE, "params": params}});
                effects.push(Effect::Wait(settings.timeout, Deadline::Question(number)));
                // Only a call that has become a task is asked about in this way.
                let task = task.unwrap_or_default();
                effects.push(Effect::Task(task, TaskChange::Asks(Some(asks))));
                By::Task(task)
            }
        };
        let channel = by.channel();
        effects.log(LogLevel::Info, line.ours("asked", channel).ours("question", number).as_str());
        effects.send(call.pending.feedback.asked(channel.name()));
        self.observer.asked(&QuestionAsked {
            call: call.key,
            tool: &asked.terms.tool,
            proposal: &asked.proposal,
            channel,
        });
        effects.record(asked.to_record(call.key, channel, answer_of));
        if wants_progress {
            effects.push(Effect::Wait(TICK, Deadline::Asking(number)));
        }
        self.open.push(Open { number, asked: Arc::new(asked), by, since: Since::now() });
        requests.wait_for_approval(call);
        effects
    }

    /// The calls on these terms that were approved until the session ends.
    pub(super) fn remembered(&self, terms: &Terms) -> Vec<&Proposal> {
        self.remembered.iter().filter(|asked| asked.terms == *terms).map(|asked| &asked.proposal).collect()
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

    /// Handles the client's answer to the request of this number.
    pub(super) fn answered_by_client(
        &mut self,
        sent: u64,
        result: &Result<Value, Value>,
        requests: &mut Requests,
    ) -> Effects {
        let by = By::Client(sent);
        let Some(open) = self.open.iter().find(|open| open.by == by) else { return Effects::default() };
        let answer = match result {
            Ok(result) => crate::mcp::Approval::from_result(result).into(),
            Err(error) => Answer::Failed(format!("the client could not ask: {}", quote(&error.to_string(), 256))),
        };
        self.answered(open.number, &answer, "", requests)
    }

    /// Handles the client's answer to the question with this key in a task. It is ignored if nobody is waiting for it.
    ///
    /// # Errors
    /// The message for invalid parameters; the question then stays open.
    pub(super) fn answered_in_task(
        &mut self,
        (task, key): (u64, &str),
        response: &Value,
        requests: &mut Requests,
    ) -> Result<Effects, String> {
        let is_meant = |open: &&Open| open.by == By::Task(task) && key_in_task(open.number) == key;
        let Some(number) = self.open.iter().find(is_meant).map(|open| open.number) else {
            return Ok(Effects::default());
        };
        let approval = crate::mcp::Approval::from_result(response);
        if approval.is_none() {
            return Err(format!("`inputResponses.{key}` must be the result of `elicitation/create`, as its form asks"));
        }
        let forgotten = Effects::from(Effect::Forget(Deadline::Question(number)));
        Ok(forgotten.and(self.answered(number, &approval.into(), "", requests)))
    }

    /// Handles a person's answer, or the lack of one: the waiting calls are served again, or refused.
    pub(super) fn answered(&mut self, number: u64, answer: &Answer, said: &str, requests: &mut Requests) -> Effects {
        let Some(place) = self.open.iter().position(|open| open.number == number) else { return Effects::default() };
        let Open { asked, by, since, .. } = self.open.swap_remove(place);
        let waited = since.elapsed();
        let approves = matches!(answer, Answer::Once | Answer::Session);
        if *answer == Answer::Session && !self.is_closed {
            self.remember(Arc::clone(&asked));
        }
        let mut effects = Effects::default();
        for call in requests.take_asked(number) {
            let AskedCall { request, pending, key, .. } = call;
            let fields =
                told(Fields::of_call(pending.reply.id()).and(&pending.description), by.channel(), answer, waited);
            self.observer.answered(&QuestionAnswered { call: key, channel: by.channel(), answer, waited });
            effects.record(answer.to_record(key, by.channel(), waited));
            if approves {
                effects.log(LogLevel::Info, said_too(fields, said).as_str());
                let mut feedback = pending.feedback;
                feedback.begins();
                let task = pending.reply.task();
                effects.extend(task.map(|task| Effect::Task(task, TaskChange::Works).into()).unwrap_or_default());
                let approved = ApprovedCall { asked: Arc::clone(&asked), key, feedback };
                effects.push(Effect::Serve(Box::new(HeldCall {
                    request,
                    reply: pending.reply,
                    approved: Some(Box::new(approved)),
                    received: None,
                })));
            } else {
                let why = NotRun::of_answer(asked.proposal.to_string(), answer);
                let sentence = why.to_string();
                effects.log(LogLevel::Info, said_too(fields.reason(why.kind(), &sentence), said).as_str());
                effects.send(pending.feedback.not_run(why.kind()));
                let result = CallToolResult::error(sentence).encode(pending.feedback.revision());
                effects.push(Effect::Answer(pending.reply, result));
            }
        }
        effects
    }

    /// Notes that the operator's program that asked this question has ended.
    pub(super) fn program_ended(&mut self, number: u64) {
        self.ending.remove(&number);
    }

    /// Sends progress to the calls that wait for the answer to this question.
    pub(super) fn tick(&self, number: u64, requests: &mut Requests) -> Effects {
        let mut effects = Effects::default();
        let Some(open) = self.open.iter().find(|open| open.number == number) else { return effects };
        let mut is_wanted = false;
        for call in requests.asked(number).filter(|call| call.pending.feedback.wants_progress()) {
            is_wanted = true;
            let last_line = "a person is asked whether this may run".to_owned();
            let progress = Progress { key: call.key, elapsed: open.since.elapsed(), last_line };
            effects.send(call.pending.feedback.progress(&progress));
        }
        if is_wanted {
            effects.push(Effect::Wait(TICK, Deadline::Asking(number)));
        }
        effects
    }

    /// Ends the questions that no call waits for any more.
    pub(super) fn withdraw_unawaited(&mut self, (requests, outgoing): (&mut Requests, &mut Outgoing)) -> Effects {
        self.withdraw(|open, requests| requests.count_asked(open.number) == 0, (requests, outgoing))
    }

    /// Handles a new handshake, or a client that is gone: it will not answer any more, and approvals for its session
    /// are forgotten.
    pub(super) fn end_session(
        &mut self,
        which: Ended,
        (requests, outgoing): (&mut Requests, &mut Outgoing),
    ) -> Effects {
        self.remembered.clear();
        let is_over = |open: &Open, _: &Requests| match which {
            // A question from the old session must not approve anything in the new one.
            Ended::Client | Ended::Handshake => true,
            Ended::Input => open.by != By::Program,
        };
        let effects = self.withdraw(is_over, (requests, outgoing));
        self.is_closed = match which {
            Ended::Client => true,
            Ended::Handshake | Ended::Input => self.is_closed,
        };
        effects
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

    /// Withdraws the questions that are over.
    fn withdraw(
        &mut self,
        are_over: impl Fn(&Open, &Requests) -> bool,
        (requests, outgoing): (&mut Requests, &mut Outgoing),
    ) -> Effects {
        let over = self.open.iter().filter(|open| are_over(open, requests));
        let numbers: Vec<u64> = over.map(|open| open.number).collect();
        let mut effects = Effects::default();
        for number in numbers {
            effects.extend(self.give_up(number, &Answer::Withdrawn, (requests, outgoing)));
        }
        effects
    }

    /// Handles a question to which no person's answer will come, for example since nobody answered it in time.
    pub(super) fn give_up(
        &mut self,
        number: u64,
        answer: &Answer,
        (requests, outgoing): (&mut Requests, &mut Outgoing),
    ) -> Effects {
        let Some(open) = self.open.iter().find(|open| open.number == number) else { return Effects::default() };
        let mut effects = Effects::default();
        match open.by {
            By::Client(sent) => effects.send(outgoing.withdraw(sent, "the answer is not waited for any more")),
            By::Program => {
                self.ending.insert(number);
                effects.push(Effect::EndAsking(number));
            }
            // The status of the task says this already.
            By::Task(_) => {}
        }
        if requests.count_asked(number) == 0 {
            // Nobody knows any more which call this was for.
            let line =
                told(Fields::default().ours("question", number), open.by.channel(), answer, open.since.elapsed());
            effects.log(LogLevel::Info, line.as_str());
        }
        effects.and(self.answered(number, answer, "", requests))
    }
}

/// The key of a question in its task, unique among the questions of that task.
fn key_in_task(number: u64) -> String {
    format!("{}-{number}", Question::Approval.key())
}

/// How much of the client's session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The session before a new handshake.
    Handshake,
    /// The input; calls may go on until their own deadlines.
    Input,
    /// All of the session.
    Client,
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

/// Adds what the operator's program wrote to standard error.
fn said_too(fields: Fields, said: &str) -> Fields {
    let said = said.trim();
    if said.is_empty() { fields } else { fields.ours("said", quote(said, LONGEST_SAID)) }
}
