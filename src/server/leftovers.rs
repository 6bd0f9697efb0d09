//! What commands leave behind: the answer of a call goes out once that is gone, and the loop waits for nothing meanwhile.

use std::collections::HashMap;
use std::time::Duration;

use super::event::{CallEnded, Event};
use super::inbox::EventSender;
use crate::exec::Orphans;

/// How long the last look takes at most, at the end of the server, where nothing had to be ended before.
const LAST_LOOK: Duration = Duration::from_millis(600);
/// The same, where the trees of commands have had their time.
const LAST_LOOK_LATE: Duration = Duration::from_millis(150);

/// What commands leave behind, as the loop has it.
#[derive(Default)]
pub(super) struct Leftovers {
    /// `None` where nobody has asked for them.
    orphans: Option<Orphans>,
    /// The calls whose leftovers are looked for.
    held: HashMap<u64, CallEnded>,
}

impl Leftovers {
    /// Has them ended from now on.
    pub(super) fn watch(events: EventSender) -> Self {
        let tell = move |looked| {
            // Where the loop is gone nobody waits for it.
            events.send(Event::Looked(looked));
        };
        Self { orphans: Some(Orphans::new(tell)), held: HashMap::new() }
    }

    /// Whether they are ended from the beginning on.
    #[cfg(unix)]
    pub(super) fn are_watched(&self) -> bool {
        self.orphans.is_some()
    }

    /// The call is about to start something.
    pub(super) fn begins(&mut self, key: u64) {
        if let Some(orphans) = &mut self.orphans {
            orphans.begins(key);
        }
    }

    /// The call has ended, and has started nothing.
    pub(super) fn ends(&mut self, key: u64) {
        if let Some(orphans) = &mut self.orphans {
            orphans.ends(key);
        }
    }

    /// Whether those of a call are looked for.
    pub(super) fn are_looked_for(&self) -> bool {
        !self.held.is_empty()
    }

    /// Gives the call back where it has left nothing behind; else holds it until [`release`](Self::release).
    pub(super) fn after(&mut self, ended: CallEnded) -> Option<CallEnded> {
        let Some(orphans) = &mut self.orphans else { return Some(ended) };
        let is_gone = match ended.shell.as_ref().map(|shell| &shell.host) {
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

    /// Gives back a call that is held.
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
