//! From a message to its handler, and from the handler's result to the effects for the loop.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Map, Value, json};

use super::auditor::ReceivedLine;
use super::budget::REQUEST;
use super::calls;
use super::cancelling::cancel;
use super::effects::{Effect, Effects};
use super::examine::{Asked, examine};
use super::in_results;
use super::late_parts::LateParts;
use super::outgoing::Question;
use super::parts::Parts;
use super::questions::Ended;
use super::replies::Reply;
use super::requests::{HeldCall, MOST_SUBSCRIPTIONS, Requests, Subscription};
use super::session::{RequestContext, Served, Session};
use super::shell_runner::ShellRunner;
use super::state::State;
use super::task_requests;
use super::tasks::Tasks;
use crate::jsonrpc::{
    ErrorObject, INTERNAL_ERROR, INVALID_REQUEST, Notification, Request, RequestId, Response, encode,
};
use crate::mcp::{
    Caching, CompleteParams, LoggingLevel, Revision, TaskSupport, acknowledged_params, check_listen_params,
    complete_result, discover_result, initialize_result, listen_result, prompt_result, seal, wanted_tasks,
};
use crate::prompts::{self, PROMPTS};
use crate::shell::ShellDirectories;

/// Handles a request from the client.
pub(super) fn request(
    parts: &LateParts,
    state: &mut State,
    shell: &ShellRunner,
    mut request: Request,
    mut reply: Reply,
    line: &ReceivedLine<'_>,
) -> Effects {
    // Null counts as absent, for every method that has arguments.
    if request.params.get("arguments").is_some_and(Value::is_null) {
        request.params.remove("arguments");
    }
    // Every other request is answered before the next line is read, so it holds no memory.
    let may_wait = matches!(request.method.as_str(), "tools/call" | "tasks/result" | "subscriptions/listen");
    if may_wait {
        if let Err(over_budget) = reply.hold(REQUEST + request.weight()) {
            return Effect::Refuse(reply, ErrorObject::new(INTERNAL_ERROR, over_budget.to_string())).into();
        }
    }
    let received = state.audit.of_request(&request, |tool| parts.toolbox.find(tool), line);
    serve(parts, state, shell, HeldCall { request, reply, approved: None, received })
}

/// Serves a request, when it arrives or after it was held.
pub(super) fn serve(parts: &LateParts, state: &mut State, shell: &ShellRunner, held: HeldCall) -> Effects {
    // A panic in a handler is a bug, but must end neither the server nor leave the client waiting: it drops the reply,
    // which the loop then answers with an error.
    catch_unwind(AssertUnwindSafe(|| handle(parts, state, shell, held))).unwrap_or_default()
}

fn handle(parts: &LateParts, state: &mut State, shell: &ShellRunner, held: HeldCall) -> Effects {
    let HeldCall { request, reply, approved, received } = held;
    let State { session, requests, outgoing, roots, tools, questions, background, audit } = state;
    // A handshake does not wait for the parts, but every access to them does.
    let (instructions, observer, support) =
        (&parts.opening.instructions, &*parts.opening.observer, parts.opening.tasks);
    let served = match session.receive(&request) {
        Ok(served) => served,
        Err(error) => return Effect::Refuse(reply, error).into(),
    };
    match &served {
        Served::Request(context) => audit.hears(context.client_info.as_ref()),
        Served::Handshake(_) => audit.hears(session.client_info()),
        Served::EarlyPing => {}
    }
    let mut recorded = Ok(());
    match received {
        Some(received) if request.method == "tools/call" => recorded = audit.received(*received),
        Some(received) => audit.received_and_answered(*received),
        None => {}
    }
    let context = match served {
        Served::Request(context) => context,
        Served::EarlyPing => return Effects::answer(reply, &json!({})),
        Served::Handshake(revision) => {
            let ended = questions.end_session(Ended::Handshake, (requests, outgoing));
            let ended = ended.and(in_results::client_gone(observer, outgoing));
            let ended = ended.and(task_requests::forget_all(&mut background.tasks, (&mut *requests, &mut *audit)));
            roots.reset(outgoing);
            background.kept.forget_all();
            requests.end_background();
            return ended.and(Effects::answer(reply, &initialize_result(revision, instructions, support)));
        }
    };
    let (revision, params) = (context.revision, &request.params);
    let result = match (request.method.as_str(), revision.is_modern()) {
        ("tools/call", _) => {
            return calls::call(parts, state, shell, request, &context, reply, (approved, recorded));
        }
        ("subscriptions/listen", true) => {
            let tasks = Some(&background.tasks).filter(|_| support == TaskSupport::Optional);
            return listen(requests, tasks, params, &context, reply);
        }
        ("tasks/get", _) if has_tasks(support, revision) || has_task_extension(support, revision) => {
            return task_requests::get(&background.tasks, params, &context, reply);
        }
        ("tasks/cancel", _) if has_tasks(support, revision) || has_task_extension(support, revision) => {
            let tables = (&mut *requests, &mut *audit);
            let cancelled = task_requests::cancel(&mut background.tasks, tables, params, &context, reply);
            return cancelled.and(questions.withdraw_unawaited((requests, outgoing)));
        }
        ("tasks/result", _) if has_tasks(support, revision) => {
            return task_requests::result(&background.tasks, requests, params, &context, reply);
        }
        ("tasks/list", _) if has_tasks(support, revision) => task_requests::list(&background.tasks, params, revision),
        ("tasks/update", _) if has_task_extension(support, revision) => {
            return task_requests::update(&background.tasks, (requests, questions), params, &context, reply);
        }
        ("ping", false) => Ok(json!({})),
        ("server/discover", true) => Ok(discover_result(revision, instructions, support)),
        ("tools/list", _) => match check_first_page(params) {
            Ok(()) => {
                let make = || list("tools", parts.toolbox.list().map(|tool| tool.to_value(revision)), revision);
                return Effect::Answer(reply, tools.encoded(revision, make)).into();
            }
            Err(error) => Err(error),
        },
        ("prompts/list", _) => check_first_page(params)
            .map(|()| list("prompts", PROMPTS.iter().map(|prompt| prompt.to_value(revision)), revision)),
        ("prompts/get", _) => prompts_get(parts, shell.directories(), revision, params),
        ("completion/complete", _) if revision.has_completions() => complete(parts, revision, params),
        ("logging/setLevel", false) => set_level(session, params),
        (method, _) => Err(ErrorObject::method_not_found(method)),
    };
    Effects::respond(reply, result)
}

/// Handles a notification from the client.
pub(super) fn notification(state: &mut State, notification: &Notification, line: &ReceivedLine<'_>) -> Effects {
    let State { session, requests, outgoing, roots, questions, audit, .. } = state;
    audit.notified(notification, line);
    match notification.method.as_str() {
        "notifications/cancelled" => match notification.params.get("requestId").and_then(RequestId::from_value) {
            Some(id) => {
                let cancelled = cancel(requests, audit, &id);
                cancelled.and(questions.withdraw_unawaited((requests, outgoing)))
            }
            None => Effects::default(),
        },
        "notifications/initialized" | "notifications/roots/list_changed" => roots.ask(session, outgoing),
        _ => Effects::default(),
    }
}

/// Handles a response from the client: to one of the server's requests, or unsolicited.
pub(super) fn response(parts: &LateParts, state: &mut State, response: &Response, line: &ReceivedLine<'_>) -> Effects {
    let State { session, requests, outgoing, roots, questions, audit, .. } = state;
    audit.responded(response, line);
    match response.id.as_ref().and_then(|id| outgoing.answered(id)) {
        Some((number, Question::Roots)) => {
            let operators = parts.policy.directories();
            roots.answered(number, &response.result, operators, (session, requests, outgoing))
        }
        Some((number, Question::Approval)) => questions.answered_by_client(number, &response.result, requests),
        None => Effects::default(),
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

fn prompts_get(
    parts: &Parts,
    shell: ShellDirectories<'_>,
    revision: Revision,
    params: &Map<String, Value>,
) -> Result<Value, ErrorObject> {
    let Some(name) = params.get("name").and_then(Value::as_str) else {
        return Err(ErrorObject::invalid_params("`prompts/get` needs `name`, the name of a prompt, as a string"));
    };
    let none = Map::new();
    let arguments = match params.get("arguments") {
        None => &none,
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(ErrorObject::invalid_params("`arguments` must be an object of strings")),
    };
    let which = parts.toolbox.which();
    let tools: Vec<_> = parts.toolbox.list().collect();
    let examine = |command: &str| examine(&parts.policy, which, Asked::Line(command.to_owned()), None, false, shell);
    let (prompt, text) = prompts::get(name, arguments, &tools, which, parts.policy.allow_list(), examine)
        .map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
    Ok(prompt_result(prompt.description, &text, revision))
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

/// Opens a subscription: it is acknowledged immediately, and answered only when the server ends it.
fn listen(
    requests: &mut Requests,
    tasks: Option<&Tasks>,
    params: &Map<String, Value>,
    context: &RequestContext,
    reply: Reply,
) -> Effects {
    if reply.is_in_batch() {
        let why = "invalid request: `subscriptions/listen` can't be part of a batch, which would wait for its end";
        return Effect::Refuse(reply, ErrorObject::new(INVALID_REQUEST, why)).into();
    }
    if let Err(why) = check_listen_params(params) {
        return Effect::Refuse(reply, ErrorObject::invalid_params(why)).into();
    }
    let wanted = tasks.and_then(|tasks| Some((tasks, wanted_tasks(params)?)));
    if let (Some(_), Err(error)) = (&wanted, task_requests::check_declared(context)) {
        return Effect::Refuse(reply, error).into();
    }
    let known = wanted.map(|(tasks, ids)| {
        let known = ids.into_iter().filter_map(|id| Some((id, tasks.find(id, context.revision)?)));
        known.unzip::<&str, u64, Vec<_>, Vec<_>>()
    });
    let (ids, numbers) = known.map_or_else(Default::default, |(ids, numbers)| (Some(ids), numbers));
    let acknowledged = acknowledged_params(reply.id(), ids);
    let subscription = Subscription { reply, revision: context.revision, tasks: numbers };
    match requests.subscribe(subscription) {
        Ok(()) => Effect::Send(encode::notification("notifications/subscriptions/acknowledged", &acknowledged)).into(),
        Err(subscription) => {
            let why = format!("{MOST_SUBSCRIPTIONS} subscriptions are open, and no more can be; cancel some first");
            Effect::Refuse(subscription.reply, ErrorObject::new(INTERNAL_ERROR, why)).into()
        }
    }
}

/// Answers the open subscriptions, since nothing more will come.
pub(super) fn end_subscriptions(requests: &mut Requests) -> Effects {
    let mut effects = Effects::default();
    for Subscription { reply, revision, .. } in requests.end_subscriptions() {
        let result = listen_result(reply.id(), revision);
        effects.extend(Effects::answer(reply, &result));
    }
    effects
}
