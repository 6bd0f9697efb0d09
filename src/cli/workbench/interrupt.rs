//! The end of servers that run in this process, at the first signal.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cli::signals::Signals;

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
