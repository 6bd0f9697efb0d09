//! The audit log, read: what its records tell, and whether it is what was written.
//!
//! Anybody may have written the files that are read here, so nothing in them is trusted: each line takes bounded memory, and
//! what can't be read is told.
//!
//! - [`Line`] is one line with its hash, [`Link`] its place in the chain.
//! - [`Verifier`] follows the chain through the files, and tells where it breaks first.
//! - [`Anchors`] are heads that were kept elsewhere.
//! - [`Filter`] chooses records, and [`row`] shows one in a table.

mod anchor;
mod read;
mod show;
mod verify;

pub(crate) use anchor::{Anchor, Anchors};
pub(crate) use read::{Line, Link};
pub(crate) use show::{Filter, Row, row, words};
pub(crate) use verify::{Place, Verification, Verifier};
