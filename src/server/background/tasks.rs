//! The tasks of the session: calls whose answer is kept until the client asks for it.
//!
//! A task itself runs nothing and waits for nothing. Its call is an entry of the request table like any other, but the
//! answer of its [`Reply`](crate::server::replies::Reply) comes here. So the end of the call is always the end of its task.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::exec::since_1970;
use crate::jsonrpc::{ErrorObject, encode};
use crate::mcp::{Revision, Task, TaskPayload, TaskStatus, says_error};
use crate::random;
use crate::server::budget::Charge;
use crate::server::outcome::{Outcome, TaskChange};
use crate::server::replies::Reply;
use crate::text::time::extended;

/// How many ended tasks are kept; a new one replaces the oldest.
pub(in crate::server) const MOST_ENDED: usize = 100;
/// How many tasks a page of the list has.
const PAGE: usize = 50;
/// The longest and the shortest time for which a task is kept, whatever its client asks for. The shortest lets the client
/// learn of its creation.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
const SHORTEST: Duration = Duration::from_secs(1);
/// The interval at which clients should poll.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The prefix of a cursor; the number of a task follows.
const CURSOR: &str = "after-";

/// A task.
#[derive(Debug)]
pub(in crate::server) struct KeptTask {
    pub task: Task,
    pub revision: Revision,
    input_requests: Option<Value>,
    outcome: Option<Outcome>,
    _charge: Option<Charge>,
}

impl KeptTask {
    /// Its outcome; `None` until its call has ended, even if the task was cancelled.
    pub(in crate::server) fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// The task as clients see it, encoded.
    pub(in crate::server) fn encode(&self) -> Vec<u8> {
        self.with_payload(|payload| self.task.encode(payload, self.revision))
    }

    /// The parameters of the notification for this subscription, encoded.
    pub(in crate::server) fn notification_params(&self, subscription: &crate::jsonrpc::RequestId) -> Vec<u8> {
        self.with_payload(|payload| self.task.notification_params(payload, subscription))
    }

    fn with_payload(&self, tell: impl FnOnce(TaskPayload<'_>) -> Vec<u8>) -> Vec<u8> {
        match (self.task.status, &self.outcome, &self.input_requests) {
            (TaskStatus::Completed, Some(Outcome::Result(result)), _) => tell(TaskPayload::Result(result)),
            (TaskStatus::Failed, Some(Outcome::Error(error)), _) => tell(TaskPayload::Error(&encode::to_json(error))),
            (TaskStatus::InputRequired, _, Some(requests)) => tell(TaskPayload::InputRequests(requests)),
            (_, _, _) => tell(TaskPayload::None),
        }
    }

    fn set(&mut self, status: TaskStatus, message: Option<String>) {
        self.task.status = status;
        self.task.status_message = message;
        self.task.last_updated_at = now();
    }
}

/// The tasks, by their numbers, in the order of their creation.
#[derive(Debug, Default)]
pub(in crate::server) struct Tasks {
    tasks: BTreeMap<u64, KeptTask>,
    /// The rights to answer the calls that became tasks when they came, until something has become of them.
    pub untold: BTreeMap<u64, Reply>,
    last: u64,
}

impl Tasks {
    /// Makes a task that is kept for `ttl`, within the server's bounds; returns its number.
    pub(in crate::server) fn begin(&mut self, revision: Revision, ttl: Duration) -> u64 {
        self.last += 1;
        let created_at = now();
        let task = Task {
            id: random::uuid(),
            status: TaskStatus::Working,
            status_message: None,
            last_updated_at: created_at.clone(),
            created_at,
            ttl: ttl.clamp(SHORTEST, LONGEST),
            poll_interval: POLL_INTERVAL,
        };
        let kept = KeptTask { task, revision, input_requests: None, outcome: None, _charge: None };
        self.tasks.insert(self.last, kept);
        self.last
    }

    /// Makes the call of this reply a task, with `first` as its first change; returns its number, and the right to tell the
    /// client about it.
    pub(in crate::server) fn create(
        &mut self,
        reply: &mut Reply,
        revision: Revision,
        ttl: Duration,
        first: TaskChange,
    ) -> (u64, Reply) {
        let number = self.begin(revision, ttl);
        self.change(number, first);
        (number, reply.become_task(number))
    }

    pub(in crate::server) fn get(&self, number: u64) -> Option<&KeptTask> {
        self.tasks.get(&number)
    }

    /// The id of the task with this number.
    pub(in crate::server) fn id_of(&self, number: u64) -> Option<String> {
        self.get(number).map(|kept| kept.task.id.clone())
    }

    /// The number of the task with this id, if its revision is the same.
    pub(in crate::server) fn find(&self, id: &str, revision: Revision) -> Option<u64> {
        let is_it = |(_, kept): &(&u64, &KeptTask)| kept.task.id == id && kept.revision == revision;
        self.tasks.iter().find(is_it).map(|(number, _)| *number)
    }

    /// Notes a change of a task; returns whether its status changed.
    pub(in crate::server) fn change(&mut self, number: u64, change: TaskChange) -> bool {
        let Some(kept) = self.tasks.get_mut(&number).filter(|kept| !kept.task.status.is_terminal()) else {
            return false;
        };
        let before = kept.task.status;
        match change {
            TaskChange::Asks(requests) => {
                kept.input_requests = requests;
                kept.set(TaskStatus::InputRequired, Some("a person is asked whether this may run".to_owned()));
            }
            TaskChange::Works => {
                kept.input_requests = None;
                kept.set(TaskStatus::Working, None);
            }
            TaskChange::Runs(call) => kept.set(TaskStatus::Working, Some(format!("call {call} runs"))),
        }
        kept.task.status != before
    }

    /// Ends a task, whose call was answered; the `charge` pays for the kept answer. Returns whether this is news, and
    /// the tasks that were forgotten to make room.
    pub(in crate::server) fn end(&mut self, number: u64, mut outcome: Outcome, mut charge: Charge) -> (bool, Vec<u64>) {
        let mut gone = Vec::new();
        if !self.tasks.contains_key(&number) {
            return (false, gone);
        }
        if let Outcome::Result(result) = &outcome {
            while let Err(over_budget) = charge.grow(result.len()) {
                let Some(oldest) = self.ended().next() else {
                    let why = format!("the result of the task can't be kept: {over_budget}");
                    outcome = Outcome::Error(ErrorObject::new(crate::jsonrpc::INTERNAL_ERROR, why));
                    break;
                };
                self.tasks.remove(&oldest);
                gone.push(oldest);
            }
        }
        let Some(kept) = self.tasks.get_mut(&number) else { return (false, gone) };
        let is_news = !kept.task.status.is_terminal();
        if is_news {
            let status = match &outcome {
                Outcome::Error(_) => TaskStatus::Failed,
                // In later revisions, an error that a tool reports is a result like any other.
                Outcome::Result(result) if kept.revision.has_tasks() && says_error(result) => TaskStatus::Failed,
                Outcome::Result(_) => TaskStatus::Completed,
            };
            let message = if let Outcome::Error(error) = &outcome { Some(error.message.clone()) } else { None };
            kept.set(status, message);
        }
        (kept.outcome, kept._charge, kept.input_requests) = (Some(outcome), Some(charge), None);
        let ended: Vec<u64> = self.ended().collect();
        for oldest in ended.iter().take(ended.len().saturating_sub(MOST_ENDED)) {
            self.tasks.remove(oldest);
            gone.push(*oldest);
        }
        (is_news, gone)
    }

    /// The tasks whose call was answered, the oldest first.
    fn ended(&self) -> impl Iterator<Item = u64> {
        self.tasks.iter().filter(|(_, kept)| kept.outcome.is_some()).map(|(number, _)| *number)
    }

    /// Cancels a task; returns whether that was still possible.
    pub(in crate::server) fn cancel(&mut self, number: u64) -> bool {
        let kept = self.tasks.get_mut(&number).filter(|kept| !kept.task.status.is_terminal());
        kept.is_some_and(|kept| {
            kept.input_requests = None;
            kept.set(TaskStatus::Cancelled, Some("the client has cancelled it".to_owned()));
            true
        })
    }

    /// Forgets a task.
    pub(in crate::server) fn forget(&mut self, number: u64) {
        self.tasks.remove(&number);
    }

    /// The numbers of all tasks.
    pub(in crate::server) fn numbers(&self) -> Vec<u64> {
        self.tasks.keys().copied().collect()
    }

    /// A page of the tasks of this revision, and the cursor of the next page; `None` if the cursor is unknown.
    pub(in crate::server) fn page(
        &self,
        cursor: Option<&str>,
        revision: Revision,
    ) -> Option<(Vec<&Task>, Option<String>)> {
        let after = match cursor {
            None => 0,
            Some(cursor) => {
                let digits = cursor.strip_prefix(CURSOR)?;
                // Only in the form in which the server writes it.
                digits.parse().ok().filter(|number: &u64| *number <= self.last && number.to_string() == digits)?
            }
        };
        let mut later = self.tasks.range(after.saturating_add(1)..).filter(|(_, kept)| kept.revision == revision);
        let page: Vec<(&u64, &KeptTask)> = later.by_ref().take(PAGE).collect();
        let last = page.last().map(|(number, _)| format!("{CURSOR}{number}"));
        let next = later.next().and(last);
        Some((page.into_iter().map(|(_, kept)| &kept.task).collect(), next))
    }
}

fn now() -> String {
    extended(SystemTime::UNIX_EPOCH + since_1970())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::CallToolResult;
    use crate::mcp::Revision::{V2025_11_25 as OLD, V2026_07_28 as NEW};
    use crate::server::budget::{Budget, MOST_HELD};

    const TTL: Duration = Duration::from_secs(60);

    fn result(is_error: bool, revision: Revision) -> Outcome {
        Outcome::Result(CallToolResult { text: "x".into(), structured_content: None, is_error }.encode(revision))
    }

    fn status(tasks: &Tasks, number: u64) -> &'static str {
        tasks.get(number).unwrap().task.status.name()
    }

    #[test]
    fn a_task_ends_once_as_its_revision_has_it() {
        let (mut tasks, budget) = (Tasks::default(), Budget::default());
        let error = || Outcome::Error(ErrorObject::invalid_params("x"));
        for (revision, outcome, expected) in [
            (OLD, result(false, OLD), "completed"),
            (OLD, result(true, OLD), "failed"),
            (OLD, error(), "failed"),
            (NEW, result(false, NEW), "completed"),
            (NEW, result(true, NEW), "completed"),
            (NEW, error(), "failed"),
        ] {
            let number = tasks.begin(revision, TTL);
            assert!(!tasks.change(number, TaskChange::Runs(3)), "it works on");
            assert!(tasks.change(number, TaskChange::Asks(None)) && tasks.change(number, TaskChange::Works));
            assert!(tasks.end(number, outcome, budget.charge()).0);
            assert_eq!(status(&tasks, number), expected);
            assert!(!tasks.cancel(number) && !tasks.change(number, TaskChange::Works), "it has ended");
        }
        let number = tasks.begin(OLD, TTL);
        assert!(tasks.cancel(number) && !tasks.cancel(number));
        assert!(tasks.get(number).unwrap().outcome().is_none());
        assert!(!tasks.end(number, result(false, OLD), budget.charge()).0);
        assert_eq!((status(&tasks, number), tasks.get(number).unwrap().outcome().is_some()), ("cancelled", true));
        tasks.forget(number);
        assert!(!tasks.end(number, error(), budget.charge()).0 && tasks.get(number).is_none());
    }

    #[test]
    fn names_are_random_times_are_bounded_and_eras_do_not_mix() {
        let mut tasks = Tasks::default();
        let (first, long) = (tasks.begin(OLD, Duration::ZERO), tasks.begin(NEW, Duration::MAX));
        let Task { id, ttl, .. } = tasks.get(first).unwrap().task.clone();
        assert_eq!((id.len(), ttl), (36, SHORTEST));
        assert_eq!(tasks.get(long).unwrap().task.ttl, LONGEST);
        assert_eq!((tasks.find(&id, OLD), tasks.find(&id, NEW), tasks.find("", OLD)), (Some(first), None, None));
    }

    #[test]
    fn the_list_has_pages_and_only_its_own_cursors() {
        let mut tasks = Tasks::default();
        assert_eq!((0..120).map(|_| tasks.begin(OLD, TTL)).max(), Some(120));
        tasks.begin(NEW, TTL);
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let (page, next) = tasks.page(cursor.as_deref(), OLD).unwrap();
            seen.push(page.len());
            assert!(page.iter().all(|task| tasks.find(&task.id, OLD).is_some()));
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, [50, 50, 20]);
        assert_eq!(tasks.page(Some("after-120"), OLD).map(|(page, next)| (page.len(), next)), Some((0, None)));
        for unknown in ["", "1", "after-", "after-0120", "after-+1", "after-122", "after-x"] {
            assert!(tasks.page(Some(unknown), OLD).is_none(), "{unknown}");
        }
    }

    #[test]
    fn tasks_that_have_ended_are_bounded_in_number_and_in_memory() {
        let (mut tasks, budget) = (Tasks::default(), Budget::default());
        let running = tasks.begin(OLD, TTL);
        let mut gone = Vec::new();
        for _ in 0..MOST_ENDED + 20 {
            let number = tasks.begin(OLD, TTL);
            gone.extend(tasks.end(number, result(false, OLD), budget.charge()).1);
        }
        assert_eq!((gone.len(), tasks.numbers().len()), (20, MOST_ENDED + 1));
        assert_eq!((gone[0], tasks.get(running).is_some()), (running + 1, true));
        // Other requests hold so much that there is no room.
        let mut all = budget.charge();
        while all.grow(1 << 20).is_ok() {}
        let number = tasks.begin(NEW, TTL);
        let long = Outcome::Result(vec![b' '; 2 << 20]);
        assert!(tasks.end(number, long, budget.charge()).0);
        assert_eq!(status(&tasks, number), "failed");
        assert!(matches!(tasks.get(number).unwrap().outcome(), Some(Outcome::Error(error)) if error.code == -32603));
        drop(all);
        assert!(budget.charge().grow(MOST_HELD).is_ok(), "what has gone is not charged");
    }
}
