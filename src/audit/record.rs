//! The events of records, with their fields under the names and in the order in which they are written.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::files::Sha256;

/// An event of a session.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A call was decided on.
    Decided(DecidedRecord),
    /// A person was asked about a call.
    Asked(Asked),
    /// A question to a person has ended.
    Answered(Answered),
    /// The command of a call has started.
    Started(Started),
    /// An allowed call has ended: its command has ended, or was never started.
    Ended(Ended),
    /// The client has sent its roots.
    Roots(Roots),
    /// A request was refused before anything was decided on it.
    RefusedRequest(RefusedRequest),
    /// The client sent a message that runs nothing.
    Received(Received),
}

impl Event {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Decided(_) => "decided",
            Self::Asked(_) => "asked",
            Self::Answered(_) => "answered",
            Self::Started(_) => "started",
            Self::Ended(_) => "ended",
            Self::Roots(_) => "roots",
            Self::RefusedRequest(_) => "refused_request",
            Self::Received(_) => "received",
        }
    }
}

/// The client, as it names itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AuditedClient {
    pub name: String,
    pub version: String,
}

/// The content of the first record of a session.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct SessionFacts {
    /// The version of this program.
    pub version: &'static str,
    /// The SHA-256 of its file; `None` if the file can't be read.
    pub program_sha256: Option<String>,
    /// The SHA-256 of the resolved configuration, as `doctor` shows it.
    pub config_sha256: String,
    pub policies: Vec<PolicyFile>,
    pub host: String,
    pub user: String,
    pub pid: u32,
    pub platform: String,
    /// The level of the sandbox.
    pub sandbox: String,
    /// Set by the log, as is the salt: the client is known only when the record is written.
    pub client: Option<AuditedClient>,
    /// The salt of the digests of secrets, in hexadecimal digits.
    pub salt: String,
}

/// A file of rules, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PolicyFile {
    pub path: String,
    pub sha256: String,
}

/// The decision on a call.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DecidedRecord {
    /// The number of the call in the log.
    pub call: u64,
    /// The id of the request.
    pub id: Value,
    pub tool: String,
    /// The command of a line that it is about, or whose redirection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<usize>,
    /// Before the words, so that it is in the beginning of a very long record.
    pub decision: Verdict,
    /// The words that run; for a refused call, the client's words.
    pub argv: Vec<String>,
    /// The variables that a line sets for the command.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    pub cwd: Option<String>,
    /// The digest of the command's standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Digest>,
    /// The timeout that the client asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether the client asks for the call to run in the background.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// Whether the client asks for the call to become a task.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub task: bool,
    pub rule: Option<String>,
    pub reason: Option<String>,
    /// The client, if it is not the one in the session's first record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<AuditedClient>,
    /// The words with a secret part: the number of the word, and the byte from which a digest is written instead.
    #[serde(skip)]
    pub secrets: Vec<(usize, usize)>,
}

/// The verdict on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Allowed,
    /// A person has to approve it.
    Ask,
    Refused,
}

/// A question to a person.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Asked {
    pub call: u64,
    pub channel: &'static str,
    /// The text that the person reads.
    pub text: String,
}

/// The end of a question.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Answered {
    pub call: u64,
    pub channel: &'static str,
    pub answer: &'static str,
    /// Whether the same call runs without another question for the rest of the session.
    pub remembered: bool,
    pub waited_ms: u64,
}

/// The start of a command.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Started {
    pub call: u64,
    /// The command of a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<usize>,
    /// The path of the program.
    pub program: Option<String>,
    pub identity: Option<FileIdentity>,
    pub pid: Option<u32>,
}

/// Identifies a file and its present contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FileIdentity {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    /// When its contents were last changed.
    pub modified: String,
    /// Its SHA-256, if the file was read to be checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// The end of a call that was allowed.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Ended {
    pub call: u64,
    /// The command of a line, whose call goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<usize>,
    /// The status that the command exited with.
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Whether the server ended it early or did not start it, because the client cancelled it or the session ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// The limit that it hit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<&'static str>,
    /// Why it did not run, or why its result was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<Stream>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<Stream>,
}

/// Everything that a command wrote to a stream, whether it was kept or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Stream {
    pub bytes: u64,
    /// `None` if the executor did not compute a digest and did not keep everything.
    pub sha256: Option<String>,
}

/// The client's roots.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Roots {
    /// The directories that count.
    pub roots: Vec<String>,
    pub refused: Vec<RefusedRoot>,
}

/// A root that does not count.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RefusedRoot {
    pub reason: String,
}

/// A request that was refused before a decision.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RefusedRequest {
    /// Its id; `null` if it has none that can be read.
    pub id: Value,
    pub method: Option<String>,
    pub tool: Option<String>,
    /// The code of the JSON-RPC error; `None` if it was answered with a tool error.
    pub code: Option<i32>,
    pub reason: String,
    /// The line, if it is not a message, since nothing else says then what it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<Digest>,
}

/// A message that runs nothing and has no other record.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Received {
    pub message: MessageKind,
    /// The id of the request or response; for a cancellation, the id of the request that it names.
    pub id: Value,
    pub method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The call that the tool is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about_call: Option<u64>,
    /// The text that `write_input` gives that call to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Digest>,
    /// The whole line that it came in.
    pub line: Digest,
}

/// The kinds of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MessageKind {
    Request,
    Notification,
    Response,
}

/// The length and SHA-256 of a text, recorded instead of the text because it may be long or secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Digest {
    pub bytes: u64,
    pub sha256: String,
}

impl Digest {
    /// Computes the digest of a text.
    pub(crate) fn of(text: &[u8]) -> Self {
        Self { bytes: text.len() as u64, sha256: Sha256::of(text).to_string() }
    }
}
