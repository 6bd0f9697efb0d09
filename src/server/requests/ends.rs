//! How requests in the table end early: they are cancelled, or the server or the shell ends.

use std::collections::BTreeMap;

use super::Requests;
use super::entries::{AskedCall, Cancelled, CancelledAs, Entry, HeldCall, LaneName, Pending, Subscription};
use crate::exec::{Stop, StopReason};
use crate::jsonrpc::RequestId;
use crate::server::facts::Facts;
use crate::server::log::Fields;
use crate::server::replies::Reply;

/// The calls that are given up at the end: those that have not run, and what the log says about all that get no answer.
#[derive(Debug, Default)]
pub(in crate::server) struct GivenUp {
    /// The numbers of those that were waiting for their turn.
    pub queued: Vec<u64>,
    /// Those on which nothing was decided.
    pub held: Vec<HeldCall>,
    /// Those that a thread decides on, or has, by their numbers.
    pub undecided: Vec<(u64, Reply)>,
    /// Those that a person is asked about.
    pub asked: Vec<AskedCall>,
    /// A line for each call that has no answer. Those that were answered before they ended are logged when they end.
    pub unanswered: Vec<Fields>,
}

impl Requests {
    /// Ends the commands of all calls in the background: nobody is left to ask about them.
    pub(in crate::server) fn end_background(&mut self) {
        for state in self.entries.values() {
            if let Entry::Background { stop, .. } = state {
                stop.send(StopReason::Shutdown);
            }
        }
    }

    /// Gives up every request with this id: immediately if it is waiting, and by ending its command if it is running.
    pub(in crate::server) fn cancel(&mut self, id: &RequestId) -> Vec<Cancelled> {
        let is_meant = |state: &Entry| state.reply().is_some_and(|reply| reply.answers(id));
        let keys: Vec<u64> = self.entries.iter().filter(|(_, state)| is_meant(state)).map(|(key, _)| *key).collect();
        keys.into_iter().filter_map(|key| self.give_up_request(key)).collect()
    }

    pub(in crate::server) fn give_up_request(&mut self, key: u64) -> Option<Cancelled> {
        let (reply, call, was) = match self.entries.remove(&key)? {
            Entry::Held(held) => (held.reply, Some(Facts::default()), CancelledAs::Undecided),
            Entry::Asked(asked) => {
                let Pending { reply, facts, .. } = asked.pending;
                (reply, Some(facts), CancelledAs::Other)
            }
            Entry::Subscribed(Subscription { reply, .. })
            | Entry::Awaiting { reply, .. }
            | Entry::Explained { reply, .. } => (reply, None, CancelledAs::Other),
            Entry::Reading(reading) => (reading.reply, Some(Facts::default()), CancelledAs::Other),
            Entry::Deciding { pending: Pending { mut reply, facts, .. }, undecided } => {
                facts.give_up();
                self.leave_lane(key, undecided.lane);
                // The call holds what it brought until its thread has decided.
                self.charges_still(key, reply.take_charge());
                (reply, Some(facts), CancelledAs::Deciding(key))
            }
            Entry::Queued { pending, work, .. } => {
                self.leave_lane(key, work.lane());
                (pending.reply, Some(pending.facts), CancelledAs::Queued(key))
            }
            Entry::Running { lane, pending, stop, undecided } => {
                pending.facts.give_up();
                let reply = self.stop(key, lane, stop, StopReason::Cancelled, pending.reply);
                let was = if undecided.is_some() { CancelledAs::Deciding(key) } else { CancelledAs::Other };
                (reply, Some(pending.facts), was)
            }
            other @ (Entry::Answered { .. } | Entry::Background { .. }) => {
                self.entries.insert(key, other);
                return None;
            }
        };
        Some(Cancelled { key, reply, call, was })
    }

    /// Gives up every call at the end of the server, when nothing is answered any more; returns those that have not run.
    pub(in crate::server) fn shut_down(&mut self) -> GivenUp {
        let mut given_up = GivenUp::default();
        for lane in [&mut self.processes, &mut self.shell, &mut self.background] {
            lane.waiting.clear();
        }
        self.forget_decisions();
        for (key, state) in std::mem::take(&mut self.entries) {
            let nothing = Facts::default();
            let of_call = match &state {
                Entry::Deciding { pending, .. } | Entry::Queued { pending, .. } | Entry::Running { pending, .. } => {
                    Some(&pending.facts)
                }
                Entry::Asked(asked) => Some(&asked.pending.facts),
                Entry::Held(_) | Entry::Reading(_) => Some(&nothing),
                Entry::Answered { .. } | Entry::Background { .. } => None,
                Entry::Awaiting { .. } | Entry::Explained { .. } | Entry::Subscribed(_) => None,
            };
            given_up.unanswered.extend(of_call.zip(state.reply()).map(|(facts, reply)| {
                let line = Fields::of_call(reply.id()).and(facts.description()).ours("cancelled", true);
                line.reason("reason", "the session ended")
            }));
            match state {
                Entry::Running { lane, pending, stop, undecided } => {
                    pending.facts.give_up();
                    let reply = self.stop(key, lane, stop, StopReason::Shutdown, pending.reply);
                    // A reply that is dropped is noted as lost.
                    given_up.undecided.extend(undecided.map(|_| (key, reply)));
                }
                Entry::Answered { lane, stop, _charge } => {
                    if let Some(stop) = &stop {
                        stop.send(StopReason::Shutdown);
                    }
                    self.entries.insert(key, Entry::Answered { lane, stop, _charge });
                }
                background @ Entry::Background { .. } => {
                    if let Entry::Background { stop, .. } = &background {
                        stop.send(StopReason::Shutdown);
                    }
                    self.entries.insert(key, background);
                }
                Entry::Queued { .. } => given_up.queued.push(key),
                Entry::Deciding { pending, .. } => {
                    pending.facts.give_up();
                    given_up.undecided.push((key, pending.reply));
                }
                Entry::Held(held) => given_up.held.push(*held),
                Entry::Asked(asked) => given_up.asked.push(*asked),
                Entry::Reading(_) | Entry::Awaiting { .. } | Entry::Explained { .. } | Entry::Subscribed(_) => {}
            }
        }
        given_up
    }

    /// Stops waiting for any call of the persistent shell.
    pub(in crate::server) fn abandon_shell(&mut self) {
        (self.shell.running, self.in_shell) = (0, None);
        let entries = std::mem::take(&mut self.entries).into_iter();
        let (background, rest): (BTreeMap<_, _>, BTreeMap<_, _>) = entries
            .partition(|(_, state)| matches!(state, Entry::Background { background, .. } if background.is_of_shell));
        self.background.running -= background.len().min(self.background.running);
        self.entries = rest;
        self.entries.retain(|_, state| {
            !matches!(
                state,
                Entry::Running { lane: LaneName::Shell, .. } | Entry::Answered { lane: LaneName::Shell, .. }
            )
        });
    }

    /// Ends the command of a call. What the call holds stays charged until the command has ended.
    fn stop(&mut self, key: u64, lane: LaneName, stop: Option<Stop>, why: StopReason, mut reply: Reply) -> Reply {
        if let Some(stop) = &stop {
            stop.send(why);
        }
        self.entries.insert(key, Entry::Answered { lane, stop, _charge: reply.take_charge() });
        reply
    }
}
