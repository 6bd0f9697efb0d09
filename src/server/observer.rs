//! The hook for programs that embed the server: it reports every decision and every end of a command.

use std::time::Duration;

use super::question::{Answer, Channel};
use crate::exec::{ExecError, Output};
use crate::policy::{Explanation, Proposed, Refusal};

/// Is told about every decision, and about the end of every command that was started. It is called from several threads
/// concurrently, and the call waits until it returns.
pub trait Observer: Send + Sync {
    /// A call was decided on; an allowed one is not started before this returns.
    fn decided(&self, decided: &Decided<'_>) {
        let _ = decided;
    }

    /// A person is being asked about a call whose decision was reported before.
    fn asked(&self, asked: &QuestionAsked<'_>) {
        let _ = asked;
    }

    /// The question is no longer open. An approved call is decided on again, which is also reported.
    fn answered(&self, answered: &QuestionAnswered<'_>) {
        let _ = answered;
    }

    /// A command has ended, for whatever reason, a cancelled one included; its answer is not sent before this returns.
    ///
    /// A panic in it is caught and ignored: the command has run, so its client must get the answer.
    fn ended(&self, ended: &CommandEnded<'_>) {
        let _ = ended;
    }
}

/// A decision on a call.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Decided<'a> {
    /// The number of the call in this server, from 1 on.
    pub call: u64,
    /// The tool that was called.
    pub tool: &'a str,
    /// The explanation of the decision.
    pub explanation: &'a Explanation,
    /// Why the command does not run; `None` if it does.
    pub refusal: Option<&'a Refusal>,
}

/// A person is asked about a call.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct QuestionAsked<'a> {
    /// The number of the call.
    pub call: u64,
    /// The tool that was called.
    pub tool: &'a str,
    /// The command that would run.
    pub proposal: &'a Proposed,
    /// The channel of the question.
    pub channel: Channel,
}

/// The end of a question.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct QuestionAnswered<'a> {
    /// The number of the call.
    pub call: u64,
    /// The channel of the question.
    pub channel: Channel,
    /// The answer, or why there is none.
    pub answer: &'a Answer,
    /// How long it was open.
    pub waited: Duration,
}

/// The end of a command.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CommandEnded<'a> {
    /// The number of its call.
    pub call: u64,
    /// How it ended, and what it printed.
    pub outcome: CommandOutcome<'a>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy)]
pub enum CommandOutcome<'a> {
    /// It ran, and ended by itself or was ended.
    Ran(&'a Output),
    /// It could not be started, or was lost.
    Failed(&'a ExecError),
    /// The executor panicked.
    Panicked,
}

/// Ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unobserved;

impl Observer for Unobserved {}
