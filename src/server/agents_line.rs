//! The decision on a line that an agent is about to give to its own shell, for a hook. Nothing runs.

use std::path::Path;

use super::audit_records::part_record;
use super::auditor::Auditor;
use super::parts::Parts;
use crate::jsonrpc::RequestId;
use crate::lines::{AndOr, Line, Pipeline};
use crate::policy::line::{LineRefusal, PartDecision, PartKind, PartOutcome, ReadLine, RequestedLine};
use crate::policy::{Approved, Decision, Refusal, Requested};

/// The number of the one call, and the name of its tool in the audit log.
const CALL: u64 = 1;
const TOOL: &str = "hook";

/// A line that was decided.
pub(crate) struct AgentsLine {
    /// Its parts; of one plain command, that alone.
    pub parts: Vec<PartDecision>,
    pub verdict: LineVerdict,
}

/// The decision on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LineVerdict {
    Allowed,
    /// A person has to approve it, as the sentence says.
    Asks(String),
    /// The operator denies it.
    Denied(String),
    /// Nothing describes it; whether a person would be asked about another part of it.
    Undescribed {
        why: String,
        asks: bool,
    },
    /// It can't be read.
    Unreadable(String),
}

impl Parts {
    /// Decides as for a call in this directory, and records it.
    ///
    /// # Errors
    /// Why it can't be recorded.
    pub(crate) fn decide_for_agent(&mut self, text: &str, directory: &str) -> Result<AgentsLine, String> {
        let mut auditor = Auditor::new(self.audit.take());
        if let Some(error) = auditor.broken() {
            return Err(error.to_string());
        }
        let decided = self.agents_line(text, directory);
        let id = RequestId::from(CALL);
        let of_part = |part: &PartDecision| part_record((CALL, &id, TOOL), part, None);
        let records = decided.parts.iter().filter_map(of_part).collect();
        auditor.decided_parts(records).map_err(|why| why.to_string())?;
        auditor.end();
        Ok(decided)
    }

    /// Whether all of a pipeline is allowed in this directory as files are now, and nobody is asked.
    pub(crate) fn allows_now(&self, pipeline: &Pipeline, directory: &Path) -> bool {
        let line = Line { lists: vec![AndOr { first: pipeline.clone(), rest: Vec::new() }] };
        let cwd = directory.to_str();
        let requested = RequestedLine { line, text: "", cwd, has_input: false, approved: None, before: &[] };
        let decision = self.policy.plan(self.policy.directories(), requested);
        let is_allowed = |part: &PartDecision| part.outcome == PartOutcome::Allowed;
        cwd.is_some() && decision.outcome.is_ok() && decision.parts.iter().all(is_allowed)
    }

    fn agents_line(&self, text: &str, directory: &str) -> AgentsLine {
        let command = match self.policy.read_line(text) {
            Ok(ReadLine::Command(command)) => command,
            Ok(ReadLine::Line(line)) => {
                let requested =
                    RequestedLine { line, text, cwd: Some(directory), has_input: false, approved: None, before: &[] };
                let decision = self.policy.plan(self.policy.directories(), requested);
                let verdict = match decision.outcome {
                    Ok(_) => LineVerdict::Allowed,
                    Err(refusal) => of_refused_line(&refusal, &decision.parts),
                };
                return AgentsLine { parts: decision.parts, verdict };
            }
            Err(error) => {
                return AgentsLine { parts: Vec::new(), verdict: LineVerdict::Unreadable(error.to_string()) };
            }
        };
        let requested =
            Requested { command: Ok(command), cwd: Some(directory), has_input: false, approved: Approved::default() };
        let Decision { explanation, outcome } = self.policy.evaluate(self.policy.directories(), requested);
        let verdict = match &outcome {
            // Where there is no such program, nothing runs.
            Ok(_) | Err(Refusal::ProgramNotFound { .. }) => LineVerdict::Allowed,
            Err(refusal @ Refusal::NeedsApproval(_)) => LineVerdict::Asks(refusal.to_string()),
            Err(refusal) if explanation.is_denied => LineVerdict::Denied(refusal.to_string()),
            Err(refusal) => LineVerdict::Undescribed { why: refusal.to_string(), asks: false },
        };
        let outcome = match &verdict {
            LineVerdict::Allowed => PartOutcome::Allowed,
            LineVerdict::Asks(_) => PartOutcome::Ask,
            LineVerdict::Denied(why) | LineVerdict::Undescribed { why, .. } | LineVerdict::Unreadable(why) => {
                PartOutcome::Refused(why.clone())
            }
        };
        let part = PartDecision { number: 1, kind: PartKind::Command, explanation, input: None, outcome };
        AgentsLine { parts: vec![part], verdict }
    }
}

/// Of the parts, deny beats what nothing describes, and that beats what asks.
fn of_refused_line(refusal: &LineRefusal, parts: &[PartDecision]) -> LineVerdict {
    let why = refusal.to_string();
    let is_refused = |part: &&PartDecision| matches!(part.outcome, PartOutcome::Refused(_));
    let denied = parts.iter().filter(is_refused).find(|part| part.explanation.is_denied);
    let asks = parts.iter().any(|part| part.outcome == PartOutcome::Ask);
    match (refusal, denied.map(|part| &part.outcome)) {
        (LineRefusal::NeedsApproval(_), _) => LineVerdict::Asks(why),
        (_, Some(PartOutcome::Refused(denied))) => LineVerdict::Denied(denied.clone()),
        (LineRefusal::Directory(_) | LineRefusal::Part { .. } | LineRefusal::ChangedSinceApproval { .. }, _) => {
            LineVerdict::Undescribed { why, asks }
        }
    }
}
