//! The properties of a tool call in addition to its arguments.

use std::sync::Arc;

use super::feedback::Feedback;
use super::log::Fields;
use super::session::RequestContext;
use crate::jsonrpc::RequestId;
use crate::mcp::{Revision, TraceContext};

/// A tool call without its arguments.
#[derive(Debug)]
pub(super) struct ToolCall {
    pub tool: String,
    pub context: RequestContext,
    /// Whether the log reports calls.
    pub is_told: bool,
    /// The id of the task that it has become.
    pub task: Option<String>,
}

impl ToolCall {
    /// A call of a program that embeds the tools, of which nobody is told anything.
    pub(super) fn without_client(tool: &str) -> Self {
        let context = RequestContext {
            revision: Revision::V2026_07_28,
            client_capabilities: Arc::default(),
            client_info: None,
            progress_token: None,
            log_level: None,
            trace: TraceContext::default(),
        };
        Self { tool: tool.to_owned(), context, is_told: false, task: None }
    }

    /// Returns the log's fields for a call with a decision: its number, which the observer also gets, and its words.
    pub(super) fn decided(&self, key: u64, words: &[String]) -> Fields {
        if !self.is_told {
            return Fields::default();
        }
        let fields = Fields::default().ours("number", key);
        if words.is_empty() { fields } else { fields.command(words) }
    }

    /// Returns the messages to the client about the call before its answer.
    pub(super) fn feedback(&self, request: &RequestId) -> Feedback {
        let mut feedback = Feedback::new(request, &self.tool, &self.context);
        self.task.iter().for_each(|task| feedback.become_task(task));
        feedback
    }

    /// Returns the log's fields for the call, if it reports calls.
    pub(super) fn describe(&self, fields: impl FnOnce() -> Fields) -> Fields {
        if self.is_told { fields().followed_by(&self.context.trace) } else { Fields::default() }
    }
}
