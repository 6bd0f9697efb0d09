//! The one way of each request to its answer, and of the server's own messages to the client.

use serde::Serialize;

use super::log::Fields;
use super::not_run::NotRun;
use super::outcome::Outcome;
use super::replies::{AnsweredLost, Reply};
use super::run::{Lifecycle, Server};
use super::tool_call::ToolCall;
use crate::config::LogLevel;
use crate::jsonrpc::{ErrorObject, encode};
use crate::mcp::CallToolResult;
use crate::policy::{CommandLineError, Lines, Refusal};

/// The hint for the operator.
const READ: &str = "a call was refused for an operator of shells; with `--lines on` such lines are read, each command is decided by its rule, and no \
    shell runs";

impl Server<'_> {
    /// Sends an encoded message at the end of the event, if there is one.
    pub(super) fn send(&mut self, message: Option<Vec<u8>>) {
        self.unsent.extend(message);
    }

    /// Answers a request with a handler's result or error.
    pub(super) fn respond(&mut self, reply: Reply, result: Result<impl Serialize, ErrorObject>) {
        match result {
            Ok(result) => self.answer(reply, encode::to_json(&result)),
            Err(error) => self.refuse(reply, error),
        }
    }

    /// Answers a request with an encoded result.
    pub(super) fn answer(&mut self, reply: Reply, result: Vec<u8>) {
        self.finish(reply, Outcome::Result(result));
    }

    /// Answers a request with an error.
    pub(super) fn refuse(&mut self, reply: Reply, error: ErrorObject) {
        self.audit.refused(&reply, Some(error.code), &error.message);
        if self.log.writes(LogLevel::Debug) {
            let line = Fields::of_request(reply.id()).ours("error", error.code);
            self.log.write(LogLevel::Debug, line.reason("message", &error.message).as_str());
        }
        self.finish(reply, Outcome::Error(error));
    }

    /// Sends no answer, because the client has cancelled the request.
    pub(super) fn withdraw(&mut self, reply: Reply) {
        let line = self.replies.withdraw(reply);
        self.send(line);
    }

    /// Answers a request. If it became a task, the task keeps the answer.
    fn finish(&mut self, reply: Reply, outcome: Outcome) {
        let Some(task) = reply.task() else {
            let line = match outcome {
                Outcome::Result(result) => self.replies.result(reply, result),
                Outcome::Error(error) => self.replies.error(reply, &error),
            };
            return self.send(line);
        };
        let charge = reply.new_charge();
        let nothing = self.replies.withdraw(reply);
        debug_assert!(nothing.is_none(), "the client was answered before");
        self.task_ended(task, outcome, charge);
    }

    /// Answers the requests whose replies were dropped. That is a bug, unless the server is ending.
    pub(super) fn answer_lost(&mut self) {
        for AnsweredLost { id, line, task } in self.replies.answer_lost() {
            if let Some((task, error)) = task {
                let charge = self.replies.charge();
                self.task_ended(task, Outcome::Error(error), charge);
            }
            if self.lifecycle != Lifecycle::Ending {
                let line = Fields::of_request(&id).reason("failed", "a bug: its handler gave no answer");
                self.log.write(LogLevel::Error, line.as_str());
            }
            self.send(line);
        }
    }

    /// Answers a call that does not run; tells the log and the client.
    pub(super) fn not_run(&mut self, tool_call: &ToolCall, described: &Fields, reply: Reply, why: &NotRun) {
        let (kind, sentence) = (why.kind(), why.to_string());
        let tool = || Fields::of_call(reply.id()).ours("tool", &tool_call.tool);
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
