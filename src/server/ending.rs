//! The end of the server: the input ends, calls may finish, the rest is ended, and everything is recorded.

use std::io;
use std::time::Duration;

use super::auditor::{Anchor, Auditor};
use super::call_threads::CallDecided;
use super::event::{Deadline, Event};
use super::requests::{GivenUp, HeldCall};
use super::run::{DrainTime, Lifecycle, Server, not_anchored};
use super::session::SessionEnd;
use crate::config::LogLevel;

/// How long the server waits for process trees that it is ending: their half second, and the time to drain.
const ENDING: Duration = Duration::from_millis(850);

/// How long the ends are waited for that are to be recorded once everything was killed.
const LATE_ENDS: Duration = Duration::from_millis(50);

/// The reason of the record of a call that the end came before.
const NOT_DECIDED: &str = "the session ended before it was decided on";

/// How often to look whether the thread of the persistent shell has ended.
const MOMENT: Duration = Duration::from_millis(1);

impl Server<'_> {
    /// Handles the end of the input: calls that run may finish, and nothing new comes.
    pub(super) fn input_ended(&mut self, result: &io::Result<()>) {
        if let Err(error) = result {
            self.log.write(LogLevel::Error, &format!("the client's messages can no longer be read: {error}"));
        }
        if self.lifecycle == Lifecycle::Serving {
            self.lifecycle = Lifecycle::Draining;
            if let DrainTime::Bounded(time) = self.drain_time {
                self.inbox.after(time, Deadline::Drained);
            }
        }
        self.requests.end_background();
        self.end_questions(match self.drain_time {
            DrainTime::Bounded(_) => SessionEnd::Client,
            DrainTime::Unbounded => SessionEnd::Input,
        });
        self.withdraw_states();
        self.end_subscriptions();
        self.give_up_roots();
    }

    /// Handles a client that has closed its end.
    pub(super) fn output_closed(&mut self) {
        self.client_is_gone(&io::Error::new(io::ErrorKind::BrokenPipe, "it has closed its end"));
    }

    /// Ends all calls, since nobody can get their answers any more.
    pub(super) fn client_is_gone(&mut self, error: &io::Error) {
        self.log.write(LogLevel::Info, &format!("the client no longer accepts answers: {error}"));
        self.lifecycle = Lifecycle::Ending;
        self.end_everything();
    }

    /// The stage after an event.
    pub(super) fn next_lifecycle(&self) -> Lifecycle {
        let is_over = match self.lifecycle {
            Lifecycle::Serving => false,
            // Roots may still be looked at, for which calls are held.
            Lifecycle::Draining => self.requests.is_empty() && !self.roots.are_awaited(),
            Lifecycle::Ending => self.requests.is_idle() && self.asker.is_idle(),
            Lifecycle::Over => true,
        };
        if is_over { Lifecycle::Over } else { self.lifecycle }
    }

    /// Ends every call. Finished requests of batches are answered, and nothing after that.
    pub(super) fn end_everything(&mut self) {
        // Before everything that may have to wait (for the audit log, for a client that is slow to read), so that the time of
        // the commands runs.
        self.shut_down();
        self.withdraw_states();
        // Calls of a batch that have finished are answered, as they would be outside of a batch.
        let finished = self.replies.close_batches();
        self.unsent.extend(finished);
        if let Err(error) = self.write_unsent() {
            self.log.write(LogLevel::Info, &format!("the client no longer accepts answers: {error}"));
        }
        self.lifecycle = Lifecycle::Ending;
        self.inbox.after(ENDING, Deadline::Ended);
    }

    /// Gives up every call.
    fn shut_down(&mut self) {
        let GivenUp { queued, held, undecided, asked, unanswered } = self.requests.shut_down();
        unanswered.iter().for_each(|line| self.log.write(LogLevel::Info, line.as_str()));
        queued.into_iter().for_each(|call| self.audit.not_started(call, None));
        for HeldCall { reply, .. } in held {
            self.audit.refused(&reply, None, NOT_DECIDED);
        }
        for (call, reply) in undecided {
            self.audit.given_up(call, &reply, NOT_DECIDED);
        }
        asked.iter().for_each(|call| self.question_ends(call));
        self.questions.shut_down();
        self.asker.end_all();
        if self.shell.give_up() {
            self.requests.abandon_shell();
        }
    }

    /// Ends what is left after the loop, and records it.
    pub(super) fn end(mut self, served: io::Result<()>) -> io::Result<()> {
        self.shut_down();
        // Its thread may have to tell of a last call, and there is room for a few events.
        while !self.shell.close() {
            self.hear_ends(MOMENT, |_| true);
        }
        if !self.leftovers.end_all(self.is_late) {
            self.log.write(LogLevel::Error, "some processes that commands left behind could not be ended");
        }
        self.leftovers.held().for_each(|ended| self.audit.ended(ended));
        self.hear_ends(LATE_ENDS, Auditor::waits_for_ends);
        self.end_decided();
        self.audit.lose_ends();
        self.audit.end();
        self.tell_of_audit();
        // After the last record.
        if let Some(Err(why)) = self.anchor.take().map(Anchor::end) {
            self.log.write(LogLevel::Error, &not_anchored(&why));
        }
        if let Some(left) = self.parts.confinement.remove_temporary() {
            self.log.write(LogLevel::Warn, &left);
        }
        match served {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            served => served,
        }
    }

    /// Records that the calls never start that threads have decided on meanwhile.
    fn end_decided(&mut self) {
        while let Some(CallDecided { key, .. }) = self.calls.next_decided() {
            self.audit.not_started(key, None);
        }
    }

    /// Records the ends of calls that come too late to be served, within this time, and as long as they are waited for.
    fn hear_ends(&mut self, within: Duration, are_waited_for: impl Fn(&Auditor) -> bool) {
        self.inbox.forget(Deadline::Ended);
        self.inbox.after(within, Deadline::Ended);
        while are_waited_for(&self.audit) {
            match self.inbox.next() {
                Some(Event::Ended(ended)) => self.audit.ended(&ended),
                Some(Event::DecidedOnly) => self.end_decided(),
                Some(Event::Deadline(Deadline::Ended)) | None => break,
                Some(_) => {}
            }
        }
    }
}
