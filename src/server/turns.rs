//! The turn of a call, and its end: what starts it, what it left behind, its answer.

use std::time::Duration;

use super::call_threads::Turn;
use super::event::{CallEnded, Deadline, HowEnded};
use super::facts::Facts;
use super::job::PANICKED;
use super::log::Fields;
use super::not_run::NotRun;
use super::outcome::TaskChange;
use super::planned::CommandCall;
use super::requests::{Finished, LaneName, Pending, Undecided, Work};
use super::run::{Lifecycle, Server};
use crate::config::LogLevel;
use crate::exec::{End, Looked, Stop, StopReason, stop};
use crate::mcp::{CallToolResult, LoggingLevel, Revision};
use crate::tools::{RunsIn, running_result};

/// The shortest run before a call is handed over, unless `--hand-over` is shorter.
const LEAST_RUN: Duration = Duration::from_millis(500);

impl Server<'_> {
    /// Starts the calls whose turn it is; those that can't run are answered. While the leftovers of a call are being
    /// searched for, none starts, so that none of its processes can be mistaken for leftovers.
    pub(super) fn start_calls(&mut self) {
        if self.leftovers.are_looked_for() {
            return;
        }
        for lane in [LaneName::Processes, LaneName::Shell, LaneName::Background] {
            while let Some((key, pending, work)) = self.requests.next(lane) {
                self.start_call((key, lane), pending, work);
            }
        }
    }

    fn start_call(&mut self, (key, lane): (u64, LaneName), pending: Pending, (work, undecided): (Work, Undecided)) {
        self.leftovers.begins(key);
        let revision = work.revision();
        match self.begin((key, lane), &pending.facts, work) {
            Ok(stop) if lane == LaneName::Background => self.runs_in_background(key, pending, stop, revision),
            Ok(stop) => {
                // If the output is not kept, as for a restart of the shell, nobody could read the rest later.
                let is_kept = self.kept.get(key).is_some();
                self.may_be_handed_over(key, &pending, is_kept);
                match lane {
                    // Its thread looks first at what is known only now.
                    LaneName::Shell => {
                        let timeout = pending.facts.timeout();
                        self.insert_undecided(key, pending, (undecided, timeout), Some(stop));
                    }
                    LaneName::Processes | LaneName::Background => {
                        self.requests.insert_running(key, lane, pending, Some(stop));
                    }
                }
            }
            Err(why) => {
                self.leftovers.ends(key);
                self.kept.forget(key);
                self.requests.give_up(lane);
                self.not_started((key, pending, revision), &why);
            }
        }
    }

    /// Sets the time after which the call is handed over to the background, if its output can be read then.
    fn may_be_handed_over(&mut self, key: u64, pending: &Pending, is_kept: bool) {
        if let Some(after) = self.parts.hand_over.filter(|_| is_kept) {
            // Even after a long wait in the queue, it gets some time to finish.
            let left = after.saturating_sub(pending.feedback.age()).max(after.min(LEAST_RUN));
            self.inbox.after(left, Deadline::HandOver(key));
        }
    }

    /// Takes a turn for a call that is not decided yet, if one is free; returns what ends it, and what its thread needs.
    pub(super) fn take_turn(
        &mut self,
        (key, lane): (u64, LaneName),
        call: &CommandCall,
        pending: &Pending,
    ) -> Option<(Stop, Turn)> {
        if self.leftovers.are_looked_for() || !self.requests.takes_turn(lane) {
            return None;
        }
        let Ok((stop, signal)) = stop() else {
            self.requests.give_up(lane);
            return None;
        };
        self.leftovers.begins(key);
        let keeper = self.parts.keeper().filter(|_| call.runs_command());
        let spool = keeper.map(|keeper| self.kept.begin(key, keeper, pending.facts.clone(), lane));
        self.may_be_handed_over(key, pending, spool.is_some());
        let tells_allowed = pending.feedback.hears(LoggingLevel::Info);
        Some((stop, Turn { stop: signal, spool, tells_allowed }))
    }

    /// Gives back what a call has taken that does not run after all, but for its turn, which the table gives back. Returns
    /// whether its client wanted it to end.
    pub(super) fn give_back(&mut self, key: u64) -> bool {
        let was_stopped = self.kept.was_stopped(key);
        self.leftovers.ends(key);
        self.kept.forget(key);
        self.inbox.forget(Deadline::HandOver(key));
        was_stopped
    }

    /// Gives the work to the thread that does it.
    fn begin(&mut self, (key, lane): (u64, LaneName), facts: &Facts, work: Work) -> Result<Stop, NotRun> {
        match work {
            Work::Process(mut job) => {
                job.spool = self.parts.keeper().map(|keeper| self.kept.begin(key, keeper, facts.clone(), lane));
                job.feed = if job.is_fed() { self.kept.feed(key) } else { None };
                self.calls.run_decided(job)
            }
            Work::Line(mut job) => {
                job.keep(self.parts.keeper().map(|keeper| self.kept.begin(key, keeper, facts.clone(), lane)));
                self.calls.run_decided_line(job)
            }
            Work::Shell(mut turn) => {
                // A call that runs no command prints nothing.
                let keeper = self.parts.keeper().filter(|_| !turn.shown().is_empty());
                turn.keep(keeper.map(|keeper| self.kept.begin(key, keeper, facts.clone(), lane)));
                self.calls.run_decided_in_shell(key, turn, facts.clone())
            }
        }
    }

    /// Answers a call that runs in the background from now on.
    fn runs_in_background(&mut self, key: u64, mut pending: Pending, stop: Stop, revision: Revision) {
        match (pending.reply.task(), self.parts.task_ttl()) {
            (Some(task), _) => self.task_changed(task, TaskChange::Runs(key)),
            (None, Some(ttl)) if pending.feedback.takes_tasks() => {
                self.make_task(&mut pending, ttl, TaskChange::Runs(key));
            }
            (None, _) => {}
        }
        if self.lifecycle != Lifecycle::Serving {
            // It was decided on when nobody was left to ask about it.
            stop.send(StopReason::Shutdown);
        }
        if let Some(reply) = self.requests.run_in_background(key, pending, stop, false) {
            let result = running_result(key, Default::default(), &self.parts.report, RunsIn::Process);
            self.answer(reply, result.encode(revision));
        }
    }

    /// Answers a call that was allowed but will never start.
    fn not_started(&mut self, (key, pending, revision): (u64, Pending, Revision), why: &NotRun) {
        let line = Fields::of_call(pending.reply.id()).and(pending.facts.description());
        self.log.write(LogLevel::Info, line.reason(why.kind(), &why.to_string()).as_str());
        self.audit.not_started(key, Some(&why.to_string()));
        self.answer(pending.reply, CallToolResult::error(why.to_string()).encode(revision));
    }

    /// Why a call of the persistent shell would have to wait longer than its client does: the shell runs a call that was
    /// handed over, and that call has not been stopped.
    pub(super) fn shell_is_busy(&self) -> Option<NotRun> {
        let call = self.requests.shell_is_busy_with()?;
        Some(NotRun::ShellBusy { call, command: self.kept.goes_on(call)?.to_owned() })
    }

    /// Answers the calls that wait for the persistent shell, if it will be busy for longer than they can wait.
    pub(super) fn turn_away(&mut self) {
        while let Some(why) = self.shell_is_busy() {
            let Some(waiting) = self.requests.take_waiting_for_shell() else { break };
            self.not_started(waiting, &why);
        }
    }

    /// Handles the end of a call's command. The answer waits until the processes that it left behind are gone.
    pub(super) fn call_ended(&mut self, ended: CallEnded) {
        if let Some(ended) = self.leftovers.after(ended) {
            self.finish_call(ended);
        }
    }

    /// Answers a call, or another request, whose thread has panicked.
    pub(super) fn call_panicked(&mut self, key: u64) {
        if self.prompt_panicked(key) {
            return;
        }
        if self.requests.is_decided_on(key) {
            self.give_back(key);
            // A reply that is dropped is answered with an error.
            let call = self.requests.take_decided(key);
            call.iter().for_each(|(pending, _)| self.audit.given_up(key, &pending.reply, PANICKED));
            return self.audit.not_started(key, Some(PANICKED));
        }
        // A call that was cancelled, or that runs in the background, needs no result.
        let revision = self.requests.feedback(key).map(|feedback| feedback.revision());
        let result = revision.map(|revision| CallToolResult::error(PANICKED.to_owned()).encode(revision));
        let (result, how) = (result.unwrap_or_default(), HowEnded::Failed(PANICKED.to_owned()));
        self.call_ended(CallEnded { key, result, how, shell: None, facts: None });
    }

    /// Answers a call whose leftovers are gone, or are not waited for any more.
    pub(super) fn looked(&mut self, looked: Looked) {
        let Some(ended) = self.leftovers.release(looked.key) else { return };
        if !looked.is_gone {
            let why = "processes that a call left behind could not be ended in time; the server keeps trying";
            self.log.write(LogLevel::Warn, why);
        }
        self.finish_call(ended);
    }

    /// Answers a call, and tells the log and the client of its end.
    fn finish_call(&mut self, ended: CallEnded) {
        self.audit.ended(&ended);
        let CallEnded { key, result, how, shell, facts: _ } = ended;
        self.kept.ended(key, &how);
        let restarted = shell.as_ref().and_then(|state| state.restarted().map(str::to_owned));
        match shell {
            None => {}
            Some(state) => {
                if let Some(why) = state.restarted() {
                    self.log.write(LogLevel::Warn, &format!("the persistent shell was restarted: {why}"));
                }
                self.shell.take(state);
            }
        }
        if self.parts.hand_over.is_some() {
            self.inbox.forget(Deadline::HandOver(key));
        }
        let Some(Finished { facts, feedback, reply, is_background }) = self.requests.finish(key) else { return };
        if is_background {
            self.shell.tell_later(restarted);
        }
        if self.parts.log_level >= LogLevel::Info {
            let line = describe_end(Fields::of_call(feedback.request()).and(facts.description()), &how);
            self.log.write(LogLevel::Info, line.as_str());
        }
        // In the modern era a message belongs to a pending request, and a call in the background has been answered.
        if !is_background || !feedback.revision().is_modern() {
            self.send(feedback.ended(&how));
        }
        if let Some(reply) = reply {
            self.answer(reply, result);
        }
    }
}

fn describe_end(fields: Fields, how: &HowEnded) -> Fields {
    match how {
        HowEnded::Ran { end, elapsed, .. } => {
            let fields = match end {
                End::Exited(code) => fields.ours("exit", code),
                End::Signaled(number) => fields.ours("signal", number),
                End::TimedOut(_) => fields.ours("timed_out", true),
                End::Stopped => fields.ours("stopped", true),
            };
            fields.ours("time", format_args!("{:.1}ms", elapsed.as_secs_f64() * 1000.0))
        }
        HowEnded::Failed(why) => fields.reason("failed", why),
    }
}
