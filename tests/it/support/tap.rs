//! A tap on a session: every line that the server sends is checked against what the client has asked.
//!
//! By the schema of the revision in use: the envelope, the result that belongs to the request's method, notifications,
//! the server's own requests. Beyond the schemas: see [`State::server_message`] and what it calls.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::schema::{MODERN, REVISIONS, Schema, TASKS};

const LEGACY_LATEST: &str = "2025-11-25";
const META_VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";
const META_CAPABILITIES: &str = "/params/_meta/io.modelcontextprotocol~1clientCapabilities";
const RELATED_TASK: &str = "/_meta/io.modelcontextprotocol~1related-task/taskId";
const META_SUBSCRIPTION: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";

/// Messages this long close the connection of a client in use.
const LONGEST: usize = 10 * 1024 * 1024;

/// The tap; clones share one state.
#[derive(Clone, Default)]
pub struct Tap(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    negotiated: Option<&'static str>,
    pending: Vec<Request>,
    /// Requests that were answered with a task, by its id: their progress goes on.
    tasks: Vec<(String, Request)>,
    /// What `tools/list` declared, by tool.
    output_schemas: Vec<(String, Value)>,
    violations: Vec<String>,
    cut: bool,
}

#[derive(Clone)]
struct Request {
    id: Value,
    method: String,
    modern: bool,
    progress_token: Option<Value>,
    last_progress: Option<f64>,
    tool: Option<String>,
    /// Whether it asks for a task, or takes one.
    takes_task: bool,
}

impl Tap {
    /// What was found so far, each with the line.
    pub fn violations(&self) -> Vec<String> {
        self.state().violations.clone()
    }

    /// Fails the test where something was found.
    pub fn assert_clean(&self) {
        let violations = self.violations();
        assert!(violations.is_empty(), "the server broke the protocol:\n{}", violations.join("\n"));
    }

    /// Says that the server is about to be killed, perhaps in the middle of a line.
    pub fn expect_cut(&self) {
        self.state().cut = true;
    }

    /// Takes note of a line of the client, without its line end, before the server can see it.
    pub fn client_line(&self, line: &[u8]) {
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        // What is no JSON asks for nothing that could be answered by an id.
        let Ok(message) = serde_json::from_slice(line).or_else(|_| outline(line)) else { return };
        let mut state = self.state();
        match message {
            Value::Array(messages) => messages.iter().for_each(|message| state.client_message(message)),
            message => state.client_message(&message),
        }
    }

    /// Checks a line of the server, without its line end.
    pub fn server_line(&self, line: &[u8]) {
        let mut state = self.state();
        let found = state.server_line(line);
        let shown: String = String::from_utf8_lossy(line).chars().take(2000).collect();
        state.violations.extend(found.into_iter().map(|problem| format!("- {problem}\n  in: {shown}")));
    }

    /// A writer that takes note of each line on its way to the server.
    pub fn writer<W: Write>(&self, inner: W) -> TapWriter<W> {
        TapWriter { tap: self.clone(), inner, line: Vec::new() }
    }

    /// A reader that checks each line on its way from the server.
    pub fn reader<R: Read>(&self, inner: R) -> TapReader<R> {
        TapReader { tap: self.clone(), inner, line: Vec::new() }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What no value can hold, as far as it asks for an answer.
fn outline(line: &[u8]) -> serde_json::Result<Value> {
    #[derive(serde::Deserialize)]
    struct Outline {
        id: Option<Value>,
        method: Option<String>,
        result: Option<IgnoredAny>,
        error: Option<IgnoredAny>,
    }
    let value = |outline: Outline| match (outline.id, outline.result.or(outline.error)) {
        (Some(id), None) => json!({"id": id, "method": outline.method}),
        (_, _) => Value::Null,
    };
    let batch = serde_json::from_slice::<Vec<Outline>>(line).map(|batch| batch.into_iter().map(value).collect());
    batch.or_else(|_| serde_json::from_slice(line).map(value))
}

impl State {
    fn client_message(&mut self, message: &Value) {
        let Some(id) = message.get("id") else { return };
        let is_response = message.get("result").is_some() || message.get("error").is_some();
        let method = message.get("method").and_then(Value::as_str);
        if method.is_none() && is_response {
            return;
        }
        self.pending.push(Request {
            // `-0` is 0.
            id: if id.as_f64() == Some(0.0) { json!(0) } else { id.clone() },
            // What is no message may be refused with the id that it carries.
            method: method.unwrap_or_default().to_owned(),
            modern: message.pointer(META_VERSION).is_some(),
            progress_token: message.pointer("/params/_meta/progressToken").cloned(),
            last_progress: None,
            tool: message.pointer("/params/name").and_then(Value::as_str).map(str::to_owned),
            takes_task: takes_task(message),
        });
    }

    fn legacy(&self) -> &'static str {
        self.negotiated.unwrap_or(LEGACY_LATEST)
    }

    fn server_line(&mut self, line: &[u8]) -> Vec<String> {
        if line.len() >= LONGEST {
            return vec![format!("{} bytes on one line", line.len())];
        }
        if line.contains(&b'\r') {
            return vec!["a carriage return".to_owned()];
        }
        match serde_json::from_slice(line) {
            Err(error) => vec![format!("no JSON: {error}")],
            Ok(Value::Array(batch)) if self.negotiated == Some("2025-03-26") && !batch.is_empty() => {
                batch.iter().flat_map(|message| self.server_message(message)).collect()
            }
            Ok(Value::Array(_)) => vec!["a batch, which only 2025-03-26 knows, and not empty".to_owned()],
            Ok(message) => self.server_message(&message),
        }
    }

    fn server_message(&mut self, message: &Value) -> Vec<String> {
        if message.get("id").is_some_and(Value::is_null) {
            return vec!["the id is null".to_owned()];
        }
        match (message.get("method").and_then(Value::as_str), message.get("id")) {
            (Some(method), Some(_)) => self.request(method, message),
            (Some(method), None) => self.notification(method, message),
            (None, id) if message.get("error").is_some() => self.error(id, message),
            (None, Some(id)) => self.result(id, message),
            (None, None) => vec!["neither a method nor an id nor an error".to_owned()],
        }
    }

    fn request(&self, method: &str, message: &Value) -> Vec<String> {
        let Some(revision) = self.negotiated else {
            return vec!["a request of the server without a handshake".to_owned()];
        };
        let Some(schema) = Schema::of(revision) else { return Vec::new() };
        let mut problems = schema.problems(&["JSONRPCRequest"], message);
        match schema.definition_for_method(method, "Request") {
            Some(definition) => problems.extend(schema.problems(&[definition], message)),
            None => problems.push(format!("{revision} has no request `{method}`")),
        }
        problems
    }

    fn notification(&mut self, method: &str, message: &Value) -> Vec<String> {
        if method == "notifications/progress" {
            return self.progress(message);
        }
        if method == "notifications/tasks" {
            return self.task_notification(message);
        }
        let modern = message.pointer(META_SUBSCRIPTION).is_some();
        let modern_possible = modern || self.pending.iter().any(|request| request.modern);
        let legacy = if modern { None } else { self.negotiated };
        let revisions = [legacy, modern_possible.then_some(MODERN)];
        let problems = |revision| notification_problems(revision, method, message);
        // With both eras side by side a notification does not say which one it belongs to: one must fit.
        let problems: Vec<Vec<String>> = revisions.into_iter().flatten().map(problems).collect();
        if problems.iter().any(Vec::is_empty) {
            return Vec::new();
        }
        let first = problems.into_iter().next();
        first.unwrap_or_else(|| vec!["a notification before anyone could ask for one".to_owned()])
    }

    fn progress(&mut self, message: &Value) -> Vec<String> {
        let legacy = self.legacy();
        let token = message.pointer("/params/progressToken");
        let progress = message.pointer("/params/progress").and_then(Value::as_f64);
        let asked = self.pending.iter_mut().find(|request| token.is_some() && request.progress_token.as_ref() == token);
        let of_task = message["params"].pointer(RELATED_TASK).and_then(Value::as_str);
        let goes_on = self.tasks.iter_mut().find(|(id, _)| of_task == Some(id)).map(|(_, request)| request);
        let goes_on = goes_on.filter(|request| request.progress_token.as_ref() == token);
        let Some(request) = asked.or(goes_on) else {
            return vec!["progress for a token that no open request carries".to_owned()];
        };
        let mut problems = Vec::new();
        if progress <= request.last_progress {
            problems.push(format!("progress does not increase: {:?} before", request.last_progress));
        }
        request.last_progress = progress;
        let revision = if request.modern { MODERN } else { legacy };
        problems.extend(notification_problems(revision, "notifications/progress", message));
        problems
    }

    fn answered(&mut self, id: &Value) -> Option<Request> {
        let index = self.pending.iter().position(|request| request.id == *id)?;
        Some(self.pending.remove(index))
    }

    fn error(&mut self, id: Option<&Value>, message: &Value) -> Vec<String> {
        let mut revision = self.legacy();
        let mut problems = Vec::new();
        if let Some(id) = id {
            match self.answered(id) {
                Some(request) if request.modern => revision = MODERN,
                Some(_) => {}
                None => problems.push(format!("answers the id {id}, which is not open")),
            }
        }
        match message["error"]["code"].as_i64() {
            Some(-32700 | -32603..=-32600) => {}
            Some(-32021 | -32022) if revision == MODERN => {}
            code => problems.push(format!("error code {code:?}, which is not for {revision}")),
        }
        // The id may be left out from 2025-11-25 on; where it can't be told, older clients get the same.
        let schema = if id.is_some() { revision } else { revision.max(LEGACY_LATEST) };
        if let Some(schema) = Schema::of(schema) {
            problems.extend(schema.problems(&["JSONRPCErrorResponse", "JSONRPCError"], message));
            let definition = match message["error"]["code"].as_i64() {
                Some(-32021) => Some("MissingRequiredClientCapabilityError"),
                Some(-32022) => Some("UnsupportedProtocolVersionError"),
                _ => None,
            };
            if let (Some(definition), MODERN) = (definition, revision) {
                problems.extend(schema.problems(&[definition], message));
            }
        }
        problems
    }

    fn result(&mut self, id: &Value, message: &Value) -> Vec<String> {
        let Some(request) = self.answered(id) else {
            return vec![format!("answers the id {id}, which is not open")];
        };
        let result = &message["result"];
        let before = if request.modern { MODERN } else { self.legacy() };
        if let Some(problems) = self.task_result(&request, before, result) {
            return problems;
        }
        if request.method == "initialize" && !request.modern {
            let version = result["protocolVersion"].as_str().unwrap_or_default();
            self.negotiated = REVISIONS.into_iter().find(|revision| *revision == version && *revision != MODERN);
            if self.negotiated.is_none() {
                return vec![format!("negotiates `{version}`, which is no revision with a handshake")];
            }
        }
        let revision = if request.modern { MODERN } else { self.legacy() };
        let mut problems = self.tools(&request, revision, result);
        let Some(schema) = Schema::of(revision) else { return problems };
        problems.extend(schema.problems(&["JSONRPCResultResponse", "JSONRPCResponse"], message));
        match schema.result_for_method(&request.method).as_deref() {
            None => problems.push(format!("a result for `{}`, which {revision} does not know", request.method)),
            Some("EmptyResult") if *result != json!({}) => problems.push("an empty result is `{}`".to_owned()),
            Some(_) if result["resultType"] == "input_required" => {
                problems.extend(schema.problems(&["InputRequiredResult"], result));
            }
            Some(definition) => problems.extend(schema.problems(&[definition], result)),
        }
        problems
    }

    /// Answers that are about tasks; `None` for all others.
    fn task_result(&mut self, request: &Request, revision: &str, result: &Value) -> Option<Vec<String>> {
        let old = |names: &[&str], value: &Value| Schema::of("2025-11-25").map(|schema| schema.problems(names, value));
        let new = |name: &str| Schema::of(TASKS).map(|schema| schema.problems(&[name], result));
        let problems = match (revision, request.method.as_str()) {
            ("2025-11-25", "tools/call") if request.takes_task && result.get("task").is_some() => {
                self.tasks.extend(result["task"]["taskId"].as_str().map(|id| (id.to_owned(), request.clone())));
                old(&["CreateTaskResult"], result)
            }
            ("2025-11-25", "tasks/result") => {
                let whose = result.pointer(RELATED_TASK).and_then(Value::as_str).unwrap_or_default();
                let Some(place) = self.tasks.iter().position(|(id, _)| id == whose) else {
                    return Some(vec!["a result without the task that it belongs to".to_owned()]);
                };
                let of_task = self.tasks[place].1.clone();
                let mut problems = self.tools(&of_task, revision, result);
                problems.extend(old(&["CallToolResult"], result).unwrap_or_default());
                Some(problems)
            }
            (MODERN, "tools/call") if result["resultType"] == "task" => match request.takes_task {
                true => {
                    new("CreateTaskResult").map(|problems| problems.into_iter().chain(unknown_keys(result)).collect())
                }
                false => Some(vec!["a task for a client that does not declare the extension".to_owned()]),
            },
            (MODERN, "tasks/get") => {
                let mut problems = new("GetTaskResult").unwrap_or_default();
                problems.extend(unknown_keys(result));
                problems.extend(task_payload(result));
                Some(problems)
            }
            (MODERN, "tasks/cancel") => new("CancelTaskResult"),
            (MODERN, "tasks/update") => new("UpdateTaskResult"),
            (_, _) => return None,
        };
        Some(problems.unwrap_or_default())
    }

    fn task_notification(&mut self, message: &Value) -> Vec<String> {
        let subscription = message.pointer(META_SUBSCRIPTION);
        let is_open = |request: &Request| request.method == "subscriptions/listen" && Some(&request.id) == subscription;
        if !self.pending.iter().any(is_open) {
            return vec!["of no open subscription".to_owned()];
        }
        let Some(schema) = Schema::of(TASKS) else { return Vec::new() };
        let mut problems = schema.problems(&["TaskStatusNotification"], message);
        problems.extend(unknown_keys(&message["params"]));
        problems.extend(task_payload(&message["params"]));
        problems
    }

    /// The structured content of a call conforms to what the tool declared, and is left out with an error.
    fn tools(&mut self, request: &Request, revision: &str, result: &Value) -> Vec<String> {
        if request.method == "tools/list" {
            let tools = result["tools"].as_array().map_or(&[][..], Vec::as_slice);
            let declared = |tool: &Value| Some((tool["name"].as_str()?.to_owned(), tool.get("outputSchema")?.clone()));
            self.output_schemas = tools.iter().filter_map(declared).collect();
        }
        if request.method != "tools/call" || result["resultType"] == "input_required" || revision < "2025-06-18" {
            return Vec::new();
        }
        let content = result.get("structuredContent");
        if result["isError"] == true {
            return content.map(|_| "structured content beside an error".to_owned()).into_iter().collect();
        }
        let declared = self.output_schemas.iter().find(|(tool, _)| Some(tool) == request.tool.as_ref());
        match (declared, content) {
            (None, _) => Vec::new(),
            (Some(_), None) => vec!["no structured content, though the tool declares an output schema".to_owned()],
            (Some((_, schema)), Some(content)) => {
                let validator = match jsonschema::draft202012::new(schema) {
                    Ok(validator) => validator,
                    Err(error) => return vec![format!("the output schema is none: {error}")],
                };
                validator.iter_errors(content).map(|error| format!("by the output schema: {error}")).collect()
            }
        }
    }
}

/// Whether the client asks that the call becomes a task, or takes one.
fn takes_task(message: &Value) -> bool {
    let declares = message
        .pointer(META_CAPABILITIES)
        .is_some_and(|capabilities| capabilities["extensions"]["io.modelcontextprotocol/tasks"].is_object());
    declares || message["params"]["task"].is_object()
}

/// The schema of the extension leaves open which keys a task has.
fn unknown_keys(task: &Value) -> Vec<String> {
    let known = [
        "_meta",
        "createdAt",
        "error",
        "inputRequests",
        "lastUpdatedAt",
        "pollIntervalMs",
        "result",
        "resultType",
        "status",
        "statusMessage",
        "taskId",
        "ttlMs",
    ];
    let keys = task.as_object().into_iter().flatten().map(|(key, _)| key);
    keys.filter(|key| !known.contains(&key.as_str())).map(|key| format!("a task has no `{key}`")).collect()
}

/// What a task holds beside its status, and only then.
fn task_payload(task: &Value) -> Vec<String> {
    let keys = ["inputRequests", "result", "error"].map(|key| task.get(key).is_some());
    let expected = ["input_required", "completed", "failed"].map(|status| task["status"] == status);
    if keys != expected {
        return vec![format!("a task that is {} holds what another one does", task["status"])];
    }
    let result = task.get("result").filter(|_| Schema::of(MODERN).is_some());
    result.map_or_else(Vec::new, |result| {
        Schema::of(MODERN).map_or_else(Vec::new, |schema| schema.problems(&["CallToolResult"], result))
    })
}

fn notification_problems(revision: &str, method: &str, message: &Value) -> Vec<String> {
    let Some(schema) = Schema::of(revision) else { return Vec::new() };
    let mut problems = schema.problems(&["JSONRPCNotification"], message);
    match schema.definition_for_method(method, "Notification") {
        Some(definition) => problems.extend(schema.problems(&[definition], message)),
        None => problems.push(format!("{revision} has no notification `{method}`")),
    }
    problems
}

/// See [`Tap::writer`].
pub struct TapWriter<W: Write> {
    tap: Tap,
    inner: W,
    line: Vec<u8>,
}

impl<W: Write> Write for TapWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            match byte {
                b'\n' => self.tap.client_line(&std::mem::take(&mut self.line)),
                byte => self.line.push(*byte),
            }
        }
        self.inner.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> Drop for TapWriter<W> {
    /// A last line without a line end counts too; the stream is closed after this.
    fn drop(&mut self) {
        self.tap.client_line(&self.line);
    }
}

/// See [`Tap::reader`].
pub struct TapReader<R: Read> {
    tap: Tap,
    inner: R,
    line: Vec<u8>,
}

impl<R: Read> Read for TapReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        for byte in &buffer[..count] {
            match byte {
                b'\n' => self.tap.server_line(&std::mem::take(&mut self.line)),
                byte => self.line.push(*byte),
            }
        }
        if count == 0 && !std::mem::take(&mut self.line).is_empty() {
            let mut state = self.tap.state();
            if !state.cut {
                state.violations.push("- the last line has no line end".to_owned());
            }
        }
        Ok(count)
    }
}
