//! The process's own streams.
//!
//! Standard error never blocks the server: a client need not read it, and a full pipe would stop every call. Standard output
//! may block, so that the server stops reading requests while the client does not read answers. Such a write ends when the
//! client closes its end, or when the process is asked to end.

#[cfg_attr(unix, path = "stdio/unix.rs")]
#[cfg_attr(windows, path = "stdio/windows.rs")]
mod platform;

use std::error::Error;
use std::io::{self, IsTerminal, Write};

use platform::can_write_error;
pub(super) use platform::{ClientGate, Closing, client_input, client_output, serve};

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

/// The bytes of the client's input that are read at once: a client may send many requests at once.
const READ_AT_ONCE: usize = 16 * 1024;

/// Shows the progress of the work on a terminal, in place of what was shown before.
pub(super) fn progress(text: &str) {
    if io::stderr().is_terminal() {
        // `ESC [ K` clears what is left of the line.
        let _ = io::stderr().write_all(format!("\r{text}\x1b[K").as_bytes());
    }
}
