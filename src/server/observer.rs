//! The one hook of a program that embeds the server: every decision, and every end of a command.

use std::time::Duration;

use super::approval::{Answer, Channel};
use crate::exec::{ExecError, Output};
use crate::policy::{Explanation, Proposal, Refusal};

/// Hears of every decision and of the end of every command that was started. It is called from several threads at once,
/// and what it does delays the call.
pub trait Observer: Send + Sync {
    /// A call was decided on; an allowed one is not started before this returns.
    fn decided(&self, decided: &Decided<'_>) {
        let _ = decided;
    }

    /// A person is asked about a call, to which the decision came that was told before.
    fn asked(&self, asked: &QuestionAsked<'_>) {
        let _ = asked;
    }

    /// The question is not open any more. An approved call is decided on anew, which is told as well.
    fn answered(&self, answered: &QuestionAnswered<'_>) {
        let _ = answered;
    }

    /// A command has ended, for whatever reason, a cancelled one included; its answer is not sent before this returns.
    ///
    /// A panic in it is caught and dropped: the command has run, and its client is to hear of it.
    fn ended(&self, ended: &CommandEnded<'_>) {
        let _ = ended;
    }
}

/// What was decided on a call.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Decided<'a> {
    /// The number of the call in this server, from 1 on.
    pub call: u64,
    /// The tool that was called.
    pub tool: &'a str,
    /// What the decision rests on.
    pub explanation: &'a Explanation,
    /// Why the command does not run; `None` where it does.
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
    /// What would run.
    pub proposal: &'a Proposal,
    /// Who asks.
    pub channel: Channel,
}

/// What became of a question.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct QuestionAnswered<'a> {
    /// The number of the call.
    pub call: u64,
    /// Who has asked.
    pub channel: Channel,
    /// The answer, or why there is none.
    pub answer: &'a Answer,
    /// How long it was open.
    pub waited: Duration,
}

/// What a command came to.
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
    /// It ran to an end, by itself or not.
    Ran(&'a Output),
    /// It could not be started, or was lost.
    Failed(&'a ExecError),
    /// The executor panicked.
    Panicked,
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unobserved;

impl Observer for Unobserved {}
