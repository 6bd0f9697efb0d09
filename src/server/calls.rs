//! `tools/call`: from the request to the thread that decides on the call, and from there to its turn, to a question, or to the
//! reason why it does not run.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::call_threads::{CallDecided, UndecidedCall};
use super::event::Deadline;
use super::facts::Facts;
use super::log::Fields;
use super::narrowing::CalledIn;
use super::not_run::NotRun;
use super::parts::Parts;
use super::placing::Placed;
use super::planned::{CommandCall, Planned, Stopped};
use super::question::CallToApprove;
use super::replies::Reply;
use super::requests::{ApprovedCall, AskedCall, LaneName, Overdue, Pending, Undecided};
use super::run::Server;
use super::sent_words::SentWords;
use super::session::RequestContext;
use super::tool_call::ToolCall;
use crate::config::LogLevel;
use crate::exec::Stop;
use crate::jsonrpc::{ErrorObject, Request};
use crate::policy::quoted;
use crate::tools::{CallTool, Called, ToolKind};

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
        let tool_call = |tool: &str, task| ToolCall { tool: tool.to_owned(), context: context.clone(), is_told, task };
        if let Err(why) = recorded {
            let tool = request.params.get("name").and_then(Value::as_str).unwrap_or_default();
            // `stop_call` is served in any case, since it only ends something.
            if self.parts.toolbox.find(tool) != Some(ToolKind::Calls(CallTool::StopCall)) {
                return self.not_run(&tool_call(tool, None), &Fields::default(), reply, &why);
            }
        }
        if context.revision.has_tasks() {
            if let Err(error) = self.make_task_if_asked(&request.params, context.revision, &mut reply) {
                return self.refuse(reply, error);
            }
        }
        if !context.revision.is_modern() && self.roots.are_awaited() {
            reply.task().into_iter().for_each(|task| self.tell_if_new(task));
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
        let task = reply.task().and_then(|number| self.tasks.id_of(number));
        let mut sent = is_told.then(|| SentWords::of(&arguments, self.parts.toolbox.entry_of(kind)));
        let read = match task {
            Some(_) => self.parts.toolbox.read_in_background(kind, arguments),
            None => self.parts.toolbox.read(kind, arguments),
        };
        let tool_call = tool_call(&tool, task);
        let call = match read {
            Ok(Called::Done(result)) => return self.answer(reply, result.encode(context.revision)),
            Ok(Called::Calls(about)) => return self.about_call(&tool_call, about, reply),
            Ok(Called::Execute(call)) => CommandCall::Process(call),
            Ok(Called::Shell(call)) => CommandCall::Shell(call),
            Err(error) => return self.undecided(&tool_call, sent.as_ref(), reply, &error.into()),
        };
        // A call that comes again with an answer is the one that was asked about.
        let known = approved.as_ref().map(|approved| approved.key);
        let known = known.or(resumed.as_ref().map(|closed| closed.call));
        let key = known.unwrap_or_else(|| self.requests.next_number());
        let approved = match resumed.map(|closed| self.approval_in((key, &request, &tool_call), closed, &reply)) {
            None => approved,
            Some(Ok(Ok(brought))) => brought,
            Some(Ok(Err(why))) => return self.undecided(&tool_call, sent.as_ref(), reply, &why),
            Some(Err(error)) => return self.refuse(reply, error),
        };
        let needs_roots = call.needs_roots(&self.parts);
        let called_in = match self.place(&request.params, context, (needs_roots, &mut sent), &mut reply) {
            Ok(Placed::In(called_in)) => called_in,
            Ok(Placed::Asked(result)) => {
                // The call that brings the answer is a new request.
                self.audit.refused(&reply, None, "its client is asked for the roots first");
                return self.respond(reply, Ok(result));
            }
            Ok(Placed::NotRun(why)) => return self.undecided(&tool_call, sent.as_ref(), reply, &why),
            Err(error) => return self.refuse(reply, error),
        };
        self.requests.takes_number(key);
        request.params.extend(kept.map(|arguments| ("arguments".to_owned(), arguments)));
        let (approved, feedback) = match approved {
            Some(approved) => (Some(approved.asked), approved.feedback),
            None => (None, Box::new(tool_call.feedback(reply.id()))),
        };
        let pending = Pending { reply, facts: Facts::default(), feedback };
        let (tool_call, sessions) = (Arc::new(tool_call), self.session.number);
        let undecided = Undecided { request, tool_call, lane: call.lane(), sessions };
        self.decide_on_thread((key, pending, undecided), call, approved, called_in);
    }

    /// Lets a thread decide on a call, and run it if a turn is free.
    fn decide_on_thread(
        &mut self,
        (key, pending, undecided): (u64, Pending, Undecided),
        call: CommandCall,
        approved: Option<Arc<CallToApprove>>,
        called_in: CalledIn,
    ) {
        if self.requests.are_too_many() {
            return self.undecided(&undecided.tool_call, None, pending.reply, &NotRun::QueueFull);
        }
        let within = call.timeout();
        let (stop, turn) = match undecided.lane {
            // What runs in the background is answered at its turn, and so after its decision.
            LaneName::Background => None,
            lane @ (LaneName::Processes | LaneName::Shell) => self.take_turn((key, lane), &call, &pending),
        }
        .unzip();
        let call = UndecidedCall {
            key,
            id: pending.reply.id().clone(),
            tool_call: Arc::clone(&undecided.tool_call),
            call,
            called_in,
            remembered: if self.parts.asks { self.questions.remembered() } else { Vec::new() },
            approved,
            facts: pending.facts.clone(),
            turn,
        };
        self.insert_undecided(key, pending, (undecided, within), stop);
        self.calls.decide_and_run(Box::new(call));
        // It may have found no thread.
        self.calls_decided();
    }

    /// Adds a call on which a thread decides to the table; `stop` ends it, if its turn has come.
    pub(super) fn insert_undecided(
        &mut self,
        key: u64,
        pending: Pending,
        (undecided, asked_timeout): (Undecided, Option<Duration>),
        stop: Option<Stop>,
    ) {
        let most = self.parts.limits.timeout;
        let within = asked_timeout.unwrap_or(most).min(most);
        let looks = self.requests.insert_undecided(key, pending, (undecided, within), stop);
        looks.into_iter().for_each(|after| self.look_for_overdue(after));
    }

    /// Tells the client that its call is allowed and runs.
    pub(super) fn call_allowed(&mut self, key: u64, command: &str, rule: &str) {
        let message = self.requests.running(key).and_then(|pending| pending.feedback.allowed(command, rule));
        self.send(message);
    }

    /// Goes on with the calls that threads have decided on and do not run.
    pub(super) fn calls_decided(&mut self) {
        while let Some(CallDecided { key, described, outcome }) = self.calls.next_decided() {
            let outcome = match (self.give_back(key), outcome) {
                // Its client wanted it to end while it was decided on.
                (true, Ok(_) | Err(Stopped::Asks(_))) => Err(NotRun::GivenUp.into()),
                (_, outcome) => outcome,
            };
            match self.requests.take_decided(key) {
                Some((pending, undecided)) => {
                    // Don't ask about a call that could not run.
                    let busy = if undecided.lane == LaneName::Shell { self.shell_is_busy() } else { None };
                    let outcome = match (outcome, busy) {
                        (Ok(_) | Err(Stopped::Asks(_)), Some(busy)) => Err(busy.into()),
                        (outcome, _) => outcome,
                    };
                    self.goes_on((key, described), outcome, pending, undecided);
                }
                // It was cancelled in the meantime, or its decision came too late.
                None => self.audit.not_started(key, None),
            }
        }
    }

    /// Answers the calls on which nothing was decided in time: their threads hang, and are given up.
    pub(super) fn decisions_overdue(&mut self) {
        for Overdue { key, call, may_hang } in self.requests.overdue() {
            let described = Fields::default();
            self.give_back(key);
            if may_hang && !self.calls.give_up(key) {
                // No thread had begun with it.
                self.requests.forget_decision(key);
            }
            let Some((pending, undecided)) = call else { continue };
            pending.reply.task().into_iter().for_each(|task| self.tell_if_new(task));
            self.not_queued(&undecided.tool_call, &(key, described), pending.reply, &NotRun::Hangs);
        }
        let again = self.requests.looks_again();
        again.into_iter().for_each(|after| self.look_for_overdue(after));
    }

    fn look_for_overdue(&mut self, after: Duration) {
        self.inbox.forget(Deadline::Decision);
        self.inbox.after(after, Deadline::Decision);
    }

    /// Queues a call that is decided, asks a person about it, or answers why it does not run.
    fn goes_on(
        &mut self,
        decided: (u64, Fields),
        outcome: Result<Planned, Stopped>,
        mut pending: Pending,
        undecided: Undecided,
    ) {
        pending.reply.task().into_iter().for_each(|task| self.tell_if_new(task));
        let tool_call = Arc::clone(&undecided.tool_call);
        let is_old = undecided.sessions != self.session.number;
        let planned =
            outcome.and_then(|planned| Ok(pending.reply.hold(planned.cost).map(|()| planned).map_err(NotRun::from)?));
        match planned {
            // The client of the new session learns nothing of the calls of the old one.
            Ok(_) if is_old && undecided.lane == LaneName::Background => {
                self.not_queued(&tool_call, &decided, pending.reply, &NotRun::GivenUp);
            }
            Ok(planned) => {
                match self.requests.has_no_room_for(&planned.work).map(|most| NotRun::BackgroundFull { most }) {
                    Some(why) => self.not_queued(&tool_call, &decided, pending.reply, &why),
                    None => self.queue((&decided, planned), pending, undecided),
                }
            }
            Err(Stopped::NotRun(why)) => self.not_queued(&tool_call, &decided, pending.reply, &why),
            // A question of an old session must not approve anything in the new one.
            Err(Stopped::Asks(asked)) if is_old => {
                let why = NotRun::Unanswered { sentence: asked.sentence() };
                self.not_queued(&tool_call, &decided, pending.reply, &why);
            }
            Err(Stopped::Asks(asked)) => {
                let Undecided { request, lane, .. } = undecided;
                let call = AskedCall { request, pending, key: decided.0, question: 0 };
                self.ask_about((&tool_call, &decided), *asked, call, lane == LaneName::Background);
            }
        }
    }

    /// Queues a call that may run.
    fn queue(&mut self, (decided, planned): (&(u64, Fields), Planned), pending: Pending, undecided: Undecided) {
        let Planned { work, allowed: (command, rule), known, .. } = planned;
        let (allowed, tool_call) = (pending.feedback.allowed(&command, &rule), Arc::clone(&undecided.tool_call));
        pending.facts.set(known);
        match self.requests.queue(decided.0, pending, (work, undecided)) {
            Ok(()) => self.send(allowed),
            Err(pending) => self.not_queued(&tool_call, decided, pending.reply, &NotRun::QueueFull),
        }
    }

    /// Answers a call that does not run, without a decision, and records it.
    fn undecided(&mut self, tool_call: &ToolCall, sent: Option<&SentWords>, reply: Reply, why: &NotRun) {
        self.audit.refused(&reply, None, &why.to_string());
        let sent = sent.map_or_else(Fields::default, |sent| sent.describe(&self.parts));
        self.not_run(tool_call, &sent, reply, why);
    }

    /// Answers a call that does not run after its decision, and records it. The policy's refusals are recorded as decisions.
    pub(super) fn not_queued(
        &mut self,
        tool_call: &ToolCall,
        (key, described): &(u64, Fields),
        reply: Reply,
        why: &NotRun,
    ) {
        self.audit.does_not_run(*key, &reply, why);
        self.not_run(tool_call, described, reply, why);
    }
}

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
