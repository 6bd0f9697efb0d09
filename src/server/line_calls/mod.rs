//! Lines of several commands without a turn: the decision on a call, and lines that no client sends.
//!
//! - `planned`: the decision on a call before anything runs
//! - `in_process`: a line of a program that embeds the tools; `alone`: that of `run`; `agents`: that of a hook
//! - `asked`: the question to a person about one
//!
//! A build without them has `no_line_calls` in its place.

mod agents;
mod alone;
mod asked;
mod in_process;
mod planned;

pub(crate) use agents::LineVerdict;
pub(crate) use alone::{Alone, RunEnded};
