//! The file: written by [`AuditLog`], read by all others.
//!
//! Writing:
//!
//! - `writer` writes the records of one session, as `settings` say.
//! - `chain` is the file: its lock, its end, a torn line, and the next file when it is full.
//! - `shared` is a file to which several processes append, one at a time; `patience` is how long one waits for another.
//! - `numbers` are those in the names of full files.
//! - `secrets` replaces secret values with salted digests.
//!
//! Reading. Anybody may have written the files, so nothing in them is trusted: each line takes bounded memory, and what can't be
//! read is reported.
//!
//! - [`Line`] is one line with its hash, and [`Link`] is its place in the chain.
//! - [`Verifier`] follows the chain through the files, and says where it breaks first.
//! - [`Anchors`] are heads that were kept elsewhere, [`Head`] is the present head of a log, and [`HeadFollower`] keeps up with
//!   it.
//! - [`not_a_log`] says what a file is if it is not a log.
//! - [`record`] reads a line as a record, also the beginning of a very long one.
//! - [`Filter`] chooses records, and [`row`] shows one in a table.

mod anchor;
mod beginning;
mod chain;
mod head;
mod not_a_log;
mod numbers;
mod patience;
mod read;
mod secrets;
mod settings;
mod shared;
mod show;
mod verify;
mod writer;

pub(crate) use anchor::{Anchor, Anchors};
pub(crate) use beginning::record;
pub(crate) use chain::AuditError;
pub(crate) use head::{Head, HeadFollower};
pub(crate) use not_a_log::not_a_log;
pub(crate) use read::{Bounded, Line, Link};
pub(crate) use settings::AuditSettings;
pub(crate) use shared::{SharedFileError, SharedReader};
pub(crate) use show::{Filter, Row, is_approval, row, variables, words};
pub(crate) use verify::{LinePlace, Verification, Verifier};
pub(crate) use writer::AuditLog;
