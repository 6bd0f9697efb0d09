//! The deadlines that the loop keeps itself: it never sleeps past the nearest one.
//!
//! The deadline of a call is not among them: the poll(2) that reads a command's pipes keeps it, so it holds even while
//! the loop is busy.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use super::event::Deadline;

/// The pending deadlines, the nearest first; those for the same moment are in the order in which they were set.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    pending: BinaryHeap<Reverse<(Instant, u64, Deadline)>>,
    last: u64,
}

impl Deadlines {
    /// Sets a deadline that passes after the delay.
    pub(super) fn set(&mut self, delay: Duration, deadline: Deadline) {
        self.last += 1;
        self.pending.push(Reverse((Instant::now() + delay, self.last, deadline)));
    }

    /// Removes a deadline.
    pub(super) fn forget(&mut self, deadline: Deadline) {
        self.pending.retain(|Reverse((_, _, pending))| *pending != deadline);
    }

    /// Takes the nearest deadline, if it has passed.
    pub(super) fn passed(&mut self) -> Option<Deadline> {
        self.wait().filter(Duration::is_zero)?;
        self.pending.pop().map(|Reverse((_, _, deadline))| deadline)
    }

    /// The time until the nearest deadline; `None` if there is none.
    pub(super) fn wait(&self) -> Option<Duration> {
        self.pending.peek().map(|Reverse((at, ..))| at.saturating_duration_since(Instant::now()))
    }
}

/// A point in time, from which the elapsed time is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Since(Instant);

impl Since {
    pub(super) fn now() -> Self {
        Self(Instant::now())
    }

    pub(super) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// A point in time that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Until(Instant);

impl Until {
    pub(super) fn after(delay: Duration) -> Self {
        Self(Instant::now() + delay)
    }

    /// The time until then; zero if it has passed.
    pub(super) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_come_in_their_order_and_not_in_that_of_their_setting() {
        let mut deadlines = Deadlines::default();
        assert_eq!((deadlines.wait(), deadlines.passed()), (None, None));
        for (delay, number) in [(Duration::from_secs(600), 3), (Duration::ZERO, 1), (Duration::ZERO, 2)] {
            deadlines.set(delay, Deadline::Outgoing(number));
        }
        deadlines.set(Duration::ZERO, Deadline::Read(1));
        deadlines.forget(Deadline::Read(1));
        assert_eq!(deadlines.passed(), Some(Deadline::Outgoing(1)));
        assert_eq!(deadlines.passed(), Some(Deadline::Outgoing(2)));
        assert_eq!(deadlines.passed(), None);
        assert!(deadlines.wait().is_some_and(|wait| wait > Duration::from_secs(500)));
    }
}
