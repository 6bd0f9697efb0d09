//! The client's streams on a Unix, which poll(2) watches.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::READ_AT_ONCE;
use crate::server::Server;
use crate::server::polled::{Gate, Gated, gated};

/// How long a client that has closed its end may take to read what is left. Together with the half second between
/// SIGTERM and SIGKILL this stays within the time that a client waits for the server.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Tells when there is more of the input.
pub(in crate::cli) type ClientGate = Gate;

/// Standard input for the client's messages, and the gate that tells when there is more of it, and when standard output is
/// closed.
pub(in crate::cli) fn client_input() -> io::Result<(BufReader<Gated>, ClientGate)> {
    let (input, mut gate) = gated(io::stdin().as_fd())?;
    if matches!(kind_of_output()?, FileType::Fifo | FileType::Socket) {
        gate = gate.beside(io::stdout().as_fd())?;
    }
    Ok((BufReader::with_capacity(READ_AT_ONCE, input), gate))
}

/// Serves the client: the loop reads its input itself.
///
/// # Errors
/// If there is no pipe, or if writing fails for any reason except that the client closed the stream.
pub(in crate::cli) fn serve(
    server: Server<'_>,
    input: impl BufRead + Send + 'static,
    gate: ClientGate,
) -> io::Result<()> {
    server.serve_polled(input, gate)
}

/// Whether standard error takes a line now.
pub(super) fn can_write_error() -> bool {
    let error = io::stderr();
    let mut polled = [PollFd::new(&error, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&now)).is_ok_and(|ready| ready > 0)
}

/// Held by the thread that waits for signals; dropping it ends a write that waits for the client.
#[derive(Debug, Default)]
pub(in crate::cli) struct Closing {
    _end: Option<OwnedFd>,
}

/// Standard output for the client's messages.
pub(in crate::cli) struct ClientOutput {
    /// Readable once the process is asked to end.
    closing: OwnedFd,
    /// Our own open file description of the pipe, which does not block. Making standard output itself non-blocking would affect
    /// every process that shares it.
    own: Option<OwnedFd>,
    /// Without that: the most bytes for one write(2), so that it does not block after poll(2) has said that it will not.
    chunk: usize,
    /// Set once the client has closed its end.
    deadline: Option<Instant>,
}

/// Opens standard output for the client; dropping the second value ends a write to it.
pub(in crate::cli) fn client_output() -> io::Result<(ClientOutput, Closing)> {
    let (receiver, sender) = crate::poll::pipe()?;
    let kind = kind_of_output()?;
    let chunk = match kind {
        // A file never blocks, and a socket that is writable has room for this much.
        FileType::RegularFile => usize::MAX,
        FileType::Socket => 32 * 1024,
        // PIPE_BUF: a pipe that is writable has a free page.
        _ => 4096,
    };
    let own = if kind == FileType::Fifo { open_again() } else { None };
    Ok((ClientOutput { closing: receiver, own, chunk, deadline: None }, Closing { _end: Some(sender) }))
}

fn kind_of_output() -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(io::stdout())?.st_mode))
}

/// Opens the pipe of standard output a second time, if the system allows it (on Linux, if the pipe belongs to the same user).
fn open_again() -> Option<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open("/proc/self/fd/1", flags, Mode::empty()).ok()
}

impl ClientOutput {
    /// Waits until the client takes more.
    fn wait(&mut self) -> io::Result<()> {
        let (stdout, stdin) = (io::stdout(), io::stdin());
        loop {
            let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            // Only the end of the input matters, which poll(2) always reports.
            let input_events = PollFlags::empty();
            let mut polled = [
                PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::OUT),
                PollFd::from_borrowed_fd(self.closing.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(stdin.as_fd(), input_events),
            ];
            // After its end, the input would always be ready.
            let watched = if self.deadline.is_some() { 2 } else { 3 };
            match poll(polled.get_mut(..watched).unwrap_or_default(), timeout.as_ref()) {
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(_) => {}
            }
            let [output, closing, input] = polled.map(|polled| !polled.revents().is_empty());
            if output {
                return Ok(());
            }
            if closing {
                return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the process was asked to end"));
            }
            if self.deadline.is_none() && input {
                self.deadline = Some(Instant::now() + LAST_WORDS);
            } else if left.is_some_and(|left| left.is_zero()) {
                return Err(io::Error::new(
                    io::ErrorKind::BrokenPipe,
                    "the client has closed its end and does not read",
                ));
            }
        }
    }
}

impl Write for ClientOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let written = if let Some(own) = &self.own {
                rustix::io::write(own, bytes)
            } else {
                self.wait()?;
                rustix::io::write(io::stdout(), bytes.get(..self.chunk.min(bytes.len())).unwrap_or_default())
            };
            match written {
                Ok(count) => return Ok(count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait()?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
