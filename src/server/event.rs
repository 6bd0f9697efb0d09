//! Everything that can happen to the loop, in one closed enum, and what the other threads tell with it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::approval::Answer;
use crate::audit::Stream;
use crate::exec::{End, Host, Limit, Looked, StartedCommand};
use crate::files::Held;
use crate::jsonrpc::Line;

/// What the loop hears of.
#[derive(Debug)]
pub(crate) enum Event {
    /// The client sent a line.
    Line(Line),
    /// The client's stream has ended, or can't be read any more.
    InputEnded(io::Result<()>),
    /// The client has closed the stream of its answers.
    #[cfg_attr(not(unix), expect(dead_code, reason = "told on a Unix alone; elsewhere the next write fails"))]
    OutputClosed,
    /// The process was asked to end.
    Signal,
    /// The parts of the server are made, which were not when it began.
    PartsMade,
    /// The command of a call has ended.
    Ended(CallEnded),
    /// There are commands that the loop must not watch any longer.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "threads watch them all"))]
    LeavesLoop,
    /// The command of a call has started.
    Started { key: u64, started: Box<StartedCommand> },
    /// A call still runs. Dropped where the channel is full, so that no worker waits for the loop.
    Progress(Progress),
    /// The operator's program has asked a person this, and has ended; what it has said on its standard error stands beside.
    Answered { number: u64, answer: Answer, said: String },
    /// Something has come that a read waits for.
    News,
    /// An output was looked at for the read of this number.
    Seen { key: u64, seen: Seen },
    /// What the call of this number has printed so far, as a result that is encoded.
    SoFar { key: u64, result: Vec<u8> },
    /// The operator's program has not kept the head of the audit log.
    NotAnchored(String),
    /// A look for what a call has left behind is over.
    Looked(Looked),
    /// A deadline of the loop's own has passed.
    Deadline(Deadline),
}

impl From<io::Result<Option<Line>>> for Event {
    /// What was read of the client's stream.
    fn from(read: io::Result<Option<Line>>) -> Self {
        match read {
            Ok(Some(line)) => Self::Line(line),
            Ok(None) => Self::InputEnded(Ok(())),
            Err(error) => Self::InputEnded(Err(error)),
        }
    }
}

/// The deadlines of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deadline {
    /// The calls that were running at the end of the input had their time.
    Drained,
    /// The calls that were ended had theirs.
    Ended,
    /// The client had its time to answer the server's request of this number.
    Outgoing(u64),
    /// The question of this number, which a person has not answered.
    Question(u64),
    /// The same, asked in a result: the client has not come back with an answer.
    State(u64),
    /// The calls that wait for the answer to this question are told that they still do.
    Asking(u64),
    /// The call of this number goes on in the background, if it still runs.
    HandOver(u64),
    /// The read of this number has waited as long as it wanted to.
    Read(u64),
    /// The task of this number is kept no longer.
    Task(u64),
    /// The records of starts must not wait any longer for those of the ends.
    Started,
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
    /// What a call of the persistent shell tells of the shell.
    pub shell: Option<ShellState>,
    /// What is recorded of it, where there is an audit log.
    pub facts: Option<Box<EndOfCommand>>,
}

/// What is recorded of a command that has ended, beside how.
#[derive(Debug, Default)]
pub(crate) struct EndOfCommand {
    /// Its start, where the loop has not heard of it.
    pub started: Option<StartedCommand>,
    /// The limit that it hit.
    pub limit: Option<Limit>,
    /// What it has written; `None` where it never ran.
    pub stdout: Option<Stream>,
    pub stderr: Option<Stream>,
}

/// How a call ended, for the log and for the messages to its client.
#[derive(Debug)]
pub(crate) enum HowEnded {
    /// The command ran.
    Ran { end: End, elapsed: Duration },
    /// It did not, or was lost.
    Failed(String),
}

/// The persistent shell after a call.
#[derive(Debug)]
pub(crate) struct ShellState {
    /// Tells what the call left behind; `None` where there can be nothing.
    pub host: Option<Host>,
    /// Which shell it is, counted from the first.
    pub shell: u64,
    /// Why the shell was started anew.
    pub restarted: Option<String>,
    /// The current directory of the shell, where it is known.
    pub directory: Option<Arc<Path>>,
    /// The same, held open, where the kernel tells.
    pub held: Option<Arc<Held>>,
}

/// What a look came to.
#[derive(Debug)]
pub(crate) enum Seen {
    /// The result, encoded.
    Result(Vec<u8>),
    /// It waits on; so many bytes were looked at.
    Waits { looked_at: u64 },
}

/// How far a call is that still runs.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The number of the call.
    pub key: u64,
    /// Since the command was started.
    pub elapsed: Duration,
    /// What the command printed last.
    pub last_line: String,
}
