//! The standard input of a running command: filled by the loop, emptied by the thread that writes to the pipe.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use thiserror::Error;

use crate::text::counted;

/// How many bytes may wait for the command to read them.
const MOST: usize = 1024 * 1024;

/// The input of one command, which stays open until it is closed.
#[derive(Debug, Default)]
pub struct Feed {
    state: Mutex<State>,
    /// For a thread that writes to the pipe, where there is no poll(2).
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    /// Bytes that were given and not read by the command, those of `bytes` among them.
    unread: usize,
    is_closed: bool,
}

/// Why a command is given nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotFed {
    /// Its input was closed.
    #[error("its standard input is closed")]
    Closed,
    /// It does not read.
    #[error(
        "the command has {} to read already, and at most {MOST} can wait; try again when it has read some", counted(*.unread as u64, "byte")
    )]
    Full {
        /// How many wait.
        unread: usize,
    },
}

impl Feed {
    /// Gives the command more to read, and then closes its input if `closes`. Returns whether the reader must be
    /// notified; one that was notified before, and has not looked since, finds this too.
    ///
    /// # Errors
    /// [`NotFed`], and then nothing was given.
    pub fn give(&self, text: &[u8], closes: bool) -> Result<bool, NotFed> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(NotFed::Closed);
        }
        if state.unread + text.len() > MOST {
            return Err(NotFed::Full { unread: state.unread });
        }
        let is_news = closes || (state.bytes.is_empty() && !text.is_empty());
        state.bytes.extend_from_slice(text);
        state.unread += text.len();
        state.is_closed = closes;
        self.changed.notify_all();
        Ok(is_news)
    }

    /// Closes the input: the command reads no more, or has ended.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Takes the bytes that were given since the last time; returns whether the input ends after them.
    pub(super) fn take(&self) -> (Vec<u8>, bool) {
        let mut state = self.lock();
        (std::mem::take(&mut state.bytes), state.is_closed)
    }

    /// The same, and waits until there is something.
    #[cfg(windows)]
    pub(super) fn wait(&self) -> (Vec<u8>, bool) {
        let state = self.lock();
        let waits = |state: &mut State| state.bytes.is_empty() && !state.is_closed;
        drop(self.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner));
        self.take()
    }

    /// Makes room for the bytes that were written to the command.
    pub(super) fn read(&self, bytes: usize) {
        let mut state = self.lock();
        state.unread = state.unread.saturating_sub(bytes);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is complete before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_and_nothing_comes_behind_the_end() {
        let feed = Feed::default();
        assert_eq!(feed.give(&vec![b'x'; MOST], false), Ok(true));
        assert_eq!(feed.give(b"y", false), Err(NotFed::Full { unread: MOST }));
        feed.read(1);
        assert_eq!(feed.give(b"y", true), Ok(true));
        assert_eq!(feed.give(b"", false), Err(NotFed::Closed));
    }

    #[test]
    fn who_was_told_and_has_not_looked_is_not_told_again() {
        let feed = Feed::default();
        assert_eq!(feed.give(b"", false), Ok(false));
        assert_eq!([b"a", b"b"].map(|text| feed.give(text, false)), [Ok(true), Ok(false)]);
        assert_eq!(feed.take(), (b"ab".to_vec(), false));
        assert_eq!(feed.give(b"c", false), Ok(true));
    }
}
