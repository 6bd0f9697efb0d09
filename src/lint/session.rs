//! One session, line by line.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::de::IgnoredAny;
use serde_json::Value;

use super::capabilities::Capabilities;
use super::schema::shown;
use super::{Finding, Schema, Side};
use crate::transcript::{Entry, LineEnd, Transcript, is_bare};

/// The key of a request's metadata with the revision, in the era without a handshake.
pub(super) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of a notification's metadata that says to which subscription it belongs, in that era too.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The key of a message's metadata that says to which task it belongs, in 2025-11-25.
const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

const NO_LINE_END: &str = "its last line does not end with LF";

/// Checks a session. `first_line` is the line of the file where its body begins; `schemas` are those of the revisions,
/// by their names.
///
/// Waits that contain only their identity are checked as far as they go.
#[must_use]
pub fn lint(transcript: &Transcript, first_line: usize, schemas: &BTreeMap<String, Schema>) -> Vec<Finding> {
    let mut session = Session::new(schemas);
    let (mut line_of_client, mut sent_on) = (Vec::new(), first_line);
    for (index, entry) in transcript.entries.iter().enumerate() {
        session.line = first_line + index;
        match entry {
            Entry::Send(sent) => {
                sent_on = session.line;
                line_of_client.extend_from_slice(&sent.bytes);
                if sent.end == LineEnd::Newline {
                    session.raw(Side::Client, &std::mem::take(&mut line_of_client));
                }
            }
            Entry::Receive(message) => session.raw(Side::Server, message.text().as_bytes()),
            Entry::Noise(line) => session.raw(Side::Server, line),
            Entry::CloseInput => {
                session.closed = true;
                if !line_of_client.is_empty() {
                    session.line = sent_on;
                    session.raw(Side::Client, &std::mem::take(&mut line_of_client));
                    session.find(Side::Client, "framing", NO_LINE_END);
                }
            }
            Entry::Exit(status) => {
                session.closed = true;
                if *status > 128 {
                    session.find(
                        Side::Server,
                        "lifecycle",
                        format!("a signal ended the server (exit status {status})"),
                    );
                }
            }
            Entry::NoLineEnd => session.find(Side::Server, "framing", NO_LINE_END),
            Entry::Comment(_) | Entry::Blank | Entry::Failure(_) => {}
        }
    }
    if !line_of_client.is_empty() {
        session.raw(Side::Client, &line_of_client);
    }
    session.finish()
}

/// The error code of JSON-RPC for a method that there is not.
const METHOD_NOT_FOUND: i64 = -32601;

/// Returns the key of an id or a token. `1`, `1.0` and `-0` are whole numbers that may be written in another way.
fn spelled(id: &Value) -> String {
    match id.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < EXACT) {
        Some(number) => (number + 0.0).to_string(),
        None => id.to_string(),
    }
}

/// Doubles hold all whole numbers up to this one.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A request that was not answered yet, or was.
struct Request {
    line: usize,
    method: String,
    /// By which it and its answer are judged.
    revision: Option<String>,
    answered: bool,
    cancelled: bool,
}

struct Session<'a> {
    schemas: &'a BTreeMap<String, Schema>,
    line: usize,
    findings: Vec<Finding>,
    /// By sender and id as JSON.
    requests: BTreeMap<(Side, String), Request>,
    /// By receiver and token: the request that has the token, and its progress so far.
    tokens: BTreeMap<(Side, String), (String, Option<f64>)>,
    /// The revision that the handshake came to.
    negotiated: Option<String>,
    /// The revision of the last request that named one itself: such requests need no handshake.
    modern: Option<String>,
    /// The revisions for which there is no schema.
    without_schema: BTreeSet<String>,
    initialized: BTreeSet<&'static str>,
    capabilities: Capabilities,
    /// The lines of the client that are not JSON, until an error says so.
    unparsed: VecDeque<usize>,
    closed: bool,
    /// The server's requests without an answer of which the transcript says only the method.
    unnamed: usize,
}

impl<'a> Session<'a> {
    fn new(schemas: &'a BTreeMap<String, Schema>) -> Self {
        Self {
            schemas,
            line: 0,
            findings: Vec::new(),
            requests: BTreeMap::new(),
            tokens: BTreeMap::new(),
            negotiated: None,
            modern: None,
            without_schema: BTreeSet::new(),
            initialized: BTreeSet::new(),
            capabilities: Capabilities::default(),
            unparsed: VecDeque::new(),
            closed: false,
            unnamed: 0,
        }
    }

    fn find(&mut self, side: Side, rule: &'static str, what: impl Into<String>) {
        self.findings.push(Finding { line: self.line, side, rule, what: what.into() });
    }

    fn raw(&mut self, side: Side, line: &[u8]) {
        let Ok(text) = std::str::from_utf8(line) else {
            return self.find(side, "framing", "the line is not UTF-8");
        };
        if text.trim().is_empty() {
            return self.find(side, "framing", "the line is blank");
        }
        if text.ends_with('\r') {
            self.find(side, "framing", "the line ends with CR LF; expected LF");
        }
        match serde_json::from_str(text) {
            Err(error) => {
                // Some JSON fits in no value: numbers without bounds, half a character, a thousand brackets.
                let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
                let what = if is_json { "the line is JSON that few programs read" } else { "the line is not JSON" };
                self.find(side, "framing", format!("{what} ({error}): {}", shown(&Value::from(text))));
                if side == Side::Client && !is_json {
                    self.unparsed.push_back(self.line);
                }
            }
            Ok(Value::Array(members)) => {
                if self.revision(None).is_some_and(|version| version > "2025-03-26") {
                    self.find(side, "jsonrpc", "this revision has no batches");
                }
                members.iter().for_each(|member| self.message(side, member));
            }
            Ok(message) => self.message(side, &message),
        }
    }

    fn message(&mut self, side: Side, message: &Value) {
        let is_bare = side == Side::Server && is_bare(message);
        if !is_bare && message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            self.find(side, "jsonrpc", "`jsonrpc` is not \"2.0\"");
        }
        let method = message.get("method").and_then(Value::as_str);
        if method.is_some() && (message.get("result").is_some() || message.get("error").is_some()) {
            self.find(side, "jsonrpc", "it has a `method` and also a `result` or an `error`");
        }
        match (method, message.get("id")) {
            (Some(method), None) if is_bare => self.bare_method(side, method),
            (Some(method), Some(id)) => self.request(side, method, id, message),
            (Some(method), None) => self.notification(side, method, message),
            (None, Some(id)) => self.response(side, id, message, is_bare),
            (None, None) if message.get("error").is_some() => self.error_without_id(side, message, is_bare),
            (None, None) => self.find(side, "jsonrpc", "it has neither a `method` nor an `id`"),
        }
    }

    fn request(&mut self, side: Side, method: &str, id: &Value, message: &Value) {
        if !(id.is_string() || id.as_f64().is_some_and(|id| id.fract() == 0.0)) {
            self.find(side, "id", format!("an id is a string or a whole number, found {}", shown(id)));
        }
        let meta = message.pointer("/params/_meta");
        let own = meta.and_then(|meta| meta.get(VERSION)).and_then(Value::as_str);
        match own {
            Some(version) => self.modern = Some(version.to_owned()),
            None => {
                self.order(side, method);
                self.capable(side, method);
            }
        }
        if method == "initialize" {
            self.capabilities.client = message.pointer("/params/capabilities").cloned();
        }
        let revision = match method {
            // It is judged by the revision that it asks for.
            "initialize" => message.pointer("/params/protocolVersion").and_then(Value::as_str).map(str::to_owned),
            _ => self.revision(own).map(str::to_owned),
        };
        let key = (side, spelled(id));
        if self.requests.contains_key(&key) {
            self.find(side, "id", format!("the id {} was used before in this session", shown(id)));
        }
        if let Some(token) = meta.and_then(|meta| meta.get("progressToken")) {
            let receiver = side.other();
            let is_active = self
                .tokens
                .get(&(receiver, spelled(token)))
                .is_some_and(|(id, _)| self.requests.get(&(side, id.clone())).is_some_and(|request| !request.answered));
            if is_active {
                self.find(side, "progress", format!("the token {} still belongs to another request", shown(token)));
            }
            self.tokens.insert((receiver, spelled(token)), (spelled(id), None));
        }
        self.by_schema(side, method, message, revision.as_deref());
        let (line, method) = (self.line, method.to_owned());
        self.requests.insert(key, Request { line, method, revision, answered: false, cancelled: false });
    }

    /// A wait that says only a method, so nobody knows the rest of the message.
    fn bare_method(&mut self, side: Side, method: &str) {
        if !method.starts_with("notifications/") {
            self.unnamed += 1;
        }
        if self.modern.is_none() {
            self.capable(side, method);
        }
    }

    /// Whether what a side sends was offered by the side that has to, in the era with a handshake.
    fn capable(&mut self, side: Side, method: &str) {
        if let Some(missing) = self.capabilities.missing(side, method, self.negotiated.as_deref()) {
            self.find(side, "capability", missing);
        }
    }

    /// The order of the handshake.
    fn order(&mut self, side: Side, method: &str) {
        let [asked, answered, ready] = ["asked", "answered", "ready"].map(|state| self.initialized.contains(state));
        match (side, method) {
            (_, "ping") => {}
            (Side::Client, "initialize") if asked => self.find(side, "lifecycle", "`initialize` a second time"),
            (Side::Client, "initialize") => {
                self.initialized.insert("asked");
            }
            // It shows the era, and is the first request of one without a handshake.
            (Side::Client, "server/discover") => {}
            (Side::Client, _) if !answered => {
                self.find(side, "lifecycle", format!("`{method}` before `initialize` was answered"));
            }
            (Side::Client, _) if !ready => {
                self.find(side, "lifecycle", format!("`{method}` before `notifications/initialized`"));
            }
            (Side::Server, _) if !ready => {
                self.find(side, "lifecycle", format!("`{method}` before the client was initialized"));
            }
            (Side::Client | Side::Server, _) => {}
        }
    }

    fn notification(&mut self, side: Side, method: &str, message: &Value) {
        let params = |name: &str| message.get("params").and_then(|params| params.get(name));
        let own = message.pointer("/params/_meta").and_then(|meta| meta.get(VERSION)).and_then(Value::as_str);
        let revision = own.map(str::to_owned).or_else(|| self.revision_of_request(side, method, params));
        if own.is_none() && self.modern.is_none() {
            self.capable(side, method);
        }
        match method {
            "notifications/initialized" if side == Side::Client => {
                if !self.initialized.contains("answered") {
                    self.find(side, "lifecycle", "`notifications/initialized` before `initialize` was answered");
                }
                self.initialized.insert("ready");
            }
            "notifications/cancelled" => match params("requestId") {
                None => self.find(side, "cancellation", "it names no request"),
                Some(id) => match self.requests.get_mut(&(side, spelled(id))) {
                    None => self.find(side, "cancellation", format!("there is no request {}", shown(id))),
                    Some(request) if request.method == "initialize" => {
                        self.find(side, "cancellation", "`initialize` can't be cancelled");
                    }
                    Some(request) => request.cancelled = true,
                },
            },
            "notifications/progress" => {
                let is_of_task = params("_meta").is_some_and(|meta| meta.get(RELATED_TASK).is_some());
                self.progress(side, params("progressToken"), params("progress"), is_of_task);
            }
            _ => {}
        }
        self.by_schema(side, method, message, revision.as_deref());
    }

    /// The progress of a task goes on after the answer, which was the task.
    fn progress(&mut self, side: Side, token: Option<&Value>, progress: Option<&Value>, is_of_task: bool) {
        let Some(token) = token else { return self.find(side, "progress", "it has no token") };
        let Some((id, before)) = self.tokens.get_mut(&(side, spelled(token))) else {
            return self.find(side, "progress", format!("no request has the token {}", shown(token)));
        };
        let now = progress.and_then(Value::as_f64);
        let back = before.zip(now).is_some_and(|(before, now)| now <= before);
        *before = now.or(*before);
        let request = self.requests.get(&(side.other(), id.clone()));
        let late = !is_of_task && request.is_some_and(|request| request.answered);
        if back {
            self.find(side, "progress", "progress must increase with each notification");
        }
        if late {
            self.find(side, "progress", "its request was answered already");
        }
    }

    fn response(&mut self, side: Side, id: &Value, message: &Value, is_bare: bool) {
        if id.is_null() {
            self.unparsed.pop_front();
            if !is_bare {
                self.find(side, "id", "an id is never null; leave it out if it is not known");
            }
            return;
        }
        let Some(request) = self.requests.get_mut(&(side.other(), spelled(id))) else {
            if side == Side::Client && self.unnamed > 0 {
                self.unnamed -= 1;
                return;
            }
            return self.find(side, "id", format!("it answers the id {}, which no request has", shown(id)));
        };
        let (was_answered, was_cancelled) = (request.answered, request.cancelled);
        let (method, mut revision) = (request.method.clone(), request.revision.clone());
        request.answered = true;
        if was_answered {
            self.find(side, "id", format!("the request {} was answered before", shown(id)));
        } else if was_cancelled {
            self.find(side, "cancellation", format!("the request {} was cancelled, but was answered", shown(id)));
        }
        if is_bare {
            if method == "initialize" {
                self.initialized.insert("answered");
            }
            return;
        }
        let (result, error) = (message.get("result"), message.get("error"));
        if result.is_some() == error.is_some() {
            self.find(side, "jsonrpc", "a response has either a `result` or an `error`");
        }
        if method == "initialize" && result.is_some() {
            self.initialized.insert("answered");
            let version = result.and_then(|result| result.get("protocolVersion")).and_then(Value::as_str);
            self.negotiated = version.map(str::to_owned);
            self.capabilities.server = result.and_then(|result| result.get("capabilities")).cloned();
            revision.clone_from(&self.negotiated);
        }
        let Some(schema) = self.schema(side, revision.as_deref()) else { return };
        let code = error.and_then(|error| error.get("code")).and_then(Value::as_i64);
        if let Some(code) = code.filter(|code| *code != METHOD_NOT_FOUND && self.initialized.contains("ready")) {
            if schema.of_method(&method).is_none() {
                let what =
                    format!("`{method}` is not a method of this revision; expected the error -32601, found {code}");
                self.find(side, "jsonrpc", what);
            }
        }
        let fault = match result {
            Some(result) => schema.of_result(&method, result).and_then(|name| schema.fault(&name, result)),
            None => {
                let name = schema.first(&["JSONRPCErrorResponse", "JSONRPCError"]);
                name.and_then(|name| schema.fault(name, message))
            }
        };
        self.faulty(side, fault, &format!("the answer to `{method}`"));
    }

    /// An error that belongs to no request. It has no id, which the older schemas ask for.
    fn error_without_id(&mut self, side: Side, message: &Value, is_bare: bool) {
        self.unparsed.pop_front();
        let is_whole = message.pointer("/error/code").is_some_and(Value::is_i64)
            && message.pointer("/error/message").is_some_and(Value::is_string);
        if !is_bare && !is_whole {
            self.find(side, "jsonrpc", "an error has a whole number as its `code` and a string as its `message`");
        }
    }

    /// The revision of a message that may say its own.
    fn revision<'b>(&'b self, own: Option<&'b str>) -> Option<&'b str> {
        own.or(self.negotiated.as_deref()).or(self.modern.as_deref())
    }

    /// The revision of a notification that does not say its own: that of the request that it is about, if it names one.
    fn revision_of_request<'b>(
        &self,
        side: Side,
        method: &str,
        params: impl Fn(&str) -> Option<&'b Value>,
    ) -> Option<String> {
        let of = |side: Side, id: &str| self.requests.get(&(side, id.to_owned())).map(|request| &request.revision);
        let named = match method {
            "notifications/cancelled" => params("requestId").and_then(|id| of(side, &spelled(id))),
            "notifications/progress" => params("progressToken")
                .and_then(|token| self.tokens.get(&(side, spelled(token))))
                .and_then(|(id, _)| of(side.other(), id)),
            // A subscription belongs to the modern era. Other notifications are in the revision of the handshake, if there was one.
            _ if params("_meta").is_some_and(|meta| meta.get(SUBSCRIPTION).is_some()) => Some(&self.modern),
            _ => None,
        };
        named.cloned().unwrap_or_else(|| self.revision(None).map(str::to_owned))
    }

    /// The schema of a revision. That there is none is found once for each; without any schema nothing is looked for.
    fn schema(&mut self, side: Side, revision: Option<&str>) -> Option<&'a Schema> {
        let (schemas, revision) = (self.schemas, revision?);
        let schema = schemas.get(revision);
        if schema.is_none() && !schemas.is_empty() && self.without_schema.insert(revision.to_owned()) {
            let what = format!(
                "there is no schema for the revision {}, so its messages were not checked",
                shown(&revision.into())
            );
            self.find(side, "schema", what);
        }
        schema
    }

    fn by_schema(&mut self, side: Side, method: &str, message: &Value, revision: Option<&str>) {
        let Some(schema) = self.schema(side, revision) else { return };
        let fault = schema.of_method(method).and_then(|name| schema.fault(name, message));
        self.faulty(side, fault, &format!("`{method}`"));
    }

    fn faulty(&mut self, side: Side, fault: Option<(String, String)>, what: &str) {
        if let Some((at, why)) = fault {
            let at = if at.is_empty() { String::new() } else { format!(" at `{at}`") };
            self.find(side, "schema", format!("{what}{at}: {why}"));
        }
    }

    /// Adds the requests and lines that were unanswered when the client closed its end, and returns all findings.
    fn finish(mut self) -> Vec<Finding> {
        if self.closed {
            let open = self.requests.iter().filter(|(_, request)| !request.answered && !request.cancelled);
            let open: Vec<Finding> = open
                .map(|((side, id), request)| Finding {
                    line: request.line,
                    side: side.other(),
                    rule: "id",
                    what: format!("the request {id} (`{}`) was never answered", request.method),
                })
                .collect();
            self.findings.extend(open);
            let unanswered = std::mem::take(&mut self.unparsed).into_iter().map(|line| Finding {
                line,
                side: Side::Server,
                rule: "jsonrpc",
                what: "the line is not JSON, and no error says so".to_owned(),
            });
            self.findings.extend(unanswered);
        }
        self.findings.sort_by_key(|finding| finding.line);
        self.findings
    }
}
