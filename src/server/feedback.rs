//! What a client hears of its call before the answer: progress where it gave a token, messages where it gave a level.

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

/// What one request asked to hear, kept with its call.
#[derive(Debug)]
pub(super) struct Feedback {
    request: RequestId,
    tool: String,
    revision: Revision,
    progress_token: Option<ProgressToken>,
    last_progress: u64,
    /// How many seconds the call has waited before its command was started.
    waited: u64,
    log_level: Option<LoggingLevel>,
    /// Whether the client takes a task in place of the answer.
    takes_tasks: bool,
    /// The name of the task that the call has become, which messages about it carry.
    task: Option<String>,
    begun: Since,
}

impl Feedback {
    /// What the request of this context asked to hear of its call of `tool`.
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

    /// Whether the client takes a task in place of the answer.
    pub(super) fn takes_tasks(&self) -> bool {
        self.takes_tasks
    }

    /// The call has become the task of this name. In the modern era nothing is told of it by progress and messages.
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

    /// The notification that tells how far the call is; `None` where nobody wants it, or where it would not be more than
    /// the last one.
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

    /// What the answer must be valid in.
    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    /// How long the client has waited for the answer.
    pub(super) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether the client wants to hear how far the call is.
    pub(super) fn wants_progress(&self) -> bool {
        self.progress_token.is_some()
    }

    /// The call has waited for a person, and begins: its progress goes on from there.
    pub(super) fn begins(&mut self) {
        self.waited = self.last_progress;
    }

    /// The message that a person is asked.
    pub(super) fn asked(&self, channel: &str) -> Option<Vec<u8>> {
        self.message(LoggingLevel::Notice, "asked", || json!({"channel": channel}))
    }

    /// The message that the call may run. It holds the command's name and none of its arguments: secrets stand in those.
    pub(super) fn allowed(&self, command: &str, rule: &str) -> Option<Vec<u8>> {
        self.message(LoggingLevel::Info, "allowed", || json!({"command": command, "rule": rule}))
    }

    /// The message that the call does not run, as what it is called. Why stands in the answer: the reason may quote the whole
    /// command line.
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

    /// The message, made only where the client wants messages of this level.
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
