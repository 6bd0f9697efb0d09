//! Stands where calls would be held for a person's approval, in a build without rules: nothing asks for one.

use serde_json::Value;

use super::log::Fields;
use super::not_run::NotRun;
use super::outgoing::Closed;
use super::planned::{Deciding, Stopped};
use super::question::{Answer, CallToApprove};
use super::replies::Reply;
use super::requests::{ApprovedCall, AskedCall};
use super::run::Server;
use super::session::SessionEnd;
use super::terms::Terms;
use super::tool_call::ToolCall;
use crate::jsonrpc::{ErrorObject, Request};
use crate::policy::{Proposal, Refusal};

impl Server<'_> {
    /// Nothing: the question was never asked.
    pub(super) fn approval_in(
        &mut self,
        _: (u64, &Request, &ToolCall),
        _: Closed,
        _: &Reply,
    ) -> Result<Result<Option<Box<ApprovedCall>>, NotRun>, ErrorObject> {
        Ok(Ok(None))
    }

    pub(super) fn ask_about(&mut self, _: (&ToolCall, &(u64, Fields)), asked: CallToApprove, _: AskedCall, _: bool) {
        match asked {}
    }

    pub(super) fn program_answered(&mut self, _: u64, answer: &Answer, _: &str) {
        match *answer {}
    }

    /// Ignores an answer to a question that was never asked.
    pub(super) fn client_answered(&mut self, _: u64, _: &Result<Value, Value>) {}

    pub(super) fn is_no_answer(&self, _: (u64, &str), _: &Value) -> Option<String> {
        None
    }

    pub(super) fn answered_in_task(&mut self, _: (u64, &str), _: &Value) {}

    pub(super) fn question_ends(&mut self, _: &AskedCall) {}

    pub(super) fn question_overdue(&mut self, _: u64) {}

    pub(super) fn tick(&mut self, _: u64) {}

    pub(super) fn state_expired(&mut self, _: u64) {}

    pub(super) fn withdraw_unawaited(&mut self) {}

    pub(super) fn withdraw_states(&mut self) {}

    pub(super) fn end_questions(&mut self, _: SessionEnd) {}
}

impl Deciding<'_> {
    pub(super) fn approved_before(&self, _: &Terms) -> Vec<&Proposal> {
        Vec::new()
    }

    pub(super) fn approved_now(&self, _: &Terms) -> Option<&Proposal> {
        None
    }

    pub(super) fn stopped(&self, refusal: Refusal, _: Terms) -> Stopped {
        refusal.into()
    }
}
