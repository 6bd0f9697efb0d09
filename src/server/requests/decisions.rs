//! The calls in the table that threads decide on: with a turn or without, wanted or not, and those whose decision hangs.
//!
//! A path may lead to a file system that does not answer. Such a call is answered when its time to be decided on is over, and
//! its thread is given up: it counts as hanging until it comes back, and starts nothing.

use std::time::Duration;

use super::entries::{Entry, LaneName, Pending, Undecided};
use super::{MOST_QUEUED, Requests};
use crate::exec::Stop;
use crate::server::budget::Charge;
use crate::server::deadlines::Until;
use crate::server::facts::Facts;

/// The most threads that are given up. If there are more, calls are still answered, but keep their places.
const MOST_HANGING: usize = 64;
/// The shortest and the longest time for a decision. On a busy machine, or while the audit log is locked, it takes a moment.
const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// How long to wait before looking again for a place among the hanging.
const AGAIN: Duration = Duration::from_secs(1);

/// A decision that a thread makes.
#[derive(Debug)]
pub(super) struct Decision {
    facts: Facts,
    until: Until,
    lane: LaneName,
    has_turn: bool,
    /// Whether its thread was given up.
    hangs: bool,
    /// The charge for a call that nobody waits for any more.
    _charge: Option<Charge>,
}

/// A call on which nothing was decided in time.
#[derive(Debug)]
pub(in crate::server) struct Overdue {
    pub key: u64,
    /// The call, unless it was cancelled before.
    pub call: Option<(Pending, Undecided)>,
    /// Whether its thread may be given up.
    pub may_hang: bool,
}

impl Requests {
    /// Whether so many calls wait for their decision or their turn that no more can.
    pub(in crate::server) fn are_too_many(&self) -> bool {
        let queued = self.processes.waiting.len() + self.shell.waiting.len() + self.background.waiting.len();
        self.deciding + queued >= MOST_QUEUED
    }

    /// Takes a turn for a call that is not decided yet; whether there is one. None is taken if another call was there before.
    pub(in crate::server) fn takes_turn(&mut self, name: LaneName) -> bool {
        let is_first = name == LaneName::Shell || self.deciding == 0;
        let lane = self.lane(name);
        let is_free = is_first && lane.running < lane.most_running && lane.waiting.is_empty();
        lane.running += usize::from(is_free);
        is_free
    }

    /// Takes a place for a call that is decided on without a turn. Calls of the persistent shell run in the order of their
    /// arrival, however long the decisions take, so such a call waits in its lane already.
    fn take_place(&mut self, key: u64, lane: LaneName) {
        match lane {
            LaneName::Shell => self.enter_lane(key, lane),
            LaneName::Processes | LaneName::Background => self.deciding += 1,
        }
    }

    fn give_place_back(&mut self, key: u64, lane: LaneName) {
        match lane {
            LaneName::Shell => self.leave_lane(key, lane),
            LaneName::Processes | LaneName::Background => self.deciding -= 1,
        }
    }

    /// Adds a call that a thread decides on within this time, with what ends it if it has taken a turn. Returns the delay after
    /// which to look for calls that are [overdue](Self::overdue), if that is not known yet.
    pub(in crate::server) fn insert_undecided(
        &mut self,
        key: u64,
        pending: Pending,
        (undecided, within): (Undecided, Duration),
        turn: Option<Stop>,
    ) -> Option<Duration> {
        let within = within.clamp(SHORTEST, LONGEST);
        let until = Until::after(within);
        let (facts, lane) = (pending.facts.clone(), undecided.lane);
        let decision = Decision { facts, until, lane, has_turn: turn.is_some(), hangs: false, _charge: None };
        self.decisions.insert(key, decision);
        let undecided = Box::new(undecided);
        let entry = match turn {
            Some(stop) => Entry::Running { lane, pending, stop: Some(stop), undecided: Some(undecided) },
            None => {
                self.take_place(key, lane);
                Entry::Deciding { pending, undecided }
            }
        };
        self.entries.insert(key, entry);
        let is_first = self.looks_at.is_none_or(|at| until < at);
        is_first.then(|| {
            self.looks_at = Some(until);
            within
        })
    }

    /// Takes a call that a thread has decided on and does not run, and gives back its turn; `None` if it was given up.
    pub(in crate::server) fn take_decided(&mut self, key: u64) -> Option<(Pending, Undecided)> {
        let decision = self.decisions.remove(&key).filter(|decision| !decision.has_turn && !decision.hangs);
        decision.into_iter().for_each(|decision| self.give_place_back(key, decision.lane));
        match self.entries.remove(&key)? {
            Entry::Deciding { pending, undecided } => Some((pending, *undecided)),
            Entry::Running { lane, pending, undecided: Some(undecided), .. } => {
                self.give_up(lane);
                Some((pending, *undecided))
            }
            Entry::Answered { lane, .. } => {
                self.give_up(lane);
                None
            }
            other => {
                self.entries.insert(key, other);
                None
            }
        }
    }

    /// Whether a thread decides on the call, or is about to tell of its decision.
    pub(in crate::server) fn is_decided_on(&self, key: u64) -> bool {
        self.decisions.get(&key).is_some_and(|decision| !decision.facts.is_to_start())
    }

    /// Whether a call has no decision yet, although its turn has come.
    pub(in crate::server) fn is_undecided(&self, key: u64) -> bool {
        let entry = self.entries.get(&key);
        matches!(entry, Some(Entry::Running { pending, undecided: Some(_), .. }) if !pending.facts.is_to_start())
    }

    /// Keeps charging for a call without a turn that was cancelled, as long as its thread decides on it.
    pub(super) fn charges_still(&mut self, key: u64, charge: Charge) {
        if let Some(decision) = self.decisions.get_mut(&key) {
            decision._charge = Some(charge);
        }
    }

    /// Takes the calls on which nothing was decided in time. None of them starts any more.
    pub(in crate::server) fn overdue(&mut self) -> Vec<Overdue> {
        self.looks_at = None;
        let mut overdue = Vec::new();
        self.decisions.retain(|key, decision| {
            let is_late = !decision.hangs && decision.until.left().is_zero();
            if is_late {
                // First, so that whatever is not to start after that never starts.
                decision.facts.give_up();
                decision.until = Until::after(AGAIN);
                overdue.push(*key);
            }
            // A call that is allowed runs, or its thread is about to tell that it does not.
            !(is_late && decision.facts.is_to_start())
        });
        overdue.retain(|key| self.decisions.contains_key(key));
        overdue.into_iter().map(|key| self.take_overdue(key)).collect()
    }

    fn take_overdue(&mut self, key: u64) -> Overdue {
        let may_hang = self.decisions.values().filter(|decision| decision.hangs).count() < MOST_HANGING;
        let call = match self.entries.remove(&key) {
            Some(Entry::Deciding { mut pending, undecided }) => {
                self.charges_still(key, pending.reply.take_charge());
                Some((pending, *undecided))
            }
            Some(Entry::Running { lane, mut pending, stop, undecided: Some(undecided) }) => {
                let _charge = pending.reply.take_charge();
                self.entries.insert(key, Entry::Answered { lane, stop, _charge });
                Some((pending, *undecided))
            }
            Some(other) => {
                self.entries.insert(key, other);
                None
            }
            None => None,
        };
        if may_hang {
            self.hangs(key);
        }
        Overdue { key, call, may_hang }
    }

    /// Gives back the place of a call whose thread is given up.
    fn hangs(&mut self, key: u64) {
        let Some(decision) = self.decisions.get_mut(&key) else { return };
        decision.hangs = true;
        match (decision.has_turn, self.entries.remove(&key)) {
            (true, Some(Entry::Answered { lane, _charge, .. })) => {
                decision._charge = Some(_charge);
                self.give_up(lane);
            }
            (false, None) => {
                let lane = decision.lane;
                self.give_place_back(key, lane);
            }
            // Neither happens: a late call was answered or cancelled.
            (_, Some(other)) => drop(self.entries.insert(key, other)),
            (true, None) => {}
        }
    }

    /// The time after which to look again for calls that are overdue; `None` if no thread decides.
    pub(in crate::server) fn looks_again(&mut self) -> Option<Duration> {
        let next = self.decisions.values().filter(|decision| !decision.hangs).map(|decision| decision.until).min();
        self.looks_at = next;
        next.map(Until::left)
    }

    /// Forgets a decision that was made, or whose call needed none.
    pub(in crate::server) fn forget_decision(&mut self, key: u64) {
        self.decisions.remove(&key);
    }

    /// Forgets all of them at the end of the server.
    pub(super) fn forget_decisions(&mut self) {
        self.decisions.clear();
        self.deciding = 0;
    }
}
