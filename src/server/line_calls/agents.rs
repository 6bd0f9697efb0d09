//! The decision on a line that an agent is about to give to its own shell, for a hook. Nothing runs.

use std::path::Path;

use crate::jsonrpc::RequestId;
use crate::lines::{AndOr, Line, Pipeline};
use crate::policy::line::{LineRefusal, PartDecision, PartKind, PartOutcome, ReadLine, RequestedLine};
use crate::policy::{Approved, Decision, Refusal, RefusalKind, Requested, quoted};
use crate::server::auditor::Auditor;
use crate::server::line_job::records::recorded_part;
use crate::server::parts::Parts;

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
    /// Nothing describes a part of it; whether a person would be asked about another part of it.
    Undescribed {
        why: String,
        asks: bool,
    },
    /// It can't be read, or a part of it can't be judged as things are now, so that it may be something that is denied.
    Unreadable(String),
}

impl Parts {
    /// Decides as for a call in this directory, and records it.
    ///
    /// # Errors
    /// Why it can't be recorded.
    pub(crate) fn decide_for_agent(&mut self, text: &str, directory: &str) -> Result<AgentsLine, String> {
        let auditor = Auditor::new(self.audit.take());
        if let Some(error) = auditor.broken() {
            return Err(error.to_string());
        }
        let decided = self.agents_line(text, directory);
        let id = RequestId::from(CALL);
        let parts = decided.parts.iter().filter_map(|part| recorded_part(part, None)).collect();
        auditor.decided_parts((CALL, &id, TOOL), parts).map_err(|why| why.to_string())?;
        auditor.end();
        Ok(decided)
    }

    /// Whether all of a pipeline is allowed in this directory as files are now, and nobody is asked.
    pub(crate) fn allows_now(&self, pipeline: &Pipeline, directory: &Path) -> bool {
        let line = Line { lists: vec![AndOr { first: pipeline.clone(), rest: Vec::new() }] };
        let cwd = directory.to_str();
        let requested =
            RequestedLine { line, text: "", cwd, has_input: false, only_reads: false, approved: None, before: &[] };
        let decision = self.policy.plan(self.policy.directories(), requested);
        let is_allowed = |part: &PartDecision| part.outcome == PartOutcome::Allowed;
        cwd.is_some() && decision.outcome.is_ok() && decision.parts.iter().all(is_allowed)
    }

    fn agents_line(&self, text: &str, directory: &str) -> AgentsLine {
        let command = match self.policy.read_line(text) {
            Ok(ReadLine::Command(command)) => command,
            Ok(ReadLine::Line(line)) => {
                let requested = RequestedLine {
                    line,
                    text,
                    cwd: Some(directory),
                    has_input: false,
                    only_reads: false,
                    approved: None,
                    before: &[],
                };
                let decision = self.policy.plan(self.policy.directories(), requested);
                let verdict = match decision.outcome {
                    Ok(_) => LineVerdict::Allowed,
                    Err(refusal) => self.of_refused_line(text, &refusal, &decision.parts),
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
            Err(refusal) => match explanation.refusal_kind {
                RefusalKind::Denied => LineVerdict::Denied(refusal.to_string()),
                RefusalKind::Unclear => LineVerdict::Unreadable(refusal.to_string()),
                RefusalKind::Undescribed => LineVerdict::Undescribed { why: refusal.to_string(), asks: false },
            },
        };
        let outcome = match &verdict {
            LineVerdict::Allowed => PartOutcome::Allowed,
            LineVerdict::Asks(_) => PartOutcome::Ask,
            LineVerdict::Denied(why) | LineVerdict::Undescribed { why, .. } | LineVerdict::Unreadable(why) => {
                PartOutcome::Refused(why.clone())
            }
        };
        let part = PartDecision {
            place: 1,
            number: 1,
            kind: PartKind::Command,
            explanation,
            variables: Vec::new(),
            input: None,
            outcome,
        };
        AgentsLine { parts: vec![part], verdict }
    }

    /// Of the parts, what is denied beats what can't be judged, and that beats what nothing describes.
    fn of_refused_line(&self, text: &str, refusal: &LineRefusal, parts: &[PartDecision]) -> LineVerdict {
        let why = refusal.to_string();
        let asks = parts.iter().any(|part| part.outcome == PartOutcome::Ask);
        // Words and files mean something else in another directory.
        let depends_on_directory = self.policy.denies_anything() || text.contains('>');
        match (refusal, strongest(parts)) {
            (LineRefusal::NeedsApproval(_), _) => LineVerdict::Asks(why),
            (_, Some((RefusalKind::Denied, part))) => LineVerdict::Denied(sentence_of(part)),
            (LineRefusal::Directory(_), _) if depends_on_directory => LineVerdict::Unreadable(why),
            (_, Some((RefusalKind::Unclear, _))) => LineVerdict::Unreadable(why),
            _ if depends_on_directory && parts.iter().any(is_unknown_directory) => LineVerdict::Unreadable(why),
            (LineRefusal::Directory(_) | LineRefusal::Part { .. } | LineRefusal::ChangedSinceApproval { .. }, _) => {
                LineVerdict::Undescribed { why, asks }
            }
        }
    }
}

impl AgentsLine {
    /// Why the operator denies a part that is decided only at its turn, as things are now; `None` if none is denied. Another shell would
    /// not decide again.
    pub(crate) fn denied_as_it_is_now(&self) -> Option<String> {
        let (kind, part) = strongest(&self.parts)?;
        (kind == RefusalKind::Denied).then(|| sentence_of(part))
    }

    /// Whether a part is decided only at its turn.
    pub(crate) fn has_undecided(&self) -> bool {
        self.parts.iter().any(|part| part.outcome == PartOutcome::AtItsTurn)
    }
}

/// The part that is refused most firmly, the first of several. What is decided only at its turn may be denied then.
fn strongest(parts: &[PartDecision]) -> Option<(RefusalKind, &PartDecision)> {
    let refused = parts.iter().rev().filter_map(|part| match part.outcome {
        PartOutcome::Refused(_) => Some((part.explanation.refusal_kind, part)),
        PartOutcome::AtItsTurn => Some((part.explanation.refusal_kind.max(RefusalKind::Unclear), part)),
        PartOutcome::Allowed | PartOutcome::Ask => None,
    });
    refused.max_by_key(|(kind, _)| *kind)
}

/// Whether the directory after a part is not known: a `cd` that is refused, or may fail.
fn is_unknown_directory(part: &PartDecision) -> bool {
    part.kind == PartKind::Builtin && part.outcome != PartOutcome::Allowed
}

fn sentence_of(part: &PartDecision) -> String {
    match &part.outcome {
        PartOutcome::Refused(sentence) => sentence.clone(),
        PartOutcome::Allowed | PartOutcome::AtItsTurn | PartOutcome::Ask => {
            let word = part.explanation.words.first().map_or("", String::as_str);
            format!("command {}, {}: the operator denies it as files are now", part.number, quoted(word))
        }
    }
}
