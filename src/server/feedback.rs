//! The messages to a client about its call before the answer: progress if it gave a token, messages if it gave a level.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::deadlines::Since;
use super::event::{HowEnded, Progress};
use super::session::RequestContext;
use crate::exec::End;
use crate::jsonrpc::{RequestId, encode};
use crate::mcp::{
    LoggingLevel, ProgressToken, Revision, message_params, progress_params, related_task_meta, takes_tasks,
};

/// The messages that a request asked for, kept with its call.
#[derive(Debug)]
pub(super) struct Feedback {
    request: RequestId,
    tool: String,
    revision: Revision,
    progress_token: Option<ProgressToken>,
    last_progress: u64,
    /// How many seconds the call waited before its command was started.
    waited: u64,
    log_level: Option<LoggingLevel>,
    /// Whether the client accepts a task instead of the answer.
    takes_tasks: bool,
    /// The id of the task that the call has become; messages about the call carry it.
    task: Option<String>,
    begun: Since,
}

impl Feedback {
    /// Takes from the context what the request asked to be told about its call of `tool`.
    pub(super) fn new(request: &RequestId, tool: &str, context: &RequestContext) -> Self {
        Self {
            request: request.clone(),
            tool: tool.to_owned(),
            revision: context.revision,
            progress_token: context.progress_token.clone(),
            last_progress: 0,
            waited: 0,
            log_level: context.log_level,
            takes_tasks: context.revision.is_modern() && takes_tasks(&context.client_capabilities),
            task: None,
            begun: Since::now(),
        }
    }

    /// The id of the call's request.
    pub(super) fn request(&self) -> &RequestId {
        &self.request
    }

    /// Whether the client accepts a task instead of the answer.
    pub(super) fn takes_tasks(&self) -> bool {
        self.takes_tasks
    }

    /// Notes that the call has become the task with this id. In the modern era there are no progress and messages for it.
    pub(super) fn become_task(&mut self, id: &str) {
        if self.revision.is_modern() {
            (self.progress_token, self.log_level, self.takes_tasks) = (None, None, false);
        } else {
            self.task = Some(id.to_owned());
        }
    }

    /// The parameters of a message about the call.
    pub(super) fn params(&self, mut params: Value) -> Value {
        if let (Some(task), Value::Object(members)) = (&self.task, &mut params) {
            members.insert("_meta".into(), related_task_meta(task));
        }
        params
    }

    /// The progress notification; `None` if nobody wants it, or if the progress would not be greater than the last one.
    pub(super) fn progress(&mut self, progress: &Progress) -> Option<Vec<u8>> {
        let token = self.progress_token.as_ref()?;
        let elapsed = progress.elapsed.saturating_add(Duration::from_secs(self.waited));
        let seconds = elapsed.as_secs();
        if seconds <= self.last_progress {
            return None;
        }
        self.last_progress = seconds;
        let params = progress_params(token, elapsed, &progress.last_line, self.revision);
        Some(encode::notification("notifications/progress", &self.params(params)))
    }

    /// The revision in which the answer must be valid.
    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    /// How long the client has waited for the answer.
    pub(super) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether the client wants messages of this level.
    pub(super) fn hears(&self, level: LoggingLevel) -> bool {
        self.log_level.is_some_and(|lowest| level >= lowest)
    }

    /// Whether the client wants progress.
    pub(super) fn wants_progress(&self) -> bool {
        self.progress_token.is_some()
    }

    /// Notes that the call begins after it waited for a person; its progress continues from that wait.
    pub(super) fn begins(&mut self) {
        self.waited = self.last_progress;
    }

    /// The message that a person is being asked.
    pub(super) fn asked(&self, channel: &str) -> Option<Vec<u8>> {
        self.message(LoggingLevel::Notice, "asked", || json!({"channel": channel}))
    }

    /// The message that the call may run. It holds the command's name but no arguments, since these may be secret.
    pub(super) fn allowed(&self, command: &str, rule: &str) -> Option<Vec<u8>> {
        self.message(LoggingLevel::Info, "allowed", || json!({"command": command, "rule": rule}))
    }

    /// The message that the call does not run; `event` says what happened. Only the answer has the reason, since that may
    /// quote the whole command line.
    pub(super) fn not_run(&self, event: &str) -> Option<Vec<u8>> {
        self.message(LoggingLevel::Warning, event, || json!({}))
    }

    /// The message that the call has ended.
    pub(super) fn ended(&self, how: &HowEnded) -> Option<Vec<u8>> {
        let level = match how {
            HowEnded::Ran { end: End::Exited(_), .. } => LoggingLevel::Info,
            HowEnded::Ran { end: End::Signaled(_) | End::TimedOut(_), .. } => LoggingLevel::Warning,
            HowEnded::Ran { end: End::Stopped, .. } => LoggingLevel::Notice,
            HowEnded::Failed(_) => LoggingLevel::Error,
        };
        self.message(level, "ended", || match how {
            HowEnded::Ran { end: End::Exited(code), .. } => json!({"exit_code": code}),
            HowEnded::Ran { end: End::Signaled(number), .. } => json!({"signal": number}),
            HowEnded::Ran { end: End::TimedOut(_), .. } => json!({"timed_out": true}),
            HowEnded::Ran { end: End::Stopped, .. } => json!({"stopped": true}),
            HowEnded::Failed(why) => json!({"failed": why}),
        })
    }

    /// The message, made only if the client wants messages of this level.
    fn message(&self, level: LoggingLevel, event: &str, more: impl FnOnce() -> Value) -> Option<Vec<u8>> {
        if level < self.log_level? {
            return None;
        }
        let mut data = Map::new();
        data.insert("event".into(), json!(event));
        data.insert("request".into(), json!(self.request));
        data.insert("tool".into(), json!(self.tool));
        if let Value::Object(more) = more() {
            data.extend(more);
        }
        let params = self.params(message_params(level, &Value::Object(data)));
        Some(encode::notification("notifications/message", &params))
    }
}
