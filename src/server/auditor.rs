//! The audit log of a session, which the loop and the threads of calls share: what it records, and what it refuses if it can't record.
//!
//! A decision is in the file before its command starts, and the thread of the call waits for that. Everything else is only noted,
//! and the thread `audit` writes it, so that neither the loop nor a command that runs waits for the disk.

mod anchor;
mod plan;
mod records;
mod shared;

use std::cell::OnceCell;
use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::event::CallEnded;
use super::facts::Facts;
use super::not_run::NotRun;
use super::not_started::NotStarted;
use super::recorded::RecordedDecision;
use super::replies::{Called, Reply};
use crate::audit::{
    Answered, Asked, DecidedRecord, Digest, Ended, Event, MessageKind, Received, RefusedRequest, RefusedRoot, Roots,
    Verdict,
};
use crate::config::LogLevel;
use crate::exec::{End, StartedCommand};
use crate::files::Held;
use crate::jsonrpc::{Notification, Request, RequestId, Response};
use crate::mcp::Implementation;
use crate::text::{escape_os, milliseconds};
use crate::tools::{CallTool, ToolKind};
pub(super) use anchor::Anchor;
pub(super) use plan::AuditPlan;
pub(crate) use plan::check_audit;
use plan::not_opened;
pub(super) use records::end_of;
use records::{called, decided_record, ended_record, name, part_ended, started_event};
use shared::{Log, Shared};

/// Why the end of a call is not known.
const LOST: &str = "its end was lost: the server ended before it knew whether the command had";
/// How many records wait for the thread; who makes one more writes them.
const MOST_WAITING: usize = 4096;

/// A line from the client. Its digest is computed only if a record needs it.
pub(super) struct ReceivedLine<'a> {
    text: &'a [u8],
    digest: OnceCell<Digest>,
}

impl<'a> ReceivedLine<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, digest: OnceCell::new() }
    }

    fn digest(&self) -> Digest {
        self.digest.get_or_init(|| Digest::of(self.text)).clone()
    }
}

/// The audit log of a session, for any thread; by default there is none.
#[derive(Debug, Clone, Default)]
pub(super) struct Auditor(Option<Arc<Shared>>);

impl Auditor {
    /// Opens the log, if there is a plan for one. Whoever notes a record writes it, until a thread does.
    pub(super) fn new(plan: Option<AuditPlan>) -> Self {
        Self(plan.map(|plan| {
            let log = Log { file: plan.open(), is_failing: false, is_over: false };
            Arc::new(Shared { file: plan.file, kept: Mutex::default(), bell: Condvar::new(), log: Mutex::new(log) })
        }))
    }

    /// Lets a thread write what is noted from now on. It calls `tell` if there is something for the server's own log.
    ///
    /// # Errors
    /// If there is no thread.
    pub(super) fn write_on_a_thread(&self, tell: impl Fn() + Send + 'static) -> io::Result<()> {
        let Some(shared) = self.0.clone() else { return Ok(()) };
        let work = {
            let shared = Arc::clone(&shared);
            move || {
                while shared.is_rung() {
                    shared.write_if_begun();
                    if !shared.kept().told.is_empty() {
                        tell();
                    }
                }
            }
        };
        std::thread::Builder::new().name("audit".into()).spawn(work)?;
        shared.kept().has_thread = true;
        Ok(())
    }

    /// Whether there is an audit log.
    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Why the log could not be opened.
    pub(super) fn broken(&self) -> Option<NotStarted> {
        let shared = self.0.as_ref()?;
        let log = shared.log();
        Some(not_opened(&shared.file, log.file.as_ref().err()?))
    }

    /// Takes note of who has sent a request.
    pub(super) fn hears(&self, client: Option<&Arc<Implementation>>) {
        if let (Some(shared), Some(client)) = (&self.0, client) {
            if shared.kept().hears(client) {
                // The session's first record names its client.
                shared.ring();
            }
        }
    }

    /// Records that a call of this client was decided on, before it runs.
    ///
    /// # Errors
    /// [`NotRun::NotRecorded`], or [`NotRun::GivenUp`] if nobody waits for the call any more.
    pub(super) fn decided<'a>(
        &self,
        (call, facts): (u64, &Facts),
        client: Option<&Arc<Implementation>>,
        (id, tool): (&RequestId, &str),
        decisions: impl FnOnce() -> Vec<RecordedDecision<'a>>,
    ) -> Result<(), NotRun> {
        let Some(shared) = &self.0 else { return Ok(()) };
        let made = decisions().into_iter().map(|decision| decided_record((call, id, tool), decision));
        let made: Vec<DecidedRecord> = made.collect();
        let is_refused = made.iter().any(|decided| decided.decision == Verdict::Refused);
        let mut log = shared.log();
        {
            let mut kept = shared.kept();
            if facts.is_given_up() {
                // That is on record instead.
                return Err(NotRun::GivenUp);
            }
            // Others may have sent requests while it was decided on.
            client.map(|client| kept.hears(client));
            if !is_refused {
                kept.without_end.insert(call);
            }
        }
        let written = shared.write(&mut log, made.into_iter().map(Event::Decided));
        written.map_err(|why| {
            shared.kept().without_end.remove(&call);
            NotRun::NotRecorded { why }
        })
    }

    /// Records decisions on parts of a line, before they run.
    ///
    /// # Errors
    /// [`NotRun::NotRecorded`].
    pub(super) fn decided_parts(
        &self,
        call: (u64, &RequestId, &str),
        parts: Vec<RecordedDecision<'_>>,
    ) -> Result<(), NotRun> {
        let Some(shared) = &self.0 else { return Ok(()) };
        let made = parts.into_iter().map(|decision| decided_record(call, decision));
        let written = shared.write(&mut shared.log(), made.map(Event::Decided));
        written.map_err(|why| NotRun::NotRecorded { why })
    }

    /// Records a request that runs nothing, before it is served.
    ///
    /// # Errors
    /// [`NotRun::NotRecorded`].
    pub(super) fn received(&self, received: Received) -> Result<(), NotRun> {
        let Some(shared) = &self.0 else { return Ok(()) };
        let written = shared.write(&mut shared.log(), [Event::Received(received)]);
        written.map_err(|why| NotRun::NotRecorded { why })
    }

    /// The names of a request, for the record of its refusal.
    pub(super) fn called(&self, request: &Request) -> Option<Called> {
        self.is_on().then(|| called(request))
    }

    /// Notes a request that runs nothing.
    pub(super) fn note_received(&self, received: Received) {
        self.note(|| Event::Received(received));
    }

    /// Notes the client's roots: those that count, and why the others do not.
    pub(super) fn roots(&self, roots: &[Arc<Held>], dropped: &[String]) {
        self.note(|| {
            let roots = roots.iter().map(|root| escape_os(root.path().as_os_str()).into_owned()).collect();
            let refused = dropped.iter().map(|reason| RefusedRoot { reason: reason.clone() }).collect();
            Event::Roots(Roots { roots, refused })
        });
    }

    /// Notes anything that need not be in the file before something else happens. The session's last record counts those that
    /// can't be written.
    fn note(&self, event: impl FnOnce() -> Event) {
        let Some(shared) = &self.0 else { return };
        let mut kept = shared.kept();
        kept.waiting.push(event());
        let is_left = kept.has_thread && kept.waiting.len() < MOST_WAITING;
        drop(kept);
        if is_left { shared.ring() } else { shared.write_waiting() }
    }

    /// Notes a request that was answered without a decision.
    pub(super) fn refused(&self, reply: &Reply, code: Option<i32>, reason: &str) {
        let Some(Called { method, tool }) = reply.called() else { return };
        self.note(|| {
            let method = Some(method.clone()).filter(|method| !method.is_empty());
            let (id, tool, reason) = (reply.id().as_value().clone(), tool.clone(), reason.to_owned());
            Event::RefusedRequest(RefusedRequest { id, method, tool, code, reason, line: None })
        });
    }

    /// Notes a line, or an element of a batch, that isn't a message that can be served.
    pub(super) fn malformed(&self, id: Option<&RequestId>, code: i32, reason: &str, line: Option<&ReceivedLine<'_>>) {
        self.note(|| {
            let id = id.map_or(Value::Null, |id| id.as_value().clone());
            let (code, reason, line) = (Some(code), reason.to_owned(), line.map(ReceivedLine::digest));
            Event::RefusedRequest(RefusedRequest { id, method: None, tool: None, code, reason, line })
        });
    }

    /// The record of a request that runs nothing; `None` if the policy decides on it, or if it calls an unknown tool.
    pub(super) fn of_request(
        &self,
        request: &Request,
        find: impl FnOnce(&str) -> Option<ToolKind>,
        line: &ReceivedLine<'_>,
    ) -> Option<Box<Received>> {
        if !self.is_on() {
            return None;
        }
        let (mut tool, mut about_call, mut input) = (None, None, None);
        if request.method == "tools/call" {
            let named = request.params.get("name").and_then(Value::as_str)?;
            let kind = find(named)?;
            if matches!(kind, ToolKind::Execute(_) | ToolKind::Shell(_)) {
                return None;
            }
            let argument = |key: &str| request.params.get("arguments").and_then(|arguments| arguments.get(key));
            tool = name(named);
            about_call = argument("call").and_then(Value::as_u64);
            let given = argument("text").filter(|_| kind == ToolKind::Calls(CallTool::WriteInput));
            input = given.and_then(Value::as_str).map(|text| Digest::of(text.as_bytes()));
        }
        let (id, method) = (request.id.as_value().clone(), name(&request.method));
        let line = line.digest();
        Some(Box::new(Received { message: MessageKind::Request, id, method, tool, about_call, input, line }))
    }

    /// Notes a notification.
    pub(super) fn notified(&self, notification: &Notification, line: &ReceivedLine<'_>) {
        let named = notification.params.get("requestId").and_then(RequestId::from_value);
        self.came(MessageKind::Notification, named.as_ref(), Some(&notification.method), line);
    }

    /// Notes a response.
    pub(super) fn responded(&self, response: &Response, line: &ReceivedLine<'_>) {
        self.came(MessageKind::Response, response.id.as_ref(), None, line);
    }

    fn came(&self, message: MessageKind, id: Option<&RequestId>, method: Option<&str>, line: &ReceivedLine<'_>) {
        self.note(|| {
            let (id, method) = (id.map_or(Value::Null, |id| id.as_value().clone()), method.and_then(name));
            let (tool, about_call, input) = (None, None, None);
            let line = line.digest();
            Event::Received(Received { message, id, method, tool, about_call, input, line })
        });
    }

    /// Whether there are calls that were not refused, and whose end is not on record.
    pub(super) fn waits_for_ends(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| !shared.kept().without_end.is_empty())
    }

    /// Notes the ends of those calls, of which the server hears nothing more.
    pub(super) fn lose_ends(&self) {
        let Some(shared) = &self.0 else { return };
        let lost = std::mem::take(&mut shared.kept().without_end);
        for call in lost {
            let error = Some(LOST.to_owned());
            self.note(|| Event::Ended(Ended { call, cancelled: true, error, ..Ended::default() }));
        }
    }

    /// Whether a call was not refused and has no end on record; from now on it has.
    fn takes_end(&self, call: u64) -> bool {
        self.0.as_ref().is_some_and(|shared| shared.kept().without_end.remove(&call))
    }

    /// Notes that a call never starts, if its decision says anything else.
    pub(super) fn not_started(&self, call: u64, why: Option<&str>) {
        if self.takes_end(call) {
            let error = why.map(str::to_owned);
            self.note(|| Event::Ended(Ended { call, cancelled: error.is_none(), error, ..Ended::default() }));
        }
    }

    /// Notes that a call is given up which a thread decides on, or has decided on: then its thread tells its end.
    pub(super) fn given_up(&self, call: u64, reply: &Reply, reason: &str) {
        let Some(shared) = &self.0 else { return };
        let is_decided = shared.kept().without_end.contains(&call);
        if !is_decided {
            self.refused(reply, None, reason);
        }
    }

    /// Notes why a call does not run, whether it was decided on or not. What the policy refuses is on record as its decision, unless it
    /// was refused only at its turn.
    pub(super) fn does_not_run(&self, call: u64, reply: &Reply, why: &NotRun) {
        if self.is_on() {
            let sentence = why.to_string();
            if !matches!(why, NotRun::Policy(_) | NotRun::NotRecorded { .. }) {
                self.given_up(call, reply, &sentence);
            }
            self.not_started(call, Some(&sentence));
        }
    }

    /// Notes that a person is asked about a call, which the answer ends, or a new decision.
    pub(super) fn asked(&self, call: u64, channel: &'static str, text: impl FnOnce() -> String) {
        self.takes_end(call);
        self.note(|| Event::Asked(Asked { call, channel, text: text() }));
    }

    /// Notes the end of a question; `remembered` says whether the same call runs without another one for the rest of the session.
    pub(super) fn answered(
        &self,
        (call, channel): (u64, &'static str),
        (answer, remembered): (&'static str, bool),
        waited: Duration,
    ) {
        let waited_ms = milliseconds(waited);
        self.note(|| Event::Answered(Answered { call, channel, answer, remembered, waited_ms }));
    }

    /// Notes the start of a command, or of one of a line.
    pub(super) fn started(&self, call: u64, part: Option<usize>, started: &StartedCommand) {
        self.note(|| started_event((call, part), started));
    }

    /// Notes the end of a process of a line.
    pub(super) fn part_ended(&self, call: u64, part: usize, end: End) {
        self.note(|| part_ended(call, part, end));
    }

    /// Notes the end of a call.
    pub(super) fn ended(&self, ended: &CallEnded) {
        if self.takes_end(ended.key) {
            self.note(|| Event::Ended(ended_record(ended)));
        }
    }

    /// Takes the messages for the server's own log.
    pub(super) fn told(&self) -> Vec<(LogLevel, String)> {
        self.0.as_ref().map(|shared| std::mem::take(&mut shared.kept().told)).unwrap_or_default()
    }

    /// Writes what was noted and the session's last record.
    pub(super) fn end(&self) {
        let Some(shared) = &self.0 else { return };
        shared.kept().is_over = true;
        shared.bell.notify_all();
        let mut log = shared.log();
        // The operator is told.
        drop(shared.write(&mut log, []));
        if let Ok(file) = &mut log.file {
            let ended = file.end().err().map(|error| error.to_string());
            shared.tell(&mut log, ended);
        }
        log.is_over = true;
    }
}
