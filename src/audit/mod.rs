//! The audit log: what was asked, decided, run and refused, as JSON lines that can't be rewritten unnoticed.
//!
//! Each record holds the SHA-256 of the line before it, so changing, removing or inserting a line breaks the chain unless all
//! lines that follow are rewritten. If the end was cut off, only a head that was kept elsewhere shows it. The log knows nothing
//! of the protocol or of processes: the server reports what happened, and does not run what could not be recorded.
//!
//! - [`Event`] is what a record says.
//! - `log` is the file, which is written and read.

pub(crate) mod log;
mod record;

pub(crate) use record::{
    Answered, Asked, AuditedClient, DecidedRecord, Digest, Ended, Event, FileIdentity, MessageKind, PolicyFile,
    Received, RefusedRequest, RefusedRoot, Roots, SessionFacts, Started, Stream, Verdict,
};
