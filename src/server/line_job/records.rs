//! The audit log's records of the parts of a line.

use crate::audit::{DecidedRecord, Digest, Ended, Event, Verdict};
use crate::exec::End;
use crate::jsonrpc::RequestId;
use crate::policy::line::{PartDecision, PartKind, PartOutcome};
use crate::server::audit_records::{decided_record, put_end};

/// The decision on a part of a line, as it is recorded; `None` if it is decided, and so recorded, when its turn comes. `input` is that
/// of the call, with the number of the command that reads it.
pub(in crate::server) fn part_record(
    call: (u64, &RequestId, &str),
    part: &PartDecision,
    input: Option<(&Digest, usize)>,
) -> Option<DecidedRecord> {
    let (decision, reason) = match &part.outcome {
        PartOutcome::Allowed => (Verdict::Allowed, None),
        PartOutcome::Ask => (Verdict::Ask, None),
        PartOutcome::Refused(why) => (Verdict::Refused, Some(why.clone())),
        PartOutcome::AtItsTurn => return None,
    };
    let of_call = input.filter(|(_, reader)| part.kind == PartKind::Command && part.number == *reader);
    let of_part = part.input.as_ref().map(|text| Digest::of(text.as_bytes()));
    let input = of_part.or_else(|| of_call.map(|(input, _)| input.clone()));
    let decided = decided_record(call, &part.explanation, None, None);
    let env = part.variables.iter().cloned().collect();
    Some(DecidedRecord { part: Some(part.number), decision, env, input, reason, ..decided })
}

/// The end of a process of a line, as it is recorded.
pub(in crate::server) fn part_ended(call: u64, part: usize, end: End) -> Event {
    let mut ended = Ended { call, part: Some(part), ..Ended::default() };
    put_end(&mut ended, end);
    Event::Ended(ended)
}
