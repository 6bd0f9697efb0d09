//! The stream that the loop reads itself, and the bell that wakes it.

use std::io::{self, BufRead, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::event::Event;
use super::inbox::line_or_end;
use crate::exec::pipe;
use crate::jsonrpc::LineReader;

/// What wakes a loop that sleeps in poll(2); it makes no sound until such a loop has hung it up.
#[derive(Debug, Default)]
pub(super) struct Bell(Mutex<Option<OwnedFd>>);

impl Bell {
    /// Who rings before finds nothing here, but what it rings for stands in the channel by then.
    fn hang(&self, waker: OwnedFd) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
    }

    /// Wakes the loop that sleeps, after something was put in its channel.
    pub(super) fn ring(&self) {
        if let Some(waker) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
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
    let gate = Gate { descriptor: stream.try_clone_to_owned()?, is_open: Arc::clone(&is_open) };
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

    /// Waits for the next event. What the threads have to tell comes first: they are few, and a client may send without end.
    pub(super) fn next(&mut self, events: &Receiver<Event>) -> Event {
        loop {
            if let Ok(event) = events.try_recv() {
                return event;
            }
            if let Some(event) = self.read() {
                return event;
            }
            if let Err(error) = self.wait() {
                self.has_ended = true;
                return Event::InputEnded(Err(error));
            }
        }
    }

    fn read(&mut self) -> Option<Event> {
        if self.has_ended {
            return None;
        }
        let read = self.lines.next_line();
        if matches!(&read, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            return None;
        }
        let event = line_or_end(read);
        self.has_ended = matches!(event, Event::InputEnded(_));
        Some(event)
    }

    /// Waits for the stream or the bell.
    fn wait(&mut self) -> io::Result<()> {
        let mut polled = [
            PollFd::from_borrowed_fd(self.woken.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.gate.descriptor.as_fd(), PollFlags::IN),
        ];
        // Once the stream has ended it would be ready for ever.
        let watched = if self.has_ended { 1 } else { 2 };
        match poll(polled.get_mut(..watched).unwrap_or_default(), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [has_rung, is_ready] = polled.map(|polled| !polled.revents().is_empty());
        if has_rung {
            // More than the channel holds; what is left rings once more.
            let mut rung = [0; 64];
            match rustix::io::read(&self.woken, &mut rung) {
                Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Its end and its errors are read like anything else.
        self.gate.is_open.store(is_ready, Ordering::Relaxed);
        Ok(())
    }
}
