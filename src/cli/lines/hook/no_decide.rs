//! Stands where the decision on an event would, on platforms where lines are not decided: every event is blocked.

use super::event::Event;
use super::verdict::Verdict;
use super::{Agent, Options};
use crate::config::Flags;

pub(super) fn decide(_: Agent, _: &Event, _: &Flags, _: Options) -> Result<Verdict, String> {
    Err("lines are not decided on this system".to_owned())
}
