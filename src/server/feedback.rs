//! What a client hears of its call before the answer: progress where it gave a token, messages where it gave a level.

use serde_json::{Map, Value, json};

use super::RequestContext;
use super::workers::{Ended, Progress};
use crate::exec::End;
use crate::jsonrpc::{RequestId, encode};
use crate::mcp::{LoggingLevel, ProgressToken, Revision, message_params, progress_params};

/// What one request asked to hear, kept with its call.
#[derive(Debug)]
pub(super) struct Feedback {
    request: RequestId,
    tool: String,
    revision: Revision,
    progress_token: Option<ProgressToken>,
    last_progress: u64,
    log_level: Option<LoggingLevel>,
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
            log_level: context.log_level,
        }
    }

    /// Whether progress is wanted.
    pub(super) fn wants_progress(&self) -> bool {
        self.progress_token.is_some()
    }

    /// The notification that tells how far the call is; `None` where nobody wants it, or where it would not be more than
    /// the last one.
    pub(super) fn progress(&mut self, progress: &Progress) -> Option<Vec<u8>> {
        let token = self.progress_token.as_ref()?;
        let seconds = progress.elapsed.as_secs();
        if seconds <= self.last_progress {
            return None;
        }
        self.last_progress = seconds;
        let params = progress_params(token, progress.elapsed, &progress.last_line, self.revision);
        Some(encode::notification("notifications/progress", &params))
    }

    /// The message that the call may run. It holds the command's name and none of its arguments: secrets stand in those.
    pub(super) fn allowed(&self, command: &str, rule: &str) -> Option<Vec<u8>> {
        self.message(LoggingLevel::Info, "allowed", || json!({"command": command, "rule": rule}))
    }

    /// The message that the call does not run. Why stands in the answer: the reason may quote the whole command line.
    pub(super) fn refused(&self) -> Option<Vec<u8>> {
        self.message(LoggingLevel::Warning, "refused", || json!({}))
    }

    /// The message that the call has ended.
    pub(super) fn ended(&self, ended: &Ended) -> Option<Vec<u8>> {
        let level = match ended {
            Ended::Ran { end: End::Exited(_), .. } => LoggingLevel::Info,
            Ended::Ran { end: End::Signaled(_) | End::TimedOut(_), .. } => LoggingLevel::Warning,
            Ended::Ran { end: End::Stopped, .. } => LoggingLevel::Notice,
            Ended::Failed(_) => LoggingLevel::Error,
        };
        self.message(level, "ended", || match ended {
            Ended::Ran { end: End::Exited(code), .. } => json!({"exit_code": code}),
            Ended::Ran { end: End::Signaled(number), .. } => json!({"signal": number}),
            Ended::Ran { end: End::TimedOut(_), .. } => json!({"timed_out": true}),
            Ended::Ran { end: End::Stopped, .. } => json!({"stopped": true}),
            Ended::Failed(why) => json!({"failed": why}),
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
        Some(encode::notification("notifications/message", &message_params(level, &Value::Object(data))))
    }
}
