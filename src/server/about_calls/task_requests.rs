//! Calls that become tasks, notifications about them, and the requests about them: `tasks/get`, `tasks/result`,
//! `tasks/list`, `tasks/cancel` and `tasks/update`.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::table::{CancelledTask, MOST_READS};
use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR, METHOD_NOT_FOUND, encode};
use crate::mcp::{
    Caching, CallToolResult, MISSING_CLIENT_CAPABILITY, Revision, TASKS_EXTENSION, list_tasks_result, requested_task,
    seal, takes_tasks, task_id, tasks_required_capabilities, with_related_task,
};
use crate::policy::quoted;
use crate::server::background::KeptTask;
use crate::server::budget::Charge;
use crate::server::event::Deadline;
use crate::server::outcome::{Outcome, TaskChange};
use crate::server::replies::Reply;
use crate::server::requests::Pending;
use crate::server::run::Server;
use crate::server::session::RequestContext;
use crate::tools::ToolKind;

impl Server<'_> {
    /// Makes a call a task immediately, if its client asks for that (2025-11-25).
    ///
    /// # Errors
    /// The error object that answers the call.
    pub(in crate::server) fn make_task_if_asked(
        &mut self,
        params: &Map<String, Value>,
        revision: Revision,
        reply: &mut Reply,
    ) -> Result<(), ErrorObject> {
        if !revision.has_tasks() || reply.task().is_some() {
            return Ok(());
        }
        let Some(most) = self.parts.task_ttl() else { return Ok(()) };
        let Some(ttl) = requested_task(params).map_err(ErrorObject::invalid_params)? else { return Ok(()) };
        let kind = params.get("name").and_then(Value::as_str).and_then(|name| self.parts.toolbox.find(name));
        let has_arguments = params.get("arguments").is_none_or(Value::is_object);
        match kind {
            Some(ToolKind::Execute(_)) if has_arguments => {
                let (number, client) = self.tasks.create(reply, revision, ttl.unwrap_or(most), TaskChange::Works);
                self.tasks.untold.insert(number, client);
                Ok(())
            }
            // The call is wrong, which its answer will say.
            None | Some(ToolKind::Execute(_)) => Ok(()),
            Some(ToolKind::Shell(_) | ToolKind::Calls(_) | ToolKind::ListCommands) => {
                let why = "only `execute_command` and `execute_process` can be called as a task; send this call without `task`";
                Err(ErrorObject::new(METHOD_NOT_FOUND, why))
            }
        }
    }

    /// Makes a call a task that is queued or running, with `first` as its first change, and tells its client.
    pub(in crate::server) fn make_task(&mut self, pending: &mut Pending, ttl: Duration, first: TaskChange) {
        let (number, client) = self.tasks.create(&mut pending.reply, pending.feedback.revision(), ttl, first);
        self.tasks.get(number).into_iter().for_each(|kept| pending.feedback.become_task(&kept.task.id));
        self.tell_of_task(number, client);
    }

    /// Answers a call that has become the task of this number.
    pub(in crate::server) fn tell_of_task(&mut self, number: u64, client: Reply) {
        let Some(KeptTask { task, revision, .. }) = self.tasks.get(number) else { return };
        let (ttl, result) = (task.ttl, task.create_result(*revision));
        self.respond(client, Ok(result));
        self.inbox.after(ttl, Deadline::Task(number));
    }

    /// Answers a call that has become a task, once it is decided or anything else has become of it.
    pub(in crate::server) fn tell_if_new(&mut self, number: u64) {
        if let Some(client) = self.tasks.untold.remove(&number) {
            self.tell_of_task(number, client);
        }
    }

    /// Notes a change of a task that goes on, and tells its client.
    pub(in crate::server) fn task_changed(&mut self, number: u64, change: TaskChange) {
        self.tell_if_new(number);
        if self.tasks.change(number, change) {
            self.tell_of_change(number);
        }
    }

    /// Ends a task, whose call was answered. The `charge` pays for the kept answer.
    pub(in crate::server) fn task_ended(&mut self, number: u64, outcome: Outcome, charge: Charge) {
        self.tell_if_new(number);
        let (is_news, gone) = self.tasks.end(number, outcome, charge);
        gone.into_iter().for_each(|gone| self.inbox.forget(Deadline::Task(gone)));
        if is_news {
            self.tell_of_change(number);
        }
        let Some((kept, outcome)) = self.tasks.get(number).and_then(|kept| Some((kept, kept.outcome()?))) else {
            return;
        };
        let replies = self.requests.take_awaiting(number).into_iter();
        let answers: Vec<_> = replies.map(|reply| (reply, result_of(kept, outcome))).collect();
        answers.into_iter().for_each(|(reply, result)| self.give(reply, result));
    }

    /// Tells the client about a change of a task: with a notification in 2025-11-25, and in later revisions on the
    /// subscriptions that name the task.
    fn tell_of_change(&mut self, number: u64) {
        let Some(kept) = self.tasks.get(number) else { return };
        if kept.revision.has_tasks() {
            let params = kept.task.to_value(kept.revision);
            self.unsent.push(encode::notification("notifications/tasks/status", &params));
        }
        for subscription in self.requests.subscribed_to(number) {
            let params = kept.notification_params(subscription);
            self.unsent.push(encode::notification_of("notifications/tasks", &params));
        }
    }

    /// Answers a request for the result of a task.
    fn give(&mut self, reply: Reply, result: Result<Vec<u8>, ErrorObject>) {
        match result {
            Ok(result) => self.answer(reply, result),
            Err(error) => self.refuse(reply, error),
        }
    }

    /// The number of the task that a request is about.
    fn named(&self, params: &Map<String, Value>, context: &RequestContext) -> Result<(u64, &KeptTask), ErrorObject> {
        check_declared(context)?;
        let id = task_id(params).map_err(ErrorObject::invalid_params)?;
        let number = self.tasks.find(id, context.revision);
        number.and_then(|number| Some((number, self.tasks.get(number)?))).ok_or_else(|| {
            ErrorObject::invalid_params(format!("the task {} is unknown, or has expired and is forgotten", quoted(id)))
        })
    }

    /// Serves `tasks/get`.
    pub(in crate::server) fn task_get(&mut self, params: &Map<String, Value>, context: &RequestContext, reply: Reply) {
        let encoded = self.named(params, context).map(|(_, kept)| kept.encode());
        self.give(reply, encoded);
    }

    /// Serves `tasks/result`, which waits for the end of the call, even if the task was cancelled.
    pub(in crate::server) fn task_result(
        &mut self,
        params: &Map<String, Value>,
        context: &RequestContext,
        reply: Reply,
    ) {
        let found = self.named(params, context);
        let found = found.map(|(number, kept)| (number, kept.outcome().map(|outcome| result_of(kept, outcome))));
        let number = match found {
            Ok((_, Some(result))) => return self.give(reply, result),
            Ok((number, None)) => number,
            Err(error) => return self.refuse(reply, error),
        };
        if let Err(reply) = self.requests.await_task(reply, number) {
            let why = format!("{MOST_READS} requests wait for the ends of tasks, and no more can; cancel some first");
            self.refuse(reply, ErrorObject::new(INTERNAL_ERROR, why));
        }
    }

    /// Serves `tasks/list`.
    pub(in crate::server) fn task_list(
        &self,
        params: &Map<String, Value>,
        revision: Revision,
    ) -> Result<Value, ErrorObject> {
        let unknown =
            || ErrorObject::invalid_params("the cursor is unknown; `nextCursor` of a page gives the next one");
        let cursor = match params.get("cursor") {
            None | Some(Value::Null) => None,
            Some(cursor) => Some(cursor.as_str().ok_or_else(unknown)?),
        };
        let (page, next) = self.tasks.page(cursor, revision).ok_or_else(unknown)?;
        Ok(list_tasks_result(&page, next, revision))
    }

    /// Serves `tasks/cancel`.
    pub(in crate::server) fn task_cancel(
        &mut self,
        params: &Map<String, Value>,
        context: &RequestContext,
        reply: Reply,
    ) {
        let (number, status) = match self.named(params, context) {
            Ok((number, kept)) => (number, kept.task.status),
            Err(error) => return self.refuse(reply, error),
        };
        if !self.tasks.cancel(number) && !context.revision.is_modern() {
            let why = format!("the task has ended already: it is {}", status.name());
            return self.refuse(reply, ErrorObject::invalid_params(why));
        }
        if !status.is_terminal() {
            self.tell_of_change(number);
        }
        if context.revision.is_modern() {
            self.acknowledge(reply, context.revision);
        } else if let Some(encoded) = self.tasks.get(number).map(KeptTask::encode) {
            self.answer(reply, encoded);
        }
        if !status.is_terminal() {
            self.give_up_task(number, context.revision);
        }
    }

    fn acknowledge(&mut self, reply: Reply, revision: Revision) {
        self.respond(reply, Ok(seal(json!({}), revision, Caching::Once)));
    }

    /// Ends the call of a task, or prevents it from starting.
    fn give_up_task(&mut self, number: u64, revision: Revision) {
        match self.requests.cancel_task(number) {
            None | Some(CancelledTask::Ends) => {}
            Some(CancelledTask::NeverStarts(cancelled)) => {
                let reply = self.record_cancelled(*cancelled);
                let result = CallToolResult::error("the task was cancelled before its command was started");
                self.answer(reply, result.encode(revision));
            }
        }
    }

    /// Serves `tasks/update`, which brings a person's answers. Answers that nobody is waiting for are ignored.
    pub(in crate::server) fn task_update(
        &mut self,
        params: &Map<String, Value>,
        context: &RequestContext,
        reply: Reply,
    ) {
        let number = match self.named(params, context) {
            Ok((number, _)) => number,
            Err(error) => return self.refuse(reply, error),
        };
        let Some(responses) = params.get("inputResponses").and_then(Value::as_object) else {
            let why = "`tasks/update` needs `inputResponses`, an object";
            return self.refuse(reply, ErrorObject::invalid_params(why));
        };
        // The request is answered before what follows from its answers.
        if let Some(why) = responses.iter().find_map(|(key, response)| self.is_no_answer((number, key), response)) {
            return self.refuse(reply, ErrorObject::invalid_params(why));
        }
        self.acknowledge(reply, context.revision);
        responses.iter().for_each(|(key, response)| self.answered_in_task((number, key), response));
    }

    /// Handles the expiry of a task: it is forgotten, and its call is ended if it is still running.
    pub(in crate::server) fn task_expired(&mut self, number: u64) {
        self.forget_task(number);
        self.withdraw_unawaited();
    }

    fn forget_task(&mut self, number: u64) {
        let Some(revision) = self.tasks.get(number).map(|kept| kept.revision) else { return };
        self.tasks.forget(number);
        self.give_up_task(number, revision);
        for reply in self.requests.take_awaiting(number) {
            self.refuse(reply, ErrorObject::invalid_params("the task has expired and is forgotten"));
        }
    }

    /// Forgets all tasks, so that the client of a new session learns nothing about those of the last one.
    pub(in crate::server) fn forget_tasks(&mut self) {
        for number in self.tasks.numbers() {
            self.tell_if_new(number);
            self.inbox.forget(Deadline::Task(number));
            self.forget_task(number);
        }
    }
}

/// The result of a task's call, as `tasks/result` gives it.
fn result_of(kept: &KeptTask, outcome: &Outcome) -> Result<Vec<u8>, ErrorObject> {
    match outcome {
        Outcome::Result(result) => Ok(with_related_task(result, &kept.task.id)),
        Outcome::Error(error) => Err(error.clone()),
    }
}

/// Checks that the client may ask about tasks: in the modern era, each request has to declare the extension.
///
/// # Errors
/// The error object that answers the request.
pub(in crate::server) fn check_declared(context: &RequestContext) -> Result<(), ErrorObject> {
    if !context.revision.is_modern() || takes_tasks(&context.client_capabilities) {
        return Ok(());
    }
    Err(ErrorObject {
        code: MISSING_CLIENT_CAPABILITY,
        message: format!("this needs the extension `{TASKS_EXTENSION}`, which the request does not declare"),
        data: Some(tasks_required_capabilities()),
    })
}
