//! Everything that can happen to the loop, in one closed enum.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::shell_calls::ShellFinished;
use super::workers::{Finished, Progress};
use crate::jsonrpc::{Line, LineReader};

/// What the other threads tell the loop.
#[derive(Debug)]
pub(crate) enum Event {
    /// The client sent a line.
    Line(Line),
    /// The client's stream has ended, or can't be read any more.
    InputEnded(io::Result<()>),
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

/// Where the other threads put their events.
pub(crate) type EventSender = SyncSender<Event>;

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
        let _ = self.0.send(Event::Signal);
    }
}

/// How many events wait at most. A client that sends faster than it is served is read no further: each of these may
/// be a line of 16 MiB.
const WAITING: usize = 4;

/// Makes the one channel.
pub(super) fn channel() -> (EventSender, Receiver<Event>) {
    sync_channel(WAITING)
}

/// Reads lines until the stream or the loop ends.
pub(super) fn read(input: impl BufRead, events: &EventSender) {
    let mut lines = LineReader::new(input);
    loop {
        let event = match lines.next_line() {
            Ok(Some(line)) => Event::Line(line),
            Ok(None) => Event::InputEnded(Ok(())),
            Err(error) => Event::InputEnded(Err(error)),
        };
        let is_last = matches!(event, Event::InputEnded(_));
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}
