//! What the loop watches in addition to the channel and the client's stream.

#[cfg(unix)]
use std::time::Duration;

#[cfg(unix)]
use rustix::event::PollFd;

use super::event::Event;

/// What is watched; nothing by default.
pub(super) trait Watches {
    /// The next event of what is watched.
    fn next(&mut self) -> Option<Event> {
        None
    }

    /// How long to wait at most until the next [`step`](Self::step); `None` if there is nothing.
    #[cfg(unix)]
    fn wait(&mut self) -> Option<Duration> {
        None
    }

    /// Adds the descriptors to wait for.
    #[cfg(unix)]
    fn sources<'a>(&'a self, _polled: &mut Vec<PollFd<'a>>) {}

    /// Takes the steps that are possible now; `ready` says which of the sources are ready.
    #[cfg(unix)]
    fn step(&mut self, _ready: &[bool]) {}
}
