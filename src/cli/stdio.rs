//! The process's own streams.
//!
//! Standard error never blocks the server: a client need not read it, and a full pipe would stop every call. Standard output
//! may block, so that the server stops reading requests while the client does not read answers. Such a write ends when the
//! client closes its end, or when the process is asked to end.

use std::error::Error;
use std::io::{self, BufReader, IsTerminal, Write};
#[cfg(unix)]
use std::os::fd::{AsFd, OwnedFd};
#[cfg(unix)]
use std::time::{Duration, Instant};

#[cfg(unix)]
use rustix::fs::FileType;

use crate::server::LogSink;
use crate::text::{counted, escape};

/// The longest error, in characters: it may quote input of any length.
const LONGEST_ERROR: usize = 4000;

/// Prints an error, with its causes.
pub(super) fn complain(error: &dyn Error) {
    let text = with_causes(error);
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(LONGEST_ERROR).collect();
    match chars.as_str() {
        "" => note(&format!("error: {text}")),
        rest => note(&format!("error: {start}…+{}", rest.chars().count())),
    }
}

/// An error and its causes, in one sentence. A cause that the sentence already ends with is not repeated.
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

/// Prints one line for the operator, with every character escaped that could control a terminal or begin another line.
pub(super) fn note(text: &str) {
    // If standard error is closed, there is nobody left to tell.
    let _ = io::stderr().write_all(format!("allowexec: {}\n", escape(text)).as_bytes());
}

/// The sink that writes the lines of the log, formatted by `written`, to standard error.
///
/// A line that would block is dropped; before the next line that does not, the log says how many were dropped.
pub(super) fn log_sink(written: impl Fn(&str) -> String + Send + 'static) -> LogSink {
    let mut dropped = 0_u64;
    // If standard error is closed, there is nobody left to tell.
    let write = move |line: &str| drop(io::stderr().write_all((written(line) + "\n").as_bytes()));
    Box::new(move |line| {
        if !can_write_error() {
            dropped += 1;
            return;
        }
        if dropped > 0 {
            write(&format!("warn: the log has lost {}, because nobody read it", counted(dropped, "line")));
            dropped = 0;
        }
        // A longer line could block half-way, but no line of the log is longer than a pipe takes in one piece.
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

/// The bytes of the client's input that are read at once: a client may send many requests at once.
const READ_AT_ONCE: usize = 16 * 1024;

/// Standard input for the client's messages, and the gate that tells when there is more of it, and when standard output is
/// closed.
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

/// Standard input for the client's messages.
#[cfg(not(unix))]
pub(super) fn client_input() -> io::Result<(BufReader<io::Stdin>, ClientGate)> {
    Ok((BufReader::with_capacity(READ_AT_ONCE, io::stdin()), ClientGate))
}

/// There is no gate here: a thread of its own reads.
#[cfg(not(unix))]
pub(super) struct ClientGate;

/// Held by the thread that waits for signals; dropping it ends a write that waits for the client.
#[derive(Debug, Default)]
pub(super) struct Closing {
    #[cfg(unix)]
    _end: Option<OwnedFd>,
}

/// Shows the progress of the work on a terminal, in place of what was shown before.
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

/// Standard output for the client's messages.
#[cfg(unix)]
pub(super) struct ClientOutput {
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

/// Opens the pipe of standard output a second time, if the system allows it (on Linux, if the pipe belongs to the same user).
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

/// Standard output for the client's messages.
#[cfg(not(unix))]
pub(super) fn client_output() -> io::Result<(io::Stdout, Closing)> {
    Ok((io::stdout(), Closing::default()))
}
