//! One line of a transcript's body, parsed and printed.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::unheld::unheld;
use super::{Identity, Problem};
use crate::jsonrpc::weight::{self, MOST_WEIGHT, Quotes};

/// One line of the body.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// `-->`: the client sends bytes.
    Send(Sent),
    /// `<--`: the client waits for a message of this identity; in a played transcript, the message that came.
    Receive(Message),
    /// `<--!`: a line of the server that is not a message, such as a log line on standard output.
    Noise(Vec<u8>),
    /// `<== no line feed`: the server's output ends within a line.
    NoLineEnd,
    /// `==> eof`: the client closes its end.
    CloseInput,
    /// `<== exit N`: the server ends with this status, or with 128 plus the number of the signal that ended it.
    Exit(i32),
    /// `#` and this text, unchanged.
    Comment(String),
    /// A blank line.
    Blank,
    /// Only in a played transcript: a wait that was not met. It can be printed, but [`Entry::parse`] refuses it, so
    /// that a failure can't become the expectation.
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

/// The end of a line of sent bytes.
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
    /// The line end that follows them.
    pub end: LineEnd,
}

impl Sent {
    /// The bytes as text, if they can be printed unchanged: UTF-8 without control characters other than tabs, and
    /// without white space at the end, which editors remove.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        printable(&self.bytes)
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
    /// [`Problem::NoJson`] for text that is not JSON or contains a line feed, [`Problem::NoIdentity`] for other JSON.
    pub fn parse(line: &str) -> Result<Self, Problem> {
        let text = line.trim_matches([' ', '\t']);
        let no_json = |reason: String| Problem::NoJson { found: text.to_owned(), reason };
        if text.contains('\n') {
            return Err(no_json("it holds a line feed".to_owned()));
        }
        if weight::of_text_of_values(text.as_bytes(), Quotes::Hold) > MOST_WEIGHT {
            return Err(Problem::HeavyMessage { most: MOST_WEIGHT >> 20 });
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

    /// The parts of the line that its value does not hold: numbers beyond 64 bits, and objects in which a name comes
    /// twice.
    pub(super) fn unheld(&self) -> Vec<String> {
        unheld(&self.text)
    }

    /// Its identity, which decides which wait it answers.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether it says no more than its identity, for each message of a batch: `{"id":1}`, `{"method":"m"}` or `{"error":{}}`.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        match &self.value {
            Value::Array(members) => members.iter().all(is_bare),
            message => is_bare(message),
        }
    }
}

/// Whether one message contains only its identity. A message with more in it is a whole one, even if a server has left
/// out `jsonrpc`.
pub(crate) fn is_bare(message: &Value) -> bool {
    let Some(mut members) = message.as_object().map(serde_json::Map::iter) else { return false };
    match (members.next(), members.next()) {
        (Some((name, value)), None) => match name.as_str() {
            "id" | "method" => true,
            "error" => value.as_object().is_some_and(serde_json::Map::is_empty),
            _ => false,
        },
        _ => false,
    }
}

impl Entry {
    /// Whether the line begins with an arrow whose blank is missing.
    fn without_blank(line: &str) -> Option<Problem> {
        let arrows = ["-->x+", "-->x", "-->+", "-->", "<--!", "<--x", "<--", "==>", "<=="];
        let prefix = arrows.into_iter().find(|arrow| line.starts_with(arrow))?;
        Some(Problem::NoBlank { prefix, found: line.to_owned() })
    }

    /// Parses one line of the body, given without its line end.
    ///
    /// # Errors
    /// A [`Problem`] for an unknown prefix, bad hex, a wait that is not a message, and anything else that the format
    /// does not allow.
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
            "<--!" => Ok(Self::Noise(rest.as_bytes().to_vec())),
            "<--x" => Ok(Self::of_server(&from_hex(rest)?)),
            "==>" if rest.trim() == "eof" => Ok(Self::CloseInput),
            "==>" => Err(Problem::NoEof { found: rest.to_owned() }),
            "<==" if rest.starts_with('(') => Err(Problem::FailedWait { found: line.to_owned() }),
            "<==" if rest.trim() == "no line feed" => Ok(Self::NoLineEnd),
            "<==" => rest
                .trim()
                .strip_prefix("exit ")
                .and_then(|status| status.trim().parse().ok())
                .map(Self::Exit)
                .ok_or_else(|| Problem::NoExit { found: rest.to_owned() }),
            _ => Err(Self::without_blank(line).unwrap_or_else(|| Problem::UnknownPrefix { found: line.to_owned() })),
        }
    }
}

impl Entry {
    /// A line that the server wrote, given without its line feed.
    #[must_use]
    pub fn of_server(line: &[u8]) -> Self {
        let message = std::str::from_utf8(line).ok().and_then(|text| Message::parse(text).ok());
        message.map_or_else(|| Self::Noise(line.to_vec()), Self::Receive)
    }

    /// The identity that a wait for this line has; `None` for lines that the server does not write.
    #[must_use]
    pub fn identity(&self) -> Option<Identity> {
        match self {
            Self::Receive(message) => Some(message.identity().clone()),
            Self::Noise(_) => Some(Identity::NoMessage),
            Self::Send(_)
            | Self::NoLineEnd
            | Self::CloseInput
            | Self::Exit(_)
            | Self::Comment(_)
            | Self::Blank
            | Self::Failure(_) => None,
        }
    }
}

impl fmt::Display for Entry {
    /// Writes the line without a line end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(sent) => sent.fmt(f),
            Self::Receive(message) if printable(message.text.as_bytes()).is_none() => {
                write!(f, "<--x {}", Hex(message.text.as_bytes()))
            }
            Self::Receive(message) => write!(f, "<-- {}", message.text),
            Self::Noise(line) => match printable(line) {
                Some("") => f.write_str("<--!"),
                Some(text) => write!(f, "<--! {text}"),
                None => write!(f, "<--x {}", Hex(line)),
            },
            Self::NoLineEnd => f.write_str("<== no line feed"),
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
            None => write!(f, "-->x{plus} {}", Hex(&self.bytes)),
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
            Self::OutputStillOpen { within } => {
                write!(f, "<-- (output still open after {within:?})")
            }
            Self::StillRunning { within } => write!(f, "<== (still running after {within:?})"),
        }
    }
}

/// The bytes as text, if a line of a transcript can contain them unchanged.
fn printable(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let plain = text.chars().all(|c| c == '\t' || !c.is_control());
    (plain && !text.ends_with(char::is_whitespace)).then_some(text)
}

/// Displays bytes in lower-case hex.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
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
