//! Tasks: requests that are answered immediately, and whose result is fetched later.
//!
//! In 2025-11-25 they are part of the protocol, and the client decides which call becomes a task. In 2026-07-28 they
//! are the extension `io.modelcontextprotocol/tasks` of modelcontextprotocol/ext-tasks, and the server decides, for
//! clients that declare the extension.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Caching, Revision, TASKS_EXTENSION, related_task_meta, seal};

/// The status of a task, by the names of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskStatus {
    /// It is in progress.
    Working,
    /// The client has to answer something first.
    InputRequired,
    /// It has its result.
    Completed,
    /// It has an error, or, in 2025-11-25, a result that is an error.
    Failed,
    /// The client has cancelled it.
    Cancelled,
}

impl TaskStatus {
    /// The word in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether it never changes again.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Working | Self::InputRequired => false,
            Self::Completed | Self::Failed | Self::Cancelled => true,
        }
    }
}

/// A task as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its id, which is random.
    pub id: String,
    /// How far it is.
    pub status: TaskStatus,
    /// Details for people and models, if there are any.
    pub status_message: Option<String>,
    /// The time of its creation, in the format of RFC 3339.
    pub created_at: String,
    /// The time of the last change of its status, in the same format.
    pub last_updated_at: String,
    /// How long it is kept after its creation.
    pub ttl: Duration,
    /// The interval at which clients should poll.
    pub poll_interval: Duration,
}

/// The part of a task that is sent in addition to its status.
#[derive(Debug, Clone, Copy)]
pub enum TaskPayload<'a> {
    /// Nothing.
    None,
    /// The questions that the client has to answer: `inputRequests`.
    InputRequests(&'a Value),
    /// The result of the request, encoded.
    Result(&'a [u8]),
    /// The error object of the request, encoded.
    Error(&'a [u8]),
}

impl Task {
    /// The members of the object. Durations in milliseconds have other names in the modern era.
    fn members(&self, revision: Revision) -> Value {
        let (ttl, poll_interval) =
            if revision.is_modern() { ("ttlMs", "pollIntervalMs") } else { ("ttl", "pollInterval") };
        let mut task = json!({
            "taskId": self.id,
            "status": self.status.name(),
            "createdAt": self.created_at,
            "lastUpdatedAt": self.last_updated_at,
            ttl: milliseconds(self.ttl),
            poll_interval: milliseconds(self.poll_interval),
        });
        if let (Some(message), Value::Object(members)) = (&self.status_message, &mut task) {
            members.insert("statusMessage".into(), json!(message));
        }
        task
    }

    /// The result of a request that has become this task.
    pub fn create_result(&self, revision: Revision) -> Value {
        let task = self.members(revision);
        if !revision.is_modern() {
            return json!({"task": task});
        }
        let mut result = seal(task, revision, Caching::Once);
        if let Value::Object(members) = &mut result {
            members.insert("resultType".into(), json!("task"));
        }
        result
    }

    /// The encoded result of `tasks/get`, and of `tasks/cancel` in 2025-11-25. Only the modern era includes the payload.
    pub fn encode(&self, payload: TaskPayload<'_>, revision: Revision) -> Vec<u8> {
        let task = seal(self.members(revision), revision, Caching::Once);
        with_payload(task, if revision.is_modern() { payload } else { TaskPayload::None })
    }

    /// The entry of `tasks/list`, and the parameters of `notifications/tasks/status`.
    pub fn to_value(&self, revision: Revision) -> Value {
        self.members(revision)
    }

    /// The parameters of `notifications/tasks` for this subscription, encoded (2026-07-28).
    pub fn notification_params(&self, payload: TaskPayload<'_>, subscription: &impl Serialize) -> Vec<u8> {
        let mut task = self.members(Revision::V2026_07_28);
        if let Value::Object(members) = &mut task {
            members.insert("_meta".into(), json!({super::subscription::SUBSCRIPTION_ID: subscription}));
        }
        with_payload(task, payload)
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The object with one more member, which may be long and is already encoded.
fn with_payload(task: Value, payload: TaskPayload<'_>) -> Vec<u8> {
    let mut json = task.to_string().into_bytes();
    let (key, value) = match payload {
        TaskPayload::None => return json,
        TaskPayload::InputRequests(requests) => ("inputRequests", requests.to_string().into_bytes()),
        TaskPayload::Result(result) => ("result", result.to_vec()),
        TaskPayload::Error(error) => ("error", error.to_vec()),
    };
    // It is an object with members, so a comma has to follow them.
    json.pop();
    json.extend_from_slice(format!(",\"{key}\":").as_bytes());
    json.extend_from_slice(&value);
    json.push(b'}');
    json
}

/// The result of a request, which is an encoded object with members, as the result of `tasks/result` (2025-11-25).
pub fn with_related_task(result: &[u8], id: &str) -> Vec<u8> {
    let mut json = format!("{{\"_meta\":{},", related_task_meta(id)).into_bytes();
    json.extend_from_slice(result.strip_prefix(b"{").unwrap_or(result));
    json
}

/// The result of `tasks/list` (2025-11-25).
pub fn list_tasks_result(tasks: &[&Task], next_cursor: Option<String>, revision: Revision) -> Value {
    let tasks: Vec<Value> = tasks.iter().map(|task| task.to_value(revision)).collect();
    let mut result = json!({"tasks": tasks});
    if let (Some(cursor), Value::Object(members)) = (next_cursor, &mut result) {
        members.insert("nextCursor".into(), json!(cursor));
    }
    result
}

/// How long a request asks for its task to be kept (2025-11-25). The outer `None` means that it does not ask for a
/// task, the inner `None` that it leaves the time to the server.
///
/// # Errors
/// The message for invalid parameters.
pub fn requested_task(params: &Map<String, Value>) -> Result<Option<Option<Duration>>, String> {
    let Some(task) = params.get("task").filter(|task| !task.is_null()) else { return Ok(None) };
    let Some(task) = task.as_object() else { return Err("`task` must be an object".to_owned()) };
    match task.get("ttl") {
        None | Some(Value::Null) => Ok(Some(None)),
        Some(ttl) => {
            let milliseconds = ttl.as_u64().or_else(|| whole(ttl));
            let ttl = milliseconds.ok_or("`task.ttl` must be a number of milliseconds from 0")?;
            Ok(Some(Some(Duration::from_millis(ttl))))
        }
    }
}

/// Reads a whole number, which some encoders write as `1e3` or `1000.0`.
fn whole(value: &Value) -> Option<u64> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=1e15).contains(number))?;
    format!("{number:.0}").parse().ok()
}

/// The task that a request is about.
///
/// # Errors
/// The message for invalid parameters.
pub fn task_id(params: &Map<String, Value>) -> Result<&str, String> {
    params.get("taskId").and_then(Value::as_str).ok_or_else(|| "`taskId` must be a string".to_owned())
}

/// The `data` of the error for a client that does not declare the extension.
pub fn tasks_required_capabilities() -> Value {
    json!({"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::takes_tasks;

    fn task() -> Task {
        Task {
            id: "x".to_owned(),
            status: TaskStatus::Working,
            status_message: None,
            created_at: "2026-01-01T00:00:00.000Z".to_owned(),
            last_updated_at: "2026-01-01T00:00:01.000Z".to_owned(),
            ttl: Duration::from_secs(60),
            poll_interval: Duration::from_millis(500),
        }
    }

    fn parsed(json: &[u8]) -> Value {
        serde_json::from_slice(json).unwrap()
    }

    #[test]
    fn a_task_is_told_by_the_names_of_its_era() {
        let (mut task, old, new) = (task(), Revision::V2025_11_25, Revision::V2026_07_28);
        let told = json!({
            "taskId": "x", "status": "working", "createdAt": "2026-01-01T00:00:00.000Z",
            "lastUpdatedAt": "2026-01-01T00:00:01.000Z", "ttl": 60000, "pollInterval": 500
        });
        assert_eq!(task.create_result(old), json!({"task": told}));
        assert_eq!(parsed(&task.encode(TaskPayload::Result(b"{}"), old)), told);
        let created = task.create_result(new);
        assert_eq!((&created["resultType"], &created["ttlMs"]), (&json!("task"), &json!(60000)));
        assert_eq!((&created["pollIntervalMs"], created.get("ttl")), (&json!(500), None));
        task.status = TaskStatus::Completed;
        task.status_message = Some("done".to_owned());
        let got = parsed(&task.encode(TaskPayload::Result(br#"{"content":[]}"#), new));
        assert_eq!((&got["resultType"], &got["result"]), (&json!("complete"), &json!({"content": []})));
        assert_eq!((&got["status"], &got["statusMessage"]), (&json!("completed"), &json!("done")));
        let told = parsed(&task.notification_params(TaskPayload::Error(b"{\"code\":1}"), &7));
        assert_eq!(told["_meta"], json!({"io.modelcontextprotocol/subscriptionId": 7}));
        assert_eq!((&told["error"], told.get("resultType")), (&json!({"code": 1}), None));
        let asks = json!({"a": {"method": "elicitation/create"}});
        assert_eq!(parsed(&task.encode(TaskPayload::InputRequests(&asks), new))["inputRequests"], asks);
    }

    #[test]
    fn the_result_of_a_task_says_whose_it_is() {
        let result = with_related_task(br#"{"content":[],"isError":false}"#, "x");
        let meta = json!({"io.modelcontextprotocol/related-task": {"taskId": "x"}});
        assert_eq!(parsed(&result), json!({"_meta": meta, "content": [], "isError": false}));
    }

    #[test]
    fn a_time_is_a_whole_number_of_milliseconds() {
        let read = |task: Value| requested_task(json!({"task": task}).as_object().unwrap());
        let milliseconds = |count| Ok(Some(Some(Duration::from_millis(count))));
        assert_eq!(requested_task(&Map::new()), Ok(None));
        assert_eq!(read(json!(null)), Ok(None));
        assert_eq!(read(json!({})), Ok(Some(None)));
        assert_eq!(read(json!({"ttl": null, "later": 1})), Ok(Some(None)));
        assert_eq!(read(json!({"ttl": 0})), milliseconds(0));
        assert_eq!(read(json!({"ttl": 60000})), milliseconds(60_000));
        assert_eq!(read(json!({"ttl": 1e3})), milliseconds(1000));
        for broken in [json!([]), json!(1), json!({"ttl": -1}), json!({"ttl": 0.5}), json!({"ttl": "1"})] {
            assert!(read(broken.clone()).is_err(), "{broken}");
        }
    }

    #[test]
    fn only_an_object_declares_the_extension() {
        let takes = |extensions: Value| takes_tasks(json!({"extensions": extensions}).as_object().unwrap());
        assert!(takes(json!({TASKS_EXTENSION: {}})) && takes(json!({TASKS_EXTENSION: {"a": 1}})));
        assert!(!takes(json!({TASKS_EXTENSION: true})) && !takes(json!({})) && !takes(json!([])));
        assert!(!takes_tasks(&Map::new()));
    }
}
