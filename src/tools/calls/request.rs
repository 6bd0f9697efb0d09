//! The arguments of the tools about calls.

use std::time::Duration;

use serde_json::{Map, Value};

use super::CallTool;
use crate::exec::{StopReason, StreamName};
use crate::tools::{ArgumentError, Arguments, ToolSettings};

/// A call of one of these tools.
#[derive(Debug)]
pub enum CallRequest {
    /// Reads the output of a call.
    Read(ReadOutput),
    /// Writes to the standard input of a call.
    Write(WriteInput),
    /// Ends a call.
    Stop(StopCall),
    /// Lists the calls.
    List,
}

/// A text for the standard input of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteInput {
    /// The number of the call.
    pub call: u64,
    /// The text.
    pub text: String,
    /// Whether the input is closed after the text.
    pub closes: bool,
}

/// Which call is to be ended, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopCall {
    /// The number of the call.
    pub call: u64,
    /// The reason, which determines the first signal.
    pub reason: StopReason,
}

/// Which part of a call's output is to be read.
#[derive(Debug, Clone)]
pub struct ReadOutput {
    /// The number of the call.
    pub call: u64,
    /// The stream.
    pub stream: StreamName,
    /// Where the read begins.
    pub start: Start,
    /// The most lines, or hits of the search; `None` for as many as fit.
    pub lines: Option<u64>,
    /// The most bytes.
    pub bytes: Option<usize>,
    /// The text to search for.
    pub search: Option<String>,
    /// How many lines to show around a hit.
    pub context: usize,
    /// How long to wait; `None` for not at all.
    pub wait: Option<Duration>,
    /// The text to wait for.
    pub until: Option<String>,
}

impl ReadOutput {
    /// Waits for the end of a call that is being ended, however long that takes.
    pub fn of_end(call: u64) -> Self {
        Self {
            call,
            stream: StreamName::Stdout,
            start: Start::Beginning,
            lines: None,
            bytes: None,
            search: None,
            context: 0,
            wait: Some(WAIT),
            until: None,
        }
    }
}

/// Where a read begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At the beginning.
    Beginning,
    /// At this line, the first of which is 1; a negative number counts from the end.
    Line(i64),
    /// At this byte, the first of which is 0.
    Byte(u64),
}

/// How long a read waits for a text if it does not say.
pub(super) const WAIT: Duration = Duration::from_secs(30);
/// The longest text to search or wait for, in bytes.
const LONGEST_TEXT: usize = 1000;
/// The most lines around a hit.
const MOST_CONTEXT: i64 = 100;
/// The most that one read returns, in bytes.
pub(super) const MOST_READ: usize = 1024 * 1024;
/// The largest number in arguments: more than the bytes of any output.
const LARGEST: i64 = 1 << 53;

/// Reads the arguments of a call.
pub(in crate::tools) fn read(
    tool: CallTool,
    arguments: Map<String, Value>,
    settings: &ToolSettings,
) -> Result<CallRequest, ArgumentError> {
    match tool {
        CallTool::ReadOutput => read_output(arguments, settings).map(CallRequest::Read),
        CallTool::WriteInput => write_input(arguments).map(CallRequest::Write),
        CallTool::StopCall => stop_call(arguments).map(CallRequest::Stop),
        CallTool::ListCalls => Arguments::new(arguments, &[]).map(|_| CallRequest::List),
    }
}

fn read_output(arguments: Map<String, Value>, settings: &ToolSettings) -> Result<ReadOutput, ArgumentError> {
    const KNOWN: [&str; 10] =
        ["call", "stream", "from_line", "from_byte", "lines", "bytes", "search", "context", "wait_ms", "until"];
    let mut arguments = Arguments::new(arguments, &KNOWN)?;
    let call = call(&mut arguments)?;
    let stream = match arguments.string("stream")?.as_deref() {
        None | Some("stdout") => StreamName::Stdout,
        Some("stderr") => StreamName::Stderr,
        Some(_) => {
            return Err(ArgumentError::WrongType {
                name: "stream",
                expected: "`stdout` or `stderr`",
                found: "a different string",
            });
        }
    };
    let from_line = arguments.whole("from_line", -LARGEST, LARGEST)?;
    let from_byte = arguments.whole("from_byte", 0, LARGEST)?;
    let lines = arguments.whole("lines", 1, LARGEST)?;
    let bytes = arguments.whole("bytes", 1, LARGEST)?;
    let start = match (from_line, from_byte) {
        (Some(_), Some(_)) => return Err(ArgumentError::Both { one: "from_line", other: "from_byte" }),
        // Some models count lines from 0; there is nothing before the first line.
        (Some(line), None) => Start::Line(if line == 0 { 1 } else { line }),
        (None, Some(byte)) => Start::Byte(byte.unsigned_abs()),
        (None, None) => Start::Beginning,
    };
    if lines.is_some() && bytes.is_some() {
        return Err(ArgumentError::Both { one: "lines", other: "bytes" });
    }
    let max_wait = settings.background.map_or(WAIT, |background| background.max_wait);
    let until = text(&mut arguments, "until")?;
    let wait = match arguments.whole("wait_ms", 0, i64::try_from(max_wait.as_millis()).unwrap_or(LARGEST))? {
        Some(millis) => Some(Duration::from_millis(millis.unsigned_abs())),
        None => until.as_ref().map(|_| WAIT.min(max_wait)),
    };
    Ok(ReadOutput {
        call,
        stream,
        start,
        lines: lines.map(i64::unsigned_abs),
        bytes: bytes.map(|bytes| usize::try_from(bytes).unwrap_or(MOST_READ).min(MOST_READ)),
        search: text(&mut arguments, "search")?,
        context: arguments.whole("context", 0, MOST_CONTEXT)?.map_or(0, |lines| usize::try_from(lines).unwrap_or(0)),
        wait: wait.filter(|wait| !wait.is_zero()),
        until,
    })
}

fn write_input(arguments: Map<String, Value>) -> Result<WriteInput, ArgumentError> {
    let mut arguments = Arguments::new(arguments, &["call", "text", "close"])?;
    let (call, closes) = (call(&mut arguments)?, arguments.flag("close")?);
    let text = arguments.string("text")?;
    if text.is_none() && !closes {
        return Err(ArgumentError::Missing { name: "text", expected: "a string, or `close: true` alone" });
    }
    Ok(WriteInput { call, text: text.unwrap_or_default(), closes })
}

/// The signals that can end a call, in the order of [`StopReason::OF_CLIENTS`].
pub(super) const SIGNALS: [&str; 3] = ["SIGTERM", "SIGINT", "SIGKILL"];

fn stop_call(arguments: Map<String, Value>) -> Result<StopCall, ArgumentError> {
    let mut arguments = Arguments::new(arguments, &["call", "signal"])?;
    let call = call(&mut arguments)?;
    let Some(signal) = arguments.string("signal")? else {
        return Ok(StopCall { call, reason: StopReason::Cancelled });
    };
    let known = SIGNALS.into_iter().zip(StopReason::OF_CLIENTS);
    let reason = known.into_iter().find(|(name, _)| *name == signal || name.strip_prefix("SIG") == Some(&signal));
    let expected = "`SIGTERM`, `SIGINT` or `SIGKILL`";
    let wrong = ArgumentError::WrongType { name: "signal", expected, found: "a different string" };
    reason.map(|(_, (reason, _))| StopCall { call, reason }).ok_or(wrong)
}

/// The number of a call.
fn call(arguments: &mut Arguments) -> Result<u64, ArgumentError> {
    let call = arguments.whole("call", 0, LARGEST)?;
    call.map(i64::unsigned_abs).ok_or(ArgumentError::Missing { name: "call", expected: "the number of a call" })
}

fn text(arguments: &mut Arguments, name: &'static str) -> Result<Option<String>, ArgumentError> {
    let text = arguments.string(name)?;
    if text.as_ref().is_some_and(|text| text.len() > LONGEST_TEXT) {
        return Err(ArgumentError::WrongType { name, expected: "at most 1000 bytes long", found: "longer" });
    }
    Ok(text)
}
