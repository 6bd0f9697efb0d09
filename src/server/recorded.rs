//! The decisions of calls, as the audit log gets to know them.

use std::time::Duration;

use crate::audit::Digest;
use crate::policy::{Explanation, Refusal};

/// Words, and those of them that are secret: the number of the word, and the byte from which it is.
type Argv<'a> = (&'a [String], Vec<(usize, usize)>);

/// A decision on a call, or on a command of its line.
pub(super) struct RecordedDecision<'a> {
    pub explanation: &'a Explanation,
    /// The words that run or would run, if that was determined.
    pub argv: Option<Argv<'a>>,
    /// The number of the command in its line.
    pub part: Option<usize>,
    /// The variables that a line sets for it.
    pub variables: &'a [(String, String)],
    pub input: Option<Digest>,
    /// The timeout that the client asks for.
    pub timeout: Option<Duration>,
    /// Whether the client asks for the call to run in the background.
    pub is_background: bool,
    /// Whether it asks for the call to become a task.
    pub is_task: bool,
    /// Whether a person has to approve it.
    pub asks: bool,
    /// Why it does not run, or not yet.
    pub reason: Option<String>,
}

impl<'a> RecordedDecision<'a> {
    /// The decision that the policy has explained.
    pub(super) fn of(explanation: &'a Explanation, refusal: Option<&Refusal>) -> Self {
        Self {
            explanation,
            argv: None,
            part: None,
            variables: &[],
            input: None,
            timeout: None,
            is_background: false,
            is_task: false,
            asks: matches!(refusal, Some(Refusal::NeedsApproval(_))),
            reason: refusal.map(ToString::to_string),
        }
    }
}
