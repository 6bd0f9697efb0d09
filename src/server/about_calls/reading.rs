//! The requests about other calls: reads, which may wait for more output in the request table.

use std::sync::Arc;
use std::time::Duration;

use super::table::MOST_READS;
use crate::config::LogLevel;
use crate::jsonrpc::RequestId;
use crate::mcp::{CallToolResult, Revision};
use crate::server::background::{KeptCalls, Look, ReadJob};
use crate::server::event::{Deadline, ReadSeen};
use crate::server::log::Fields;
use crate::server::not_run::NotRun;
use crate::server::outcome::TaskChange;
use crate::server::replies::Reply;
use crate::server::requests::{Answers, LaneName, Reading};
use crate::server::run::{Lifecycle, Server};
use crate::server::tool_call::ToolCall;
use crate::tools::calls::{ListedCall, StopCall, WriteInput, list_result, stop_result};
use crate::tools::{CallRequest, ReadOutput, RunsIn};

/// How often to look whether a call is decided on that is to be handed over.
const MOMENT: Duration = Duration::from_millis(500);

impl Server<'_> {
    /// Serves a request about another call.
    pub(in crate::server) fn about_call(&mut self, tool_call: &ToolCall, request: CallRequest, reply: Reply) {
        let revision = tool_call.context.revision;
        match request {
            CallRequest::Read(read) => self.read(tool_call, (Arc::new(read), Answers::Read), reply),
            CallRequest::Write(write) => {
                let result = self.write_input(&write).unwrap_or_else(CallToolResult::error);
                self.answer(reply, result.encode(revision));
            }
            CallRequest::Stop(StopCall { call, reason }) => {
                // A call of another session is unknown here, so it can't be ended.
                if let Some(kept) = self.kept.get_mut(call).filter(|kept| kept.state.is_running()) {
                    if self.requests.end(call, reason) {
                        kept.stopped.get_or_insert(reason);
                    }
                }
                self.read(tool_call, (Arc::new(ReadOutput::of_end(call)), Answers::Stop), reply);
            }
            CallRequest::List => {
                let calls = self.kept.iter().map(|(call, kept)| ListedCall {
                    call,
                    command: kept.facts.command().to_owned(),
                    state: kept.state.clone(),
                    elapsed: kept.elapsed(),
                });
                let result = list_result(calls.collect(), &self.parts.report);
                self.answer(reply, result.encode(revision));
            }
        }
    }

    /// Writes to the standard input of a call.
    ///
    /// # Errors
    /// A sentence that says why nothing was written.
    fn write_input(&mut self, write: &WriteInput) -> Result<CallToolResult, String> {
        let call = write.call;
        let kept = self.kept.get(call).ok_or_else(|| unknown(call, &self.kept))?;
        if !kept.state.is_running() {
            return Err(format!("call {call} has ended, and reads nothing any more"));
        }
        let feed = kept.feed.as_ref().ok_or_else(|| {
            format!(
                "call {call} reads nothing more: only a call with `background: true` does, of a command whose rule says `stdin: true` \
                 and that no person had to approve; give it all of its `input` with the call"
            )
        })?;
        let is_news = feed
            .give(write.text.as_bytes(), write.closes)
            .map_err(|why| format!("call {call} was given nothing: {why}"))?;
        // If every text were reported, the pipe to the command's thread could fill up, and the loop would wait for it.
        if is_news {
            self.requests.feed(call);
        }
        Ok(stop_result(call, &kept.state, &self.parts.report))
    }

    /// Begins to hand over a call that is still running: its output so far is read, for the answer.
    pub(in crate::server) fn hand_over(&mut self, key: u64) {
        // If the client is gone, nobody could ask about the call later.
        if self.lifecycle != Lifecycle::Serving {
            return;
        }
        if self.requests.is_undecided(key) {
            return self.inbox.after(MOMENT, Deadline::HandOver(key));
        }
        if self.requests.ends_by_then(key, self.parts.hand_over) {
            return;
        }
        let Some(revision) = self.requests.can_go_on(key) else { return };
        let Some(call) = self.kept.get(key) else { return };
        let (spool, is_of_shell) = (Arc::clone(&call.spool), call.lane == LaneName::Shell);
        if self.hand_over_to_task(key) {
            return;
        }
        let (most, report) = (self.parts.limits.max_output, self.parts.report.clone());
        let runs_in = if is_of_shell { RunsIn::Shell } else { RunsIn::Process };
        if let Err(error) = self.reads.give(ReadJob::SoFar { key, spool, most, report, revision, runs_in }) {
            let why = format!("a call was not handed over, since there is no thread to read its output: {error}");
            self.log.write(LogLevel::Warn, &why);
        }
    }

    /// Makes the call a task, if its client accepts one: it gets all of the output with the result.
    fn hand_over_to_task(&mut self, key: u64) -> bool {
        let (Some(ttl), Some(pending)) = (self.parts.task_ttl(), self.requests.running(key)) else { return false };
        if !pending.feedback.takes_tasks() {
            return false;
        }
        let id = pending.reply.id().clone();
        let (revision, reply) = (pending.feedback.revision(), &mut pending.reply);
        let (number, client) = self.tasks.create(reply, revision, ttl, TaskChange::Runs(key));
        self.tasks.get(number).into_iter().for_each(|kept| pending.feedback.become_task(&kept.task.id));
        self.tell_of_task(number, client);
        self.log.write(LogLevel::Info, &handed_over_line(&id, key));
        let answered_otherwise = self.requests.hand_over(key);
        debug_assert!(answered_otherwise.is_none(), "the task keeps the answer");
        true
    }

    /// Answers the call with its output so far, if it is still running.
    pub(in crate::server) fn handed_over(&mut self, key: u64, result: Vec<u8>) {
        if let Some(reply) = self.requests.hand_over(key) {
            self.log.write(LogLevel::Info, &handed_over_line(reply.id(), key));
            self.answer(reply, result);
        }
        self.turn_away();
    }

    fn read(&mut self, tool_call: &ToolCall, (read, answers): (Arc<ReadOutput>, Answers), reply: Reply) {
        let revision = tool_call.context.revision;
        if self.kept.get(read.call).is_none() {
            let why = unknown(read.call, &self.kept);
            return self.answer(reply, CallToolResult::error(why).encode(revision));
        }
        let wait = read.wait;
        let is_due = wait.is_none();
        let reading = Reading { reply, read, answers, revision, looked_at: 0, is_looked_at: false, is_due };
        let key = match self.requests.read(reading) {
            Ok(key) => key,
            Err(reading) => {
                let why = NotRun::TooManyReads { most: MOST_READS };
                return self.not_run(tool_call, &Fields::default(), reading.reply, &why);
            }
        };
        self.look(key);
        // If it was answered immediately, there is nothing to wait for.
        if let (Some(wait), Some(_)) = (wait, self.requests.reading(key)) {
            self.inbox.after(wait, Deadline::Read(key));
        }
    }

    /// Makes the thread look at the output for this read, unless it is doing so already.
    fn look(&mut self, key: u64) {
        let Some(reading) = self.requests.reading(key).filter(|reading| !reading.is_looked_at) else { return };
        let revision = reading.revision;
        let Some(call) = self.kept.get(reading.read.call) else {
            let why = unknown(reading.read.call, &self.kept);
            return self.answer_error(key, why, revision);
        };
        if reading.answers == Answers::Stop {
            if !call.state.is_running() || reading.is_due {
                let result = stop_result(reading.read.call, &call.state, &self.parts.report);
                self.answer_read(key, result.encode(revision));
            }
            return;
        }
        // Called before the look, so that nothing is missed in between.
        call.spool.want();
        reading.is_looked_at = true;
        let look = Look {
            key,
            read: Arc::downgrade(&reading.read),
            spool: Arc::clone(&call.spool),
            state: call.state.clone(),
            looked_at: reading.looked_at,
            is_due: reading.is_due,
            most: self.parts.limits.max_output,
            report: self.parts.report.clone(),
            revision,
        };
        if let Err(source) = self.reads.give(ReadJob::Look(look)) {
            self.answer_error(key, NotRun::NoThread { source }.to_string(), revision);
        }
    }

    /// Handles the outcome of a look.
    pub(in crate::server) fn seen(&mut self, key: u64, seen: ReadSeen) {
        // The read is gone if it was cancelled.
        let Some(reading) = self.requests.reading(key) else { return };
        match seen {
            ReadSeen::Result(result) => self.answer_read(key, result),
            ReadSeen::Waits { looked_at } => {
                (reading.looked_at, reading.is_looked_at) = (looked_at, false);
                self.look_if_worth_it(key);
            }
        }
    }

    /// Handles the end of a read's wait.
    pub(in crate::server) fn read_overdue(&mut self, key: u64) {
        let Some(reading) = self.requests.reading(key) else { return };
        reading.is_due = true;
        self.look(key);
    }

    /// Serves the reads for which new output has come, or whose call has ended.
    pub(in crate::server) fn look_for_news(&mut self) {
        if self.lifecycle != Lifecycle::Ending && self.kept.has_news() {
            self.requests.readings().into_iter().for_each(|key| self.look_if_worth_it(key));
        }
    }

    fn look_if_worth_it(&mut self, key: u64) {
        let Some(reading) = self.requests.reading(key).filter(|reading| !reading.is_looked_at) else { return };
        let is_worth_it = reading.is_due
            || self.kept.get(reading.read.call).is_none_or(|call| {
                // In this order, so that output that comes in between is reported.
                call.spool.want();
                !call.state.is_running() || call.spool.length(reading.read.stream) > reading.looked_at
            });
        if is_worth_it {
            self.look(key);
        }
    }

    fn answer_error(&mut self, key: u64, why: String, revision: Revision) {
        self.answer_read(key, CallToolResult::error(why).encode(revision));
    }

    fn answer_read(&mut self, key: u64, result: Vec<u8>) {
        let Some(Reading { reply, read, .. }) = self.requests.take_reading(key) else { return };
        if read.wait.is_some() {
            self.inbox.forget(Deadline::Read(key));
        }
        self.answer(reply, result);
    }
}

fn handed_over_line(id: &RequestId, key: u64) -> String {
    Fields::of_call(id).ours("number", key).ours("handed_over", true).as_str().to_owned()
}

/// Why a call is unknown.
fn unknown(call: u64, kept: &KeptCalls) -> String {
    let known: Vec<String> =
        kept.iter().filter(|(_, call)| call.state.is_running()).map(|(key, _)| key.to_string()).collect();
    let known =
        if known.is_empty() { "no call runs".to_owned() } else { format!("running calls: {}", known.join(", ")) };
    format!("call {call} is unknown, or its output is not kept any more; {known}")
}
