//! Everything that can happen to the loop, in one closed enum.

use std::io;

use super::inbox::EventSender;
use super::shell_calls::ShellFinished;
use super::workers::{Finished, Progress};
use crate::jsonrpc::Line;

/// What the loop hears of.
#[derive(Debug)]
pub(crate) enum Event {
    /// The client sent a line.
    Line(Line),
    /// The client's stream has ended, or can't be read any more.
    InputEnded(io::Result<()>),
    /// The client has closed the stream of its answers.
    #[cfg_attr(not(unix), expect(dead_code, reason = "told on a Unix alone; elsewhere the next write fails"))]
    OutputClosed,
    /// The process was asked to end.
    Signal,
    /// A worker is done with its call.
    Finished(Finished),
    /// A call still runs. Dropped where the channel is full, so that no worker waits for the loop.
    Progress(Progress),
    /// The persistent shell is done with its call.
    ShellFinished(ShellFinished),
    /// A deadline of the loop's own has passed.
    Deadline(Deadline),
}

/// The deadlines of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deadline {
    /// The calls that were running at the end of the input had their time.
    Drained,
    /// The calls that were ended had theirs.
    Ended,
    /// The client had its time to answer this question for its roots.
    Roots(u64),
}

/// Ends a server from another thread, at once and in order: as a signal ends the program.
///
/// It keeps nothing alive. To end a server twice, or after its end, does no harm; where the loop is busy it waits for it.
#[derive(Debug, Clone)]
pub struct Ender(pub(super) EventSender);

impl Ender {
    /// Has the server end what runs, answer nothing more, and return from
    /// [`serve`](super::Server::serve) within a second.
    pub fn end(&self) {
        // The loop may be gone already, and then there is nothing left to end.
        self.0.send(Event::Signal);
    }
}
