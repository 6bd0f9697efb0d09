//! What can be wrong with a transcript, each with its place and with what was expected there.

use thiserror::Error;

/// A [`Problem`] and where it stands; displayed as `file:line: problem`.
#[derive(Debug, Error)]
#[error("{file}:{line}: {problem}")]
pub struct TranscriptError {
    /// The name of the file as the caller gave it.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with that line.
    pub problem: Problem,
}

/// What is wrong with one line of a transcript, or with a value that is to become one.
#[derive(Debug, Error)]
pub enum Problem {
    /// The line's bytes are no UTF-8.
    #[error("expected UTF-8; write bytes that are none as `-->x` and their hex digits")]
    NotUtf8,
    /// The first line is not `transcript: …`.
    #[error("expected `transcript: 1` on the first line, found `{found}`")]
    MissingHeader {
        /// The line that stands there.
        found: String,
    },
    /// The format has a version that this library does not know.
    #[error("expected `transcript: 1`, found version `{found}`")]
    UnknownVersion {
        /// What stands behind `transcript:`.
        found: String,
    },
    /// A line of the header is no `key: value`.
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
    /// A key that may stand once stands twice.
    #[error("header key `{key}` stands here a second time; expected it once")]
    RepeatedKey {
        /// The key.
        key: String,
    },
    /// A value ends within a quotation.
    #[error("`{key}` ends inside a quotation or behind a backslash: `{found}`")]
    OpenQuotation {
        /// The header key.
        key: &'static str,
        /// Its value.
        found: String,
    },
    /// A word of `env:` is no assignment.
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
    /// A `setup:` line is no action.
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
    /// A header value can't stand on a line.
    #[error("`{key}` can't hold {value:?}: expected text on one line, not empty and without blanks around it")]
    NotOneLine {
        /// The header key.
        key: &'static str,
        /// The value.
        value: String,
    },
    /// A line of the body begins with no known prefix.
    #[error("expected `-->`, `-->x`, `-->+`, `-->x+`, `<--`, `==>`, `<==`, `#` or a blank line, found `{found}`")]
    UnknownPrefix {
        /// The line.
        found: String,
    },
    /// `-->x` is followed by something else than bytes in hex.
    #[error("expected pairs of hex digits without blanks, found `{found}`")]
    NoHex {
        /// What follows the prefix.
        found: String,
    },
    /// `<--` is followed by something else than JSON.
    #[error("expected a JSON message on one line, found `{found}`: {reason}")]
    NoJson {
        /// What follows the prefix.
        found: String,
        /// What the JSON parser says.
        reason: String,
    },
    /// A message that nothing can be matched with.
    #[error("expected a message with a `method`, an `id` or an `error`, found `{found}`")]
    NoIdentity {
        /// The message.
        found: String,
    },
    /// A wait that says nothing but its identity, where an answer is needed.
    #[error("expected a whole message to answer with, found `{found}`; `allowexec replay --update` fills it in")]
    BareAnswer {
        /// The message.
        found: String,
    },
    /// The line tells of a wait that was not met.
    #[error("a wait that was not met can't be played: `{found}`; expected a JSON message or `exit N`")]
    FailedWait {
        /// The line.
        found: String,
    },
    /// `==>` is followed by something else than `eof`.
    #[error("expected `==> eof`, found `==> {found}`")]
    NoEof {
        /// What follows the prefix.
        found: String,
    },
    /// `<==` is followed by something else than `exit` and a number.
    #[error("expected `<== exit N`, found `<== {found}`")]
    NoExit {
        /// What follows the prefix.
        found: String,
    },
}
