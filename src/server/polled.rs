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
use super::watches::Watches;
use crate::jsonrpc::LineReader;
use crate::poll::pipe;

/// What a pipe that is ready for poll(2) takes at once, see pipe(7).
const TAKEN: usize = 4096;

/// What wakes a loop that sleeps in poll(2); it makes no sound until such a loop has hung it up.
#[derive(Debug, Default)]
pub(super) struct Bell(OnceLock<OwnedFd>);

impl Bell {
    /// Who rings before finds nothing here, but what it rings for stands in the channel by then.
    fn hang(&self, waker: OwnedFd) {
        // There is one such loop, which hangs it up once.
        self.0.get_or_init(|| waker);
    }

    /// Wakes the loop that sleeps, after something was put in its channel.
    pub(super) fn ring(&self) {
        if let Some(waker) = self.0.get() {
            // Where the pipe is full the loop is awake anyway, and where it is closed there is none.
            let _ = rustix::io::write(waker, &[0]);
        }
    }
}

/// Stands before a stream that may block: it is read only once poll(2) has said that it will not.
#[derive(Debug)]
pub(crate) struct Gate {
    descriptor: OwnedFd,
    is_open: Arc<AtomicBool>,
    /// What the server writes to, as long as its end is watched for.
    output: Option<OwnedFd>,
}

impl Gate {
    /// Has the loop end with this stream as well, a pipe or a socket that the server writes to. Of another one no end can
    /// be told.
    pub(crate) fn beside(self, output: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self { output: Some(output.try_clone_to_owned()?), ..self })
    }
}

/// What is behind the gate: a stream that does not block.
#[derive(Debug)]
pub(crate) struct Gated {
    stream: OwnedFd,
    is_open: Arc<AtomicBool>,
}

/// Puts a gate before a stream.
///
/// # Errors
/// Where no descriptor is left.
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

    /// Waits for the next event, once and for no longer than this; `None` where none has come. What the threads have to tell
    /// comes first: they are few, and a client may send without end.
    pub(super) fn next(
        &mut self,
        events: &Receiver<Event>,
        longest: Option<Duration>,
        watches: &mut impl Watches,
    ) -> Option<Event> {
        if let Some(event) = events.try_recv().ok().or_else(|| self.read()) {
            return Some(event);
        }
        self.wait(longest, watches).unwrap_or_else(|error| {
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

    /// Whether a pipe or socket takes so many bytes at once.
    pub(super) fn takes(&self, bytes: usize) -> bool {
        let Some(output) = self.gate.output.as_ref().filter(|_| bytes <= TAKEN) else { return false };
        let mut polled = [PollFd::new(output, PollFlags::OUT)];
        let is_ready = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok();
        let [polled] = polled;
        is_ready && polled.revents().contains(PollFlags::OUT)
    }

    /// Waits for the stream, the bell or what is watched, or for the end of the output, which is an event by itself.
    fn wait(&mut self, longest: Option<Duration>, watches: &mut impl Watches) -> io::Result<Option<Event>> {
        let until_step = watches.wait();
        let longest = longest.into_iter().chain(until_step).min();
        // Where none is watched the bell's pipe takes its place, whose other end is never closed before this one.
        let output = self.gate.output.as_ref().unwrap_or(&self.woken);
        // Once the stream has ended it would be ready for ever.
        let input = if self.has_ended { &self.woken } else { &self.gate.descriptor };
        let mut polled = vec![
            PollFd::from_borrowed_fd(self.woken.as_fd(), PollFlags::IN),
            // Its end and its errors come unasked; macOS looks for the end only where it is asked for.
            PollFd::from_borrowed_fd(output.as_fd(), PollFlags::HUP),
            PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN),
        ];
        watches.sources(&mut polled);
        // A wait that no timespec holds is longer than any server lives.
        let longest = longest.and_then(|longest| Timespec::try_from(longest).ok());
        match poll(&mut polled, longest.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut polled = polled.into_iter().map(|polled| polled.revents());
        let [rung, closed, ready] =
            [polled.next(), polled.next(), polled.next()].map(|ready| ready.unwrap_or(PollFlags::empty()));
        if until_step.is_some() {
            let of_watched: Vec<bool> = polled.map(|ready| !ready.is_empty()).collect();
            watches.step(&of_watched);
        }
        // Not where only the other direction of a socket is shut.
        if closed.intersects(PollFlags::ERR | PollFlags::HUP) {
            self.gate.output = None;
            return Ok(Some(Event::OutputClosed));
        }
        if !rung.is_empty() {
            // More than the channel holds; what is left rings once more.
            let mut rung = [0; 64];
            match rustix::io::read(&self.woken, &mut rung) {
                Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Its end and its errors are read like anything else.
        self.gate.is_open.store(!self.has_ended && !ready.is_empty(), Ordering::Relaxed);
        Ok(None)
    }
}
