//! Where the loop takes its events from: the channel of the other threads, and the client's stream.
//!
//! On a Unix the program's loop reads its standard input itself: one poll(2) waits for it and for the channel, whose
//! senders ring a bell, a byte in a pipe. A line is then served by the thread that read it, and a request that needs no
//! other thread wakes none. Any other stream, and any stream on Windows, is read by a thread of its own.

#[cfg(unix)]
use std::io;
use std::io::BufRead;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use super::deadlines::Deadlines;
use super::event::{Deadline, Event};
#[cfg(unix)]
use super::polled::{Bell, Gate, Polled};
use super::watches::Watches;
use crate::jsonrpc::LineReader;

/// How many events wait at most. A client that sends faster than it is served is read no further: each of these may
/// be a line of 16 MiB.
const WAITING: usize = 4;

/// Where the other threads put their events.
#[derive(Debug, Clone)]
pub(crate) struct EventSender {
    events: SyncSender<Event>,
    bell: Arc<Bell>,
}

impl EventSender {
    /// Waits for a place in the channel; says whether there still is a loop.
    pub(super) fn send(&self, event: Event) -> bool {
        let sent = self.events.send(event).is_ok();
        self.bell.ring();
        sent
    }

    /// Drops the event where the channel is full.
    pub(super) fn send_if_free(&self, event: Event) {
        // Where the loop is gone nobody wants it either.
        drop(self.try_send(event));
    }

    /// Sends the event where there is a place in the channel.
    ///
    /// # Errors
    /// The event, where there is none, or no loop any more.
    pub(super) fn try_send(&self, event: Event) -> Result<(), Box<Event>> {
        match self.events.try_send(event) {
            Ok(()) => {
                self.bell.ring();
                Ok(())
            }
            Err(TrySendError::Full(event) | TrySendError::Disconnected(event)) => Err(Box::new(event)),
        }
    }
}

/// The events, as the loop takes them.
pub(super) struct Inbox {
    events: Receiver<Event>,
    /// What the loop has to tell itself.
    own: Option<Event>,
    deadlines: Deadlines,
    #[cfg(unix)]
    bell: Arc<Bell>,
    #[cfg(unix)]
    polled: Option<Polled>,
}

impl Inbox {
    /// Makes the one channel.
    pub(super) fn new() -> (EventSender, Self) {
        let (sender, events) = sync_channel(WAITING);
        let bell = Arc::new(Bell::default());
        let inbox = Self {
            events,
            own: None,
            deadlines: Deadlines::default(),
            #[cfg(unix)]
            bell: Arc::clone(&bell),
            #[cfg(unix)]
            polled: None,
        };
        (EventSender { events: sender, bell }, inbox)
    }

    /// Has the loop read this stream itself, at the bottom of which is what [`gated`](super::gated) made with the gate.
    ///
    /// # Errors
    /// Where no pipe can be had to wake it with.
    #[cfg(unix)]
    pub(super) fn poll(&mut self, input: impl BufRead + 'static, gate: Gate) -> io::Result<()> {
        self.polled = Some(Polled::new(Box::new(input), gate, &self.bell)?);
        Ok(())
    }

    /// Waits for the next event; `None` where none can come any more.
    pub(super) fn next(&mut self, watches: &mut impl Watches) -> Option<Event> {
        loop {
            let passed = self.own.take().or_else(|| self.deadlines.passed().map(Event::Deadline));
            let passed = passed.or_else(|| watches.next());
            if passed.is_some() {
                return passed;
            }
            let wait = self.deadlines.wait();
            #[cfg(unix)]
            if let Some(polled) = &mut self.polled {
                match polled.next(&self.events, wait, watches) {
                    None => continue,
                    event => return event,
                }
            }
            let received = match wait {
                None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => self.events.recv_timeout(wait),
            };
            match received {
                Ok(event) => return Some(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Whether the client certainly takes so many bytes at once, so that to write them waits for nobody.
    #[cfg(unix)]
    pub(super) fn takes(&self, bytes: usize) -> bool {
        self.polled.as_ref().is_some_and(|polled| polled.takes(bytes))
    }

    /// Makes this deadline an event after the delay.
    pub(super) fn after(&mut self, delay: Duration, deadline: Deadline) {
        self.deadlines.set(delay, deadline);
    }

    /// Makes this deadline no event any more.
    pub(super) fn forget(&mut self, deadline: Deadline) {
        self.deadlines.forget(deadline);
    }

    /// Makes this event the next one. There is one at a time, of the persistent shell's one call.
    pub(super) fn put_first(&mut self, event: Event) {
        self.own = Some(event);
    }
}

/// Reads lines until the stream or the loop ends; for a thread of its own.
pub(super) fn read(input: impl BufRead, events: &EventSender) {
    let mut lines = LineReader::new(input);
    loop {
        let event = Event::from(lines.next_line());
        let is_last = matches!(event, Event::InputEnded(_));
        if !events.send(event) || is_last {
            return;
        }
    }
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

// With braces, so that it is made in the same words as where it holds something.
/// Nobody sleeps beside the channel here.
#[cfg(not(unix))]
#[derive(Debug, Default)]
struct Bell {}

#[cfg(not(unix))]
impl Bell {
    #[expect(clippy::unused_self, reason = "elsewhere there is something to ring")]
    fn ring(&self) {}
}
