//! The calls of the table that wait for a person's approval.

use crate::server::requests::{AskedCall, Entry, Requests};

impl Requests {
    /// Makes a call wait for a person's answer, until [`take_asked`](Self::take_asked).
    pub(in crate::server) fn wait_for_approval(&mut self, asked: AskedCall) {
        let key = self.other_number();
        self.entries.insert(key, Entry::Asked(Box::new(asked)));
    }

    /// Takes the calls that wait for the answer to this question, in the order of their arrival.
    pub(in crate::server) fn take_asked(&mut self, question: u64) -> Vec<AskedCall> {
        self.take(|state| match state {
            Entry::Asked(asked) if asked.question == question => Ok(*asked),
            other => Err(other),
        })
    }

    /// Counts the calls that wait for the answer to this question.
    pub(in crate::server) fn count_asked(&self, question: u64) -> usize {
        let waits = |entry: &&Entry| matches!(entry, Entry::Asked(asked) if asked.question == question);
        self.entries.values().filter(waits).count()
    }

    /// The calls that wait for the answer to this question.
    pub(in crate::server) fn asked(&mut self, question: u64) -> impl Iterator<Item = &mut AskedCall> {
        let asked = self.entries.values_mut();
        let asked = asked.filter_map(|state| if let Entry::Asked(asked) = state { Some(&mut **asked) } else { None });
        asked.filter(move |asked| asked.question == question)
    }
}
