//! Everything that the loop handles, as one closed enum, and the reports of the other threads that it carries.

use std::io;
use std::time::Duration;

use serde_json::Value;

use super::narrowed::Narrowed;
use super::question::Answer;
use crate::config::LogLevel;
use crate::exec::{End, Limit, Looked};
use crate::files::Sha256;
use crate::jsonrpc::{ErrorObject, Line};
use crate::shell::ShellState;

/// Something that the loop handles.
#[derive(Debug)]
pub(crate) enum Event {
    /// The client sent a line.
    Line(Line),
    /// The client's stream has ended, or can no longer be read.
    InputEnded(io::Result<()>),
    /// The client has closed the stream that it reads answers from. Sent only on Unix; elsewhere the next write fails.
    OutputClosed,
    /// The process was asked to end.
    Signal,
    /// A thread has lines for the log.
    Told(Vec<(LogLevel, String)>),
    /// A thread has narrowed the directories to the client's answer to the request of this number; `None` if it has panicked.
    Narrowed { asked: u64, narrowed: Option<Box<Narrowed>> },
    /// A thread has filled in the prompt of the request of this number.
    Explained { key: u64, result: Result<Value, ErrorObject> },
    /// A thread has decided on a call that does not run, or not before its turn.
    DecidedOnly,
    /// A thread has decided on a call, and runs it. Sent only if the client wants to hear of it.
    Allowed { key: u64, command: String, rule: String },
    /// The thread of a call has panicked, so that nothing else will be heard of it.
    Panicked { key: u64 },
    /// The command of a call has ended.
    Ended(CallEnded),
    /// A call is still running. Dropped if the channel is full, so that no worker waits for the loop.
    Progress(Progress),
    /// The operator's program has asked a person this question, and has ended; `said` is what it wrote to standard error.
    Answered { number: u64, answer: Answer, said: String },
    /// There is new output that a read waits for.
    News,
    /// The thread has looked at an output for the read of this number.
    Seen { key: u64, seen: ReadSeen },
    /// The output so far of the call of this number, as an encoded result.
    SoFar { key: u64, result: Vec<u8> },
    /// The operator's program has not kept the head of the audit log.
    NotAnchored(String),
    /// The search for processes that a call left behind is over.
    Looked(Looked),
    /// One of the loop's own deadlines has passed.
    Deadline(Deadline),
}

impl From<io::Result<Option<Line>>> for Event {
    /// The event for what was read from the client's stream.
    fn from(read: io::Result<Option<Line>>) -> Self {
        match read {
            Ok(Some(line)) => Self::Line(line),
            Ok(None) => Self::InputEnded(Ok(())),
            Err(error) => Self::InputEnded(Err(error)),
        }
    }
}

/// The deadlines that the loop keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deadline {
    /// The time that calls have to finish after the end of the input is over.
    Drained,
    /// The time is over that ended calls have to go.
    Ended,
    /// The client's time to answer the server's request of this number is over.
    Outgoing(u64),
    /// The prompt of this number was to be filled in by now.
    Prompt(u64),
    /// A person's time to answer the question of this number is over.
    Question(u64),
    /// The same for a question in a result: the client has not come back with an answer.
    State(u64),
    /// It is time to send progress to the calls that wait for the answer to this question.
    Asking(u64),
    /// The call of this number is handed over to the background, if it is still running.
    HandOver(u64),
    /// The time is over in which a call has to be decided on.
    Decision,
    /// The read of this number has waited as long as it asked to.
    Read(u64),
    /// The task of this number expires.
    Task(u64),
}

/// A call whose command has ended, or could not be run.
#[derive(Debug)]
pub(crate) struct CallEnded {
    /// The number of the call.
    pub key: u64,
    /// The result, encoded.
    pub result: Vec<u8>,
    /// How it ended.
    pub how: HowEnded,
    /// The state of the shell after a call of the persistent shell.
    pub shell: Option<ShellState>,
    /// The facts for its record, if there is an audit log.
    pub facts: Option<Box<EndOfCommand>>,
}

/// The facts for the record of a command's end, in addition to how it ended.
#[derive(Debug, Default)]
pub(crate) struct EndOfCommand {
    /// The limit that it hit.
    pub limit: Option<Limit>,
    /// Its output; `None` if it never ran.
    pub stdout: Option<OfStream>,
    pub stderr: Option<OfStream>,
}

/// Everything that a command wrote to a stream, whether it was kept or not.
#[derive(Debug)]
pub(crate) struct OfStream {
    pub bytes: u64,
    /// The SHA-256; `None` if the executor did not compute it and did not keep everything.
    pub sha256: Option<Sha256>,
}

/// How a call ended, for the log and for the messages to its client.
#[derive(Debug)]
pub(crate) enum HowEnded {
    /// The command ran to an end.
    Ran { end: End, elapsed: Duration, hint: Option<String> },
    /// The command could not be run, or was lost.
    Failed(String),
}

/// The outcome of a look at an output.
#[derive(Debug)]
pub(crate) enum ReadSeen {
    /// The result, encoded.
    Result(Vec<u8>),
    /// The read goes on waiting; this many bytes were looked at.
    Waits { looked_at: u64 },
}

/// How far a running call is.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The number of the call.
    pub key: u64,
    /// The time since the command was started.
    pub elapsed: Duration,
    /// The last line that the command printed.
    pub last_line: String,
}
