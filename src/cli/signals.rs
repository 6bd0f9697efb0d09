//! The signals of the process: those that end it, and those that its parent made it ignore.
//!
//! Signals that a parent ignores stay ignored through exec(3), see execve(2), and so in every command: if SIGCHLD is ignored, a
//! command can't be watched, and if SIGTERM is ignored, it can't end in order. A handler does not survive exec(3), so a signal
//! that has a handler here has its default action in commands.

#[cfg_attr(unix, path = "signals/unix.rs")]
#[cfg_attr(windows, path = "signals/windows.rs")]
mod platform;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) use platform::{Relay, Signals};

/// Signals while several servers run in this process, one after the other.
#[derive(Clone, Default)]
pub(super) struct Interrupt(Arc<Mutex<Interrupted>>);

#[derive(Default)]
struct Interrupted {
    came: bool,
    end: Option<Box<dyn Fn() + Send>>,
}

impl Interrupt {
    /// At the first signal, ends the server that runs then.
    pub(super) fn new(signals: Signals) -> io::Result<Self> {
        let interrupt = Self::default();
        let at_signal = interrupt.clone();
        signals.at_first(move || {
            let mut state = at_signal.lock();
            state.came = true;
            state.end.iter().for_each(|end| end());
        })?;
        Ok(interrupt)
    }

    /// Sets what a signal does from now on; does it immediately if one has already come.
    pub(super) fn watch(&self, end: impl Fn() + Send + 'static) {
        let mut state = self.lock();
        if state.came {
            end();
        }
        state.end = Some(Box::new(end));
    }

    /// Whether a signal came.
    pub(super) fn came(&self) -> bool {
        self.lock().came
    }

    fn lock(&self) -> MutexGuard<'_, Interrupted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
