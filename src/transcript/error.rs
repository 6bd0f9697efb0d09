//! The problems of a transcript, each with its line and with what was expected there.

use thiserror::Error;

use super::rule::{MOST_STARS, all_words};
use crate::text::escape;

/// How much of a line is quoted at most.
const QUOTED: usize = 1000;

/// A [`Problem`] and its line; displayed as `file:line: problem`, on one line of bounded length that can't control a
/// terminal, because it quotes a file from someone else.
#[derive(Debug, Error)]
#[error("{}:{line}: {}", escape(file), shown(problem))]
pub struct TranscriptError {
    /// The name of the file as the caller gave it.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The problem of that line.
    pub problem: Problem,
}

/// A problem of one line of a transcript, or of a value for one.
#[derive(Debug, Error)]
pub enum Problem {
    /// The line is not UTF-8.
    #[error("expected UTF-8; write other bytes as `-->x` and their hex digits")]
    NotUtf8,
    /// The first line is not `transcript: …`.
    #[error("expected `transcript: 1` on the first line, found `{found}`")]
    MissingHeader {
        /// The line found there.
        found: String,
    },
    /// The file is an audit log.
    #[error("expected a transcript, found an audit log; `allowexec audit show` and `allowexec report` read it")]
    AuditLog,
    /// The format has a version that this library does not know.
    #[error("expected `transcript: 1`, found version `{found}`")]
    UnknownVersion {
        /// The text after `transcript:`.
        found: String,
    },
    /// A line of the header is not `key: value`.
    #[error("expected `key: value`, or a blank line to end the header, found `{found}`")]
    NoKey {
        /// The line.
        found: String,
    },
    /// The header has a key that the format does not know.
    #[error("unknown header key `{key}`; expected one of {known}")]
    UnknownKey {
        /// The key.
        key: String,
        /// All keys there are.
        known: String,
    },
    /// A key that may occur once occurs twice.
    #[error("header key `{key}` occurs twice; expected it once")]
    RepeatedKey {
        /// The key.
        key: String,
    },
    /// A value ends within a quotation.
    #[error("`{key}` ends inside a quotation or after a backslash: `{found}`")]
    OpenQuotation {
        /// The header key.
        key: &'static str,
        /// Its value.
        found: String,
    },
    /// A word of `env:` is not an assignment.
    #[error("expected `NAME=value` in `env`, found `{found}`")]
    NoAssignment {
        /// The word.
        found: String,
    },
    /// `platform:` names something else.
    #[error("unknown platform `{found}`; expected unix, windows, linux or macos")]
    UnknownPlatform {
        /// The word.
        found: String,
    },
    /// `era:` says something else than `both`.
    #[error("expected `era: both`, found `era: {found}`; leave the line out if the transcript is one session")]
    NoEra {
        /// The text after `era:`.
        found: String,
    },
    /// A text of two sessions, where one was needed.
    #[error(
        "expected a transcript of one session, found `era: both`; only `allowexec replay`, `review` and `lint` read two"
    )]
    BothEras,
    /// A text with `era: both` does not begin with the handshake.
    #[error(
        "expected a body that begins with `initialize`, its answer and `notifications/initialized`, as `era: both` \
         needs it, found `{found}`"
    )]
    NoHandshake {
        /// The line in its place.
        found: String,
    },
    /// With `era: both`, what each message repeats makes the modern session too large.
    #[error(
        "expected at most 64 MiB of `clientInfo` and `capabilities` in the modern session, where each message repeats their {found} \
         bytes"
    )]
    LargeInModern {
        /// How many bytes a message repeats.
        found: usize,
    },
    /// A line of one era, in a transcript of one session.
    #[error("expected `era: both` in the header of a transcript with lines of one era, found `{found}`")]
    MarkedLine {
        /// The line.
        found: String,
    },
    /// A `setup:` line is not an action.
    #[error(
        "expected `dir PATH`, `file PATH TEXT`, `script PATH TEXT` or `link PATH TARGET` in `setup`, each a word without \
         blanks or a JSON string, found `{found}`"
    )]
    NoSetup {
        /// The value of the key.
        found: String,
    },
    /// A `setup:` path could lie outside the temporary directory.
    #[error("expected a relative path without `..` in `setup`, found `{found}`")]
    SetupOutside {
        /// The path.
        found: String,
    },
    /// A `setup:` path is too long.
    #[error("expected a path of at most {most} bytes in `setup`, found {length}")]
    SetupTooLong {
        /// How long it is.
        length: usize,
        /// How long it may be.
        most: usize,
    },
    /// The text is not a rule.
    #[error("expected `[METHOD] POINTER` and {}, found `{found}`", all_words())]
    NoRule {
        /// The value of the key, or the line.
        found: String,
    },
    /// A rule has too many `**`.
    #[error("expected at most {MOST_STARS} `**` in a pointer, found `{found}`")]
    ManyStars {
        /// The rule.
        found: String,
    },
    /// A header value can't be written on a line.
    #[error("`{key}` can't be {value:?}: expected text on one line, not empty and without blanks around it")]
    NotOneLine {
        /// The header key.
        key: &'static str,
        /// The value.
        value: String,
    },
    /// A line of the body has an unknown prefix.
    #[error(
        "expected `-->`, `-->x`, `-->+`, `-->x+`, `<--`, `<--!`, `<--x`, `==>`, `<==`, `#` or a blank line, found `{found}`"
    )]
    UnknownPrefix {
        /// The line.
        found: String,
    },
    /// A known prefix without the blank after it.
    #[error("expected a blank after `{prefix}`, found `{found}`")]
    NoBlank {
        /// The prefix.
        prefix: &'static str,
        /// The line.
        found: String,
    },
    /// `-->x` is followed by something other than bytes in hex.
    #[error("expected pairs of hex digits without blanks, found `{found}`")]
    NoHex {
        /// The text after the prefix.
        found: String,
    },
    /// `<--` is followed by something other than JSON.
    #[error("expected a JSON message on one line, found `{found}`: {reason}")]
    NoJson {
        /// The text after the prefix.
        found: String,
        /// The error of the JSON parser.
        reason: String,
    },
    /// A message takes too much memory.
    #[error(
        "the message has more values than are read (about {most} MiB of memory); send it as several, or as shorter ones"
    )]
    HeavyMessage {
        /// How much it may take, in MiB.
        most: usize,
    },
    /// The lines take too much memory together.
    #[error(
        "the lines up to here take more memory than is used for a transcript (about {most} MiB); divide it into several, each with the \
         header, or remove large messages"
    )]
    Heavy {
        /// How much they may take, in MiB.
        most: usize,
    },
    /// The header is too long.
    #[error(
        "the header is longer than {most} MiB; shorten its lines, or put an empty line before the messages if it has none"
    )]
    LongHeader {
        /// How long it may be, in MiB.
        most: usize,
    },
    /// A message without an identity.
    #[error("expected a message with a `method`, an `id` or an `error`, found `{found}`")]
    NoIdentity {
        /// The message.
        found: String,
    },
    /// A wait that contains only its identity, although a whole message is needed to answer with.
    #[error("expected a whole message to answer with, found `{found}`; `allowexec replay --update` fills it in")]
    BareAnswer {
        /// The message.
        found: String,
    },
    /// The line reports a wait that was not met.
    #[error("a wait that was not met can't be played: `{found}`; expected a JSON message or `exit N`")]
    FailedWait {
        /// The line.
        found: String,
    },
    /// `==>` is followed by something other than `eof`.
    #[error("expected `==> eof`, found `==> {found}`")]
    NoEof {
        /// The text after the prefix.
        found: String,
    },
    /// `<==` is followed by something other than `exit` and a number, or `no line feed`.
    #[error("expected `<== exit N` or `<== no line feed`, found `<== {found}`")]
    NoExit {
        /// The text after the prefix.
        found: String,
    },
}

/// The problem as it is displayed with its line.
fn shown(problem: &Problem) -> String {
    let text = problem.to_string();
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(QUOTED).collect();
    match chars.as_str() {
        "" => escape(&text).into_owned(),
        rest => format!("{}…+{}", escape(&start), rest.chars().count()),
    }
}
