//! The decisions on the parts of a line, for the audit log.

use crate::audit::Digest;
use crate::policy::line::{PartDecision, PartKind, PartOutcome};
use crate::server::recorded::RecordedDecision;

/// The decision on a part of a line; `None` if it is decided, and so recorded, when its turn comes. `input` is that
/// of the call, with the number of the command that reads it.
pub(in crate::server) fn recorded_part<'a>(
    part: &'a PartDecision,
    input: Option<(&Digest, usize)>,
) -> Option<RecordedDecision<'a>> {
    let (asks, reason) = match &part.outcome {
        PartOutcome::Allowed => (false, None),
        PartOutcome::Ask => (true, None),
        PartOutcome::Refused(why) => (false, Some(why.clone())),
        PartOutcome::AtItsTurn => return None,
    };
    let of_call = input.filter(|(_, reader)| part.kind == PartKind::Command && part.number == *reader);
    let of_part = part.input.as_ref().map(|text| Digest::of(text.as_bytes()));
    let input = of_part.or_else(|| of_call.map(|(input, _)| input.clone()));
    let decided = RecordedDecision::of(&part.explanation, None);
    Some(RecordedDecision { part: Some(part.number), variables: &part.variables, input, asks, reason, ..decided })
}
