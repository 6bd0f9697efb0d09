//! The calls that a client can ask about, with their kept output: those that run, and the last ones that have ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::deadlines::Since;
use super::event::{Event, HowEnded};
use super::facts::Facts;
use super::inbox::EventSender;
use super::requests::LaneName;
use crate::exec::{End, Feed, Keeper, Spool, StopReason};
use crate::text::Secrets;
use crate::tools::CallState;

/// How many ended calls are remembered.
const MOST_ENDED: usize = 100;
/// How many bytes of a call's command are remembered.
const LONGEST_COMMAND: usize = 200;

/// Calls of this session, by their number.
#[derive(Debug)]
pub(super) struct KeptCalls {
    calls: BTreeMap<u64, KeptCall>,
    /// How many of them have ended.
    ended: usize,
    news: Arc<News>,
    /// Values that are not shown.
    secrets: Arc<Secrets>,
}

/// A call that can be asked about.
#[derive(Debug)]
pub(super) struct KeptCall {
    pub spool: Arc<Spool>,
    /// The facts about it.
    pub facts: Facts,
    /// The lane in which it runs.
    pub lane: LaneName,
    pub state: CallState,
    /// Its further standard input; `None` if it reads only what the call brought.
    pub feed: Option<Arc<Feed>>,
    /// Why a client ended it, if one did.
    pub stopped: Option<StopReason>,
    started: Since,
    elapsed: Option<Duration>,
}

impl KeptCall {
    /// How long it has run.
    pub(super) fn elapsed(&self) -> Duration {
        self.elapsed.unwrap_or_else(|| self.started.elapsed())
    }
}

impl KeptCalls {
    pub(super) fn new(events: EventSender, secrets: Arc<Secrets>) -> Self {
        let news = Arc::new(News { has_come: AtomicBool::new(false), events });
        Self { calls: BTreeMap::new(), ended: 0, news, secrets }
    }

    /// Adds a call that begins; returns the spool for its output.
    pub(super) fn begin(&mut self, key: u64, keeper: &Keeper, facts: Facts, lane: LaneName) -> Arc<Spool> {
        let news = Arc::clone(&self.news);
        let spool = keeper.spool(move || news.tell());
        let call = KeptCall {
            spool: Arc::clone(&spool),
            facts,
            lane,
            state: CallState::Running,
            feed: None,
            stopped: None,
            started: Since::now(),
            elapsed: None,
        };
        self.calls.insert(key, call);
        spool
    }

    /// Notes that a call has ended. If there are too many ended calls, the oldest is forgotten.
    pub(super) fn ended(&mut self, key: u64, how: &HowEnded) {
        let Some(call) = self.calls.get_mut(&key) else { return };
        call.elapsed = Some(call.started.elapsed());
        call.state = match how {
            HowEnded::Ran { end: End::Stopped, hint, .. } => {
                let of_reason = StopReason::OF_CLIENTS.into_iter().find(|(reason, _)| Some(*reason) == call.stopped);
                let end = of_reason.map_or(End::Stopped, |(_, signal)| End::Signaled(signal));
                CallState::Ended { end, hint: hint.clone() }
            }
            HowEnded::Ran { end, hint, .. } => CallState::Ended { end: *end, hint: hint.clone() },
            HowEnded::Failed(why) => CallState::Failed(self.secrets.hide(why).into_owned()),
        };
        call.spool.finish();
        self.news.note();
        self.ended += 1;
        if self.ended > MOST_ENDED {
            // It is near the front, since few older calls are still running.
            let oldest = self.calls.iter().find(|(_, call)| !call.state.is_running()).map(|(key, _)| *key);
            self.forget(oldest.unwrap_or(key));
        }
    }

    /// Removes a call that did not start after all, or that is to be forgotten.
    pub(super) fn forget(&mut self, key: u64) {
        let Some(call) = self.calls.remove(&key) else { return };
        self.ended -= usize::from(!call.state.is_running());
        // Whoever waits for its output waits in vain.
        self.news.note();
    }

    /// Forgets all calls, so that the client of a new session learns nothing about those of the last one.
    pub(super) fn forget_all(&mut self) {
        self.calls.clear();
        self.ended = 0;
        self.news.note();
    }

    pub(super) fn get_mut(&mut self, key: u64) -> Option<&mut KeptCall> {
        self.calls.get_mut(&key)
    }

    pub(super) fn get(&self, key: u64) -> Option<&KeptCall> {
        self.calls.get(&key)
    }

    /// All calls that are allowed, in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &KeptCall)> {
        self.calls.iter().filter(|(_, call)| call.facts.are_known()).map(|(key, call)| (*key, call))
    }

    /// Whether something has come that was wanted, since the last time this was asked.
    pub(super) fn has_news(&self) -> bool {
        self.news.has_come.swap(false, Ordering::SeqCst)
    }
}

/// Tells the loop that something has come that a read waits for.
#[derive(Debug)]
struct News {
    has_come: AtomicBool,
    events: EventSender,
}

impl News {
    /// If the channel is full, the loop looks at the flag after the events in it, so nobody has to wait for a place.
    fn tell(&self) {
        self.note();
        self.events.send_if_free(Event::News);
    }

    /// The same for the loop itself, which looks at the flag after its current event.
    fn note(&self) {
        self.has_come.store(true, Ordering::SeqCst);
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
