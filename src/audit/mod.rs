//! The audit log: what was asked, decided, run and refused, as JSON lines that can't be rewritten unnoticed.
//!
//! Each record holds the SHA-256 of the line before it, so whoever changes, removes or inserts a line changes all that follow.
//! What was cut off at the end shows only against a head that was kept elsewhere. The log knows nothing of the protocol or of
//! processes: the server tells it what happened, and does not run what could not be recorded.
//!
//! Written:
//!
//! - [`AuditLog`] writes the records of one session.
//! - [`Event`] is what a record tells.
//! - `chain` is the file: its lock, its end, what was torn, and the next file where it is full.
//! - `secrets` replaces values that nobody may read with salted digests.
//!
//! Read. Anybody may have written the files, so nothing in them is trusted: each line takes bounded memory, and what can't be
//! read is told.
//!
//! - [`Line`] is one line with its hash, [`Link`] its place in the chain.
//! - [`Verifier`] follows the chain through the files, and tells where it breaks first.
//! - [`Anchors`] are heads that were kept elsewhere, [`Head`] is the one of a log now, and [`HeadFollower`] keeps up with it.
//! - [`not_a_log`] tells what a file is that is something else.
//! - [`Filter`] chooses records, and [`row`] shows one in a table.

mod anchor;
mod chain;
mod head;
mod not_a_log;
mod read;
mod record;
mod secrets;
mod show;
mod verify;
mod writer;

pub(crate) use anchor::{Anchor, Anchors};
pub(crate) use chain::AuditError;
pub(crate) use head::{Head, HeadFollower};
pub(crate) use not_a_log::not_a_log;
pub(crate) use read::{Bounded, Line, Link};
pub(crate) use record::{
    Answered, Asked, AuditedClient, Decided, Digest, Ended, Event, FileIdentity, MessageKind, PolicyFile, Received,
    RefusedRequest, RefusedRoot, Roots, SessionFacts, Started, Stream, Verdict, milliseconds,
};
pub(crate) use show::{Filter, Row, is_approval, row, words};
pub(crate) use verify::{LinePlace, Verification, Verifier};
pub(crate) use writer::{AuditLog, AuditSettings};
