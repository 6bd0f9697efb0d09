//! The table by itself: cancelling, turns, bounds and the end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, json};

use super::*;
use crate::exec::{Limits, StopReason, StopSignal, stop};
use crate::jsonrpc::{Incoming, Message, RequestId};
use crate::mcp::RequestMeta;
use crate::mcp::Revision::{self, V2025_06_18};
use crate::server::budget::{MOST_HELD, OverBudget};
use crate::server::facts::Facts;
use crate::server::feedback::Feedback;
use crate::server::log::Fields;
use crate::server::replies::{Destination, Replies};
use crate::server::session::RequestContext;
use crate::server::shell_runner::{CallContext, ShellTurn, TurnOf};
use crate::server::tool_call::ToolCall;
use crate::tools::shell::ShellCommandFacts;

struct Table {
    requests: Requests,
    replies: Replies,
}

impl Table {
    fn new() -> Self {
        Self { requests: Requests::new(2, 1), replies: Replies::default() }
    }

    fn reply(&self, id: u64) -> Reply {
        self.replies.open(id.into(), None, Destination::Client)
    }

    fn pending(&self, id: u64) -> Pending {
        let params = Map::new();
        let meta = RequestMeta::of(&params);
        let context = RequestContext {
            revision: V2025_06_18,
            client_capabilities: Arc::default(),
            client_info: None,
            progress_token: meta.progress_token(),
            log_level: None,
            trace: meta.trace_context(),
        };
        let reply = self.reply(id);
        let feedback = Box::new(Feedback::new(reply.id(), "restart", &context));
        Pending { reply, facts: Facts::default(), feedback }
    }

    /// Queues a call of the shell with the id; returns its number.
    fn queue(&mut self, id: u64) -> Result<u64, Box<Pending>> {
        let (key, pending) = (self.requests.next_number(), self.pending(id));
        self.requests.takes_number(key);
        self.requests.queue(key, pending, (work(key), undecided(id))).map(|()| key)
    }

    /// Runs the next call of the shell; returns its number and its stop signal.
    fn run(&mut self) -> Option<(u64, StopSignal)> {
        let (key, pending, _) = self.requests.next(LaneName::Shell)?;
        let (stop, signal) = stop().unwrap();
        self.requests.insert_running(key, LaneName::Shell, pending, Some(stop));
        Some((key, signal))
    }

    /// Cancels the requests with this id; returns how many there were.
    fn cancel(&mut self, id: u64) -> usize {
        let cancelled = self.requests.cancel(&id.into());
        cancelled
            .into_iter()
            .map(|Cancelled { reply, .. }| {
                assert_eq!(reply.id(), &id.into());
                assert_eq!(self.replies.withdraw(reply), None);
            })
            .count()
    }

    /// How many requests were dropped without an answer.
    fn lost(&mut self) -> usize {
        self.replies.answer_lost().len()
    }
}

fn request(id: u64) -> Request {
    let line = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call"}).to_string();
    match Incoming::parse(line.as_bytes()) {
        Ok(Incoming::Single(Message::Request(request))) => request,
        other => panic!("{other:?}"),
    }
}

/// The work of a call of the shell.
fn work(key: u64) -> Work {
    let context = CallContext {
        key,
        facts: ShellCommandFacts::default(),
        revision: V2025_06_18,
        is_audited: false,
        is_kept: false,
        restarted: None,
    };
    let limits = Limits { timeout: Default::default(), grace: Default::default(), max_output: 0, has_digests: false };
    let turn = ShellTurn {
        request: TurnOf::Restart,
        context,
        limits,
        directories: None,
        wants_progress: false,
        shown: Vec::new(),
        described: Fields::default(),
        spool: None,
    };
    Work::Shell(Box::new(turn))
}

fn undecided(id: u64) -> Undecided {
    let tool_call = Arc::new(ToolCall::without_client("restart"));
    Undecided { request: request(id), tool_call, lane: LaneName::Shell, sessions: 0 }
}

fn subscription(reply: Reply) -> Subscription {
    Subscription { reply, revision: Revision::V2026_07_28, tasks: vec![1] }
}

#[test]
fn a_request_is_cancelled_in_whatever_state_it_is() {
    let mut table = Table::new();
    let reply = table.reply(1);
    table.requests.hold(request(1), reply, None);
    let reply = table.reply(2);
    table.requests.subscribe(subscription(reply)).unwrap();
    let running = table.queue(3).unwrap();
    let (key, signal) = table.run().unwrap();
    let queued = table.queue(4).unwrap();
    assert_eq!(key, running);
    assert!(table.run().is_none(), "the shell has one call at a time");
    assert_eq!([1, 2, 4, 5].map(|id| table.cancel(id)), [1, 1, 1, 0]);
    assert_eq!(table.requests.release().len() + table.requests.end_subscriptions().len(), 0);
    assert_eq!(signal.wait(Default::default()).unwrap(), None);
    assert_eq!(table.cancel(3), 1);
    assert_eq!(signal.wait(Default::default()).unwrap(), Some(StopReason::Cancelled));
    // Nobody is waiting for its answer, but it is still running.
    assert!(table.requests.running(running).is_none() && !table.requests.is_idle());
    assert_eq!(table.cancel(3), 0);
    assert!(table.requests.finish(queued).is_none());
    assert!(!table.requests.is_idle());
    assert!(table.requests.finish(running).is_none());
    assert!(table.requests.is_empty() && table.lost() == 0);
}

#[test]
fn all_requests_of_an_id_are_cancelled() {
    let mut table = Table::new();
    let reply = table.reply(7);
    table.requests.hold(request(7), reply, None);
    table.queue(7).unwrap();
    let (key, _signal) = table.run().unwrap();
    table.queue(7).unwrap();
    assert_eq!(table.cancel(7), 3);
    assert!(table.requests.finish(key).is_none() && table.requests.is_empty());
}

#[test]
fn a_call_that_is_cancelled_while_it_is_decided_on_stays_charged_until_then() {
    let mut table = Table::new();
    let mut pending = table.pending(1);
    assert_eq!(pending.reply.hold(MOST_HELD), Ok(()));
    let undecided = Undecided { lane: LaneName::Processes, ..undecided(1) };
    table.requests.insert_undecided(7, pending, (undecided, Duration::from_secs(60)), None);
    assert!(!table.requests.is_empty());
    assert_eq!((table.cancel(1), table.cancel(1)), (1, 0));
    assert!(table.requests.is_empty(), "nobody waits for it");
    assert_eq!(table.reply(2).hold(1), Err(OverBudget));
    assert!(table.requests.take_decided(7).is_none());
    assert_eq!(table.reply(3).hold(1), Ok(()));
    assert!(table.requests.takes_turn(LaneName::Processes), "no other call was there before");
}

#[test]
fn calls_of_the_shell_run_in_their_order_however_long_their_decisions_take() {
    let mut table = Table::new();
    let decide = |table: &mut Table, id| {
        let (key, pending) = (table.requests.next_number(), table.pending(id));
        table.requests.takes_number(key);
        table.requests.insert_undecided(key, pending, (undecided(id), Duration::from_secs(60)), None);
        key
    };
    let first = decide(&mut table, 1);
    let second = table.queue(2).unwrap();
    assert!(table.run().is_none() && !table.requests.takes_turn(LaneName::Shell), "the first is not decided on");
    assert!(table.requests.takes_turn(LaneName::Processes), "it holds up no other lane");
    let (pending, decided) = table.requests.take_decided(first).unwrap();
    assert!(table.requests.queue(first, pending, (work(first), decided)).is_ok());
    assert_eq!(table.run().map(|(key, _)| key), Some(first));
    assert!(table.requests.finish(first).is_some());
    assert_eq!(table.run().map(|(key, _)| key), Some(second));
    // Whoever gives up leaves the place to the next.
    assert!(table.requests.finish(second).is_some());
    decide(&mut table, 3);
    let fourth = table.queue(4).unwrap();
    assert!(table.run().is_none() && table.requests.take_waiting_for_shell().is_some_and(|(key, ..)| key == fourth));
    assert_eq!(table.cancel(3), 1);
    assert!(table.requests.takes_turn(LaneName::Shell));
}

#[test]
fn held_requests_go_on_in_the_order_of_their_arrival() {
    let mut table = Table::new();
    for id in [3, 1, 2] {
        let reply = table.reply(id);
        table.requests.hold(request(id), reply, None);
    }
    let ids: Vec<_> = table.requests.release().iter().map(|held| held.request.id.clone()).collect();
    assert_eq!(ids, [3, 1, 2].map(RequestId::from));
    assert_eq!(table.lost(), 3);
}

#[test]
fn the_queue_and_the_subscriptions_are_bounded() {
    let mut table = Table::new();
    assert!((0..10_000).all(|id| table.queue(id).is_ok()));
    assert_eq!(table.queue(1).unwrap_err().reply.id(), &1.into());
    assert_eq!(table.cancel(9_999), 1);
    assert!(table.queue(1).is_ok());
    for id in 0..1_000 {
        let reply = table.reply(id);
        table.requests.subscribe(subscription(reply)).unwrap();
    }
    let reply = table.reply(1);
    assert!(table.requests.subscribe(subscription(reply)).is_err());
}

#[test]
fn at_the_end_what_runs_is_stopped_and_what_waits_is_dropped() {
    let mut table = Table::new();
    table.queue(1).unwrap();
    let (key, signal) = table.run().unwrap();
    table.queue(2).unwrap();
    let unanswered: Vec<String> =
        table.requests.shut_down().unanswered.iter().map(|line| line.as_str().to_owned()).collect();
    let line = |id| format!("call id={id} cancelled=true reason=\"the session ended\"");
    assert_eq!(unanswered, [line(1), line(2)]);
    assert_eq!(signal.wait(Default::default()).unwrap(), Some(StopReason::Shutdown));
    assert_eq!(table.lost(), 2);
    assert!(table.run().is_none() && !table.requests.is_idle());
    table.requests.shut_down();
    assert_eq!(signal.wait(Default::default()).unwrap(), Some(StopReason::Shutdown));
    table.requests.abandon_shell();
    assert!(table.requests.is_empty() && table.requests.finish(key).is_none());
}
