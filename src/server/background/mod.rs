//! Calls that go on after their answer: their output is kept, clients read it later, and tasks are told of. `about_calls` serves the requests
//! about them.
//!
//! - `kept` are the calls that a client can ask about, and `reads` is the thread that reads their output.
//! - `tasks` are the tasks of the session.

mod kept;
mod reads;
mod tasks;

pub(super) use kept::KeptCalls;
pub(super) use reads::{Look, ReadJob, Reads};
pub(super) use tasks::{KeptTask, Tasks};
