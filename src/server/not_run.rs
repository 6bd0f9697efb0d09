//! The answers to calls that did not run.

use std::io;

use thiserror::Error;

use super::budget::OverBudget;
use crate::policy::{DirectoryError, Refusal, quoted};
use crate::text::counted;
use crate::tools::ArgumentError;

/// Why a call did not run. Its text is the answer.
#[derive(Debug, Error)]
pub(super) enum NotRun {
    /// Its arguments don't match the schema of its tool.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// The policy refuses it.
    #[error(transparent)]
    Policy(#[from] Refusal),
    /// The operator requires roots, and there are none.
    #[error(
        "calls are refused until the client's roots are known (`--roots require`), and {why}; open a directory in the client \
         that the operator allows"
    )]
    NoRoots { why: &'static str },
    /// The operator requires roots, and those of the client do not count.
    #[error(transparent)]
    RootsWithheld(DirectoryError),
    /// A person would have to approve it, and nobody can be asked.
    #[error("{sentence}; nobody can be asked here, so go on without it, or ask the user to do it")]
    NobodyToAsk { sentence: String },
    /// The operator's program could not ask.
    #[error("{sentence}; nobody could be asked ({why}), so go on without it, or ask the user to do it")]
    NotAsked { sentence: String, why: String },
    /// The question would be too long to be shown to a person.
    #[error(
        "{sentence}; it is too long to be shown in full ({most} bytes at most), so nobody is asked; call it with fewer or shorter \
         arguments"
    )]
    TooLongToShow { sentence: String, most: usize },
    /// Too many questions are open.
    #[error("{sentence}; {most} questions are open already, and no more are asked; wait for their answers first")]
    TooManyQuestions { sentence: String, most: usize },
    /// Too many equal calls wait for the answer to one question.
    #[error("{sentence}; {most} calls exactly like it wait for a person's answer already, so wait for that first")]
    TooManyEqual { sentence: String, most: usize },
    /// A person declined.
    #[error("{sentence}; it was declined, so go on without it, or ask the user what to do instead")]
    Declined { sentence: String },
    /// A person answered neither yes nor no.
    #[error("{sentence}; nobody has answered, so go on without it, or ask the user what to do instead")]
    Unanswered { sentence: String },
    /// Too many calls run in the background.
    #[error("no more than {} can run in the background at once; end one with `stop_call`, or wait for one with `read_output`", counted(*most as u64, "call"))]
    BackgroundFull { most: usize },
    /// A call that was handed over runs in the persistent shell.
    #[error(
        "the persistent shell is busy with call {call} ({}), which runs on in the background; wait for its end with `read_output` \
         and `wait_ms`, or end it with `stop_call`",
        quoted(.command)
    )]
    ShellBusy { call: u64, command: String },
    /// Too many reads wait.
    #[error("{most} reads of output wait already; wait for some of their answers, or cancel some")]
    TooManyReads { most: usize },
    /// Too many calls wait for their turn.
    #[error("too many calls are waiting for their turn; wait for some of their answers first")]
    QueueFull,
    /// The pending requests take too much memory.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// The system has no pipe left, which is needed to end the command.
    #[error("cannot create a pipe: {source}; try again when other calls have ended")]
    NoPipe { source: io::Error },
    /// The system has no thread left to run the command on.
    #[error("cannot start a thread: {source}; try again when other calls have ended")]
    NoThread { source: io::Error },
    /// The audit log can't be written.
    #[error("calls are refused while the audit log can't be written ({why}); tell the operator")]
    NotRecorded { why: String },
    /// Nobody waits for it any more.
    #[error("the call was cancelled before its command started")]
    GivenUp,
    /// Nothing was decided on it in time, since a file system does not answer.
    #[error(
        "nothing could be decided on the call in time; it may name a path on a file system that does not answer, so leave that path out"
    )]
    Hangs,
    /// There is no longer a persistent shell.
    #[error("the persistent shell has no thread to run on")]
    NoShell,
}

impl NotRun {
    /// The word for it in the log and in messages to the client.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Arguments(_)
            | Self::Policy(_)
            | Self::NoRoots { .. }
            | Self::RootsWithheld(_)
            | Self::NobodyToAsk { .. }
            | Self::NotAsked { .. }
            | Self::TooLongToShow { .. }
            | Self::Declined { .. }
            | Self::Unanswered { .. } => "refused",
            Self::NotRecorded { .. } => "not_recorded",
            Self::TooManyQuestions { .. }
            | Self::TooManyEqual { .. }
            | Self::TooManyReads { .. }
            | Self::BackgroundFull { .. }
            | Self::ShellBusy { .. }
            | Self::QueueFull
            | Self::OverBudget(_) => "overloaded",
            Self::NoPipe { .. } | Self::NoThread { .. } => "no_resources",
            Self::GivenUp => "cancelled",
            Self::Hangs => "timed_out",
            Self::NoShell => "failed",
        }
    }
}

impl From<DirectoryError> for NotRun {
    fn from(error: DirectoryError) -> Self {
        Self::Policy(error.into())
    }
}
