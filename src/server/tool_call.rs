//! The properties of a tool call in addition to its arguments, and its answer if it does not run.

use super::feedback::Feedback;
use super::log::Fields;
use super::not_run::NotRun;
use super::replies::Reply;
use super::run::Server;
use super::session::RequestContext;
use crate::config::LogLevel;
use crate::jsonrpc::RequestId;
use crate::mcp::CallToolResult;
use crate::policy::{CommandLineError, Lines, Refusal};

/// The hint for the operator.
const READ: &str = "a call was refused for an operator of shells; with `--lines on` such lines are read, each command is decided by its rule, and no \
    shell runs";

/// A tool call without its arguments.
#[derive(Clone, Copy)]
pub(super) struct ToolCall<'a> {
    pub tool: &'a str,
    pub context: &'a RequestContext,
    /// Whether the log reports calls.
    pub is_told: bool,
    /// The id of the task that it has become.
    pub task: Option<&'a str>,
}

impl ToolCall<'_> {
    /// Returns the log's fields for a call with a decision: its number, which the observer also gets, and its words.
    pub(super) fn decided(self, key: u64, words: &[String]) -> Fields {
        if !self.is_told {
            return Fields::default();
        }
        let fields = Fields::default().ours("number", key);
        if words.is_empty() { fields } else { fields.command(words) }
    }

    /// Returns the messages to the client about the call before its answer.
    pub(super) fn feedback(self, request: &RequestId) -> Feedback {
        let mut feedback = Feedback::new(request, self.tool, self.context);
        self.task.into_iter().for_each(|task| feedback.become_task(task));
        feedback
    }

    /// Returns the log's fields for the call, if it reports calls.
    pub(super) fn describe(self, fields: impl FnOnce() -> Fields) -> Fields {
        if self.is_told { fields().followed_by(&self.context.trace) } else { Fields::default() }
    }
}

impl Server<'_> {
    /// Answers a call that does not run; tells the log and the client.
    pub(super) fn not_run(&mut self, tool_call: ToolCall<'_>, described: &Fields, reply: Reply, why: &NotRun) {
        let (kind, sentence) = (why.kind(), why.to_string());
        let tool = || Fields::of_call(reply.id()).ours("tool", tool_call.tool);
        let line = tool_call.describe(|| tool().and(described).reason(kind, &sentence));
        self.log.write(LogLevel::Info, line.as_str());
        self.tell_of_lines(why);
        self.send(tool_call.feedback(reply.id()).not_run(kind));
        self.answer(reply, CallToolResult::error(sentence).encode(tool_call.context.revision));
    }

    /// Tells the operator once, and no model, that operators of shells can be read.
    fn tell_of_lines(&mut self, why: &NotRun) {
        let has_operator = matches!(why, NotRun::Policy(Refusal::CommandLine(CommandLineError::Syntax { .. })));
        let can_be_read =
            cfg!(unix) && self.parts.policy.lines() == Lines::Off && self.parts.toolbox.which().has_execute();
        if has_operator && can_be_read && !self.has_told_of_lines {
            self.has_told_of_lines = true;
            self.log.write(LogLevel::Info, READ);
        }
    }
}
