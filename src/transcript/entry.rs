//! One line of a transcript's body, parsed and printed.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::{Identity, Problem};

/// One line of the body.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// `-->`: the client sends bytes.
    Send(Sent),
    /// `<--`: the client waits for a message of this identity; in what was played, the message that came.
    Receive(Message),
    /// `==> eof`: the client closes its end.
    CloseInput,
    /// `<== exit N`: the server ends; 128 and the signal's number where a signal ended it.
    Exit(i32),
    /// `#` and this text, as it stands.
    Comment(String),
    /// A blank line.
    Blank,
    /// In what was played only: a wait that was not met. It prints, but [`Entry::parse`] refuses it, so that a failure
    /// can't become what is expected.
    Failure(Failure),
}

/// Why a wait was not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Nothing of that identity came before the output was silent for this long.
    Nothing {
        /// How long the player waited.
        within: Duration,
    },
    /// So many other messages came that the player gave up.
    TooManyOthers {
        /// How many.
        count: usize,
    },
    /// The output ended.
    EndOfOutput,
    /// A line that is no message, lossily decoded.
    NotAMessage {
        /// The line.
        line: String,
    },
    /// The server's end was due, but its output stayed open for this long.
    OutputStillOpen {
        /// How long the player waited.
        within: Duration,
    },
    /// The server's end was due, but it ran on for this long.
    StillRunning {
        /// How long the player waited.
        within: Duration,
    },
}

/// What follows sent bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnd {
    /// One `\n`.
    Newline,
    /// Nothing: the rest of the line follows, or the end of the input.
    Missing,
}

/// Bytes that the client sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The bytes, without the line end.
    pub bytes: Vec<u8>,
    /// What follows them.
    pub end: LineEnd,
}

impl Sent {
    /// The bytes as text, where they print as themselves: UTF-8 without control characters (a tab is none here) and
    /// without white space at the end, which editors remove.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        let text = std::str::from_utf8(&self.bytes).ok()?;
        let plain = text.chars().all(|c| c == '\t' || !c.is_control());
        (plain && !text.ends_with(char::is_whitespace)).then_some(text)
    }
}

/// A server's message: one line of JSON that has an identity.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    text: String,
    value: Value,
    identity: Identity,
}

impl Message {
    /// Parses one line.
    ///
    /// # Errors
    /// [`Problem::NoJson`] for what is no JSON or holds a line break, [`Problem::NoIdentity`] for other JSON.
    pub fn parse(line: &str) -> Result<Self, Problem> {
        let text = line.trim_matches([' ', '\t']);
        let no_json = |reason: String| Problem::NoJson { found: text.to_owned(), reason };
        if text.contains(['\n', '\r']) {
            return Err(no_json("it holds a line break".to_owned()));
        }
        let value: Value = serde_json::from_str(text).map_err(|error| no_json(error.to_string()))?;
        match Identity::of(&value) {
            Some(identity) => Ok(Self { text: text.to_owned(), value, identity }),
            None => Err(Problem::NoIdentity { found: text.to_owned() }),
        }
    }

    /// The line as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line as JSON.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// What makes it the answer to a wait.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether it says no more than its identity: no message of JSON-RPC lacks `jsonrpc`.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        match &self.value {
            Value::Array(members) => members.iter().all(|member| member.get("jsonrpc").is_none()),
            message => message.get("jsonrpc").is_none(),
        }
    }
}

impl Entry {
    /// Parses one line of the body, given without its line end.
    ///
    /// # Errors
    /// A [`Problem`] for an unknown prefix, bad hex, a wait that is no message, and what else is not as the format says.
    pub fn parse(line: &str) -> Result<Self, Problem> {
        if line.trim_matches([' ', '\t']).is_empty() {
            return Ok(Self::Blank);
        }
        if let Some(comment) = line.strip_prefix('#') {
            return Ok(Self::Comment(comment.to_owned()));
        }
        let (prefix, rest) = line.split_once(' ').unwrap_or((line, ""));
        let text = |end| Self::Send(Sent { bytes: rest.as_bytes().to_vec(), end });
        match prefix {
            "-->" => Ok(text(LineEnd::Newline)),
            "-->+" => Ok(text(LineEnd::Missing)),
            "-->x" => Ok(Self::Send(Sent { bytes: from_hex(rest)?, end: LineEnd::Newline })),
            "-->x+" => Ok(Self::Send(Sent { bytes: from_hex(rest)?, end: LineEnd::Missing })),
            "<--" if rest.starts_with('(') => Err(Problem::FailedWait { found: line.to_owned() }),
            "<--" => Message::parse(rest).map(Self::Receive),
            "==>" if rest.trim() == "eof" => Ok(Self::CloseInput),
            "==>" => Err(Problem::NoEof { found: rest.to_owned() }),
            "<==" if rest.starts_with('(') => Err(Problem::FailedWait { found: line.to_owned() }),
            "<==" => rest
                .trim()
                .strip_prefix("exit ")
                .and_then(|status| status.trim().parse().ok())
                .map(Self::Exit)
                .ok_or_else(|| Problem::NoExit { found: rest.to_owned() }),
            _ => Err(Problem::UnknownPrefix { found: line.to_owned() }),
        }
    }
}

impl fmt::Display for Entry {
    /// Writes the line without a line end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(sent) => sent.fmt(f),
            Self::Receive(message) => write!(f, "<-- {}", message.text),
            Self::CloseInput => f.write_str("==> eof"),
            Self::Exit(status) => write!(f, "<== exit {status}"),
            // A comment that a program made may hold line breaks; each of its lines stays a comment.
            Self::Comment(text) => write!(f, "#{}", text.replace('\n', "\n#")),
            Self::Blank => Ok(()),
            Self::Failure(failure) => failure.fmt(f),
        }
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plus = match self.end {
            LineEnd::Newline => "",
            LineEnd::Missing => "+",
        };
        match self.text() {
            Some("") => write!(f, "-->{plus}"),
            Some(text) => write!(f, "-->{plus} {text}"),
            None => {
                write!(f, "-->x{plus} ")?;
                self.bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing { within } => write!(f, "<-- (nothing within {within:?})"),
            Self::TooManyOthers { count } => {
                write!(f, "<-- (gave up after {count} other messages)")
            }
            Self::EndOfOutput => f.write_str("<-- (end of output)"),
            Self::NotAMessage { line } => write!(f, "<-- (no message: {line:?})"),
            Self::OutputStillOpen { within } => {
                write!(f, "<-- (output still open after {within:?})")
            }
            Self::StillRunning { within } => write!(f, "<== (still running after {within:?})"),
        }
    }
}

fn from_hex(text: &str) -> Result<Vec<u8>, Problem> {
    let no_hex = || Problem::NoHex { found: text.to_owned() };
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    text.as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(digit(high)? * 16 + digit(low)?),
            _ => None,
        })
        .collect::<Option<Vec<u8>>>()
        .ok_or_else(no_hex)
}
