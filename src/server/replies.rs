//! Where answers go: each as a line of its own, or together as the array that answers a batch.

use std::collections::HashMap;

/// Where the answer to one request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyTo {
    /// A line of its own.
    Client,
    /// The array of this batch.
    Batch(u64),
}

/// The batches that are not answered yet.
#[derive(Debug, Default)]
pub(super) struct Batches {
    open: HashMap<u64, Batch>,
    last: u64,
}

#[derive(Debug)]
struct Batch {
    missing: usize,
    responses: Vec<Vec<u8>>,
}

impl Batches {
    /// Opens a batch that gets an answer, or the word that there is none, for each of its `elements`.
    pub(super) fn open(&mut self, elements: usize) -> ReplyTo {
        self.last += 1;
        self.open.insert(self.last, Batch { missing: elements, responses: Vec::new() });
        ReplyTo::Batch(self.last)
    }

    /// Takes the answer of one element, or `None` where it has none; gives the answers of all, where this was the last
    /// and there is any.
    pub(super) fn close_one(&mut self, key: u64, response: Option<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
        let batch = self.open.get_mut(&key)?;
        batch.responses.extend(response);
        batch.missing = batch.missing.saturating_sub(1);
        if batch.missing > 0 {
            return None;
        }
        self.open.remove(&key).map(|batch| batch.responses).filter(|responses| !responses.is_empty())
    }

    /// Gives up what is missing; gives the answers that there are, of each batch in which there are any.
    pub(super) fn close_all(&mut self) -> Vec<Vec<Vec<u8>>> {
        let mut open: Vec<(u64, Batch)> = std::mem::take(&mut self.open).into_iter().collect();
        open.sort_unstable_by_key(|(key, _)| *key);
        open.into_iter().map(|(_, batch)| batch.responses).filter(|responses| !responses.is_empty()).collect()
    }
}
