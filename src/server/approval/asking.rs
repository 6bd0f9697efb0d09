//! Asking a person: the questions of calls that wait for the answer, and what follows from it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::in_results::Brought;
use super::way::Way;
use crate::config::LogLevel;
use crate::exec::{OperatorProgram, StopReason};
use crate::jsonrpc::{ErrorObject, Request, encode};
use crate::mcp::{Approval, CallToolResult, ELICITATION_CREATE, approval_params};
use crate::server::deadlines::Since;
use crate::server::event::{Deadline, Progress};
use crate::server::facts::Facts;
use crate::server::log::Fields;
use crate::server::not_run::NotRun;
use crate::server::observer::{QuestionAnswered, QuestionAsked};
use crate::server::outcome::TaskChange;
use crate::server::outgoing::{Closed, Question};
use crate::server::question::{Answer, AnswerOf, CallToApprove};
use crate::server::questions::{By, Open, key_in_task, told};
use crate::server::replies::Reply;
use crate::server::requests::{ApprovedCall, AskedCall, HeldCall};
use crate::server::run::Server;
use crate::server::session::{RequestContext, SessionEnd};
use crate::server::tool_call::ToolCall;
use crate::text::quote;

/// The interval at which a client is told that its call is waiting.
const TICK: Duration = Duration::from_secs(1);
/// How many bytes of the program's standard error the log shows.
const LONGEST_SAID: usize = 200;

/// The log's advice for the operator if nobody can be asked.
const HOW_TO_ASK: &str = "a call needs a person's approval, and its client shows no forms (elicitation); name a program that asks \
     with `--ask-with`";

impl Server<'_> {
    /// The approval of a person that a call brings, as the answer to the question of an earlier result; or why the call does not run.
    ///
    /// # Errors
    /// The error object for a request whose answer is none.
    pub(in crate::server) fn approval_in(
        &mut self,
        (key, request, tool_call): (u64, &Request, &ToolCall),
        closed: Closed,
        reply: &Reply,
    ) -> Result<Result<Option<Box<ApprovedCall>>, NotRun>, ErrorObject> {
        Ok(match self.answer_in((key, request, tool_call), closed)? {
            Brought::Nothing => Ok(None),
            Brought::Approval(asked) => {
                let feedback = Box::new(tool_call.feedback(reply.id()));
                Ok(Some(Box::new(ApprovedCall { asked, key, feedback })))
            }
            Brought::NotRun(why) => Err(why),
        })
    }

    /// Asks a person about a call, or answers why nobody can be asked.
    pub(in crate::server) fn ask_about(
        &mut self,
        (tool_call, decided): (&ToolCall, &(u64, Fields)),
        asked: CallToApprove,
        mut call: AskedCall,
        is_background: bool,
    ) {
        let context = &tool_call.context;
        let way = match self.questions.way(&self.parts.ask, context, &asked, (&self.requests, &self.outgoing)) {
            Ok(way) => way,
            Err(why) => {
                if matches!(why, NotRun::NobodyToAsk { .. }) {
                    self.log.write(LogLevel::Warn, HOW_TO_ASK);
                }
                return self.not_queued(tool_call, decided, call.pending.reply, &why);
            }
        };
        call.pending.facts = Facts::described(tool_call.describe(|| {
            let tool = Fields::default().ours("tool", &tool_call.tool).and(&decided.1);
            tool.directory(&asked.proposal.directory())
        }));
        if let (Some(ttl), true, None) = (self.parts.task_ttl(), is_background, call.pending.reply.task()) {
            if call.pending.feedback.takes_tasks() {
                self.make_task(&mut call.pending, ttl, TaskChange::Works);
            }
        }
        match way.or(call.pending.reply.task().map(|_| Way::Task)) {
            Some(way) => self.ask(way, asked, call, context),
            None => self.ask_in_result(asked, call, context),
        }
    }

    /// Makes a call wait for a person's answer, and asks the person unless the same question is open already.
    fn ask(&mut self, way: Way, asked: CallToApprove, call: AskedCall, context: &RequestContext) {
        // A question of a task is asked only in that task.
        let is_elsewhere = |open: &&Open| !matches!((&way, open.by), (Way::Task, _) | (_, By::Task(_)));
        let mut elsewhere = self.questions.open.iter().filter(is_elsewhere);
        match elsewhere.find(|open| open.asked.is_same(&asked)).map(|open| (open.number, open.by)) {
            Some((number, by)) => self.join(number, by, call),
            None => self.ask_anew(way, asked, call, context),
        }
    }

    /// Makes a call wait for the answer to a question that is open already.
    fn join(&mut self, number: u64, by: By, mut call: AskedCall) {
        let channel = by.channel();
        let line = Fields::of_call(call.pending.reply.id()).and(call.pending.facts.description());
        self.log.write(LogLevel::Info, line.ours("asked", channel).ours("question", number).as_str());
        call.question = number;
        if call.pending.feedback.wants_progress() {
            self.inbox.after(TICK, Deadline::Asking(number));
        }
        self.send(call.pending.feedback.asked(channel.name()));
        if let (Some(task), By::Client(_)) = (call.pending.reply.task(), by) {
            self.task_changed(task, TaskChange::Asks(None));
        }
        self.requests.wait_for_approval(call);
    }

    fn ask_anew(&mut self, way: Way, asked: CallToApprove, mut call: AskedCall, context: &RequestContext) {
        self.questions.last += 1;
        let number = self.questions.last;
        call.question = number;
        let line = Fields::of_call(call.pending.reply.id()).and(call.pending.facts.description());
        let answer_of = match &way {
            Way::Program(_) | Way::Request => AnswerOf::EqualCalls,
            Way::Task => AnswerOf::OneCall,
        };
        // The text was made before, and is short enough.
        let text = asked.text(answer_of).unwrap_or_default();
        let (by, program) = match way {
            Way::Program(program) => (By::Program, Some(program)),
            Way::Request => (self.ask_client(number, &call, &text, context), None),
            Way::Task => (self.ask_in_task(number, &call, &text, context), None),
        };
        let channel = by.channel();
        self.log.write(LogLevel::Info, line.ours("asked", channel).ours("question", number).as_str());
        self.send(call.pending.feedback.asked(channel.name()));
        let (tool, proposal) = (&*asked.terms.tool, &asked.proposal);
        self.questions.observer.asked(&QuestionAsked { call: call.key, tool, proposal, channel });
        self.audit.asked(call.key, channel.name(), || asked.recorded_text(answer_of));
        if call.pending.feedback.wants_progress() {
            self.inbox.after(TICK, Deadline::Asking(number));
        }
        let since = Since::now();
        let request = program.map(|program| (program, asked.to_json(context.client_info.as_deref())));
        self.questions.open.push(Open { number, asked: Arc::new(asked), by, since });
        self.requests.wait_for_approval(call);
        if let Some((program, request)) = request {
            self.ask_program(number, program, encode::to_json(&request), text);
        }
    }

    /// Asks by a request to the client.
    fn ask_client(&mut self, number: u64, call: &AskedCall, text: &str, context: &RequestContext) -> By {
        let params = call.pending.feedback.params(approval_params(text, context.revision));
        let (sent, request) = self.outgoing.send(Question::Approval, &params);
        self.inbox.after(self.parts.ask.timeout, Deadline::Question(number));
        if let Some(task) = call.pending.reply.task() {
            self.task_changed(task, TaskChange::Asks(None));
        }
        self.send(Some(request));
        By::Client(sent)
    }

    /// Asks in the task that the call has become.
    fn ask_in_task(&mut self, number: u64, call: &AskedCall, text: &str, context: &RequestContext) -> By {
        let params = approval_params(text, context.revision);
        let asks = json!({key_in_task(number): {"method": ELICITATION_CREATE, "params": params}});
        self.inbox.after(self.parts.ask.timeout, Deadline::Question(number));
        // Only a call that has become a task is asked about in this way.
        let task = call.pending.reply.task().unwrap_or_default();
        self.task_changed(task, TaskChange::Asks(Some(asks)));
        By::Task(task)
    }

    /// Starts the operator's program that asks.
    fn ask_program(&mut self, number: u64, program: Arc<OperatorProgram>, request: Vec<u8>, text: String) {
        self.leftovers.begins(of_question(number));
        if let Err(why) = self.asker.ask(&self.parts.ask, number, program, request, text) {
            self.program_answered(number, &Answer::Failed(why), "");
        }
    }

    /// Handles the end of the operator's program, or its failure to start.
    pub(in crate::server) fn program_answered(&mut self, number: u64, answer: &Answer, said: &str) {
        self.asker.ended(number);
        self.leftovers.ends(of_question(number));
        self.questions.ending.remove(&number);
        self.question_answered(number, answer, said);
    }

    /// Handles the client's answer to the request of this number.
    pub(in crate::server) fn client_answered(&mut self, sent: u64, result: &Result<Value, Value>) {
        let by = By::Client(sent);
        let Some(number) = self.questions.open.iter().find(|open| open.by == by).map(|open| open.number) else {
            return;
        };
        let answer = match result {
            Ok(result) => Approval::from_result(result).into(),
            Err(error) => Answer::Failed(format!("the client could not ask: {}", quote(&error.to_string(), 256))),
        };
        self.question_answered(number, &answer, "");
    }

    /// Why a response is not an answer to the question with this key in a task; `None` if it is one, or if nobody is waiting
    /// for it.
    pub(in crate::server) fn is_no_answer(&self, (task, key): (u64, &str), response: &Value) -> Option<String> {
        self.questions.in_task(task, key)?;
        let is_answer = Approval::from_result(response).is_some();
        (!is_answer)
            .then(|| format!("`inputResponses.{key}` must be the result of `elicitation/create`, as its form asks"))
    }

    /// Handles the client's answer to the question with this key in a task. It is ignored if nobody is waiting for it.
    pub(in crate::server) fn answered_in_task(&mut self, (task, key): (u64, &str), response: &Value) {
        let Some(number) = self.questions.in_task(task, key) else { return };
        self.inbox.forget(Deadline::Question(number));
        self.question_answered(number, &Approval::from_result(response).into(), "");
    }

    /// Handles a person's answer, or the lack of one: the waiting calls are served again, or refused.
    fn question_answered(&mut self, number: u64, answer: &Answer, said: &str) {
        let Some(open) = self.questions.take(number) else { return };
        if *answer == Answer::Session && !self.questions.is_closed {
            self.questions.remember(Arc::clone(&open.asked));
        }
        for call in self.requests.take_asked(number) {
            let (channel, waited) = (open.by.channel(), open.since.elapsed());
            let line = Fields::of_call(call.pending.reply.id()).and(call.pending.facts.description());
            let line = told(line, channel, answer, waited);
            self.questions.observer.answered(&QuestionAnswered { call: call.key, channel, answer, waited });
            self.audit.answered((call.key, channel.name()), answer.recorded(), waited);
            if matches!(answer, Answer::Once | Answer::Session) {
                self.log.write(LogLevel::Info, said_too(line, said).as_str());
                self.serve_approved(call, Arc::clone(&open.asked));
            } else {
                let why = answer.not_run(open.asked.sentence());
                self.log.write(LogLevel::Info, said_too(line.reason(why.kind(), &why.to_string()), said).as_str());
                self.send(call.pending.feedback.not_run(why.kind()));
                let result = CallToolResult::error(why.to_string()).encode(call.pending.feedback.revision());
                self.answer(call.pending.reply, result);
            }
        }
    }

    /// Serves a call again that a person approved.
    fn serve_approved(&mut self, call: AskedCall, asked: Arc<CallToApprove>) {
        let AskedCall { request, pending, key, .. } = call;
        let (reply, mut feedback) = (pending.reply, pending.feedback);
        feedback.begins();
        if let Some(task) = reply.task() {
            self.task_changed(task, TaskChange::Works);
        }
        let approved = Some(Box::new(ApprovedCall { asked, key, feedback }));
        self.serve_request(HeldCall { request, reply, approved, received: None });
    }

    /// Records that the question that a call waits for is withdrawn at the server's end.
    pub(in crate::server) fn question_ends(&mut self, call: &AskedCall) {
        if let Some(open) = self.questions.open(call.question) {
            let (channel, answer) = (open.by.channel().name(), Answer::Withdrawn.recorded());
            self.audit.answered((call.key, channel), answer, open.since.elapsed());
        }
    }

    /// Sends progress to the calls that wait for the answer to this question.
    pub(in crate::server) fn tick(&mut self, number: u64) {
        let Some(elapsed) = self.questions.open(number).map(|open| open.since.elapsed()) else { return };
        let mut is_wanted = false;
        for call in self.requests.asked(number).filter(|call| call.pending.feedback.wants_progress()) {
            is_wanted = true;
            let last_line = "a person is asked whether this may run".to_owned();
            let progress = Progress { key: call.key, elapsed, last_line };
            self.unsent.extend(call.pending.feedback.progress(&progress));
        }
        if is_wanted {
            self.inbox.after(TICK, Deadline::Asking(number));
        }
    }

    /// Ends the questions that no call waits for any more.
    pub(in crate::server) fn withdraw_unawaited(&mut self) {
        let numbers: Vec<u64> = self.questions.open.iter().map(|open| open.number).collect();
        for number in numbers {
            if self.requests.count_asked(number) == 0 {
                self.give_up_question(number, &Answer::Withdrawn);
            }
        }
    }

    /// Handles a new handshake, or a client that is gone: it will not answer any more, and approvals for its session
    /// are forgotten.
    pub(in crate::server) fn end_questions(&mut self, which: SessionEnd) {
        self.questions.forget_remembered();
        let is_over = |open: &&Open| match which {
            // A question from the old session must not approve anything in the new one.
            SessionEnd::Client | SessionEnd::Handshake => true,
            SessionEnd::Input => open.by != By::Program,
        };
        let numbers: Vec<u64> = self.questions.open.iter().filter(is_over).map(|open| open.number).collect();
        for number in numbers {
            self.give_up_question(number, &Answer::Withdrawn);
        }
        self.questions.is_closed |= which == SessionEnd::Client;
        self.questions.is_input_over |= which == SessionEnd::Input;
    }

    /// Handles a question that nobody has answered in time.
    pub(in crate::server) fn question_overdue(&mut self, number: u64) {
        self.give_up_question(number, &Answer::TimedOut);
    }

    /// Handles a question to which no person's answer will come, for example since nobody answered it in time.
    fn give_up_question(&mut self, number: u64, answer: &Answer) {
        let Some(open) = self.questions.open(number) else { return };
        let (by, waited) = (open.by, open.since.elapsed());
        match by {
            By::Client(sent) => {
                let message = self.outgoing.withdraw(sent, "the answer is not waited for any more");
                self.send(message);
            }
            By::Program => {
                self.questions.ending.insert(number);
                self.asker.end(number, StopReason::Cancelled);
            }
            // The status of the task says this already.
            By::Task(_) => {}
        }
        if self.requests.count_asked(number) == 0 {
            // Nobody knows any more which call this was for.
            let line = told(Fields::default().ours("question", number), by.channel(), answer, waited);
            self.log.write(LogLevel::Info, line.as_str());
        }
        self.question_answered(number, answer, "");
    }
}

/// Adds what the operator's program wrote to standard error.
fn said_too(fields: Fields, said: &str) -> Fields {
    let said = said.trim();
    if said.is_empty() { fields } else { fields.ours("said", quote(said, LONGEST_SAID)) }
}

/// The number by which the leftovers of the operator's program that asks this question are found: no call has it.
fn of_question(number: u64) -> u64 {
    u64::MAX - number
}
