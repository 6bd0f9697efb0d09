//! The little that the loop and the thread of a call tell each other without an event.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::log::{Fields, NO_FIELDS};

/// The facts about one call.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Written by the thread that decides on the call; empty until it is allowed.
    known: OnceLock<Known>,
    /// Written by the loop.
    is_given_up: AtomicBool,
}

/// The facts about a call that is allowed.
#[derive(Debug)]
pub(super) struct Known {
    /// The fields of its log lines.
    pub description: Fields,
    /// Its words, without secrets, cut to what is shown.
    pub command: String,
    /// How long it may run.
    pub timeout: Duration,
}

impl Facts {
    /// The facts about a call that waits for a person, of which only the log lines are needed.
    pub(super) fn described(description: Fields) -> Self {
        let facts = Self::default();
        facts.set(Known { description, command: String::new(), timeout: Duration::MAX });
        facts
    }

    /// Makes them known. Only the one thread that decides on the call does so.
    pub(super) fn set(&self, known: Known) {
        // They are set once, so nothing is lost.
        let _ = self.0.known.set(known);
    }

    /// Nobody waits for the call any more. If its thread looks at this before the start, its command is not started; else the stop signal
    /// ends it.
    pub(super) fn give_up(&self) {
        self.0.is_given_up.store(true, Ordering::SeqCst);
    }

    /// Whether nobody waits for the call any more.
    pub(super) fn is_given_up(&self) -> bool {
        self.0.is_given_up.load(Ordering::SeqCst)
    }

    /// Whether the call is allowed.
    pub(super) fn are_known(&self) -> bool {
        self.0.known.get().is_some()
    }

    /// The fields of its log lines.
    pub(super) fn description(&self) -> &Fields {
        self.0.known.get().map_or(&NO_FIELDS, |known| &known.description)
    }

    /// Its words as they are shown; empty if they are not known.
    pub(super) fn command(&self) -> &str {
        self.0.known.get().map_or("", |known| &known.command)
    }

    /// How long it may run, if that is known.
    pub(super) fn timeout(&self) -> Option<Duration> {
        self.0.known.get().map(|known| known.timeout)
    }
}
