//! `tools/call`: from the request to a queued call, or to the reason why it does not run.

use serde_json::{Map, Value};

use super::auditor::Auditor;
use super::effects::{Effect, Effects};
use super::in_results::{Brought, answer_in, ask_in_result};
use super::log::Fields;
use super::not_run::NotRun;
use super::parts::Parts;
use super::planned::{CommandCall, Deciding, Planned, Stopped};
use super::questions::Way;
use super::reading;
use super::replies::Reply;
use super::requests::{ApprovedCall, AskedCall, Pending};
use super::roots::DecidedIn;
use super::sent_words::SentWords;
use super::session::RequestContext;
use super::shell_runner::ShellRunner;
use super::state::State;
use super::task_requests;
use super::tasks::TaskChange;
use super::tool_call::{ToolCall, not_run};
use super::turns;
use crate::config::LogLevel;
use crate::jsonrpc::{ErrorObject, Request};
use crate::policy::quoted;
use crate::tools::{CallTool, Called, ToolKind};

/// Serves a `tools/call`. `approved` is what a person approved, if one was asked; `recorded` is why a call that runs nothing
/// could not be recorded, if so.
pub(super) fn call(
    parts: &Parts,
    state: &mut State,
    shell: &ShellRunner,
    mut request: Request,
    context: &RequestContext,
    mut reply: Reply,
    (mut approved, recorded): (Option<Box<ApprovedCall>>, Result<(), NotRun>),
) -> Effects {
    let State { requests, roots, outgoing, questions, background, audit, .. } = state;
    let revision = context.revision;
    if let Err(why) = recorded {
        let tool = request.params.get("name").and_then(Value::as_str).unwrap_or_default();
        let tool_call = ToolCall { tool, context, is_told: parts.log_level >= LogLevel::Info, task: None };
        // `stop_call` is served in any case, since it only ends something.
        if parts.toolbox.find(tool) != Some(ToolKind::Calls(CallTool::StopCall)) {
            return not_run(tool_call, &Fields::default(), reply, &why);
        }
    }
    let mut effects = match task_requests::as_asked(parts, &mut background.tasks, &request.params, revision, &mut reply)
    {
        Ok(created) => created,
        Err(error) => return Effect::Refuse(reply, error).into(),
    };
    if !revision.is_modern() && roots.are_awaited() {
        requests.hold(request, reply, approved);
        return effects;
    }
    let resumed = match revision.is_modern() && approved.is_none() {
        true => outgoing.resume(&request.params),
        false => Ok(None),
    };
    let arguments = request.params.remove("arguments");
    // Only calls that a person may be asked about are served again.
    let kept = if parts.asks { arguments.clone() } else { None };
    let found = resumed.and_then(|resumed| Ok((resumed, tool_of(parts, &request.params, arguments)?)));
    let (resumed, (tool, kind, arguments)) = match found {
        Ok(found) => found,
        Err(error) => return effects.and(Effect::Refuse(reply, error).into()),
    };
    let task = reply.task().and_then(|number| background.tasks.get(number)).map(|kept| kept.task.id.clone());
    let is_told = parts.log_level >= LogLevel::Info;
    let tool_call = ToolCall { tool, context, is_told, task: task.as_deref() };
    let asked = tool_call.is_told.then(|| SentWords::of(&arguments, parts.toolbox.entry_of(kind)));
    let asked = || asked.as_ref().map_or_else(Fields::default, |asked| asked.describe(parts));
    let read = match task {
        Some(_) => parts.toolbox.read_in_background(kind, arguments),
        None => parts.toolbox.read(kind, arguments),
    };
    let command_call = match read {
        Ok(Called::Done(result)) => return effects.and(Effect::Answer(reply, result.encode(revision)).into()),
        Ok(Called::Calls(request)) => {
            return effects.and(reading::serve(parts, (requests, background), tool_call, request, reply));
        }
        Ok(Called::Execute(call)) => CommandCall::Process(call),
        Ok(Called::Shell(call)) => CommandCall::Shell(call),
        Err(error) => return effects.and(undecided(audit, tool_call, &asked(), reply, &error.into())),
    };
    // A call that comes again with an answer is the one that was asked about.
    let known = approved.as_ref().map(|approved| approved.key).or(resumed.as_ref().map(|closed| closed.call));
    let key = known.unwrap_or_else(|| requests.next_number());
    if let Some(closed) = resumed {
        match answer_in(parts, (key, &request, tool_call), closed, (questions, audit), &mut effects) {
            Ok(Brought::Nothing) => {}
            Ok(Brought::Approval(asked)) => {
                let feedback = Box::new(tool_call.feedback(reply.id()));
                approved = Some(Box::new(ApprovedCall { asked, key, feedback }));
            }
            Ok(Brought::NotRun(why)) => return effects.and(undecided(audit, tool_call, &asked(), reply, &why)),
            Err(error) => return effects.and(Effect::Refuse(reply, error).into()),
        }
    }
    let needs = (parts.policy.directories(), command_call.needs_roots(parts));
    let directories = match roots.place(&request.params, context, needs, (outgoing, &reply), &mut effects) {
        Ok(DecidedIn::These(directories)) => directories,
        Ok(DecidedIn::Asked(result)) => {
            // The call that brings the answer is a new request.
            audit.refused(reply.id(), reply.called(), None, "its client is asked for the roots first");
            return effects.and(Effects::answer(reply, &result));
        }
        Ok(DecidedIn::NotRun(why)) => return effects.and(undecided(audit, tool_call, &asked(), reply, &why)),
        Err(error) => return effects.and(Effect::Refuse(reply, error).into()),
    };
    requests.decides_on(key);
    let is_background = matches!(&command_call, CommandCall::Process(call) if call.is_background);
    let is_of_shell = matches!(command_call, CommandCall::Shell(_));
    let mut deciding = Deciding {
        parts,
        tool_call,
        key,
        id: reply.id(),
        questions,
        approved: approved.as_ref().map(|approved| &*approved.asked),
        shell,
        audit,
        described: Fields::default(),
    };
    let planned = deciding.plan(command_call, directories);
    let described = deciding.described;
    let busy = turns::busy(requests, &background.kept).filter(|_| is_of_shell);
    let planned = planned.and_then(|planned| Ok(reply.hold(planned.cost).map(|()| planned)?));
    let feedback = match approved {
        Some(approved) => approved.feedback,
        None => Box::new(tool_call.feedback(reply.id())),
    };
    let Planned { work, allowed: (command, rule), description, .. } = match planned {
        Ok(planned) => planned,
        Err(Stopped::NotRun(why)) => return effects.and(decided(audit, tool_call, (key, &described), reply, &why)),
        Err(Stopped::Asks(asked)) => {
            // Don't ask about a call that could not run.
            if let Some(why) = busy {
                return effects.and(decided(audit, tool_call, (key, &described), reply, &why));
            }
            let way = match questions.way(&parts.ask, context, &asked, (requests, outgoing)) {
                Ok(way) => way,
                Err(why) => {
                    if matches!(why, NotRun::NobodyToAsk { .. }) {
                        effects.log(LogLevel::Warn, HOW_TO_ASK);
                    }
                    return effects.and(decided(audit, tool_call, (key, &described), reply, &why));
                }
            };
            let description = tool_call.describe(|| {
                let tool = Fields::default().ours("tool", tool_call.tool).and(&described);
                tool.directory(asked.proposal.directory())
            });
            request.params.extend(kept.map(|arguments| ("arguments".to_owned(), arguments)));
            let mut pending = Pending { reply, description, feedback };
            if let (Some(ttl), true, None) = (parts.task_ttl(), is_background, pending.reply.task()) {
                if pending.feedback.takes_tasks() {
                    let tasks = &mut background.tasks;
                    effects.extend(task_requests::for_pending(tasks, &mut pending, ttl, TaskChange::Works));
                }
            }
            let way = way.or(pending.reply.task().map(|_| Way::Task));
            let asked_call = AskedCall { request, pending, key, question: 0 };
            let asks = match way {
                Some(way) => questions.wait((requests, outgoing), way, *asked, asked_call, (context, &parts.ask)),
                None => ask_in_result(parts, outgoing, *asked, asked_call, context),
            };
            return effects.and(asks);
        }
    };
    let allowed = feedback.allowed(&command, &rule);
    let is_full = requests.has_no_room_for(&work).map(|most| NotRun::BackgroundFull { most });
    if let Some(why) = is_full.or(busy) {
        return effects.and(decided(audit, tool_call, (key, &described), reply, &why));
    }
    if let Err(pending) = requests.queue(key, Pending { reply, description, feedback }, work) {
        return effects.and(decided(audit, tool_call, (key, &described), pending.reply, &NotRun::QueueFull));
    }
    effects.send(allowed);
    effects
}

/// Answers a call that does not run, without a decision, and records it.
fn undecided(audit: &mut Auditor, tool_call: ToolCall<'_>, asked: &Fields, reply: Reply, why: &NotRun) -> Effects {
    audit.refused(reply.id(), reply.called(), None, &why.to_string());
    not_run(tool_call, asked, reply, why)
}

/// Answers a call that does not run after its decision, and records it. The policy's refusals are recorded as decisions.
fn decided(
    audit: &mut Auditor,
    tool_call: ToolCall<'_>,
    (key, described): (u64, &Fields),
    reply: Reply,
    why: &NotRun,
) -> Effects {
    if !matches!(why, NotRun::Policy(_) | NotRun::NotRecorded { .. }) {
        audit.not_started(key, Some(&why.to_string()));
    }
    not_run(tool_call, described, reply, why)
}

/// What the log tells the operator if nobody can be asked.
const HOW_TO_ASK: &str = "a call needs a person's approval, and its client shows no forms (elicitation); name a program that asks \
     with `--ask-with`";

/// The name of the tool that a call names, and the call's arguments.
fn tool_of<'a>(
    parts: &Parts,
    params: &'a Map<String, Value>,
    arguments: Option<Value>,
) -> Result<(&'a str, ToolKind, Map<String, Value>), ErrorObject> {
    let Some(name) = params.get("name").and_then(Value::as_str) else {
        return Err(ErrorObject::invalid_params("`tools/call` needs `name`, the name of a tool, as a string"));
    };
    let arguments = match arguments {
        None => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(ErrorObject::invalid_params("`arguments` must be an object")),
    };
    let Some(kind) = parts.toolbox.find(name) else {
        let known: Vec<&str> = parts.toolbox.list().map(|tool| tool.name.as_str()).collect();
        let message = format!("unknown tool {}; the tools are {}", quoted(name), known.join(", "));
        return Err(ErrorObject::invalid_params(message));
    };
    Ok((name, kind, arguments))
}
