//! Questions to a person in the result of a call, in the modern era: the client sends the call again with the answer.

use std::sync::Arc;

use serde_json::Value;

use crate::config::LogLevel;
use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR, Request};
use crate::mcp::{Approval, approval_params};
use crate::server::event::Deadline;
use crate::server::log::Fields;
use crate::server::not_run::NotRun;
use crate::server::observer::{QuestionAnswered, QuestionAsked};
use crate::server::outgoing::{Closed, Question};
use crate::server::question::{Answer, AnswerOf, CallToApprove, Channel};
use crate::server::questions::told;
use crate::server::requests::{AskedCall, Pending};
use crate::server::run::Server;
use crate::server::session::RequestContext;
use crate::server::tool_call::ToolCall;

/// The person's answer in a call that comes again after a question.
pub(in crate::server) enum Brought {
    /// No answer, so the person has to be asked again.
    Nothing,
    /// A person's approval of this.
    Approval(Arc<CallToApprove>),
    /// Another answer, and so the reason why it does not run.
    NotRun(NotRun),
}

impl Server<'_> {
    /// Takes the answer that a call brings to the question of an earlier result.
    ///
    /// # Errors
    /// The error for the client, if the response is not an answer.
    pub(in crate::server) fn answer_in(
        &mut self,
        (key, request, tool_call): (u64, &Request, &ToolCall),
        closed: Closed,
    ) -> Result<Brought, ErrorObject> {
        let Closed { asked, since, .. } = closed;
        let Some(result) = Question::Approval.answer_in(&request.params) else { return Ok(Brought::Nothing) };
        let answer = Answer::from(Approval::from_result(result));
        let (channel, waited) = (Channel::Client, since.elapsed());
        self.questions.observer.answered(&QuestionAnswered { call: key, channel, answer: &answer, waited });
        // Before the decision that follows from it.
        self.audit.answered((key, channel.name()), answer.recorded(), waited);
        let line = tool_call.describe(|| {
            let call = Fields::of_call(&request.id).ours("tool", &tool_call.tool).command(&asked.proposal.shown());
            told(call, channel, &answer, waited)
        });
        self.log.write(LogLevel::Info, line.as_str());
        Ok(match answer {
            Answer::Once => Brought::Approval(asked),
            Answer::Session => {
                self.questions.remember(Arc::clone(&asked));
                Brought::Approval(asked)
            }
            Answer::Failed(_) => {
                let why = "`inputResponses.approval` must be the result of `elicitation/create`, as its form asks";
                return Err(ErrorObject::invalid_params(why));
            }
            Answer::Declined | Answer::Cancelled | Answer::TimedOut | Answer::Withdrawn => {
                Brought::NotRun(answer.not_run(asked.sentence()))
            }
        })
    }

    /// Answers a call with the question. The client sends the call again with a person's answer.
    pub(in crate::server) fn ask_in_result(&mut self, asked: CallToApprove, call: AskedCall, context: &RequestContext) {
        let AskedCall { request, pending: Pending { reply, facts, feedback }, key, .. } = call;
        // The text was made before, and is short enough.
        let text = asked.text(AnswerOf::OneCall).unwrap_or_default();
        let mut questions = vec![(Question::Approval, approval_params(&text, context.revision))];
        if Question::Roots.answer_in(&request.params).is_some() {
            // The call that brings the answer is decided again, by the roots that it brings.
            questions.push((Question::Roots, Value::Null));
        }
        let asked = Arc::new(asked);
        let bound = (&request.params, Arc::clone(&asked), key);
        let result = self.outgoing.ask_in_result(questions, Some(bound), reply.new_charge(), context.revision);
        let (result, number) = match result {
            Ok(result) => result,
            Err(error) => return self.refuse(reply, ErrorObject::new(INTERNAL_ERROR, error.to_string())),
        };
        self.inbox.after(self.parts.ask.timeout, Deadline::State(number));
        let channel = Channel::Client;
        let line = Fields::of_call(reply.id()).and(facts.description()).ours("asked", channel);
        self.log.write(LogLevel::Info, line.as_str());
        self.send(feedback.asked(channel.name()));
        let (tool, proposal) = (&*asked.terms.tool, &asked.proposal);
        self.questions.observer.asked(&QuestionAsked { call: key, tool, proposal, channel });
        self.audit.asked(key, channel.name(), || asked.recorded_text(AnswerOf::OneCall));
        self.respond(reply, Ok(result));
    }

    /// Handles a question of a result that was not answered in time.
    pub(in crate::server) fn state_expired(&mut self, number: u64) {
        if let Some(closed) = self.outgoing.expire(number) {
            self.question_is_gone(&closed, &Answer::TimedOut);
        }
    }

    /// Drops the open questions of results, because the client is gone.
    pub(in crate::server) fn withdraw_states(&mut self) {
        for closed in self.outgoing.expire_all() {
            self.question_is_gone(&closed, &Answer::Withdrawn);
        }
    }

    fn question_is_gone(&mut self, closed: &Closed, answer: &Answer) {
        let Closed { asked, call, since } = closed;
        let (channel, waited) = (Channel::Client, since.elapsed());
        self.questions.observer.answered(&QuestionAnswered { call: *call, channel, answer, waited });
        let line = Fields::default().ours("tool", &asked.terms.tool).command(&asked.proposal.shown());
        self.audit.answered((*call, channel.name()), answer.recorded(), waited);
        self.log.write(LogLevel::Info, told(line, channel, answer, waited).as_str());
    }
}
