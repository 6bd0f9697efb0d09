//! The readers of a pipeline, which are spared for a while at the deadline.

use std::time::{Duration, Instant};

use super::{Role, Running, Script, Watch};

/// The time in which the readers of a pipeline may print what they have read, once what wrote to them has ended after the deadline.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl Watch {
    /// Sends SIGTERM at the deadline. Of a pipeline only the first commands get it: the others read the end of their input then,
    /// and print what they have read, as they do in a shell (`timeout 60 npm test | tail -5`).
    pub(super) fn terminate_but_readers(&mut self, script: &dyn Script) {
        let running = |child: &Running| child.exited.is_none();
        let role = |number: usize, child: &Running| running(child).then(|| script.role(number));
        let first = self.children.iter().enumerate().filter_map(|(number, child)| role(number, child)).min();
        for (number, child) in self.children.iter_mut().enumerate() {
            child.spared = role(number, child).filter(|role| Some(*role) > first);
            if child.spared.is_none() {
                child.tree.terminate();
            }
        }
    }

    /// Sends SIGTERM to the commands that were spared, once all others have ended and the time for the last words is over.
    pub(super) fn end_spared(&mut self, now: Instant) {
        let mut running = self.children.iter().filter(|child| child.exited.is_none()).peekable();
        if running.peek().is_none() || running.any(|child| child.spared.is_none()) {
            return;
        }
        if now >= *self.spared_until.get_or_insert(now + LAST_WORDS) {
            self.spared_until = None;
            self.spare_nobody();
        }
    }

    pub(super) fn spare_nobody(&mut self) {
        for child in &mut self.children {
            if child.spared.take().is_some() {
                child.tree.terminate();
            }
        }
    }

    /// Kills what still writes to a command that prints the output, and leaves that one more time; returns whether there is one.
    pub(super) fn kill_but_printing(&mut self, now: Instant) -> bool {
        let running = |child: &&mut Running| child.exited.is_none();
        let (printing, others): (Vec<_>, Vec<_>) =
            self.children.iter_mut().filter(running).partition(|child| child.spared == Some(Role::Prints));
        let is_one = !printing.is_empty() && !others.is_empty();
        if is_one {
            others.iter().for_each(|child| child.tree.kill());
            printing.into_iter().for_each(|child| child.spared = None);
            self.phases.wait_on(now, LAST_WORDS / 2);
        }
        is_one
    }
}
