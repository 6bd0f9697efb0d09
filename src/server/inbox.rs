//! Where the loop takes its events from: the channel of the other threads, and the client's stream.
//!
//! On Unix the program's loop reads its standard input itself: one poll(2) waits for it and for the channel, whose
//! senders ring a bell, which is a byte in a pipe. So the thread that reads a line also serves it, and a request that
//! needs no other thread wakes none. Any other stream, and any stream on Windows, is read by a thread of its own.

use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use super::deadlines::Deadlines;
use super::event::{Deadline, Event};
use super::polled::{Bell, Gate, Polled};
use crate::jsonrpc::LineReader;

/// The most events in the channel. If a client sends faster than it is served, the server stops reading: each event may
/// be a line of 16 MiB.
const WAITING: usize = 4;

/// Where the other threads put their events.
#[derive(Debug, Clone)]
pub(crate) struct EventSender {
    events: SyncSender<Event>,
    bell: Arc<Bell>,
}

impl EventSender {
    /// Sends the event, and waits for a place in the channel; returns whether the loop still exists.
    pub(super) fn send(&self, event: Event) -> bool {
        let sent = self.events.send(event).is_ok();
        self.bell.ring();
        sent
    }

    /// Sends the event, or drops it if the channel is full.
    pub(super) fn send_if_free(&self, event: Event) {
        // If the loop is gone, nobody wants the event either.
        drop(self.try_send(event));
    }

    /// Sends the event if there is a place in the channel.
    ///
    /// # Errors
    /// The event, if the channel is full or the loop is gone.
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
    deadlines: Deadlines,
    bell: Arc<Bell>,
    polled: Option<Polled>,
}

impl Inbox {
    /// Makes the channel.
    pub(super) fn new() -> (EventSender, Self) {
        let (sender, events) = sync_channel(WAITING);
        let bell = Arc::new(Bell::default());
        let inbox = Self { events, deadlines: Deadlines::default(), bell: Arc::clone(&bell), polled: None };
        (EventSender { events: sender, bell }, inbox)
    }

    /// Makes the loop read this stream itself. The stream must read from what [`gated`](super::polled::gated) returned with the
    /// gate.
    ///
    /// # Errors
    /// If there is no pipe for waking the loop.
    pub(super) fn poll(&mut self, input: impl BufRead + 'static, gate: Gate) -> io::Result<()> {
        self.polled = Some(Polled::new(Box::new(input), gate, &self.bell)?);
        Ok(())
    }

    /// Waits for the next event; `None` if none can come any more.
    pub(super) fn next(&mut self) -> Option<Event> {
        loop {
            let passed = self.deadlines.passed().map(Event::Deadline);
            if passed.is_some() {
                return passed;
            }
            let wait = self.deadlines.wait();
            if let Some(polled) = &mut self.polled {
                match polled.next(&self.events, wait) {
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

    /// Sets a deadline, which becomes an event after the delay.
    pub(super) fn after(&mut self, delay: Duration, deadline: Deadline) {
        self.deadlines.set(delay, deadline);
    }

    /// Removes a deadline.
    pub(super) fn forget(&mut self, deadline: Deadline) {
        self.deadlines.forget(deadline);
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

/// Ends a server from another thread immediately but in order, as a signal ends the program.
///
/// It keeps nothing alive. Ending a server twice, or after its end, does no harm. If the loop is busy, this waits for it.
#[derive(Debug, Clone)]
pub struct Ender(pub(super) EventSender);

impl Ender {
    /// Makes the server end all calls, send no more answers, and return from
    /// [`serve`](super::Server::serve) within a second.
    pub fn end(&self) {
        // If the loop is gone already, there is nothing left to end.
        self.0.send(Event::Signal);
    }
}
