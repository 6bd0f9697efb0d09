//! `tools/call`: from the request to a queued call, or to the reason why it does not run.

use serde_json::{Map, Value};

use super::approval::CallToApprove;
use super::in_results::Brought;
use super::log::Fields;
use super::not_run::NotRun;
use super::outgoing::Closed;
use super::parts::Parts;
use super::placing::DecidedIn;
use super::planned::{CommandCall, Deciding, Planned, Stopped};
use super::questions::Way;
use super::replies::Reply;
use super::requests::{ApprovedCall, AskedCall, Pending};
use super::run::Server;
use super::sent_words::SentWords;
use super::session::RequestContext;
use super::tasks::TaskChange;
use super::tool_call::ToolCall;
use crate::config::LogLevel;
use crate::jsonrpc::{ErrorObject, Request};
use crate::policy::quoted;
use crate::tools::{CallTool, Called, ToolKind};

/// The answer to a question about a call that is served again.
struct Again {
    /// The approval of a person while the call waited.
    approved: Option<Box<ApprovedCall>>,
    /// The question of an earlier result, whose answer the call may bring.
    resumed: Option<Closed>,
}

impl Server<'_> {
    /// Serves a `tools/call`. `approved` is what a person approved, if one was asked; `recorded` is why a call that runs
    /// nothing could not be recorded, if so.
    pub(super) fn call(
        &mut self,
        mut request: Request,
        context: &RequestContext,
        mut reply: Reply,
        (approved, recorded): (Option<Box<ApprovedCall>>, Result<(), NotRun>),
    ) {
        let is_told = self.parts.log_level >= LogLevel::Info;
        if let Err(why) = recorded {
            let tool = request.params.get("name").and_then(Value::as_str).unwrap_or_default();
            let tool_call = ToolCall { tool, context, is_told, task: None };
            // `stop_call` is served in any case, since it only ends something.
            if self.parts.toolbox.find(tool) != Some(ToolKind::Calls(CallTool::StopCall)) {
                return self.not_run(tool_call, &Fields::default(), reply, &why);
            }
        }
        if let Err(error) = self.make_task_if_asked(&request.params, context.revision, &mut reply) {
            return self.refuse(reply, error);
        }
        if !context.revision.is_modern() && self.roots.are_awaited() {
            return self.requests.hold(request, reply, approved);
        }
        let resumed = match context.revision.is_modern() && approved.is_none() {
            true => self.outgoing.resume(&request.params),
            false => Ok(None),
        };
        let arguments = request.params.remove("arguments");
        // Only calls that a person may be asked about are served again.
        let kept = if self.parts.asks { arguments.clone() } else { None };
        let found = resumed.and_then(|resumed| Ok((resumed, tool_of(&self.parts, &request.params, arguments)?)));
        let (resumed, (tool, kind, arguments)) = match found {
            Ok(found) => found,
            Err(error) => return self.refuse(reply, error),
        };
        let task = reply.task().and_then(|number| self.tasks.get(number)).map(|kept| kept.task.id.clone());
        let tool_call = ToolCall { tool: &tool, context, is_told, task: task.as_deref() };
        let sent = is_told.then(|| SentWords::of(&arguments, self.parts.toolbox.entry_of(kind)));
        let read = match task {
            Some(_) => self.parts.toolbox.read_in_background(kind, arguments),
            None => self.parts.toolbox.read(kind, arguments),
        };
        let call = match read {
            Ok(Called::Done(result)) => return self.answer(reply, result.encode(context.revision)),
            Ok(Called::Calls(about)) => return self.about_call(tool_call, about, reply),
            Ok(Called::Execute(call)) => CommandCall::Process(call),
            Ok(Called::Shell(call)) => CommandCall::Shell(call),
            Err(error) => return self.undecided(tool_call, sent.as_ref(), reply, &error.into()),
        };
        let again = Again { approved, resumed };
        self.decide_and_queue((tool_call, sent.as_ref()), (request, kept), call, again, reply);
    }

    /// Decides on a call of a command, and queues it, asks a person about it, or answers why it does not run.
    fn decide_and_queue(
        &mut self,
        (tool_call, sent): (ToolCall<'_>, Option<&SentWords>),
        (mut request, kept): (Request, Option<Value>),
        call: CommandCall,
        again: Again,
        mut reply: Reply,
    ) {
        // A call that comes again with an answer is the one that was asked about.
        let known = again.approved.as_ref().map(|approved| approved.key);
        let known = known.or(again.resumed.as_ref().map(|closed| closed.call));
        let key = known.unwrap_or_else(|| self.requests.next_number());
        let approved = match self.approval_of((key, &request, tool_call), again, &reply) {
            Ok(Ok(approved)) => approved,
            Ok(Err(why)) => return self.undecided(tool_call, sent, reply, &why),
            Err(error) => return self.refuse(reply, error),
        };
        let needs_roots = call.needs_roots(&self.parts);
        let directories = match self.place(&request.params, tool_call.context, needs_roots, &reply) {
            Ok(DecidedIn::These(directories)) => directories,
            Ok(DecidedIn::Asked(result)) => {
                // The call that brings the answer is a new request.
                self.audit.refused(reply.id(), reply.called(), None, "its client is asked for the roots first");
                return self.respond(reply, Ok(result));
            }
            Ok(DecidedIn::NotRun(why)) => return self.undecided(tool_call, sent, reply, &why),
            Err(error) => return self.refuse(reply, error),
        };
        self.requests.decides_on(key);
        let is_background = matches!(&call, CommandCall::Process(call) if call.is_background);
        let busy = if matches!(call, CommandCall::Shell(_)) { self.shell_is_busy() } else { None };
        let mut deciding = Deciding {
            parts: &self.parts,
            tool_call,
            key,
            id: reply.id(),
            questions: &self.questions,
            approved: approved.as_ref().map(|approved| &*approved.asked),
            shell: &self.shell,
            audit: &mut self.audit,
            described: Fields::default(),
        };
        let planned = deciding.plan(call, directories);
        let decided = (key, deciding.described);
        let planned = planned.and_then(|planned| Ok(reply.hold(planned.cost).map(|()| planned)?));
        let feedback = match approved {
            Some(approved) => approved.feedback,
            None => Box::new(tool_call.feedback(reply.id())),
        };
        let pending = Pending { reply, description: Fields::default(), feedback };
        match planned {
            Ok(planned) => {
                let is_full = self.requests.has_no_room_for(&planned.work).map(|most| NotRun::BackgroundFull { most });
                match is_full.or(busy) {
                    Some(why) => self.not_queued(tool_call, &decided, pending.reply, &why),
                    None => self.queue(tool_call, &decided, planned, pending),
                }
            }
            Err(Stopped::NotRun(why)) => self.not_queued(tool_call, &decided, pending.reply, &why),
            Err(Stopped::Asks(asked)) => match busy {
                // Don't ask about a call that could not run.
                Some(why) => self.not_queued(tool_call, &decided, pending.reply, &why),
                None => {
                    request.params.extend(kept.map(|arguments| ("arguments".to_owned(), arguments)));
                    let call = AskedCall { request, pending, key, question: 0 };
                    self.ask_about((tool_call, &decided), *asked, call, is_background);
                }
            },
        }
    }

    /// The approval of a person that a call comes with, or why it does not run.
    ///
    /// # Errors
    /// The error object for a request whose answer is none.
    fn approval_of(
        &mut self,
        (key, request, tool_call): (u64, &Request, ToolCall<'_>),
        again: Again,
        reply: &Reply,
    ) -> Result<Result<Option<Box<ApprovedCall>>, NotRun>, ErrorObject> {
        let Some(closed) = again.resumed else { return Ok(Ok(again.approved)) };
        Ok(match self.answer_in((key, request, tool_call), closed)? {
            Brought::Nothing => Ok(again.approved),
            Brought::Approval(asked) => {
                let feedback = Box::new(tool_call.feedback(reply.id()));
                Ok(Some(Box::new(ApprovedCall { asked, key, feedback })))
            }
            Brought::NotRun(why) => Err(why),
        })
    }

    /// Queues a call that may run.
    fn queue(&mut self, tool_call: ToolCall<'_>, decided: &(u64, Fields), planned: Planned, mut pending: Pending) {
        let Planned { work, allowed: (command, rule), description, .. } = planned;
        let allowed = pending.feedback.allowed(&command, &rule);
        pending.description = description;
        match self.requests.queue(decided.0, pending, work) {
            Ok(()) => self.send(allowed),
            Err(pending) => self.not_queued(tool_call, decided, pending.reply, &NotRun::QueueFull),
        }
    }

    /// Asks a person about a call, or answers why nobody can be asked.
    fn ask_about(
        &mut self,
        (tool_call, decided): (ToolCall<'_>, &(u64, Fields)),
        asked: CallToApprove,
        mut call: AskedCall,
        is_background: bool,
    ) {
        let context = tool_call.context;
        let way = match self.questions.way(&self.parts.ask, context, &asked, (&self.requests, &self.outgoing)) {
            Ok(way) => way,
            Err(why) => {
                if matches!(why, NotRun::NobodyToAsk { .. }) {
                    self.log.write(LogLevel::Warn, HOW_TO_ASK);
                }
                return self.not_queued(tool_call, decided, call.pending.reply, &why);
            }
        };
        call.pending.description = tool_call.describe(|| {
            let tool = Fields::default().ours("tool", tool_call.tool).and(&decided.1);
            tool.directory(&asked.proposal.directory())
        });
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

    /// Answers a call that does not run, without a decision, and records it.
    fn undecided(&mut self, tool_call: ToolCall<'_>, sent: Option<&SentWords>, reply: Reply, why: &NotRun) {
        self.audit.refused(reply.id(), reply.called(), None, &why.to_string());
        let sent = sent.map_or_else(Fields::default, |sent| sent.describe(&self.parts));
        self.not_run(tool_call, &sent, reply, why);
    }

    /// Answers a call that does not run after its decision, and records it. The policy's refusals are recorded as decisions.
    fn not_queued(&mut self, tool_call: ToolCall<'_>, (key, described): &(u64, Fields), reply: Reply, why: &NotRun) {
        if !matches!(why, NotRun::Policy(_) | NotRun::NotRecorded { .. }) {
            self.audit.not_started(*key, Some(&why.to_string()));
        }
        self.not_run(tool_call, described, reply, why);
    }
}

/// The log's advice for the operator if nobody can be asked.
const HOW_TO_ASK: &str = "a call needs a person's approval, and its client shows no forms (elicitation); name a program that asks \
     with `--ask-with`";

/// The name of the tool that a call names, and the call's arguments.
fn tool_of(
    parts: &Parts,
    params: &Map<String, Value>,
    arguments: Option<Value>,
) -> Result<(String, ToolKind, Map<String, Value>), ErrorObject> {
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
    Ok((name.to_owned(), kind, arguments))
}
