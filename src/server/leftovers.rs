//! Processes that commands leave behind: a call is answered once they are gone, and the loop does not block meanwhile.

use std::collections::HashMap;
use std::time::Duration;

use super::event::{CallEnded, Event};
use super::inbox::EventSender;
use crate::exec::Orphans;

/// The longest last search, at the end of the server, if no command had to be ended before.
const LAST_LOOK: Duration = Duration::from_millis(600);
/// The same, if the process trees of commands have had their time already.
const LAST_LOOK_LATE: Duration = Duration::from_millis(150);

/// The processes that commands left behind, as far as the loop knows them.
#[derive(Default)]
pub(super) struct Leftovers {
    /// `None` if the server does not end orphans.
    orphans: Option<Orphans>,
    /// The ended calls whose leftovers are being searched for.
    held: HashMap<u64, CallEnded>,
}

impl Leftovers {
    /// Ends leftovers from now on.
    pub(super) fn watch(events: EventSender) -> Self {
        let tell = move |looked| {
            // If the loop is gone, nobody is waiting for this.
            events.send(Event::Looked(looked));
        };
        Self { orphans: Some(Orphans::new(tell)), held: HashMap::new() }
    }

    /// Notes that the call is about to start something.
    pub(super) fn begins(&mut self, key: u64) {
        if let Some(orphans) = &mut self.orphans {
            orphans.begins(key);
        }
    }

    /// Notes that the call has ended without starting anything.
    pub(super) fn ends(&mut self, key: u64) {
        if let Some(orphans) = &mut self.orphans {
            orphans.ends(key);
        }
    }

    /// Whether a search for the leftovers of a call is under way.
    pub(super) fn are_looked_for(&self) -> bool {
        !self.held.is_empty()
    }

    /// Returns the call if it has left nothing behind; otherwise holds it until [`release`](Self::release).
    pub(super) fn after(&mut self, ended: CallEnded) -> Option<CallEnded> {
        let Some(orphans) = &mut self.orphans else { return Some(ended) };
        let is_gone = match ended.shell.as_ref().map(|shell| shell.host()) {
            None => orphans.after(ended.key, None),
            Some(Some(host)) => orphans.after(ended.key, Some(host)),
            Some(None) => {
                orphans.ends(ended.key);
                true
            }
        };
        if is_gone {
            return Some(ended);
        }
        self.held.insert(ended.key, ended);
        None
    }

    /// Returns a call that is held.
    pub(super) fn release(&mut self, key: u64) -> Option<CallEnded> {
        self.held.remove(&key)
    }

    /// The calls that are held.
    pub(super) fn held(&self) -> impl Iterator<Item = &CallEnded> {
        self.held.values()
    }

    /// Ends everything that there is.
    pub(super) fn end_all(&mut self, is_late: bool) -> bool {
        let within = if is_late { LAST_LOOK_LATE } else { LAST_LOOK };
        self.orphans.as_mut().is_none_or(|orphans| orphans.end_all(within))
    }
}
