//! From a message to its handler.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Map, Value, json};

use super::auditor::ReceivedLine;
use super::budget::REQUEST;
use super::outgoing::Question;
use super::parts::Parts;
use super::replies::Reply;
use super::requests::{HeldCall, MOST_SUBSCRIPTIONS, Subscription};
use super::run::Server;
use super::session::{RequestContext, Served, Session, SessionEnd};
use crate::jsonrpc::{
    ErrorObject, INTERNAL_ERROR, INVALID_REQUEST, Notification, Request, RequestId, Response, encode,
};
use crate::mcp::{
    Caching, CompleteParams, LoggingLevel, Revision, TaskSupport, acknowledged_params, check_listen_params,
    complete_result, discover_result, initialize_result, listen_result, seal, wanted_tasks,
};
use crate::prompts::{self, PROMPTS};

impl Server<'_> {
    /// Handles a request from the client.
    pub(super) fn request(&mut self, mut request: Request, mut reply: Reply, line: &ReceivedLine<'_>) {
        // Null counts as absent, for every method that has arguments.
        if request.params.get("arguments").is_some_and(Value::is_null) {
            request.params.remove("arguments");
        }
        // Every other request is answered before the next line is read, so it holds no memory.
        let waiting = ["tools/call", "tasks/result", "subscriptions/listen", "prompts/get"];
        let may_wait = waiting.contains(&request.method.as_str());
        if may_wait {
            if let Err(over_budget) = reply.hold(REQUEST + request.weight()) {
                return self.refuse(reply, ErrorObject::new(INTERNAL_ERROR, over_budget.to_string()));
            }
        }
        let received = self.audit.of_request(&request, |tool| self.parts.toolbox.find(tool), line);
        self.serve_request(HeldCall { request, reply, approved: None, received });
    }

    /// Serves a request, when it arrives or after it was held.
    pub(super) fn serve_request(&mut self, held: HeldCall) {
        // A panic in a handler is a bug, but must end neither the server nor leave the client waiting: it drops the reply,
        // which the loop then answers with an error.
        drop(catch_unwind(AssertUnwindSafe(|| self.dispatch(held))));
    }

    fn dispatch(&mut self, held: HeldCall) {
        let HeldCall { request, reply, approved, received } = held;
        let support = self.parts.task_support();
        let served = match self.session.receive(&request) {
            Ok(served) => served,
            Err(error) => return self.refuse(reply, error),
        };
        match &served {
            Served::Request(context) => self.audit.hears(context.client_info.as_ref()),
            Served::Handshake(_) => self.audit.hears(self.session.client_info()),
            Served::EarlyPing => {}
        }
        let mut recorded = Ok(());
        match received {
            Some(received) if request.method == "tools/call" => recorded = self.audit.received(*received),
            Some(received) => self.audit.note_received(*received),
            None => {}
        }
        let context = match served {
            Served::Request(context) => context,
            Served::EarlyPing => return self.respond(reply, Ok(json!({}))),
            Served::Handshake(revision) => return self.handshake(revision, reply),
        };
        let (revision, params) = (context.revision, &request.params);
        let result = match (request.method.as_str(), revision.is_modern()) {
            ("tools/call", _) => return self.call(request, &context, reply, (approved, recorded)),
            ("subscriptions/listen", true) => return self.listen(params, &context, reply),
            ("tasks/get", _) if has_tasks(support, revision) || has_task_extension(support, revision) => {
                return self.task_get(params, &context, reply);
            }
            ("tasks/cancel", _) if has_tasks(support, revision) || has_task_extension(support, revision) => {
                self.task_cancel(params, &context, reply);
                return self.withdraw_unawaited();
            }
            ("tasks/result", _) if has_tasks(support, revision) => return self.task_result(params, &context, reply),
            ("tasks/list", _) if has_tasks(support, revision) => self.task_list(params, revision),
            ("tasks/update", _) if has_task_extension(support, revision) => {
                return self.task_update(params, &context, reply);
            }
            ("ping", false) => Ok(json!({})),
            ("server/discover", true) => Ok(discover_result(revision, &self.parts.instructions(), support)),
            ("tools/list", _) => match check_first_page(params) {
                Ok(()) => {
                    let make =
                        || list("tools", self.parts.toolbox.list().map(|tool| tool.to_value(revision)), revision);
                    let listed = self.tools.encoded(revision, make);
                    return self.answer(reply, listed);
                }
                Err(error) => Err(error),
            },
            ("prompts/list", _) => check_first_page(params)
                .map(|()| list("prompts", PROMPTS.iter().map(|prompt| prompt.to_value(revision)), revision)),
            ("prompts/get", _) => return self.get_prompt(request.params, revision, reply),
            ("completion/complete", _) if revision.has_completions() => complete(&self.parts, revision, params),
            ("logging/setLevel", false) => set_level(&mut self.session, params),
            (method, _) => Err(ErrorObject::method_not_found(method)),
        };
        self.respond(reply, result);
    }

    /// Answers a handshake, and forgets the session before it.
    fn handshake(&mut self, revision: Revision, reply: Reply) {
        self.session.number += 1;
        self.end_questions(SessionEnd::Handshake);
        self.withdraw_states();
        self.forget_tasks();
        self.roots.reset(&mut self.outgoing);
        self.kept.forget_all();
        self.requests.end_background();
        let result = initialize_result(revision, &self.parts.instructions(), self.parts.task_support());
        self.respond(reply, Ok(result));
    }

    /// Handles a notification from the client.
    pub(super) fn notification(&mut self, notification: &Notification, line: &ReceivedLine<'_>) {
        self.audit.notified(notification, line);
        match notification.method.as_str() {
            "notifications/cancelled" => {
                if let Some(id) = notification.params.get("requestId").and_then(RequestId::from_value) {
                    self.cancel(&id);
                    self.withdraw_unawaited();
                }
            }
            "notifications/initialized" | "notifications/roots/list_changed" => self.ask_for_roots(),
            _ => {}
        }
    }

    /// Handles a response from the client: to one of the server's requests, or unsolicited.
    pub(super) fn response(&mut self, response: &Response, line: &ReceivedLine<'_>) {
        self.audit.responded(response, line);
        match response.id.as_ref().and_then(|id| self.outgoing.answered(id)) {
            Some((number, Question::Roots)) => self.roots_answered(number, &response.result),
            Some((number, Question::Approval)) => self.client_answered(number, &response.result),
            None => {}
        }
    }

    /// Opens a subscription: it is acknowledged immediately, and answered only when the server ends it.
    fn listen(&mut self, params: &Map<String, Value>, context: &RequestContext, reply: Reply) {
        if reply.is_in_batch() {
            let why = "invalid request: `subscriptions/listen` can't be part of a batch, which would wait for its end";
            return self.refuse(reply, ErrorObject::new(INVALID_REQUEST, why));
        }
        if let Err(why) = check_listen_params(params) {
            return self.refuse(reply, ErrorObject::invalid_params(why));
        }
        let has_tasks = self.parts.task_support() == TaskSupport::Optional;
        let wanted = if has_tasks { wanted_tasks(params) } else { None };
        if let (Some(_), Err(error)) = (&wanted, super::about_calls::check_declared(context)) {
            return self.refuse(reply, error);
        }
        let known = wanted.map(|ids| {
            let known = ids.into_iter().filter_map(|id| Some((id, self.tasks.find(id, context.revision)?)));
            known.unzip::<&str, u64, Vec<_>, Vec<_>>()
        });
        let (ids, numbers) = known.map_or_else(Default::default, |(ids, numbers)| (Some(ids), numbers));
        let acknowledged = acknowledged_params(reply.id(), ids);
        let subscription = Subscription { reply, revision: context.revision, tasks: numbers };
        match self.requests.subscribe(subscription) {
            Ok(()) => {
                let message = encode::notification("notifications/subscriptions/acknowledged", &acknowledged);
                self.send(Some(message));
            }
            Err(subscription) => {
                let why = format!("{MOST_SUBSCRIPTIONS} subscriptions are open, and no more can be; cancel some first");
                self.refuse(subscription.reply, ErrorObject::new(INTERNAL_ERROR, why));
            }
        }
    }

    /// Answers the open subscriptions, since nothing more will come.
    pub(super) fn end_subscriptions(&mut self) {
        for Subscription { reply, revision, .. } in self.requests.end_subscriptions() {
            let result = listen_result(reply.id(), revision);
            self.respond(reply, Ok(result));
        }
    }
}

/// Whether the revision itself has tasks, and calls can become tasks.
fn has_tasks(support: TaskSupport, revision: Revision) -> bool {
    support == TaskSupport::Optional && revision.has_tasks()
}

/// Whether the extension for tasks can be declared.
fn has_task_extension(support: TaskSupport, revision: Revision) -> bool {
    support == TaskSupport::Optional && revision.is_modern()
}

/// The only page of a list.
fn list(key: &str, entries: impl Iterator<Item = Value>, revision: Revision) -> Value {
    seal(json!({key: entries.collect::<Vec<Value>>()}), revision, Caching::Cacheable)
}

/// Refuses a cursor: lists have one page, so the server never issues one.
fn check_first_page(params: &Map<String, Value>) -> Result<(), ErrorObject> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(()),
        Some(_) => Err(ErrorObject::invalid_params("the cursor is unknown: lists have one page here")),
    }
}

fn complete(parts: &Parts, revision: Revision, params: &Map<String, Value>) -> Result<Value, ErrorObject> {
    let params = CompleteParams::from_params(params).map_err(ErrorObject::invalid_params)?;
    let values = prompts::complete(params.prompt, params.argument, params.value, parts.policy.allow_list())
        .map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
    Ok(complete_result(&values, revision))
}

fn set_level(session: &mut Session, params: &Map<String, Value>) -> Result<Value, ErrorObject> {
    let level = params.get("level").unwrap_or(&Value::Null);
    session.set_log_level(LoggingLevel::from_value("level", level).map_err(ErrorObject::invalid_params)?);
    Ok(json!({}))
}
