//! The little that the loop and the thread of a call tell each other without an event.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::log::{Fields, NO_FIELDS};
use crate::text::Secrets;

/// The bytes of a call's command that are remembered.
const LONGEST_COMMAND: usize = 200;

/// The facts about one call.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Written by the thread that decides on the call; empty until it is allowed.
    known: OnceLock<Known>,
    /// Written by the thread that decides on the call to the end.
    is_to_start: AtomicBool,
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

    /// Notes that everything about the call is decided, so that its command starts, unless nobody waits for it any more. Returns whether
    /// it starts.
    pub(super) fn start(&self) -> bool {
        self.0.is_to_start.store(true, Ordering::SeqCst);
        !self.is_given_up()
    }

    /// Whether its command starts, or its thread is about to tell that nobody waits for it.
    pub(super) fn is_to_start(&self) -> bool {
        self.0.is_to_start.load(Ordering::SeqCst)
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

    /// Whether the call is allowed, as far as that is decided before its turn.
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

/// The words without secrets and with blanks between them, cut where they are long.
pub(super) fn shown(words: &[String], secrets: &Secrets) -> String {
    let mut shown = String::new();
    for word in words {
        shown.extend((!shown.is_empty()).then_some(' '));
        // A client's word may be very long. What begins in what is shown of it also ends in this much.
        let looked_at = start(word, LONGEST_COMMAND + secrets.longest());
        let hidden = secrets.hide(looked_at);
        let is_cut = looked_at.len() < word.len();
        // The end of what is looked at may hold a part of a secret.
        let hidden = if is_cut { start(&hidden, hidden.len().saturating_sub(secrets.longest())) } else { &hidden };
        shown.push_str(start(hidden, LONGEST_COMMAND + 1));
        if is_cut || shown.len() > LONGEST_COMMAND {
            shown.truncate(start(&shown, LONGEST_COMMAND).len());
            shown.push('…');
            break;
        }
    }
    shown
}

/// As many whole characters as these bytes hold.
fn start(text: &str, bytes: usize) -> &str {
    (0..=bytes.min(text.len())).rev().find_map(|end| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_long_words_is_shown_without_any_part_of_a_secret() {
        let value = "planted-".repeat(20);
        let secrets = Secrets::new([value.clone(), "plan".to_owned()]);
        let shown = |word: String| shown(&["echo".to_owned(), word], &secrets);
        assert_eq!(shown(format!("a {value} b")), "echo a *** b");
        assert_eq!(shown("x".repeat(1 << 20)), format!("echo {}…", "x".repeat(LONGEST_COMMAND - 5)));
        for offset in 0..2 * LONGEST_COMMAND {
            let shown = shown(format!("{}{}{}", "é".repeat(offset), value.repeat(4), "y".repeat(1000)));
            assert!(shown.len() <= LONGEST_COMMAND + '…'.len_utf8() && shown.ends_with('…'), "{offset}: {shown}");
            assert!(!shown.contains("ted-") && !shown.contains('y') && !shown.contains('p'), "{offset}: {shown}");
        }
    }
}
