//! A call that runs one process, and what is reported of its end, on any thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::auditor::Auditor;
use super::auditor::end_of;
use super::event::{CallEnded, Event, HowEnded, Progress};
use super::inbox::EventSender;
use super::observer::{CommandEnded, CommandOutcome, Observer};
use super::parts::Parts;
use crate::exec::{ExecError, Executor, Feed, Heartbeat, Invocation, Limits, OnStart, Output, Spool, StopSignal};
use crate::mcp::{CallToolResult, Revision};
use crate::policy::rules::CommandRule;
use crate::policy::{AllowedCommand, NOT_FOUND_NOTE};
use crate::tools::{ConfinedBy, NetworkGrant, ReportSettings, execute_hint, execute_result};

/// A call that runs one process.
#[derive(Debug)]
pub(super) struct Job {
    /// The number of the call.
    pub key: u64,
    /// The command to run.
    pub command: AllowedCommand,
    /// Its standard input.
    pub input: Option<Vec<u8>>,
    /// Its timeout and its bounds of output.
    pub limits: Limits,
    /// Whether the client wants progress.
    pub wants_progress: bool,
    /// The pattern in the command line that a shell would have expanded.
    pub literal_pattern: Option<&'static str>,
    /// The revision in which the result must be valid.
    pub revision: Revision,
    /// Whether it is answered when it starts.
    pub is_background: bool,
    /// Whether its client wants to write to its standard input.
    pub is_fed: bool,
    /// Where its whole output is kept.
    pub spool: Option<Arc<Spool>>,
    /// Further input after `input`.
    pub feed: Option<Arc<Feed>>,
    /// Whether its start and end are recorded.
    pub is_audited: bool,
}

impl Job {
    /// Whether its standard input stays open: if the call says `background: true` and its command may be given more.
    pub(super) fn is_fed(&self) -> bool {
        self.is_fed && self.command.takes_input()
    }
}

/// The answer to a call that panicked.
pub(super) const PANICKED: &str = "the server failed while it ran the command; its log says more";
/// The interval between progress notifications.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Tells the loop how far the call is.
pub(super) fn heartbeat(key: u64, events: EventSender) -> Heartbeat {
    let tell = move |elapsed, last_line| {
        // If the channel is full, the loop is behind, and progress is the last thing that it needs.
        events.send_if_free(Event::Progress(Progress { key, elapsed, last_line }));
    };
    Heartbeat { every: HEARTBEAT, tell: Box::new(tell) }
}

/// The executor of all commands or of one rule, the audit log, and the other parts of the server.
pub(super) struct RunsWith {
    pub audit: Auditor,
    pub executor: Arc<dyn Executor>,
    pub parts: Arc<Parts>,
}

/// The facts that are needed to report the end of a command.
pub(super) struct ReportOfEnd {
    /// The number of the call.
    pub key: u64,
    /// The client's name for the program.
    word: String,
    literal_pattern: Option<&'static str>,
    revision: Revision,
    success: Vec<i32>,
    report: ReportSettings,
    observer: Arc<dyn Observer>,
    is_audited: bool,
}

impl Job {
    /// Splits the job into what the executor needs, and what is needed to report its end.
    fn split(self, stop: StopSignal, events: &EventSender, with: &RunsWith) -> (Invocation, ReportOfEnd) {
        let Self { key, command, input, limits, wants_progress, spool, feed, .. } = self;
        let kept_as = spool.as_ref().filter(|spool| spool.keeps()).map(|_| key);
        let report = report_of(&with.parts.report, &*with.executor, command.rule());
        let report = ReportSettings { directory: Some(command.directory().path().to_owned()), ..report };
        let ending = ReportOfEnd {
            key,
            word: command.words().first().cloned().unwrap_or_default(),
            literal_pattern: self.literal_pattern,
            revision: self.revision,
            success: command.success_exit_codes().to_vec(),
            report: ReportSettings { kept_as, ..report },
            observer: Arc::clone(&with.parts.observer),
            is_audited: self.is_audited,
        };
        let heartbeat = wants_progress.then(|| heartbeat(key, events.clone()));
        (Invocation { command, input, limits, stop, heartbeat, spool, feed, on_start: None }, ending)
    }
}

impl ReportOfEnd {
    /// Tells the observer about the end, and makes the answer. `outcome` is what became of the command; an `Err` if the
    /// executor panicked.
    fn of(self, outcome: thread::Result<Result<Output, ExecError>>) -> CallEnded {
        let Self { key, word, literal_pattern, revision, success, report, observer, is_audited } = self;
        let seen = match &outcome {
            Ok(Ok(output)) => CommandOutcome::Ran(output),
            Ok(Err(error)) => CommandOutcome::Failed(error),
            Err(_) => CommandOutcome::Panicked,
        };
        observe_end(&*observer, key, seen);
        let facts = is_audited
            .then(|| Box::new(outcome.as_ref().ok().and_then(|ran| ran.as_ref().ok()).map(end_of).unwrap_or_default()));
        let (result, how) = match outcome {
            Ok(Ok(output)) => {
                let Output { end, elapsed, .. } = output;
                let hint = execute_hint(&output, literal_pattern, &success, &report);
                (execute_result(output, literal_pattern, &success, &report), HowEnded::Ran { end, elapsed, hint })
            }
            Ok(Err(error)) => (failure(&word, &error), HowEnded::Failed(error.to_string())),
            Err(_) => Self::panicked(),
        };
        CallEnded { key, result: result.encode(revision), how, shell: None, facts }
    }

    /// The result after a panic.
    pub(super) fn panicked() -> (CallToolResult, HowEnded) {
        let sentence = PANICKED.to_owned();
        (CallToolResult::error(sentence.clone()), HowEnded::Failed(sentence))
    }
}

/// The settings for a command that this executor runs: its rule may confine it in another way than all others.
pub(super) fn report_of(
    report: &ReportSettings,
    executor: &dyn Executor,
    rule: Option<&Arc<CommandRule>>,
) -> ReportSettings {
    let Some(processes) = executor.as_processes() else { return report.clone() };
    let sandbox = processes.sandbox();
    let enforced = sandbox.and_then(|sandbox| sandbox.enforcement().ok());
    let network = match enforced {
        Some(enforced) if rule.is_some_and(|rule| rule.sandbox.network.is_some()) => {
            NetworkGrant::of_rule(&enforced.network)
        }
        Some(enforced) => NetworkGrant::of_server(&enforced.network),
        None => NetworkGrant::None,
    };
    let writes_nothing = rule.is_some_and(|rule| rule.sandbox.writes_nothing());
    let confined = sandbox.map(|sandbox| ConfinedBy { sandbox: Arc::clone(sandbox), network, writes_nothing });
    ReportSettings { confined: confined.into_iter().collect(), ..report.clone() }
}

/// Runs a command to its end on this thread, and makes the answer.
pub(super) fn run(with: &RunsWith, events: &EventSender, job: Job, stop: StopSignal) -> CallEnded {
    let (key, is_audited) = (job.key, job.is_audited);
    let (mut invocation, ending) = job.split(stop, events, with);
    invocation.on_start = is_audited.then(|| note_start(key, None, &with.audit));
    // A panic ends only the call, with an error, and neither the thread nor the server.
    let outcome = catch_unwind(AssertUnwindSafe(|| with.executor.run(invocation)));
    ending.of(outcome)
}

/// Notes the start of a command, or of the command of a line with this number.
pub(super) fn note_start(key: u64, part: Option<usize>, audit: &Auditor) -> OnStart {
    let audit = audit.clone();
    OnStart(Box::new(move |started| audit.started(key, part, &started)))
}

/// Tells the observer that a command has ended. Since it has run, a panic of the observer is ignored.
pub(super) fn observe_end(observer: &dyn Observer, call: u64, outcome: CommandOutcome<'_>) {
    drop(catch_unwind(AssertUnwindSafe(|| observer.ended(&CommandEnded { call, outcome }))));
}

fn failure(word: &str, error: &ExecError) -> CallToolResult {
    let word = crate::policy::quoted(word);
    let sentence = match error {
        ExecError::ProgramGone { .. } | ExecError::InterpreterMissing { .. } => {
            format!("command {word} could not be started: {error}. {NOT_FOUND_NOTE}")
        }
        ExecError::ProgramChanged { .. }
        | ExecError::Untrusted { .. }
        | ExecError::Spawn { .. }
        | ExecError::TooLong { .. }
        | ExecError::Limits { .. }
        | ExecError::Confine { .. }
        | ExecError::NoLines
        | ExecError::Lost { .. } => {
            format!("command {word} failed: {error}")
        }
    };
    CallToolResult::error(sentence)
}
