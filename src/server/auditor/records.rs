//! Makes the audit log's records of calls from the state of the server: decisions, starts, ends and names.

use serde_json::Value;

use crate::audit::{DecidedRecord, Ended, Event, FileIdentity, Started, Stream, Verdict};
use crate::exec::{Captured, End, Limit, Output, StartedCommand};
use crate::files::Sha256;
use crate::jsonrpc::{Request, RequestId};
use crate::policy::DescribedAt;
use crate::server::event::{CallEnded, EndOfCommand, HowEnded, OfStream};
use crate::server::recorded::RecordedDecision;
use crate::server::replies::Called;
use crate::text::{escape_os, milliseconds, time};
use crate::tools::signal_name;

/// The longest name of a method or a tool that is recorded, in bytes. Real tools have names below a hundred.
const LONGEST_NAME: usize = 256;
/// Returns the method and the tool of a request.
pub(super) fn called(request: &Request) -> Called {
    let named = request.params.get("name").filter(|_| request.method == "tools/call").and_then(Value::as_str);
    Called { method: name(&request.method).unwrap_or_default(), tool: named.and_then(name) }
}

/// A name that a client has sent, as it is recorded.
pub(super) fn name(sent: &str) -> Option<String> {
    let is_long = sent.chars().nth(LONGEST_NAME).is_some();
    let cut = || sent.chars().take(LONGEST_NAME).chain(['…']).collect();
    (!sent.is_empty()).then(|| if is_long { cut() } else { sent.to_owned() })
}

/// The decision on a call, as it is recorded.
pub(super) fn decided_record(
    (call, id, tool): (u64, &RequestId, &str),
    decision: RecordedDecision<'_>,
) -> DecidedRecord {
    let RecordedDecision { explanation, argv, variables, asks, reason, .. } = decision;
    let (argv, secrets) = argv.unwrap_or((&explanation.words, Vec::new()));
    DecidedRecord {
        call,
        id: id.as_value().clone(),
        tool: tool.to_owned(),
        part: decision.part,
        argv: argv.to_vec(),
        env: variables.iter().cloned().collect(),
        cwd: explanation.directory.as_ref().map(|directory| escape_os(directory.as_os_str()).into_owned()),
        input: decision.input,
        timeout_ms: decision.timeout.map(milliseconds),
        background: decision.is_background,
        task: decision.is_task,
        decision: match (asks, &reason) {
            (true, _) => Verdict::Ask,
            (false, Some(_)) => Verdict::Refused,
            (false, None) => Verdict::Allowed,
        },
        rule: explanation
            .described
            .as_ref()
            .map(described)
            .or_else(|| explanation.rule.as_ref().map(ToString::to_string)),
        reason,
        client: None,
        secrets,
    }
}

fn described(DescribedAt { level, origin }: &DescribedAt) -> String {
    format!("the rule for `{level}` in {origin}")
}

/// The start of a command, as it is recorded.
pub(super) fn started_event(
    (call, part): (u64, Option<usize>),
    StartedCommand { pid, program, file, sha256 }: &StartedCommand,
) -> Event {
    let program = Some(escape_os(program.as_os_str()).into_owned());
    let identity = file.as_ref().map(|file| {
        let numbers = file.numbers();
        let modified = numbers.modified.map(time::extended).unwrap_or_default();
        let sha256 = sha256.map(|sha256| Sha256::from_bytes(sha256).to_string());
        FileIdentity { device: numbers.device, inode: numbers.inode, size: numbers.size, modified, sha256 }
    });
    Event::Started(Started { call, part, program, identity, pid: *pid })
}

fn put_end(ended: &mut Ended, end: End) {
    match end {
        End::Exited(code) => ended.exit_code = Some(code),
        End::Signaled(number) => ended.signal = Some(signal_name(number)),
        End::TimedOut(_) => ended.timed_out = true,
        End::Stopped => ended.cancelled = true,
    }
}

/// The end of a process of a line, as it is recorded.
pub(super) fn part_ended(call: u64, part: usize, end: End) -> Event {
    let mut ended = Ended { call, part: Some(part), ..Ended::default() };
    put_end(&mut ended, end);
    Event::Ended(ended)
}

/// The end of a call, as it is recorded.
pub(super) fn ended_record(CallEnded { key, how, facts, .. }: &CallEnded) -> Ended {
    let mut ended = Ended { call: *key, ..Ended::default() };
    if let Some(EndOfCommand { limit, stdout, stderr, .. }) = facts.as_deref() {
        ended.limit = limit.map(Limit::name);
        (ended.stdout, ended.stderr) = (stdout.as_ref().map(stream), stderr.as_ref().map(stream));
    }
    match how {
        HowEnded::Ran { end, elapsed, .. } => {
            ended.duration_ms = milliseconds(*elapsed);
            put_end(&mut ended, *end);
        }
        HowEnded::Failed(why) => ended.error = Some(why.clone()),
    }
    ended
}

fn stream(OfStream { bytes, sha256 }: &OfStream) -> Stream {
    Stream { bytes: *bytes, sha256: sha256.as_ref().map(ToString::to_string) }
}

/// All that is told of the output of a command.
pub(in crate::server) fn end_of(output: &Output) -> EndOfCommand {
    let (stdout, stderr) = (Some(of_stream(&output.stdout)), Some(of_stream(&output.stderr)));
    EndOfCommand { limit: output.limit, stdout, stderr }
}

fn of_stream(captured: &Captured) -> OfStream {
    let sha256 = match captured.sha256.as_deref().copied().map(Sha256::from_bytes) {
        None if captured.left_out == 0 => Some(Sha256::of([&captured.head[..], &captured.tail].concat())),
        known => known,
    };
    OfStream { bytes: captured.len() as u64 + captured.left_out, sha256 }
}
