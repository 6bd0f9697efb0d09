//! A call of several commands, when its turn comes: it runs on a thread that no sandbox confines.

pub(super) mod records;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use self::records::recorded_part;
use super::auditor::{Auditor, end_of};
use super::event::{CallEnded, HowEnded};
use super::inbox::EventSender;
use super::job::{ReportOfEnd, RunsWith, heartbeat, note_start, observe_end, report_of};
use super::observer::CommandOutcome;
use crate::audit::Digest;
use crate::exec::line::{Decides, LineError, LineInvocation, LineOutput, Observes};
use crate::exec::{End, ExecError, Executor, Limits, OnStart, Spool, StopSignal};
use crate::jsonrpc::RequestId;
use crate::lines::Pipeline;
use crate::mcp::{CallToolResult, Revision};
use crate::policy::line::{DecidedStage, PartDecision, PartKind, PlannedLine, Position, Turn};
use crate::policy::rules::CommandRule;
use crate::policy::{Directories, Policy, Rule};
use crate::tools::ReportSettings;
use crate::tools::line_report::{line_hint, line_result};

/// A line that may run when its turn comes.
#[derive(Debug)]
pub(super) struct LineJob {
    /// The number of the call.
    pub(super) key: u64,
    /// The decision before anything runs.
    pub(super) planned: PlannedLine,
    /// Where it may run.
    pub(super) directories: Directories,
    /// The input of its first program.
    pub(super) input: Option<Vec<u8>>,
    /// Its timeout and its bounds of output.
    pub(super) limits: Limits,
    /// Whether the client wants progress.
    pub(super) wants_progress: bool,
    /// The revision in which the result must be valid.
    pub(super) revision: Revision,
    /// Whether it is answered when it starts.
    pub(super) is_background: bool,
    /// Where its whole output is kept.
    pub(super) spool: Option<Arc<Spool>>,
    /// The id of its request and the tool, for the audit log; `None` without one.
    pub(super) audited: Option<(RequestId, String)>,
}

/// The words of the commands of a line, as the log shows them.
pub(super) fn shown_words(parts: &[PartDecision]) -> Vec<String> {
    let mut shown = Vec::new();
    for part in parts {
        if part.kind != PartKind::Redirection && !shown.is_empty() {
            shown.push(";".to_owned());
        }
        shown.extend(part.explanation.words.iter().cloned());
    }
    shown
}

/// The part for which a line changes something, as it is shown: the first command whose rule does not say that it changes nothing, else
/// the first file that is written. Empty if there is none.
pub(super) fn changing_part(parts: &[PartDecision]) -> String {
    let words = |part: &PartDecision| part.explanation.words.clone();
    let changes = |part: &&PartDecision| {
        let is_read_only = matches!(&part.explanation.rule, Some(Rule::Described(rule)) if rule.read_only);
        part.kind == PartKind::Command && !is_read_only
    };
    let writes = |part: &&PartDecision| {
        part.kind == PartKind::Redirection
            && matches!(words(part).as_slice(), [operator, file] if operator.contains('>') && file != "/dev/null")
    };
    match parts.iter().find(changes) {
        Some(command) => words(command).into_iter().next().unwrap_or_default(),
        None => parts.iter().find(writes).map(|file| words(file).join(" ")).unwrap_or_default(),
    }
}

impl LineJob {
    /// The number of the call.
    pub(super) fn key(&self) -> u64 {
        self.key
    }

    /// The revision in which its result must be valid.
    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    /// Whether it is answered when it starts.
    pub(super) fn is_background(&self) -> bool {
        self.is_background
    }

    /// Keeps its whole output there.
    pub(super) fn keep(&mut self, spool: Option<Arc<Spool>>) {
        self.spool = spool;
    }

    /// Runs the line to its end on this thread, and makes the answer.
    pub(super) fn run(self: Box<Self>, with: &RunsWith, events: &EventSender, stop: StopSignal) -> CallEnded {
        let Self { key, planned, directories, input, limits, wants_progress, revision, spool, audited, .. } = *self;
        let kept_as = spool.as_ref().filter(|spool| spool.keeps()).map(|_| key);
        let report = ReportSettings { kept_as, ..with.parts.report.clone() };
        let is_audited = audited.is_some();
        let audit = &with.audit;
        let observes = Heard { key, audit };
        let mut decides = AtTurn {
            planned: &planned,
            policy: &with.parts.policy,
            directories: &directories,
            key,
            audit,
            audited,
            input: input.as_ref().filter(|_| is_audited).map(|input| Digest::of(input)),
        };
        let line = Arc::clone(planned.line());
        let invocation = LineInvocation {
            line: &line,
            begin: planned.begin(),
            reader: planned.reader(),
            input,
            limits,
            stop,
            heartbeat: wants_progress.then(|| heartbeat(key, events.clone())),
            spool,
            decides: &mut decides,
            observes: &observes,
        };
        // A panic ends only the call, with an error, and neither the thread nor the server.
        let outcome = catch_unwind(AssertUnwindSafe(|| match with.executor.as_processes() {
            Some(processes) => processes.run_line(invocation),
            None => Err(ExecError::NoLines),
        }));
        let seen = match &outcome {
            Ok(Ok(ran)) => CommandOutcome::Ran(&ran.output),
            Ok(Err(error)) => CommandOutcome::Failed(error),
            Err(_) => CommandOutcome::Panicked,
        };
        observe_end(&*with.parts.observer, key, seen);
        let facts = is_audited.then(|| {
            let end = outcome.as_ref().ok().and_then(|ran| ran.as_ref().ok()).map(|ran| end_of(&ran.output));
            Box::new(end.unwrap_or_default())
        });
        let (result, how) = match outcome {
            Ok(Ok(LineOutput { output, failed, unopened, error })) => {
                let (end, elapsed) = (output.end, output.elapsed);
                let error = error.map(|error| error.to_string());
                let report = report_of_line(&report, &with.executor, &planned, (&failed, unopened));
                let how = match &error {
                    Some(why) => HowEnded::Failed(why.clone()),
                    None => HowEnded::Ran { end, elapsed, hint: line_hint(&output, &failed, &report) },
                };
                (line_result(output, &failed, error.as_deref(), &report), how)
            }
            Ok(Err(error)) => {
                let sentence = format!("the line failed: {error}");
                (CallToolResult::error(sentence.clone()), HowEnded::Failed(sentence))
            }
            Err(_) => ReportOfEnd::panicked(),
        };
        CallEnded { key, result: result.encode(revision), how, shell: None, facts }
    }
}

/// The settings for a line that has ended. Each of its commands has the sandbox of its own rule: those that failed come first, and
/// then the last, whose status is the line's.
pub(super) fn report_of_line(
    report: &ReportSettings,
    executor: &Arc<dyn Executor>,
    planned: &PlannedLine,
    (failed, unopened): (&[(String, i32)], Vec<PathBuf>),
) -> ReportSettings {
    let has_failed = |rule: &Option<&Arc<CommandRule>>| {
        let program = rule.and_then(|rule| rule.name.rsplit('/').next());
        let mut names = failed.iter().filter_map(|(name, _)| name.split(' ').next()?.rsplit('/').next());
        names.any(|name| Some(name) == program)
    };
    let mut rules: Vec<_> = planned.rules().collect();
    rules.reverse();
    rules.sort_by_key(|rule| !has_failed(rule));
    let confined = rules.into_iter().flat_map(|rule| {
        let own = rule.and_then(|rule| executor.for_rule(rule));
        report_of(report, &**own.as_ref().unwrap_or(executor), rule).confined
    });
    // A command after `cd` runs elsewhere.
    let directory = (!planned.changes_directory()).then(|| planned.begin().directory.path().to_owned());
    ReportSettings { confined: confined.collect(), unopened, directory, ..report.clone() }
}

/// Decides on pipelines at their turns, and has it recorded.
struct AtTurn<'a> {
    planned: &'a PlannedLine,
    policy: &'a Policy,
    directories: &'a Directories,
    key: u64,
    audit: &'a Auditor,
    audited: Option<(RequestId, String)>,
    /// The input of the call.
    input: Option<Digest>,
}

impl Decides for AtTurn<'_> {
    fn decide(&mut self, pipeline: &Pipeline, at: &Position) -> Result<Vec<DecidedStage>, LineError> {
        let Turn { parts, outcome } = self.planned.pipeline(self.policy, self.directories, pipeline, at);
        if let Some((id, tool)) = &self.audited {
            let call = (self.key, id, tool.as_str());
            let input = self.input.as_ref().zip(self.planned.reader());
            let decided = parts.iter().filter_map(|part| recorded_part(part, input)).collect();
            let recorded = self.audit.decided_parts(call, decided);
            recorded.map_err(|why| LineError::NotRecorded { why: why.to_string() })?;
        }
        outcome.map_err(LineError::Refused)
    }
}

/// Notes the processes of a line in the audit log.
struct Heard<'a> {
    key: u64,
    audit: &'a Auditor,
}

impl Observes for Heard<'_> {
    fn on_start(&self, part: usize) -> Option<OnStart> {
        self.audit.is_on().then(|| note_start(self.key, Some(part), self.audit))
    }

    fn ended(&self, part: usize, end: End) {
        self.audit.part_ended(self.key, part, end);
    }
}
