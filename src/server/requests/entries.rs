//! The entries of the request table, and what can be taken from it.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::audit::Received;
use crate::exec::Stop;
use crate::jsonrpc::Request;
use crate::mcp::Revision;
use crate::server::budget::Charge;
use crate::server::facts::Facts;
use crate::server::feedback::Feedback;
use crate::server::job::Job;
use crate::server::line_job::LineJob;
use crate::server::question::CallToApprove;
use crate::server::replies::Reply;
use crate::server::shell_runner::ShellTurn;
use crate::server::tool_call::ToolCall;
use crate::tools::ReadOutput;

/// A call that has no answer yet.
#[derive(Debug)]
pub(in crate::server) struct Pending {
    /// The right to answer it, and the charge for what it holds.
    pub reply: Reply,
    /// The facts about it.
    pub facts: Facts,
    /// The messages to its client before the answer.
    pub feedback: Box<Feedback>,
}

/// The request of a call that is not decided on to the end.
#[derive(Debug)]
pub(in crate::server) struct Undecided {
    /// To be served again, if a person is asked.
    pub request: Request,
    pub tool_call: Arc<ToolCall>,
    /// The part of the queue that it waits in. One in the background is answered when it starts.
    pub lane: LaneName,
    /// The number of handshakes when it came.
    pub sessions: u64,
}

/// A request to be served, now or after the client has answered what the server asked.
#[derive(Debug)]
pub(in crate::server) struct HeldCall {
    pub request: Request,
    pub reply: Reply,
    /// The approval of a person, if one was asked.
    pub approved: Option<Box<ApprovedCall>>,
    /// Its record for the audit log, if it runs nothing.
    pub received: Option<Box<Received>>,
}

/// A call that waits for a person's approval.
#[derive(Debug)]
pub(in crate::server) struct AskedCall {
    /// Its request, to be served again.
    pub request: Request,
    pub pending: Pending,
    /// The number of the call.
    pub key: u64,
    /// The number of the question.
    pub question: u64,
}

/// The approval of a person, for a call that is served again.
#[derive(Debug)]
pub(in crate::server) struct ApprovedCall {
    pub asked: Arc<CallToApprove>,
    /// The number of the call.
    pub key: u64,
    /// The messages to its client about it so far.
    pub feedback: Box<Feedback>,
}

/// A read of another call's output.
#[derive(Debug)]
pub(in crate::server) struct Reading {
    pub reply: Reply,
    pub read: Arc<ReadOutput>,
    pub answers: Answers,
    pub revision: Revision,
    /// How many bytes of the output were looked at so far.
    pub looked_at: u64,
    /// Whether the thread is looking at it now.
    pub is_looked_at: bool,
    /// Whether it must not wait any longer.
    pub is_due: bool,
}

/// The kind of the answer to a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Answers {
    /// The output.
    Read,
    /// How the call that `stop_call` ended has ended.
    Stop,
}

/// A request that its client cancelled.
#[derive(Debug)]
pub(in crate::server) struct Cancelled {
    /// Its number in the table.
    pub key: u64,
    pub reply: Reply,
    /// The facts about it, if it is a call.
    pub call: Option<Facts>,
    pub was: CancelledAs,
}

/// The kind of a cancelled request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum CancelledAs {
    /// A call without a decision.
    Undecided,
    /// The call with this number, which a thread decides on, or has.
    Deciding(u64),
    /// The call with this number, which was allowed but will never start.
    Queued(u64),
    /// Anything else: its end is recorded elsewhere.
    Other,
}

/// The work of a call, which runs at its turn.
#[derive(Debug)]
pub(in crate::server) enum Work {
    /// A process of its own.
    Process(Box<Job>),
    /// A line of several commands.
    Line(Box<LineJob>),
    /// A line for the persistent shell.
    Shell(Box<ShellTurn>),
}

impl Work {
    pub(super) fn lane(&self) -> LaneName {
        match self {
            Self::Process(job) if job.is_background => LaneName::Background,
            Self::Process(_) => LaneName::Processes,
            Self::Line(job) if job.is_background() => LaneName::Background,
            Self::Line(_) => LaneName::Processes,
            Self::Shell(_) => LaneName::Shell,
        }
    }

    /// The revision in which its result must be valid.
    pub(in crate::server) fn revision(&self) -> Revision {
        match self {
            Self::Process(job) => job.revision,
            Self::Line(job) => job.revision(),
            Self::Shell(turn) => turn.revision(),
        }
    }
}

/// The part of the queue that a call waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum LaneName {
    /// Calls that each start a process; the operator sets how many run concurrently.
    Processes,
    /// Calls of the persistent shell: one runs at a time.
    Shell,
    /// Calls in the background, which have a limit of their own.
    Background,
}

/// A pending request, by what it waits for.
#[derive(Debug)]
pub(in crate::server) enum Entry {
    Held(Box<HeldCall>),
    Asked(Box<AskedCall>),
    Deciding {
        pending: Pending,
        undecided: Box<Undecided>,
    },
    Queued {
        pending: Pending,
        work: Work,
        undecided: Box<Undecided>,
    },
    /// `undecided` if its thread decides on it, or did, at its turn.
    Running {
        lane: LaneName,
        pending: Pending,
        stop: Option<Stop>,
        undecided: Option<Box<Undecided>>,
    },
    Answered {
        lane: LaneName,
        stop: Option<Stop>,
        _charge: Charge,
    },
    Background {
        background: Box<InBackground>,
        stop: Stop,
        _charge: Charge,
    },
    Reading(Reading),
    Awaiting {
        reply: Reply,
        task: u64,
    },
    Explained {
        reply: Reply,
        /// `None` once a thread fills it in.
        prompt: Option<Box<Prompt>>,
    },
    Subscribed(Subscription),
}

/// The parameters of a `prompts/get`, and the revision of its answer.
pub(in crate::server) type Prompt = (Map<String, Value>, Revision);

/// An open subscription.
#[derive(Debug)]
pub(in crate::server) struct Subscription {
    pub reply: Reply,
    pub revision: Revision,
    /// The numbers of the tasks whose changes it reports.
    pub tasks: Vec<u64>,
}

impl Entry {
    /// The reply to the request, unless it was used.
    pub(in crate::server) fn reply(&self) -> Option<&Reply> {
        match self {
            Self::Held(held) => Some(&held.reply),
            Self::Subscribed(Subscription { reply, .. })
            | Self::Reading(Reading { reply, .. })
            | Self::Awaiting { reply, .. }
            | Self::Explained { reply, .. } => Some(reply),
            Self::Asked(asked) => Some(&asked.pending.reply),
            Self::Deciding { pending, .. } | Self::Queued { pending, .. } | Self::Running { pending, .. } => {
                Some(&pending.reply)
            }
            Self::Background { background, .. } => background.of_task.as_ref(),
            Self::Answered { .. } => None,
        }
    }
}

/// A call that was answered before it ended.
#[derive(Debug)]
pub(in crate::server) struct InBackground {
    pub facts: Facts,
    pub feedback: Box<Feedback>,
    /// Whether it runs in the persistent shell, which it keeps busy.
    pub is_of_shell: bool,
    /// The right to answer with the result of its task, if it has one.
    pub of_task: Option<Reply>,
}

/// A call whose command has ended.
#[derive(Debug)]
pub(in crate::server) struct Finished {
    pub facts: Facts,
    pub feedback: Box<Feedback>,
    /// The right to answer it, or its task; `None` if it was answered before and is no task.
    pub reply: Option<Reply>,
    /// Whether it ran in the background.
    pub is_background: bool,
}
