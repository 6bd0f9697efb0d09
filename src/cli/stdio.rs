//! The process's own streams.
//!
//! Standard error never blocks the server: a client need not read it, and a full pipe would stop every call. Standard
//! output does, since that is how a client that does not read keeps the server from reading more; but it ends with the
//! client, or with the process.

use std::error::Error;
use std::io::{self, BufReader, IsTerminal, Write};
#[cfg(unix)]
use std::os::fd::{AsFd, OwnedFd};
#[cfg(unix)]
use std::time::{Duration, Instant};

#[cfg(unix)]
use rustix::fs::FileType;

use crate::server::LogSink;
use crate::text::escape;

/// The longest error in characters: what it quotes may be as long as any input.
const LONGEST_ERROR: usize = 4000;

/// Says what went wrong, with its causes.
pub(super) fn complain(error: &dyn Error) {
    let text = with_causes(error);
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(LONGEST_ERROR).collect();
    match chars.as_str() {
        "" => note(&format!("error: {text}")),
        rest => note(&format!("error: {start}…+{}", rest.chars().count())),
    }
}

/// An error and what is behind it, as one sentence. A cause that ends the sentence already is not repeated.
pub(super) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// Says one thing to the operator on one line, with everything escaped that could write to a terminal or begin another line.
pub(super) fn note(text: &str) {
    // There is nobody left to tell where standard error is closed.
    let _ = io::stderr().write_all(format!("allowexec: {}\n", escape(text)).as_bytes());
}

/// Writes the lines of the log, as they are `written`, to standard error, as long as somebody reads it.
///
/// A line that would block is dropped, and the next one that does not tells how many were.
pub(super) fn log_sink(written: impl Fn(&str) -> String + Send + 'static) -> LogSink {
    let mut dropped = 0_u64;
    // There is nobody left to tell where standard error is closed.
    let write = move |line: &str| drop(io::stderr().write_all((written(line) + "\n").as_bytes()));
    Box::new(move |line| {
        if !can_write_error() {
            dropped += 1;
            return;
        }
        if dropped > 0 {
            write(&format!("warn: {dropped} lines of the log were dropped, because nobody read them"));
            dropped = 0;
        }
        // Longer lines could block half-way: the log makes none that a pipe does not take whole.
        write(line);
    })
}

#[cfg(unix)]
fn can_write_error() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let error = io::stderr();
    let mut polled = [PollFd::new(&error, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&now)).is_ok_and(|ready| ready > 0)
}

#[cfg(not(unix))]
fn can_write_error() -> bool {
    true
}

/// How much of the client's input is read at once: a client may send many requests at once.
const READ_AT_ONCE: usize = 16 * 1024;

/// Standard input, as the client's, and what tells when there is more of it, and when standard output is closed.
#[cfg(unix)]
pub(super) fn client_input() -> io::Result<(BufReader<crate::server::Gated>, ClientGate)> {
    let (input, mut gate) = crate::server::gated(io::stdin().as_fd())?;
    if matches!(kind_of_output()?, FileType::Fifo | FileType::Socket) {
        gate = gate.beside(io::stdout().as_fd())?;
    }
    Ok((BufReader::with_capacity(READ_AT_ONCE, input), gate))
}

/// Tells when there is more of the input.
#[cfg(unix)]
pub(super) type ClientGate = crate::server::Gate;

/// Standard input, as the client's.
#[cfg(not(unix))]
pub(super) fn client_input() -> io::Result<(BufReader<io::Stdin>, ClientGate)> {
    Ok((BufReader::with_capacity(READ_AT_ONCE, io::stdin()), ClientGate))
}

/// Nothing tells here: a thread of its own reads.
#[cfg(not(unix))]
pub(super) struct ClientGate;

/// Held by who watches for signals; dropping it ends a write that waits for the client.
#[derive(Debug, Default)]
pub(super) struct Closing {
    #[cfg(unix)]
    _end: Option<OwnedFd>,
}

/// Shows how far the work is, in the place of what was shown before; nothing where nobody watches.
pub(super) fn progress(text: &str) {
    if io::stderr().is_terminal() {
        // `ESC [ K` clears what is left of the line.
        let _ = io::stderr().write_all(format!("\r{text}\x1b[K").as_bytes());
    }
}

/// How long a client that has closed its end may take to read what is left. Together with the half second between
/// SIGTERM and SIGKILL this stays within the time that a client waits for the server.
#[cfg(unix)]
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Standard output, as the client's.
#[cfg(unix)]
pub(super) struct ClientOutput {
    /// Readable once the process was asked to end.
    closing: OwnedFd,
    /// A description of the pipe of our own, which does not block. To make standard output itself so would change it for
    /// whoever shares it.
    own: Option<OwnedFd>,
    /// What is given to one write(2) where there is none, so that it does not block once poll(2) says that it will not.
    chunk: usize,
    /// Set once the client has closed its end.
    deadline: Option<Instant>,
}

/// Opens standard output for the client, and what ends a write to it.
#[cfg(unix)]
pub(super) fn client_output() -> io::Result<(ClientOutput, Closing)> {
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

#[cfg(unix)]
fn kind_of_output() -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(io::stdout())?.st_mode))
}

/// Opens the pipe of standard output a second time, where the system lets us (Linux, and a pipe of the same user's).
#[cfg(unix)]
fn open_again() -> Option<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open("/proc/self/fd/1", flags, Mode::empty()).ok()
}

#[cfg(unix)]
impl ClientOutput {
    /// Waits until the client takes more.
    fn wait(&mut self) -> io::Result<()> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let (stdout, stdin) = (io::stdout(), io::stdin());
        loop {
            let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            // Of the input only its end matters, which is reported without being asked for.
            let input_events = PollFlags::empty();
            let mut polled = [
                PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::OUT),
                PollFd::from_borrowed_fd(self.closing.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(stdin.as_fd(), input_events),
            ];
            // Once the input has ended it would be ready for ever.
            let watched = if self.deadline.is_some() { 2 } else { 3 };
            match poll(polled.get_mut(..watched).unwrap_or_default(), timeout.as_ref()) {
                Err(rustix::io::Errno::INTR) => continue,
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

#[cfg(unix)]
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
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => self.wait()?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard output, as the client's.
#[cfg(not(unix))]
pub(super) fn client_output() -> io::Result<(io::Stdout, Closing)> {
    Ok((io::stdout(), Closing::default()))
}
