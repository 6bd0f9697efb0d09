//! The calls that a client can ask about, with their kept output: those that run, and the last ones that have ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::exec::{End, Feed, Keeper, Spool, StopReason};
use crate::server::deadlines::Since;
use crate::server::event::{Event, HowEnded};
use crate::server::facts::Facts;
use crate::server::inbox::EventSender;
use crate::server::requests::LaneName;
use crate::text::Secrets;
use crate::tools::calls::CallState;

/// How many ended calls are remembered.
const MOST_ENDED: usize = 100;

/// Calls of this session, by their number.
#[derive(Debug)]
pub(in crate::server) struct KeptCalls {
    calls: BTreeMap<u64, KeptCall>,
    /// How many of them have ended.
    ended: usize,
    news: Arc<News>,
    /// Values that are not shown.
    secrets: Arc<Secrets>,
}

/// A call that can be asked about.
#[derive(Debug)]
pub(in crate::server) struct KeptCall {
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
    pub(in crate::server) fn elapsed(&self) -> Duration {
        self.elapsed.unwrap_or_else(|| self.started.elapsed())
    }
}

impl KeptCalls {
    pub(in crate::server) fn new(events: EventSender, secrets: Arc<Secrets>) -> Self {
        let news = Arc::new(News { has_come: AtomicBool::new(false), events });
        Self { calls: BTreeMap::new(), ended: 0, news, secrets }
    }

    /// Adds a call that begins; returns the spool for its output.
    pub(in crate::server) fn begin(&mut self, key: u64, keeper: &Keeper, facts: Facts, lane: LaneName) -> Arc<Spool> {
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
    pub(in crate::server) fn ended(&mut self, key: u64, how: &HowEnded) {
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
    pub(in crate::server) fn forget(&mut self, key: u64) {
        let Some(call) = self.calls.remove(&key) else { return };
        self.ended -= usize::from(!call.state.is_running());
        // Whoever waits for its output waits in vain.
        self.news.note();
    }

    /// Forgets all calls, so that the client of a new session learns nothing about those of the last one.
    pub(in crate::server) fn forget_all(&mut self) {
        self.calls.clear();
        self.ended = 0;
        self.news.note();
    }

    pub(in crate::server) fn get_mut(&mut self, key: u64) -> Option<&mut KeptCall> {
        self.calls.get_mut(&key)
    }

    pub(in crate::server) fn get(&self, key: u64) -> Option<&KeptCall> {
        self.calls.get(&key)
    }

    /// Gives a call further standard input, which it reads from what is returned; `None` if it is not kept.
    pub(in crate::server) fn feed(&mut self, key: u64) -> Option<Arc<Feed>> {
        self.calls.get_mut(&key).map(|call| Arc::clone(call.feed.insert(Arc::default())))
    }

    /// Whether a client wanted a call to end.
    pub(in crate::server) fn was_stopped(&self, key: u64) -> bool {
        self.calls.get(&key).is_some_and(|call| call.stopped.is_some())
    }

    /// The command of a call that no client wanted to end.
    pub(in crate::server) fn goes_on(&self, key: u64) -> Option<&str> {
        self.calls.get(&key).filter(|call| call.stopped.is_none()).map(|call| call.facts.command())
    }

    /// All calls that are allowed, in the order of their numbers.
    pub(in crate::server) fn iter(&self) -> impl Iterator<Item = (u64, &KeptCall)> {
        self.calls.iter().filter(|(_, call)| call.facts.are_known()).map(|(key, call)| (*key, call))
    }

    /// Whether something has come that was wanted, since the last time this was asked.
    pub(in crate::server) fn has_news(&self) -> bool {
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
