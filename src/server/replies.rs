//! The right to answer a request, which can be used once, and the destination of the answer: a line of its own, or the
//! array that answers a batch. If a request has become a task, its answer is the result of the task.
//!
//! A [`Reply`] is made for each request and can't be copied. Its owner answers the request, withdraws it if its client
//! has cancelled it, or passes the reply on. If a reply is dropped, by a mistake or by a panic, its request is answered
//! with an error.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::budget::{Budget, Charge, OverBudget};
use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR, RequestId, encode};

/// The longest answer to a batch, in bytes: clients close the connection if a message exceeds 10 MiB.
const LONGEST_BATCH: usize = 10 * 1024 * 1024 - 64 * 1024;
/// The cost of an element of a batch to the budget.
const PLACE: usize = 256;

/// Where an answer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Destination {
    /// A line of its own.
    Client,
    /// The array of this batch.
    Batch(u64),
    /// The task of this number, which keeps it until the client asks for it.
    Task(u64),
}

/// The right to answer one request, once.
#[derive(Debug)]
#[must_use = "a request that is not answered here is answered with an error"]
pub(super) struct Reply {
    id: RequestId,
    /// Boxed to keep a reply small, since every state of a request holds one; `None` where nothing is recorded.
    called: Option<Box<Called>>,
    to: Destination,
    /// Pays for the memory that is held for the request.
    charge: Charge,
    /// Where the request is noted if this is dropped; `None` once it was used.
    lost: Option<Lost>,
}

/// The method and the tool of a request, as its client names them; long names are cut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Called {
    pub method: String,
    pub tool: Option<String>,
}

/// The requests whose right to be answered was dropped.
type Lost = Rc<RefCell<Vec<(RequestId, Destination)>>>;

impl Reply {
    /// The id of the request.
    pub(super) fn id(&self) -> &RequestId {
        &self.id
    }

    /// Returns the method and the tool of the request, if they are recorded.
    pub(super) fn called(&self) -> Option<&Called> {
        self.called.as_deref()
    }

    /// Whether the answer becomes part of the answer to a batch.
    pub(super) fn is_in_batch(&self) -> bool {
        matches!(self.to, Destination::Batch(_))
    }

    /// The task that keeps the answer.
    pub(super) fn task(&self) -> Option<u64> {
        match self.to {
            Destination::Task(number) => Some(number),
            Destination::Client | Destination::Batch(_) => None,
        }
    }

    /// Whether the client waits for the answer to the request of this id.
    pub(super) fn answers(&self, id: &RequestId) -> bool {
        self.task().is_none() && self.id == *id
    }

    /// Makes the task of this number keep the answer, and gives it the charge; returns the right to tell the client
    /// about the task.
    pub(super) fn become_task(&mut self, number: u64) -> Self {
        let of_task = Self {
            id: self.id.clone(),
            called: self.called.clone(),
            to: Destination::Task(number),
            charge: self.charge.take(),
            lost: self.lost.clone(),
        };
        std::mem::replace(self, of_task)
    }

    /// Charges what is held until the request is answered.
    ///
    /// # Errors
    /// [`OverBudget`]; the memory must then not be held.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<(), OverBudget> {
        self.charge.grow(bytes)
    }

    /// Makes an empty charge, for something that outlives the request.
    pub(super) fn new_charge(&self) -> Charge {
        self.charge.other()
    }

    /// Takes the charge, for what is still held after the request is withdrawn.
    pub(super) fn take_charge(&mut self) -> Charge {
        self.charge.take()
    }

    fn used(mut self) -> (RequestId, Destination) {
        self.lost = None;
        (std::mem::replace(&mut self.id, 0.into()), self.to)
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(lost) = self.lost.take() {
            let id = std::mem::replace(&mut self.id, 0.into());
            lost.borrow_mut().push((id, self.to));
        }
    }
}

/// Makes replies, and keeps the batches that are not answered yet.
///
/// Its methods return the line to be written now, if there is one: in a batch, only the last answer returns one.
#[derive(Debug, Default)]
pub(super) struct Replies {
    budget: Budget,
    lost: Lost,
    open: HashMap<u64, Batch>,
    last: u64,
}

/// A request whose reply was dropped, and its answer.
#[derive(Debug)]
pub(super) struct AnsweredLost {
    pub id: RequestId,
    /// The line to be written now.
    pub line: Option<Vec<u8>>,
    /// The task that it had become, and the error with which that failed.
    pub task: Option<(u64, ErrorObject)>,
}

#[derive(Debug)]
struct Batch {
    missing: usize,
    responses: Vec<Vec<u8>>,
    bytes: usize,
    charge: Charge,
}

impl Replies {
    /// Makes the reply for the request with this id.
    pub(super) fn open(&self, id: RequestId, called: Option<Called>, to: Destination) -> Reply {
        Reply { id, called: called.map(Box::new), to, charge: self.budget.charge(), lost: Some(Rc::clone(&self.lost)) }
    }

    /// Makes an empty charge, for something that no request holds.
    pub(super) fn charge(&self) -> Charge {
        self.budget.charge()
    }

    /// Opens a batch in which `missing` elements, at least one, will be answered.
    ///
    /// # Errors
    /// [`OverBudget`].
    pub(super) fn open_batch(&mut self, missing: usize) -> Result<Destination, OverBudget> {
        let mut charge = self.budget.charge();
        charge.grow(missing * PLACE)?;
        self.last += 1;
        self.open.insert(self.last, Batch { missing, responses: Vec::new(), bytes: 0, charge });
        Ok(Destination::Batch(self.last))
    }

    /// Answers with a result, which is encoded JSON.
    #[must_use]
    pub(super) fn result(&mut self, reply: Reply, result: Vec<u8>) -> Option<Vec<u8>> {
        let (id, to) = reply.used();
        self.send(Some(&id), to, encode::result(&id, result))
    }

    /// Answers with an error.
    #[must_use]
    pub(super) fn error(&mut self, reply: Reply, error: &ErrorObject) -> Option<Vec<u8>> {
        let (id, to) = reply.used();
        self.error_to(Some(&id), to, error)
    }

    /// Answers something that isn't a request with an error.
    #[must_use]
    pub(super) fn error_to(&mut self, id: Option<&RequestId>, to: Destination, error: &ErrorObject) -> Option<Vec<u8>> {
        self.send(id, to, encode::error(id, error))
    }

    /// Sends no answer, because the client has cancelled the request.
    #[must_use]
    pub(super) fn withdraw(&mut self, reply: Reply) -> Option<Vec<u8>> {
        match reply.used().1 {
            Destination::Client | Destination::Task(_) => None,
            Destination::Batch(key) => self.close_one(key),
        }
    }

    /// Answers the requests whose replies were dropped.
    pub(super) fn answer_lost(&mut self) -> Vec<AnsweredLost> {
        let lost = self.lost.take();
        if lost.is_empty() {
            return Vec::new();
        }
        let error = ErrorObject::new(INTERNAL_ERROR, "the server failed at this request; its log says more");
        lost.into_iter()
            .map(|(id, to)| {
                let line = self.error_to(Some(&id), to, &error);
                let task = if let Destination::Task(number) = to { Some((number, error.clone())) } else { None };
                AnsweredLost { id, line, task }
            })
            .collect()
    }

    /// Gives up the missing answers of all batches; returns the lines of the batches that have some answers.
    pub(super) fn close_batches(&mut self) -> Vec<Vec<u8>> {
        let mut open: Vec<(u64, Batch)> = std::mem::take(&mut self.open).into_iter().collect();
        open.sort_unstable_by_key(|(key, _)| *key);
        open.into_iter().filter_map(|(_, batch)| batch.into_line()).collect()
    }

    fn send(&mut self, id: Option<&RequestId>, to: Destination, response: Vec<u8>) -> Option<Vec<u8>> {
        match to {
            Destination::Client => Some(response),
            Destination::Task(_) => None,
            Destination::Batch(key) => {
                // A batch that was given up has been answered already.
                self.open.get_mut(&key)?.add(id, response);
                self.close_one(key)
            }
        }
    }

    fn close_one(&mut self, key: u64) -> Option<Vec<u8>> {
        let batch = self.open.get_mut(&key)?;
        batch.missing = batch.missing.saturating_sub(1);
        if batch.missing > 0 {
            return None;
        }
        self.open.remove(&key)?.into_line()
    }
}

impl Batch {
    /// Keeps an answer until the others have come, or an error instead if together they would be too long.
    fn add(&mut self, id: Option<&RequestId>, response: Vec<u8>) {
        let bytes = self.bytes + response.len();
        let response = if bytes > LONGEST_BATCH || self.charge.grow(response.len()).is_err() {
            let why = "the answers to this batch are too long together; send this request by itself";
            encode::error(id, &ErrorObject::new(INTERNAL_ERROR, why))
        } else {
            response
        };
        self.bytes += response.len();
        self.responses.push(response);
    }

    fn into_line(self) -> Option<Vec<u8>> {
        if self.responses.is_empty() { None } else { Some(encode::batch(&self.responses)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::budget::MOST_HELD;

    fn text(line: Option<Vec<u8>>) -> String {
        line.map_or_else(String::new, |line| String::from_utf8(line).unwrap())
    }

    #[test]
    fn a_reply_that_is_dropped_is_answered_with_an_error_and_one_that_was_used_is_not() {
        let mut replies = Replies::default();
        let used = replies.open(1.into(), None, Destination::Client);
        assert_eq!(text(replies.result(used, b"{}".to_vec())), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
        let withdrawn = replies.open(2.into(), None, Destination::Client);
        assert_eq!(replies.withdraw(withdrawn), None);
        assert!(replies.answer_lost().is_empty());
        let dropped = replies.open(3.into(), None, Destination::Client);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _reply = dropped;
            // Without the hook's message.
            std::panic::resume_unwind(Box::new("a bug"));
        }));
        assert!(panicked.is_err());
        let lost: Vec<String> = replies.answer_lost().into_iter().map(|lost| text(lost.line)).collect();
        let why = "the server failed at this request; its log says more";
        assert_eq!(
            lost,
            [format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{{\"code\":-32603,\"message\":\"{why}\"}}}}\n")]
        );
        assert!(replies.answer_lost().is_empty());
    }

    #[test]
    fn a_batch_is_answered_when_its_last_element_is_and_a_dropped_one_counts() {
        let mut replies = Replies::default();
        let to = replies.open_batch(3).unwrap();
        let [first, second, third] = [1, 2, 3].map(|id: u64| replies.open(id.into(), None, to));
        assert_eq!(replies.result(first, b"{}".to_vec()), None);
        assert_eq!(replies.withdraw(second), None);
        drop(third);
        let lost: Vec<String> = replies.answer_lost().into_iter().map(|lost| text(lost.line)).collect();
        assert_eq!(lost.len(), 1);
        assert!(
            lost[0].starts_with("[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":3,"),
            "{lost:?}"
        );
    }

    #[test]
    fn the_answer_of_a_task_goes_to_nobody_else_and_what_is_held_goes_along() {
        let mut replies = Replies::default();
        let mut reply = replies.open(1.into(), None, Destination::Client);
        assert_eq!((reply.hold(MOST_HELD), reply.task(), reply.answers(&1.into())), (Ok(()), None, true));
        let created = reply.become_task(7);
        assert_eq!((reply.task(), reply.answers(&1.into()), reply.is_in_batch()), (Some(7), false, false));
        assert_eq!(text(replies.result(created, b"{}".to_vec())), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
        assert_eq!(replies.open(2.into(), None, Destination::Client).hold(1), Err(OverBudget));
        drop(reply);
        let lost: Vec<_> =
            replies.answer_lost().into_iter().map(|lost| (lost.line, lost.task.map(|(task, _)| task))).collect();
        assert_eq!(lost.last(), Some(&(None, Some(7))), "{lost:?}");
        assert_eq!(replies.open(2.into(), None, Destination::Client).hold(1), Ok(()));
    }

    #[test]
    fn what_is_held_is_given_back_however_the_request_ends() {
        let mut replies = Replies::default();
        for end in 0..3 {
            let mut reply = replies.open(1.into(), None, Destination::Client);
            assert_eq!(reply.hold(MOST_HELD), Ok(()), "{end}");
            assert_eq!(replies.open(2.into(), None, Destination::Client).hold(1), Err(OverBudget));
            match end {
                0 => drop(replies.result(reply, b"{}".to_vec())),
                1 => drop(replies.withdraw(reply)),
                _ => drop(reply),
            }
            replies.answer_lost();
        }
        // A command that is still running when its request is withdrawn stays charged.
        let mut reply = replies.open(1.into(), None, Destination::Client);
        assert_eq!(reply.hold(MOST_HELD), Ok(()));
        let charge = reply.take_charge();
        assert_eq!(replies.withdraw(reply), None);
        let mut next = replies.open(3.into(), None, Destination::Client);
        assert_eq!(next.hold(1), Err(OverBudget));
        drop(charge);
        assert_eq!(next.hold(1), Ok(()));
        assert_eq!(replies.withdraw(next), None);
    }

    #[test]
    fn the_answers_to_a_batch_are_bounded_together() {
        let mut replies = Replies::default();
        let to = replies.open_batch(3).unwrap();
        let long = format!("\"{}\"", "x".repeat(6 * 1024 * 1024));
        let [first, second, third] = [1, 2, 3].map(|id: u64| replies.open(id.into(), None, to));
        assert_eq!(replies.result(first, long.clone().into_bytes()), None);
        assert_eq!(replies.result(second, long.clone().into_bytes()), None);
        let line = text(replies.result(third, b"{}".to_vec()));
        assert!(line.len() < LONGEST_BATCH, "{}", line.len());
        assert!(
            line.contains("\"id\":2,\"error\":{\"code\":-32603,\"message\":\"the answers to this batch are too long")
        );
        assert!(line.ends_with(",{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}]\n"));
    }
}
