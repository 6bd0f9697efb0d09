//! The deadlines of the server's loop, kept by one thread, which is started with the first of them.
//!
//! The deadline of a call is not among them: the poll(2) that reads a command's pipes keeps it, so that a call costs no
//! message to another thread and a deadline holds while the loop is busy.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

type Wake = Box<dyn FnOnce() + Send>;

/// Calls back, once for each deadline, on a thread of its own.
#[derive(Debug, Default)]
pub struct Timer {
    deadlines: Option<Sender<Deadline>>,
}

struct Deadline {
    at: Instant,
    wake: Wake,
}

impl Timer {
    /// Calls `wake` after `delay`, or never, where the timer is dropped before. `wake` must not block.
    pub fn after(&mut self, delay: Duration, wake: impl FnOnce() + Send + 'static) {
        let mut deadline = Deadline { at: Instant::now() + delay, wake: Box::new(wake) };
        if let Some(deadlines) = &self.deadlines {
            match deadlines.send(deadline) {
                Ok(()) => return,
                // The thread is gone, for a `wake` that panicked: a new one takes its place.
                Err(mpsc::SendError(returned)) => deadline = returned,
            }
        }
        let (sender, receiver) = mpsc::channel();
        let keep = move || keep(&receiver, deadline);
        if std::thread::Builder::new().name("timer".into()).spawn(keep).is_ok() {
            self.deadlines = Some(sender);
        }
    }
}

fn keep(deadlines: &mpsc::Receiver<Deadline>, first: Deadline) {
    let mut pending = BinaryHeap::from([Reverse(first)]);
    loop {
        let next = match pending.peek() {
            Some(Reverse(nearest)) => deadlines.recv_timeout(nearest.at.saturating_duration_since(Instant::now())),
            None => deadlines.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match next {
            Ok(deadline) => pending.push(Reverse(deadline)),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(Reverse(nearest)) = pending.pop() {
                    (nearest.wake)();
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl PartialEq for Deadline {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Deadline {}

impl PartialOrd for Deadline {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Deadline {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_come_in_their_order_and_not_in_that_of_their_setting() {
        let (sender, receiver) = mpsc::channel();
        let mut timer = Timer::default();
        for millis in [60, 0, 30] {
            let sender = sender.clone();
            timer.after(Duration::from_millis(millis), move || sender.send(millis).unwrap());
        }
        let order: Vec<u64> = (0..3).map(|_| receiver.recv_timeout(Duration::from_secs(10)).unwrap()).collect();
        assert_eq!(order, [0, 30, 60]);
    }
}
