//! The phases of a command with a deadline, in their only possible order: it runs, it was sent SIGTERM, it was killed.
//! The code that watches the command sends the signals and waits; this file decides when.

use std::time::{Duration, Instant};

use crate::exec::{End, Limits, StopReason};

/// The grace period for what a command left running, once the command itself has ended.
pub(crate) const LEFTOVER_GRACE: Duration = Duration::from_millis(80);
/// How long streams are still read after everything was killed.
pub(crate) const DRAIN: Duration = Duration::from_millis(80);
/// The longest grace period when the server ends.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Until the deadline.
    Running,
    /// Until the end of the grace period.
    Terminated,
    /// Until the watch stops waiting.
    Killed,
}

/// The phase of a command, and when it ends.
#[derive(Debug)]
pub(crate) struct Phases {
    phase: Phase,
    until: Instant,
    limits: Limits,
    ended_by_us: Option<End>,
    is_shutdown: bool,
}

/// The action that is due now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing: the phase is not over.
    Nothing,
    /// Send SIGTERM: the deadline has passed.
    Terminate,
    /// Send SIGKILL, and call [`Phases::killed`] with how long to wait then.
    Kill,
    /// Stop waiting.
    GiveUp,
}

impl Phases {
    /// The phases of a command that was started at `started`.
    pub(crate) fn new(started: Instant, limits: Limits) -> Self {
        let until = started + limits.timeout;
        Self { phase: Phase::Running, until, limits, ended_by_us: None, is_shutdown: false }
    }

    /// Shortens the time that the command may take, if it still runs.
    pub(crate) fn at_most(&mut self, timeout: Duration) {
        if self.is_running() && timeout < self.limits.timeout {
            self.until -= self.limits.timeout - timeout;
            self.limits.timeout = timeout;
        }
    }

    /// When to call [`due`](Self::due) again.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    /// Whether the command has neither exited nor been ended.
    pub(crate) fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Whether the server itself ends; no later stop can be more urgent.
    pub(crate) fn is_shutdown(&self) -> bool {
        self.is_shutdown
    }

    /// The grace period, as it is now.
    pub(crate) fn grace(&self) -> Duration {
        self.limits.grace
    }

    /// How the server has ended the command, if it did.
    pub(crate) fn ended_by_us(&self) -> Option<End> {
        self.ended_by_us
    }

    /// Takes a stop signal; returns whether to send SIGTERM, or the signal that it asks for. A later one can shorten the grace period.
    pub(crate) fn stop(&mut self, reason: StopReason, now: Instant) -> bool {
        if reason == StopReason::Shutdown {
            self.is_shutdown = true;
            self.limits.grace = self.limits.grace.min(SHUTDOWN_GRACE);
        }
        if reason == StopReason::Killed {
            self.limits.grace = Duration::ZERO;
        }
        let graced = now + self.limits.grace;
        match self.phase {
            Phase::Running => {
                self.ended_by_us = Some(End::Stopped);
                (self.phase, self.until) = (Phase::Terminated, graced);
                reason != StopReason::Killed
            }
            Phase::Terminated => {
                self.until = self.until.min(graced);
                false
            }
            Phase::Killed => false,
        }
    }

    /// Notes that the command has exited; returns whether to send SIGTERM to what it left running.
    pub(crate) fn exited(&mut self, now: Instant) -> bool {
        let is_first = self.is_running();
        if is_first {
            (self.phase, self.until) = (Phase::Terminated, now + LEFTOVER_GRACE);
        }
        is_first
    }

    /// Waits on, in the same phase.
    pub(crate) fn wait_on(&mut self, now: Instant, wait: Duration) {
        self.until = now + wait;
    }

    /// Notes that everything was killed, and how long to wait for it.
    pub(crate) fn killed(&mut self, now: Instant, wait: Duration) {
        (self.phase, self.until) = (Phase::Killed, now + wait);
    }

    /// Returns what to do at this time.
    pub(crate) fn due(&mut self, now: Instant) -> Due {
        if now < self.until {
            return Due::Nothing;
        }
        match self.phase {
            Phase::Running => {
                self.ended_by_us = Some(End::TimedOut(self.limits.timeout));
                (self.phase, self.until) = (Phase::Terminated, now + self.limits.grace);
                Due::Terminate
            }
            Phase::Terminated => Due::Kill,
            Phase::Killed => Due::GiveUp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn phases(started: Instant) -> Phases {
        Phases::new(started, Limits { timeout: 10 * SECOND, grace: 2 * SECOND, max_output: 0, has_digests: false })
    }

    #[test]
    fn a_deadline_ends_in_sigterm_then_sigkill_then_in_no_more_waiting() {
        let start = Instant::now();
        let mut phases = phases(start);
        assert_eq!(phases.due(start + 9 * SECOND), Due::Nothing);
        assert_eq!(phases.due(start + 10 * SECOND), Due::Terminate);
        assert_eq!(phases.ended_by_us(), Some(End::TimedOut(10 * SECOND)));
        assert_eq!(phases.due(start + 11 * SECOND), Due::Nothing);
        // A second stop signal changes neither the reason nor the end of the grace period.
        assert!(!phases.stop(StopReason::Cancelled, start + 11 * SECOND));
        assert_eq!(phases.due(start + 12 * SECOND), Due::Kill);
        phases.killed(start + 12 * SECOND, SECOND);
        assert_eq!(phases.due(start + 12 * SECOND), Due::Nothing);
        assert_eq!(phases.due(start + 13 * SECOND), Due::GiveUp);
        assert_eq!(phases.ended_by_us(), Some(End::TimedOut(10 * SECOND)));
    }

    #[test]
    fn the_end_of_the_server_shortens_the_grace_period() {
        let start = Instant::now();
        let mut phases = phases(start);
        assert!(phases.stop(StopReason::Cancelled, start));
        assert_eq!((phases.until(), phases.is_shutdown()), (start + 2 * SECOND, false));
        assert!(!phases.stop(StopReason::Shutdown, start));
        assert_eq!((phases.until(), phases.is_shutdown()), (start + SHUTDOWN_GRACE, true));
        assert_eq!(phases.ended_by_us(), Some(End::Stopped));
    }

    #[test]
    fn a_kill_waits_for_nothing() {
        let start = Instant::now();
        let mut phases = phases(start);
        assert!(phases.stop(StopReason::Interrupted, start));
        assert_eq!(phases.due(start), Due::Nothing);
        assert!(!phases.stop(StopReason::Killed, start));
        assert_eq!((phases.due(start), phases.ended_by_us()), (Due::Kill, Some(End::Stopped)));
    }

    #[test]
    fn what_a_command_leaves_has_a_grace_period_of_its_own() {
        let start = Instant::now();
        let mut phases = phases(start);
        assert!(phases.exited(start));
        assert!(!phases.exited(start) && !phases.is_running());
        assert_eq!((phases.until(), phases.ended_by_us()), (start + LEFTOVER_GRACE, None));
        // A stop signal after that does not count as the reason for the end.
        assert!(!phases.stop(StopReason::Cancelled, start));
        assert_eq!((phases.due(start + LEFTOVER_GRACE), phases.ended_by_us()), (Due::Kill, None));
    }
}
