//! Makes the audit log's records of calls from the state of the server: decisions, starts, ends and names.

use std::collections::BTreeMap;

use serde_json::Value;

use super::event::{CallEnded, EndOfCommand, HowEnded};
use super::replies::Called;
use crate::audit::{DecidedRecord, Ended, Event, FileIdentity, Started, Stream, Verdict, milliseconds};
use crate::exec::{Captured, End, Limit, StartedCommand};
use crate::files::Sha256;
use crate::jsonrpc::{Request, RequestId};
use crate::policy::{DescribedAt, Explanation, Refusal};
use crate::text::{escape_os, time};
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

/// The words that run, and which of them are secret, from which byte on.
type Argv<'a> = (&'a [String], &'a [(usize, usize)]);

/// The decision on a call, as it is recorded. `argv` is what runs or would run, if that was determined.
pub(super) fn decided_record(
    (call, id, tool): (u64, &RequestId, &str),
    explanation: &Explanation,
    argv: Option<Argv<'_>>,
    refusal: Option<&Refusal>,
) -> DecidedRecord {
    let decision = match refusal {
        None => Verdict::Allowed,
        Some(Refusal::NeedsApproval(_)) => Verdict::Ask,
        Some(_) => Verdict::Refused,
    };
    let (argv, secrets) = argv.unwrap_or((&explanation.words, &[]));
    DecidedRecord {
        call,
        id: id.as_value().clone(),
        tool: tool.to_owned(),
        part: None,
        argv: argv.to_vec(),
        env: BTreeMap::new(),
        cwd: explanation.directory.as_ref().map(|directory| escape_os(directory.as_os_str()).into_owned()),
        input: None,
        timeout_ms: None,
        background: false,
        task: false,
        decision,
        rule: explanation
            .described
            .as_ref()
            .map(described)
            .or_else(|| explanation.rule.as_ref().map(ToString::to_string)),
        reason: refusal.map(ToString::to_string),
        client: None,
        secrets: secrets.to_vec(),
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

pub(super) fn put_end(ended: &mut Ended, end: End) {
    match end {
        End::Exited(code) => ended.exit_code = Some(code),
        End::Signaled(number) => ended.signal = Some(signal_name(number)),
        End::TimedOut(_) => ended.timed_out = true,
        End::Stopped => ended.cancelled = true,
    }
}

/// The end of a call, as it is recorded.
pub(super) fn ended_record(CallEnded { key, how, facts, .. }: &CallEnded) -> Ended {
    let mut ended = Ended { call: *key, ..Ended::default() };
    if let Some(EndOfCommand { limit, stdout, stderr, .. }) = facts.as_deref() {
        ended.limit = limit.map(Limit::name);
        (ended.stdout, ended.stderr) = (stdout.clone(), stderr.clone());
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

/// A stream of a command, as it is recorded.
pub(super) fn stream(captured: &Captured) -> Stream {
    let sha256 = match captured.sha256.as_deref().copied().map(Sha256::from_bytes) {
        Some(sha256) => Some(sha256),
        None if captured.left_out == 0 => Some(Sha256::of([&captured.head[..], &captured.tail].concat())),
        None => None,
    };
    Stream { bytes: captured.len() as u64 + captured.left_out, sha256: sha256.map(|sha256| sha256.to_string()) }
}
