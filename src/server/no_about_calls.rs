//! Stands where requests about calls that were made before would be served, in a build without them: the server offers none.

use std::time::Duration;

use serde_json::{Map, Value};

use super::budget::Charge;
use super::event::ReadSeen;
use super::outcome::{Outcome, TaskChange};
use super::replies::Reply;
use super::requests::Pending;
use super::run::Server;
use super::session::RequestContext;
use super::tool_call::ToolCall;
use crate::jsonrpc::ErrorObject;
use crate::mcp::Revision;
use crate::tools::CallRequest;

/// Nothing is asked about tasks, which the server does not offer.
pub(super) fn check_declared(_: &RequestContext) -> Result<(), ErrorObject> {
    Ok(())
}

impl Server<'_> {
    pub(super) fn about_call(&mut self, _: &ToolCall, request: CallRequest, _: Reply) {
        match request {}
    }

    pub(super) fn hand_over(&mut self, _: u64) {}

    pub(super) fn handed_over(&mut self, _: u64, _: Vec<u8>) {}

    pub(super) fn seen(&mut self, _: u64, _: ReadSeen) {}

    pub(super) fn read_overdue(&mut self, _: u64) {}

    pub(super) fn look_for_news(&mut self) {}

    pub(super) fn make_task_if_asked(
        &mut self,
        _: &Map<String, Value>,
        _: Revision,
        _: &mut Reply,
    ) -> Result<(), ErrorObject> {
        Ok(())
    }

    pub(super) fn make_task(&mut self, _: &mut Pending, _: Duration, _: TaskChange) {}

    pub(super) fn tell_if_new(&mut self, _: u64) {}

    pub(super) fn task_changed(&mut self, _: u64, _: TaskChange) {}

    pub(super) fn task_ended(&mut self, _: u64, _: Outcome, _: Charge) {}

    pub(super) fn task_get(&mut self, _: &Map<String, Value>, _: &RequestContext, _: Reply) {}

    pub(super) fn task_result(&mut self, _: &Map<String, Value>, _: &RequestContext, _: Reply) {}

    pub(super) fn task_list(&self, _: &Map<String, Value>, _: Revision) -> Result<Value, ErrorObject> {
        Ok(Value::Null)
    }

    pub(super) fn task_cancel(&mut self, _: &Map<String, Value>, _: &RequestContext, _: Reply) {}

    pub(super) fn task_update(&mut self, _: &Map<String, Value>, _: &RequestContext, _: Reply) {}

    pub(super) fn task_expired(&mut self, _: u64) {}

    pub(super) fn forget_tasks(&mut self) {}
}
