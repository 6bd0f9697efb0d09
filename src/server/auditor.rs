//! The audit log of a session, which the loop and the threads of calls share: what it records, and what it refuses if it can't record.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::audit_plan::{AuditPlan, not_opened};
use super::audit_records::{ended_record, name, started_event};
use super::event::CallEnded;
use super::not_run::NotRun;
use super::not_started::NotStarted;
use super::replies::Called;
use crate::audit::{
    AuditError, AuditLog, AuditedClient, Decided, Digest, Ended, Event, MessageKind, Received, RefusedRequest,
};
use crate::config::LogLevel;
use crate::exec::StartedCommand;
use crate::files::SharedReader;
use crate::jsonrpc::{Notification, Request, RequestId, Response};
use crate::mcp::Implementation;
use crate::tools::{CallTool, ToolKind};

/// Why the end of a call is not known.
const LOST: &str = "its end was lost: the server ended before it knew whether the command had";
/// How many messages wait to be recorded while the client is not known yet.
const MOST_WAITING: usize = 16;

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
pub(super) struct SharedAuditor {
    is_on: bool,
    auditor: Arc<Mutex<Auditor>>,
}

impl SharedAuditor {
    pub(super) fn new(auditor: Auditor) -> Self {
        Self { is_on: auditor.is_on(), auditor: Arc::new(Mutex::new(auditor)) }
    }

    /// Whether there is an audit log.
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Records that a call of this client was decided on, before it runs. The record is made before others have to wait.
    ///
    /// # Errors
    /// [`NotRun::NotRecorded`].
    pub(super) fn decided(
        &self,
        client: Option<&Arc<Implementation>>,
        made: impl FnOnce() -> Vec<Decided>,
    ) -> Result<(), NotRun> {
        if !self.is_on {
            return Ok(());
        }
        let made = made();
        let mut auditor = self.lock();
        // Others may have sent requests while it was decided on.
        auditor.hears(client);
        auditor.decided_parts(made)
    }

    /// Waits until no other thread records.
    pub(super) fn lock(&self) -> MutexGuard<'_, Auditor> {
        self.auditor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The audit log of a session; without `--audit` it does nothing.
#[derive(Debug, Default)]
pub(super) struct Auditor {
    log: Option<Result<AuditLog, AuditError>>,
    /// Its file, as the operator named it.
    file: PathBuf,
    /// The client that sent the last request.
    client: Option<(Arc<Implementation>, AuditedClient)>,
    /// Records that are written after the answer, so that the answer does not wait for them.
    waiting: Vec<Event>,
    /// The calls that were begun and whose end is not on record.
    begun: BTreeSet<u64>,
    /// Whether the last record could not be written.
    is_failing: bool,
    /// Whether the session's last record is written, so that nothing runs any more.
    is_over: bool,
    /// Messages for the server's own log.
    told: Vec<(LogLevel, String)>,
}

impl Auditor {
    /// Opens the log, if there is a plan for one.
    pub(super) fn new(plan: Option<AuditPlan>) -> Self {
        let Some(plan) = plan else { return Self::default() };
        Self { log: Some(plan.open()), file: plan.file, ..Self::default() }
    }

    /// Whether there is an audit log.
    pub(super) fn is_on(&self) -> bool {
        self.log.is_some()
    }

    /// Why the log could not be opened.
    pub(super) fn broken(&self) -> Option<NotStarted> {
        let error = self.log.as_ref()?.as_ref().err()?;
        Some(not_opened(&self.file, error))
    }

    /// Returns a reader of the log for another thread; `None` without a log.
    pub(super) fn reader(&self) -> Option<SharedReader> {
        self.log.as_ref()?.as_ref().ok().map(AuditLog::reader)
    }

    /// Takes note of who has sent a request.
    pub(super) fn hears(&mut self, client: Option<&Arc<Implementation>>) {
        let Some(client) = client.filter(|_| self.is_on()) else { return };
        if !self.client.as_ref().is_some_and(|(heard, _)| Arc::ptr_eq(heard, client)) {
            let Implementation { name, version, .. } = &**client;
            let audited = AuditedClient { name: name.clone(), version: version.clone() };
            self.client = Some((Arc::clone(client), audited));
        }
    }

    /// Writes the waiting records, now that there are no more answers to send. The session's first record is written as
    /// soon as the client is known, or with the first record that can't wait for that.
    pub(super) fn answers_sent(&mut self) {
        if !self.is_on() {
            return;
        }
        if let Some(Ok(log)) = self.log.as_mut().filter(|log| log.as_ref().is_ok_and(AuditLog::is_to_begin)) {
            let Some((_, client)) = &self.client else {
                if self.waiting.len() >= MOST_WAITING {
                    self.write_waiting();
                }
                return;
            };
            let begun = log.begin(Some(client.clone()));
            self.note(begun.err().map(|error| error.to_string()));
        }
        if !self.waiting.is_empty() {
            self.write_waiting();
        }
    }

    /// Writes the session's last record.
    pub(super) fn end(&mut self) {
        self.write_waiting();
        if let Some(Ok(log)) = &mut self.log {
            let ended = log.end();
            self.note(ended.err().map(|error| error.to_string()));
        }
        self.is_over = true;
    }

    /// Records anything except a decision. A record that can't be written is lost; the session's last record counts
    /// these.
    pub(super) fn record(&mut self, event: impl FnOnce() -> Event) {
        if self.is_on() {
            // The operator has been told.
            drop(self.write(event()));
        }
    }

    /// Records a request that was answered without a decision.
    pub(super) fn refused(&mut self, id: &RequestId, called: &Called, code: Option<i32>, reason: &str) {
        self.record(|| {
            let Called { method, tool } = called.clone();
            let method = Some(method).filter(|method| !method.is_empty());
            let (id, reason) = (id.as_value().clone(), reason.to_owned());
            Event::RefusedRequest(RefusedRequest { id, method, tool, code, reason, line: None })
        });
    }

    /// Records a line, or an element of a batch, that isn't a message that can be served.
    pub(super) fn malformed(
        &mut self,
        id: Option<&RequestId>,
        code: i32,
        reason: &str,
        line: Option<&ReceivedLine<'_>>,
    ) {
        self.record(|| {
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

    /// Records such a request before it is served.
    ///
    /// # Errors
    /// [`NotRun::NotRecorded`].
    pub(super) fn received(&mut self, received: Received) -> Result<(), NotRun> {
        self.write(Event::Received(received))
    }

    /// Keeps such a request, to be recorded after the server has handled it.
    pub(super) fn received_and_answered(&mut self, received: Received) {
        if self.is_on() {
            self.waiting.push(Event::Received(received));
        }
    }

    /// Keeps a notification, to be recorded after the server has handled it.
    pub(super) fn notified(&mut self, notification: &Notification, line: &ReceivedLine<'_>) {
        let named = notification.params.get("requestId").and_then(RequestId::from_value);
        self.came(MessageKind::Notification, named.as_ref(), Some(&notification.method), line);
    }

    /// Keeps a response, to be recorded after the server has handled it.
    pub(super) fn responded(&mut self, response: &Response, line: &ReceivedLine<'_>) {
        self.came(MessageKind::Response, response.id.as_ref(), None, line);
    }

    fn came(&mut self, message: MessageKind, id: Option<&RequestId>, method: Option<&str>, line: &ReceivedLine<'_>) {
        if !self.is_on() {
            return;
        }
        let (id, method) = (id.map_or(Value::Null, |id| id.as_value().clone()), method.and_then(name));
        let (tool, about_call, input) = (None, None, None);
        let line = line.digest();
        self.waiting.push(Event::Received(Received { message, id, method, tool, about_call, input, line }));
    }

    /// Notes that the turn of a call has come, whose end will be recorded in any case.
    pub(super) fn begins(&mut self, call: u64) {
        if self.is_on() {
            self.begun.insert(call);
        }
    }

    /// Whether calls were begun whose end is not on record.
    pub(super) fn waits_for_ends(&self) -> bool {
        !self.begun.is_empty()
    }

    /// Records the ends of those calls, of which the server hears nothing more.
    pub(super) fn lose_ends(&mut self) {
        for call in std::mem::take(&mut self.begun) {
            let error = Some(LOST.to_owned());
            self.waiting.push(Event::Ended(Ended { call, cancelled: true, error, ..Ended::default() }));
        }
    }

    /// Records that a call which was allowed never starts.
    pub(super) fn not_started(&mut self, call: u64, why: Option<&str>) {
        self.begun.remove(&call);
        let error = why.map(str::to_owned);
        self.record(|| Event::Ended(Ended { call, cancelled: error.is_none(), error, ..Ended::default() }));
    }

    /// Records the start of a command.
    pub(super) fn started(&mut self, call: u64, part: Option<usize>, started: &StartedCommand) {
        self.record(|| started_event((call, part), started));
    }

    /// Records decisions on parts of a line, before they run.
    ///
    /// # Errors
    /// [`NotRun::NotRecorded`].
    pub(super) fn decided_parts(&mut self, made: Vec<Decided>) -> Result<(), NotRun> {
        if !self.is_on() {
            return Ok(());
        }
        self.write_waiting();
        let events: Vec<Event> = made.into_iter().map(Event::Decided).collect();
        self.write_all(&events).map_or(Ok(()), |why| Err(NotRun::NotRecorded { why }))
    }

    /// Keeps the end of a call, to record it once the call is answered.
    pub(super) fn ended(&mut self, ended: &CallEnded) {
        if !self.is_on() {
            return;
        }
        self.begun.remove(&ended.key);
        if let Some(started) = ended.facts.as_ref().and_then(|facts| facts.started.as_ref()) {
            self.waiting.push(started_event((ended.key, None), started));
        }
        self.waiting.push(Event::Ended(ended_record(ended)));
    }

    /// Takes the messages for the server's own log.
    pub(super) fn told(&mut self) -> Vec<(LogLevel, String)> {
        std::mem::take(&mut self.told)
    }

    /// Whether any record is not written yet.
    pub(super) fn has_unwritten(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Writes all waiting records.
    pub(super) fn write_waiting(&mut self) {
        let events = std::mem::take(&mut self.waiting);
        if !events.is_empty() {
            self.write_all(&events);
        }
    }

    /// Writes the waiting records, and then this one.
    fn write(&mut self, event: Event) -> Result<(), NotRun> {
        self.write_waiting();
        self.write_all(&[event]).map_or(Ok(()), |why| Err(NotRun::NotRecorded { why }))
    }

    fn write_all(&mut self, events: &[Event]) -> Option<String> {
        if self.is_over && self.is_on() {
            return Some("the session is over".to_owned());
        }
        let client = self.client.as_ref().map(|(_, client)| client);
        let why = match self.log.as_mut()? {
            Ok(log) => log.record(events, client).err().map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        self.note(why.clone());
        why
    }

    /// Tells the operator when records can no longer be written, and when they can be again.
    fn note(&mut self, failed: Option<String>) {
        match failed {
            Some(why) if !self.is_failing => {
                let line = format!("the audit log can't be written, so calls are refused: {why}");
                self.told.push((LogLevel::Error, line));
                self.is_failing = true;
            }
            Some(_) => {}
            None if self.is_failing => {
                self.told.push((LogLevel::Warn, "the audit log is written again".to_owned()));
                self.is_failing = false;
            }
            None => {}
        }
    }
}
