//! Questions to a person in the result of a call, in the modern era: the client sends the call again with the answer.

use std::sync::Arc;

use serde_json::Value;

use super::approval::{Answer, AnswerOf, CallToApprove, Channel};
use super::auditor::Auditor;
use super::effects::{Effect, Effects};
use super::event::Deadline;
use super::log::Fields;
use super::not_run::NotRun;
use super::observer::{Observer, QuestionAnswered, QuestionAsked};
use super::outgoing::{Closed, Outgoing, Question};
use super::parts::Parts;
use super::questions::{Questions, told};
use super::requests::{AskedCall, Pending};
use super::session::RequestContext;
use super::tool_call::ToolCall;
use crate::config::LogLevel;
use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR, Request};
use crate::mcp::{Approval, approval_params};

/// What a call brings that comes again after a question.
pub(super) enum Brought {
    /// No answer, so the person has to be asked again.
    Nothing,
    /// A person's approval of this.
    Approval(Arc<CallToApprove>),
    /// Another answer, and so the reason why it does not run.
    NotRun(NotRun),
}

/// Takes the answer that a call brings to the question of an earlier result.
///
/// # Errors
/// The error for the client, if the response is not an answer.
pub(super) fn answer_in(
    parts: &Parts,
    (key, request, tool_call): (u64, &Request, ToolCall<'_>),
    closed: Closed,
    (questions, audit): (&mut Questions, &mut Auditor),
    effects: &mut Effects,
) -> Result<Brought, ErrorObject> {
    let Closed { asked, since, .. } = closed;
    let Some(result) = Question::Approval.answer_in(&request.params) else { return Ok(Brought::Nothing) };
    let answer = Answer::from(Approval::from_result(result));
    let (channel, waited) = (Channel::Client, since.elapsed());
    parts.observer.answered(&QuestionAnswered { call: key, channel, answer: &answer, waited });
    // Before the decision that follows from it.
    audit.record(|| answer.to_record(key, channel, waited));
    let line = tool_call.describe(|| {
        let call = Fields::of_call(&request.id).ours("tool", tool_call.tool).command(asked.proposal.shown());
        told(call, channel, &answer, waited)
    });
    effects.log(LogLevel::Info, line.as_str());
    Ok(match answer {
        Answer::Once => Brought::Approval(asked),
        Answer::Session => {
            questions.remember(Arc::clone(&asked));
            Brought::Approval(asked)
        }
        Answer::Failed(_) => {
            let why = "`inputResponses.approval` must be the result of `elicitation/create`, as its form asks";
            return Err(ErrorObject::invalid_params(why));
        }
        Answer::Declined | Answer::Cancelled | Answer::TimedOut | Answer::Withdrawn => {
            Brought::NotRun(NotRun::of_answer(asked.proposal.to_string(), &answer))
        }
    })
}

/// Answers a call with the question. The client sends the call again with a person's answer.
pub(super) fn ask_in_result(
    parts: &Parts,
    outgoing: &mut Outgoing,
    asked: CallToApprove,
    call: AskedCall,
    context: &RequestContext,
) -> Effects {
    let AskedCall { request, pending: Pending { reply, description, feedback }, key, .. } = call;
    // The text was made before, and is short enough.
    let text = asked.text(AnswerOf::OneCall).unwrap_or_default();
    let mut questions = vec![(Question::Approval, approval_params(&text, context.revision))];
    if Question::Roots.answer_in(&request.params).is_some() {
        // The call that brings the answer is decided again, by the roots that it brings.
        questions.push((Question::Roots, Value::Null));
    }
    let asked = Arc::new(asked);
    let bound = (&request.params, Arc::clone(&asked), key);
    let result = outgoing.ask_in_result(questions, Some(bound), reply.new_charge(), context.revision);
    let (result, number) = match result {
        Ok(result) => result,
        Err(error) => return Effect::Refuse(reply, ErrorObject::new(INTERNAL_ERROR, error.to_string())).into(),
    };
    let mut effects = Effects::from(Effect::Wait(parts.ask.timeout, Deadline::State(number)));
    let channel = Channel::Client;
    let line = Fields::of_call(reply.id()).and(&description).ours("asked", channel);
    effects.log(LogLevel::Info, line.as_str());
    effects.send(feedback.asked(channel.name()));
    parts.observer.asked(&QuestionAsked { call: key, tool: &asked.terms.tool, proposal: &asked.proposal, channel });
    effects.record(asked.to_record(key, channel, AnswerOf::OneCall));
    effects.and(Effects::answer(reply, &result))
}

/// Handles a question of a result that was not answered in time.
pub(super) fn expired(observer: &dyn Observer, outgoing: &mut Outgoing, number: u64) -> Effects {
    let mut effects = Effects::default();
    if let Some(closed) = outgoing.expire(number) {
        effects.extend(gone(observer, &closed, &Answer::TimedOut));
    }
    effects
}

/// Drops the open questions of results, because the client is gone.
pub(super) fn client_gone(observer: &dyn Observer, outgoing: &mut Outgoing) -> Effects {
    let mut effects = Effects::default();
    outgoing.expire_all().iter().for_each(|closed| effects.extend(gone(observer, closed, &Answer::Withdrawn)));
    effects
}

fn gone(observer: &dyn Observer, closed: &Closed, answer: &Answer) -> Effects {
    let Closed { asked, call, since } = closed;
    let (channel, waited) = (Channel::Client, since.elapsed());
    observer.answered(&QuestionAnswered { call: *call, channel, answer, waited });
    let line = Fields::default().ours("tool", &asked.terms.tool).command(asked.proposal.shown());
    let mut effects = Effects::default();
    effects.record(answer.to_record(*call, channel, waited));
    effects.log(LogLevel::Info, told(line, channel, answer, waited).as_str());
    effects
}
