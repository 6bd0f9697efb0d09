//! Calls that become tasks, notifications about them, and the requests about them: `tasks/get`, `tasks/result`,
//! `tasks/list`, `tasks/cancel` and `tasks/update`.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::auditor::Auditor;
use super::budget::Charge;
use super::cancelling;
use super::effects::{Effect, Effects};
use super::event::Deadline;
use super::parts::Parts;
use super::questions::Questions;
use super::replies::Reply;
use super::requests::{CancelledTask, MOST_READS, Pending, Requests};
use super::session::RequestContext;
use super::tasks::{KeptTask, Outcome, TaskChange, Tasks};
use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR, METHOD_NOT_FOUND, encode};
use crate::mcp::{
    Caching, CallToolResult, MISSING_CLIENT_CAPABILITY, Revision, TASKS_EXTENSION, list_tasks_result, requested_task,
    seal, takes_tasks, task_id, tasks_required_capabilities, with_related_task,
};
use crate::policy::quoted;
use crate::tools::ToolKind;

/// Makes a call a task immediately, if its client asks for that (2025-11-25).
///
/// # Errors
/// The error object that answers the call.
pub(super) fn as_asked(
    parts: &Parts,
    tasks: &mut Tasks,
    params: &Map<String, Value>,
    revision: Revision,
    reply: &mut Reply,
) -> Result<Effects, ErrorObject> {
    if !revision.has_tasks() || reply.task().is_some() {
        return Ok(Effects::default());
    }
    let Some(most) = parts.task_ttl() else { return Ok(Effects::default()) };
    let Some(ttl) = requested_task(params).map_err(ErrorObject::invalid_params)? else { return Ok(Effects::default()) };
    let kind = params.get("name").and_then(Value::as_str).and_then(|name| parts.toolbox.find(name));
    let has_arguments = params.get("arguments").is_none_or(Value::is_object);
    match kind {
        Some(ToolKind::Execute(_)) if has_arguments => {
            Ok(create(tasks, reply, revision, ttl.unwrap_or(most), TaskChange::Works))
        }
        // The call is wrong, which its answer will say.
        None | Some(ToolKind::Execute(_)) => Ok(Effects::default()),
        Some(ToolKind::Shell(_) | ToolKind::Calls(_) | ToolKind::ListCommands) => {
            let why =
                "only `execute_command` and `execute_process` can be called as a task; send this call without `task`";
            Err(ErrorObject::new(METHOD_NOT_FOUND, why))
        }
    }
}

/// Makes a call a task, with `first` as its first change, and tells its client.
pub(super) fn create(
    tasks: &mut Tasks,
    reply: &mut Reply,
    revision: Revision,
    ttl: Duration,
    first: TaskChange,
) -> Effects {
    let number = tasks.begin(revision, ttl);
    tasks.change(number, first);
    let client = reply.become_task(number);
    let mut effects = Effects::default();
    if let Some(KeptTask { task, .. }) = tasks.get(number) {
        effects.extend(Effects::answer(client, &task.create_result(revision)));
        effects.push(Effect::Wait(task.ttl, Deadline::Task(number)));
    }
    effects
}

/// The same for a call that is queued or running.
pub(super) fn for_pending(tasks: &mut Tasks, pending: &mut Pending, ttl: Duration, first: TaskChange) -> Effects {
    let effects = create(tasks, &mut pending.reply, pending.feedback.revision(), ttl, first);
    if let Some(kept) = pending.reply.task().and_then(|number| tasks.get(number)) {
        pending.feedback.become_task(&kept.task.id);
    }
    effects
}

/// Notes a change of a task that goes on, and tells its client.
pub(super) fn changed(tasks: &mut Tasks, requests: &Requests, number: u64, change: TaskChange) -> Effects {
    if tasks.change(number, change) { tell(tasks, requests, number) } else { Effects::default() }
}

/// Ends a task, whose call was answered. The `charge` pays for the kept answer.
pub(super) fn ended(
    tasks: &mut Tasks,
    requests: &mut Requests,
    number: u64,
    outcome: Outcome,
    charge: Charge,
) -> Effects {
    let (is_news, gone) = tasks.end(number, outcome, charge);
    let mut effects = Effects::default();
    gone.into_iter().for_each(|gone| effects.push(Effect::Forget(Deadline::Task(gone))));
    if is_news {
        effects.extend(tell(tasks, requests, number));
    }
    let Some((kept, outcome)) = tasks.get(number).and_then(|kept| Some((kept, kept.outcome()?))) else {
        return effects;
    };
    requests.take_awaiting(number).into_iter().for_each(|reply| effects.push(give(kept, outcome, reply)));
    effects
}

/// Tells the client about a change of a task: with a notification in 2025-11-25, and in later revisions on the
/// subscriptions that name the task.
fn tell(tasks: &Tasks, requests: &Requests, number: u64) -> Effects {
    let mut effects = Effects::default();
    let Some(kept) = tasks.get(number) else { return effects };
    if kept.revision.has_tasks() {
        let params = kept.task.to_value(kept.revision);
        effects.push(Effect::Send(encode::notification("notifications/tasks/status", &params)));
    }
    for subscription in requests.subscribed_to(number) {
        let params = kept.notification_params(subscription);
        effects.push(Effect::Send(encode::notification_of("notifications/tasks", &params)));
    }
    effects
}

/// Answers a request for the result of a task.
fn give(kept: &KeptTask, outcome: &Outcome, reply: Reply) -> Effect {
    match outcome {
        Outcome::Result(result) => Effect::Answer(reply, with_related_task(result, &kept.task.id)),
        Outcome::Error(error) => Effect::Refuse(reply, error.clone()),
    }
}

/// The task that a request is about.
fn named<'a>(
    tasks: &'a Tasks,
    params: &Map<String, Value>,
    context: &RequestContext,
) -> Result<(u64, &'a KeptTask), ErrorObject> {
    check_declared(context)?;
    let id = task_id(params).map_err(ErrorObject::invalid_params)?;
    let number = tasks.find(id, context.revision);
    number.and_then(|number| Some((number, tasks.get(number)?))).ok_or_else(|| {
        ErrorObject::invalid_params(format!("the task {} is unknown, or has expired and is forgotten", quoted(id)))
    })
}

/// Checks that the client may ask about tasks: in the modern era, each request has to declare the extension.
///
/// # Errors
/// The error object that answers the request.
pub(super) fn check_declared(context: &RequestContext) -> Result<(), ErrorObject> {
    if !context.revision.is_modern() || takes_tasks(&context.client_capabilities) {
        return Ok(());
    }
    Err(ErrorObject {
        code: MISSING_CLIENT_CAPABILITY,
        message: format!("this needs the extension `{TASKS_EXTENSION}`, which the request does not declare"),
        data: Some(tasks_required_capabilities()),
    })
}

/// Serves `tasks/get`.
pub(super) fn get(tasks: &Tasks, params: &Map<String, Value>, context: &RequestContext, reply: Reply) -> Effects {
    match named(tasks, params, context) {
        Ok((_, kept)) => Effect::Answer(reply, kept.encode()).into(),
        Err(error) => Effect::Refuse(reply, error).into(),
    }
}

/// Serves `tasks/result`, which waits for the end of the call, even if the task was cancelled.
pub(super) fn result(
    tasks: &Tasks,
    requests: &mut Requests,
    params: &Map<String, Value>,
    context: &RequestContext,
    reply: Reply,
) -> Effects {
    let (number, kept) = match named(tasks, params, context) {
        Ok(named) => named,
        Err(error) => return Effect::Refuse(reply, error).into(),
    };
    if let Some(outcome) = kept.outcome() {
        return give(kept, outcome, reply).into();
    }
    match requests.await_task(reply, number) {
        Ok(()) => Effects::default(),
        Err(reply) => {
            let why = format!("{MOST_READS} requests wait for the ends of tasks, and no more can; cancel some first");
            Effect::Refuse(reply, ErrorObject::new(INTERNAL_ERROR, why)).into()
        }
    }
}

/// Serves `tasks/list`.
pub(super) fn list(tasks: &Tasks, params: &Map<String, Value>, revision: Revision) -> Result<Value, ErrorObject> {
    let unknown = || ErrorObject::invalid_params("the cursor is unknown; `nextCursor` of a page gives the next one");
    let cursor = match params.get("cursor") {
        None | Some(Value::Null) => None,
        Some(cursor) => Some(cursor.as_str().ok_or_else(unknown)?),
    };
    let (page, next) = tasks.page(cursor, revision).ok_or_else(unknown)?;
    Ok(list_tasks_result(&page, next, revision))
}

/// Serves `tasks/cancel`.
pub(super) fn cancel(
    tasks: &mut Tasks,
    (requests, audit): (&mut Requests, &mut Auditor),
    params: &Map<String, Value>,
    context: &RequestContext,
    reply: Reply,
) -> Effects {
    let (number, status) = match named(tasks, params, context) {
        Ok((number, kept)) => (number, kept.task.status),
        Err(error) => return Effect::Refuse(reply, error).into(),
    };
    if !tasks.cancel(number) && !context.revision.is_modern() {
        let why = format!("the task has ended already: it is {}", status.name());
        return Effect::Refuse(reply, ErrorObject::invalid_params(why)).into();
    }
    let mut effects = Effects::default();
    if !status.is_terminal() {
        effects.extend(tell(tasks, requests, number));
    }
    if context.revision.is_modern() {
        effects.extend(acknowledge(reply, context.revision));
    } else if let Some(kept) = tasks.get(number) {
        effects.push(Effect::Answer(reply, kept.encode()));
    }
    if status.is_terminal() { effects } else { effects.and(give_up((requests, audit), number, context.revision)) }
}

fn acknowledge(reply: Reply, revision: Revision) -> Effects {
    Effects::answer(reply, &seal(json!({}), revision, Caching::Once))
}

/// Ends the call of a task, or prevents it from starting.
fn give_up((requests, audit): (&mut Requests, &mut Auditor), number: u64, revision: Revision) -> Effects {
    match requests.cancel_task(number) {
        None | Some(CancelledTask::Ends) => Effects::default(),
        Some(CancelledTask::NeverStarts(cancelled)) => {
            let (effects, reply) = cancelling::tell(audit, *cancelled);
            let result = CallToolResult::error("the task was cancelled before its command was started");
            effects.and(Effect::Answer(reply, result.encode(revision)).into())
        }
    }
}

/// Serves `tasks/update`, which brings a person's answers. Answers that nobody is waiting for are ignored.
pub(super) fn update(
    tasks: &Tasks,
    (requests, questions): (&mut Requests, &mut Questions),
    params: &Map<String, Value>,
    context: &RequestContext,
    reply: Reply,
) -> Effects {
    let number = match named(tasks, params, context) {
        Ok((number, _)) => number,
        Err(error) => return Effect::Refuse(reply, error).into(),
    };
    let Some(responses) = params.get("inputResponses").and_then(Value::as_object) else {
        let why = "`tasks/update` needs `inputResponses`, an object";
        return Effect::Refuse(reply, ErrorObject::invalid_params(why)).into();
    };
    let mut answered = Effects::default();
    for (key, response) in responses {
        match questions.answered_in_task((number, key), response, requests) {
            Ok(effects) => answered.extend(effects),
            Err(why) => return answered.and(Effect::Refuse(reply, ErrorObject::invalid_params(why)).into()),
        }
    }
    acknowledge(reply, context.revision).and(answered)
}

/// Handles the expiry of a task: it is forgotten, and its call is ended if it is still running.
pub(super) fn expired(tasks: &mut Tasks, (requests, audit): (&mut Requests, &mut Auditor), number: u64) -> Effects {
    let Some(revision) = tasks.get(number).map(|kept| kept.revision) else { return Effects::default() };
    tasks.forget(number);
    let mut effects = give_up((requests, audit), number, revision);
    for reply in requests.take_awaiting(number) {
        effects.push(Effect::Refuse(reply, ErrorObject::invalid_params("the task has expired and is forgotten")));
    }
    effects
}

/// Forgets all tasks, so that the client of a new session learns nothing about those of the last one.
pub(super) fn forget_all(tasks: &mut Tasks, (requests, audit): (&mut Requests, &mut Auditor)) -> Effects {
    let mut effects = Effects::default();
    for number in tasks.numbers() {
        effects.push(Effect::Forget(Deadline::Task(number)));
        effects.extend(expired(tasks, (requests, audit), number));
    }
    effects
}
