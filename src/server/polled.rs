//! The stream that the loop reads itself, and the bell that wakes it.

use std::io::{self, BufRead, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::event::Event;
use crate::jsonrpc::LineReader;
use crate::poll::pipe;

/// Wakes a loop that sleeps in poll(2). Ringing it does nothing until such a loop has hung it up.
#[derive(Debug, Default)]
pub(super) struct Bell(OnceLock<OwnedFd>);

impl Bell {
    /// Lets the bell write to `waker`. A thread that rang before this woke nobody, but its event is in the channel
    /// already.
    fn hang(&self, waker: OwnedFd) {
        // There is only one such loop, and it does this once.
        self.0.get_or_init(|| waker);
    }

    /// Wakes the sleeping loop, after an event was put in its channel.
    pub(super) fn ring(&self) {
        if let Some(waker) = self.0.get() {
            // If the pipe is full, the loop is awake anyway; if it is closed, the loop is gone.
            let _ = rustix::io::write(waker, &[0]);
        }
    }
}

/// Guards a stream that may block: it is read only after poll(2) has said that it will not.
#[derive(Debug)]
pub(crate) struct Gate {
    descriptor: OwnedFd,
    is_open: Arc<AtomicBool>,
    /// The stream that the server writes to, as long as the loop watches for its closing.
    output: Option<OwnedFd>,
}

impl Gate {
    /// Makes the loop also watch for the closing of the stream that the server writes to. Only for pipes and sockets
    /// can this be noticed.
    pub(crate) fn beside(self, output: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self { output: Some(output.try_clone_to_owned()?), ..self })
    }
}

/// The stream behind the gate, which does not block.
#[derive(Debug)]
pub(crate) struct Gated {
    stream: OwnedFd,
    is_open: Arc<AtomicBool>,
}

/// Puts a gate in front of a stream.
///
/// # Errors
/// If no descriptor is left.
pub(crate) fn gated(stream: BorrowedFd<'_>) -> io::Result<(Gated, Gate)> {
    let is_open = Arc::new(AtomicBool::new(false));
    let gate = Gate { descriptor: stream.try_clone_to_owned()?, is_open: Arc::clone(&is_open), output: None };
    Ok((Gated { stream: stream.try_clone_to_owned()?, is_open }, gate))
}

impl Read for Gated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.is_open.swap(false, Ordering::Relaxed) {
            true => Ok(rustix::io::read(&self.stream, buffer)?),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

pub(super) struct Polled {
    lines: LineReader<Box<dyn BufRead>>,
    gate: Gate,
    /// Readable once the bell has rung.
    woken: OwnedFd,
    has_ended: bool,
}

impl Polled {
    pub(super) fn new(input: Box<dyn BufRead>, gate: Gate, bell: &Bell) -> io::Result<Self> {
        let (woken, waker) = pipe()?;
        for end in [&woken, &waker] {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        bell.hang(waker);
        Ok(Self { lines: LineReader::new(input), gate, woken, has_ended: false })
    }

    /// Waits once for the next event, for at most `longest`; `None` if none has come. The events of threads come first:
    /// they are few, and a client may send without end.
    pub(super) fn next(&mut self, events: &Receiver<Event>, longest: Option<Duration>) -> Option<Event> {
        if let Some(event) = events.try_recv().ok().or_else(|| self.read()) {
            return Some(event);
        }
        self.wait(longest).unwrap_or_else(|error| {
            self.has_ended = true;
            Some(Event::InputEnded(Err(error)))
        })
    }

    fn read(&mut self) -> Option<Event> {
        if self.has_ended {
            return None;
        }
        let read = self.lines.next_line();
        if matches!(&read, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            return None;
        }
        let event = Event::from(read);
        self.has_ended = matches!(event, Event::InputEnded(_));
        Some(event)
    }

    /// Waits for the stream, the bell, or the closing of the output. Only the last of these is an event by itself.
    fn wait(&mut self, longest: Option<Duration>) -> io::Result<Option<Event>> {
        // If no output is watched, the bell's pipe takes its place: its other end is never closed before this one.
        let output = self.gate.output.as_ref().unwrap_or(&self.woken);
        // After the end of the stream it would always be ready.
        let input = if self.has_ended { &self.woken } else { &self.gate.descriptor };
        let mut polled = [
            PollFd::from_borrowed_fd(self.woken.as_fd(), PollFlags::IN),
            // poll(2) reports a hang-up and errors unasked, but macOS looks for a hang-up only if it is asked for.
            PollFd::from_borrowed_fd(output.as_fd(), PollFlags::HUP),
            PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN),
        ];
        // A wait that does not fit a timespec is longer than any server lives.
        let longest = longest.and_then(|longest| Timespec::try_from(longest).ok());
        match poll(&mut polled, longest.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [rung, closed, ready] = polled.map(|polled| polled.revents());
        // These are not set if only the other direction of a socket is shut.
        if closed.intersects(PollFlags::ERR | PollFlags::HUP) {
            self.gate.output = None;
            return Ok(Some(Event::OutputClosed));
        }
        if !rung.is_empty() {
            // More bytes than the channel holds events; if bytes are left, the bell rings again.
            let mut rung = [0; 64];
            match rustix::io::read(&self.woken, &mut rung) {
                Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // The end of the stream and its errors are found by reading it.
        self.gate.is_open.store(!self.has_ended && !ready.is_empty(), Ordering::Relaxed);
        Ok(None)
    }
}
