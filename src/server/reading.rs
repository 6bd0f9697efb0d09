//! The requests about other calls: reads, which may wait for more output in the request table.

use std::sync::Arc;

use super::effects::{Effect, Effects};
use super::event::{Deadline, Seen};
use super::kept::KeptCalls;
use super::log::Fields;
use super::not_run::NotRun;
use super::parts::Parts;
use super::reads::{Look, ReadJob, Reads};
use super::replies::Reply;
use super::requests::{Answers, LaneName, MOST_READS, Reading, Requests};
use super::task_requests;
use super::tasks::{TaskChange, Tasks};
use super::tool_call::{ToolCall, not_run};
use crate::config::LogLevel;
use crate::jsonrpc::RequestId;
use crate::mcp::CallToolResult;
use crate::tools::{CallRequest, ListedCall, ReadOutput, RunsIn, StopCall, WriteInput, list_result, stop_result};

/// The state that requests about other calls need.
#[derive(Debug)]
pub(super) struct Background {
    pub kept: KeptCalls,
    pub reads: Reads,
    pub tasks: Tasks,
}

/// Serves a request about another call.
pub(super) fn serve(
    parts: &Parts,
    (requests, background): (&mut Requests, &mut Background),
    tool_call: ToolCall<'_>,
    request: CallRequest,
    reply: Reply,
) -> Effects {
    match request {
        CallRequest::Read(read) => {
            let read = Arc::new(read);
            begin(parts, (requests, background), tool_call, (read, Answers::Read), reply)
        }
        CallRequest::Write(write) => {
            let result = match write_to(parts, (requests, background), &write) {
                Ok(result) => result,
                Err(why) => CallToolResult::error(why),
            };
            Effect::Answer(reply, result.encode(tool_call.context.revision)).into()
        }
        CallRequest::Stop(StopCall { call, reason }) => {
            // A call of another session is unknown here, so it can't be ended.
            if let Some(kept) = background.kept.get_mut(call).filter(|kept| kept.state.is_running()) {
                if requests.end(call, reason) {
                    kept.stopped.get_or_insert(reason);
                }
            }
            let read = Arc::new(ReadOutput::of_end(call));
            begin(parts, (requests, background), tool_call, (read, Answers::Stop), reply)
        }
        CallRequest::List => {
            let calls = background.kept.iter().map(|(call, kept)| ListedCall {
                call,
                command: kept.command.clone(),
                state: kept.state.clone(),
                elapsed: kept.elapsed(),
            });
            let result = list_result(calls.collect(), &parts.report);
            Effect::Answer(reply, result.encode(tool_call.context.revision)).into()
        }
    }
}

/// Writes to the standard input of a call.
///
/// # Errors
/// A sentence that says why nothing was written.
fn write_to(
    parts: &Parts,
    (requests, background): (&mut Requests, &mut Background),
    write: &WriteInput,
) -> Result<CallToolResult, String> {
    let call = write.call;
    let kept = background.kept.get(call).ok_or_else(|| unknown(call, &background.kept))?;
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
        requests.feed(call);
    }
    Ok(stop_result(call, &kept.state, &parts.report))
}

/// Begins to hand over a call that is still running: its output so far is read, for the answer.
pub(super) fn hand_over(parts: &Parts, (requests, background): (&mut Requests, &mut Background), key: u64) -> Effects {
    let (Some(revision), Some(call)) = (requests.can_go_on(key), background.kept.get(key)) else {
        return Effects::default();
    };
    // A client that accepts a task gets all of the output with the result.
    if let (Some(ttl), Some(pending)) = (parts.task_ttl(), requests.running(key)) {
        if pending.feedback.takes_tasks() {
            let mut effects = task_requests::for_pending(&mut background.tasks, pending, ttl, TaskChange::Runs(key));
            effects.log(LogLevel::Info, handed_over_line(pending.reply.id(), key));
            let answered_otherwise = requests.hand_over(key);
            debug_assert!(answered_otherwise.is_none(), "the task keeps the answer");
            return effects;
        }
    }
    let (spool, most, report) = (Arc::clone(&call.spool), parts.limits.max_output, parts.report.clone());
    let runs_in = if call.lane == LaneName::Shell { RunsIn::Shell } else { RunsIn::Process };
    let mut effects = Effects::default();
    if let Err(error) = background.reads.give(ReadJob::SoFar { key, spool, most, report, revision, runs_in }) {
        effects.log(
            LogLevel::Warn,
            format!("a call was not handed over, since there is no thread to read its output: {error}"),
        );
    }
    effects
}

/// Answers the call with its output so far, if it is still running.
pub(super) fn handed_over(requests: &mut Requests, key: u64, result: Vec<u8>) -> Effects {
    let Some(reply) = requests.hand_over(key) else { return Effects::default() };
    let mut effects = Effects::default();
    effects.log(LogLevel::Info, handed_over_line(reply.id(), key));
    effects.push(Effect::Answer(reply, result));
    effects
}

fn handed_over_line(id: &RequestId, key: u64) -> String {
    Fields::of_call(id).ours("number", key).ours("handed_over", true).as_str().to_owned()
}

fn begin(
    parts: &Parts,
    (requests, background): (&mut Requests, &mut Background),
    tool_call: ToolCall<'_>,
    (read, answers): (Arc<ReadOutput>, Answers),
    reply: Reply,
) -> Effects {
    if background.kept.get(read.call).is_none() {
        let why = unknown(read.call, &background.kept);
        return Effect::Answer(reply, CallToolResult::error(why).encode(tool_call.context.revision)).into();
    }
    let wait = read.wait;
    let reading = Reading {
        reply,
        read,
        answers,
        revision: tool_call.context.revision,
        looked_at: 0,
        is_looked_at: false,
        is_due: wait.is_none(),
    };
    let key = match requests.read(reading) {
        Ok(key) => key,
        Err(reading) => {
            return not_run(tool_call, &Fields::default(), reading.reply, &NotRun::TooManyReads { most: MOST_READS });
        }
    };
    let mut effects = look(parts, (requests, background), key);
    // If it was answered immediately, there is nothing to wait for.
    if let (Some(wait), Some(_)) = (wait, requests.reading(key)) {
        effects.push(Effect::Wait(wait, Deadline::Read(key)));
    }
    effects
}

/// Makes the thread look at the output for this read, unless it is doing so already.
fn look(parts: &Parts, (requests, background): (&mut Requests, &mut Background), key: u64) -> Effects {
    let Some(reading) = requests.reading(key).filter(|reading| !reading.is_looked_at) else {
        return Effects::default();
    };
    let revision = reading.revision;
    let Some(call) = background.kept.get(reading.read.call) else {
        let why = unknown(reading.read.call, &background.kept);
        return answer(requests, key, CallToolResult::error(why).encode(revision));
    };
    if reading.answers == Answers::Stop {
        if call.state.is_running() && !reading.is_due {
            return Effects::default();
        }
        let result = stop_result(reading.read.call, &call.state, &parts.report);
        return answer(requests, key, result.encode(revision));
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
        most: parts.limits.max_output,
        report: parts.report.clone(),
        revision,
    };
    match background.reads.give(ReadJob::Look(look)) {
        Ok(()) => Effects::default(),
        Err(source) => {
            let why = NotRun::NoThread { source }.to_string();
            answer(requests, key, CallToolResult::error(why).encode(revision))
        }
    }
}

/// Handles the outcome of a look.
pub(super) fn seen(
    parts: &Parts,
    (requests, background): (&mut Requests, &mut Background),
    key: u64,
    seen: Seen,
) -> Effects {
    // The read is gone if it was cancelled.
    let Some(reading) = requests.reading(key) else { return Effects::default() };
    match seen {
        Seen::Result(result) => answer(requests, key, result),
        Seen::Waits { looked_at } => {
            (reading.looked_at, reading.is_looked_at) = (looked_at, false);
            look_if_worth_it(parts, (requests, background), key)
        }
    }
}

/// Handles the end of a read's wait.
pub(super) fn overdue(parts: &Parts, (requests, background): (&mut Requests, &mut Background), key: u64) -> Effects {
    let Some(reading) = requests.reading(key) else { return Effects::default() };
    reading.is_due = true;
    look(parts, (requests, background), key)
}

/// Handles new output, or the end of a call: looks again for the reads that wait.
pub(super) fn news(parts: &Parts, (requests, background): (&mut Requests, &mut Background)) -> Effects {
    let mut effects = Effects::default();
    for key in requests.readings() {
        effects.extend(look_if_worth_it(parts, (requests, background), key));
    }
    effects
}

fn look_if_worth_it(parts: &Parts, (requests, background): (&mut Requests, &mut Background), key: u64) -> Effects {
    let Some(reading) = requests.reading(key).filter(|reading| !reading.is_looked_at) else {
        return Effects::default();
    };
    let is_worth_it = reading.is_due
        || background.kept.get(reading.read.call).is_none_or(|call| {
            // In this order, so that output that comes in between is reported.
            call.spool.want();
            !call.state.is_running() || call.spool.length(reading.read.stream) > reading.looked_at
        });
    if is_worth_it { look(parts, (requests, background), key) } else { Effects::default() }
}

fn answer(requests: &mut Requests, key: u64, result: Vec<u8>) -> Effects {
    let Some(Reading { reply, read, .. }) = requests.take_reading(key) else { return Effects::default() };
    let mut effects = Effects::default();
    if read.wait.is_some() {
        effects.push(Effect::Forget(Deadline::Read(key)));
    }
    effects.push(Effect::Answer(reply, result));
    effects
}

/// Why a call is unknown.
fn unknown(call: u64, kept: &KeptCalls) -> String {
    let known: Vec<String> =
        kept.iter().filter(|(_, call)| call.state.is_running()).map(|(key, _)| key.to_string()).collect();
    let known =
        if known.is_empty() { "no call runs".to_owned() } else { format!("running calls: {}", known.join(", ")) };
    format!("call {call} is unknown, or its output is not kept any more; {known}")
}
