//! Lines of several commands without a turn: the decision on a call, and lines that no client sends.
//!
//! - `planned`: the decision on a call before anything runs
//! - `in_process`: a line of a program that embeds the tools; `alone`: that of `run`; `agents`: that of a hook
//! - `shown`: how a person sees one that is asked about
//!
//! A build without them has `no_line_calls` in its place.

mod agents;
mod alone;
mod in_process;
mod planned;
mod shown;

pub(crate) use agents::LineVerdict;
pub(crate) use alone::{Alone, RunEnded};
