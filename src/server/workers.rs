//! The threads that run processes: started when they are needed, then kept, since a new thread costs a part of a spawn.

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::auditing::stream;
use super::event::{CallEnded, EndOfCommand, Event, HowEnded, Progress};
use super::inbox::EventSender;
use super::not_run::NotRun;
use super::observer::{CommandEnded, CommandOutcome, Observer};
use crate::exec::{
    ExecError, Executor, Feed, Heartbeat, Invocation, Limits, OnStart, Output, Spool, StartedCommand, Stop, StopSignal,
    own_children, stop,
};
use crate::mcp::{CallToolResult, Revision};
use crate::policy::{AllowedCommand, NOT_FOUND_NOTE};
use crate::tools::{ReportSettings, execute_result};

/// A call that runs one process.
#[derive(Debug)]
pub(super) struct Job {
    /// The number of the call.
    pub key: u64,
    /// What to run.
    pub command: AllowedCommand,
    /// What it reads on its standard input.
    pub input: Option<Vec<u8>>,
    /// Its bounds.
    pub limits: Limits,
    /// Whether the client wants to hear how far it is.
    pub wants_progress: bool,
    /// What a shell would have expanded in the command line.
    pub literal_pattern: Option<&'static str>,
    /// What the result must be valid in.
    pub revision: Revision,
    /// Whether it is answered when it begins.
    pub is_background: bool,
    /// Whether its client wants to write to it.
    pub is_fed: bool,
    /// Its words, without secrets.
    pub shown: Vec<String>,
    /// Where its whole output is kept.
    pub spool: Option<Arc<Spool>>,
    /// What it reads behind the `input`.
    pub feed: Option<Arc<Feed>>,
    /// Whether its start and end are recorded.
    pub is_audited: bool,
}

impl Job {
    /// Whether its standard input stays open: where the call says `background: true`, and its rule allows input.
    pub(super) fn is_fed(&self) -> bool {
        self.is_fed && self.command.rule().is_none_or(|rule| rule.stdin)
    }
}

/// How often a client hears of a call that it wants to hear of.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Tells the loop how far the call is.
pub(super) fn heartbeat(key: u64, events: EventSender) -> Heartbeat {
    let tell = move |elapsed, last_line| {
        // Where the channel is full the loop is behind, and progress is the last thing that it needs.
        events.send_if_free(Event::Progress(Progress { key, elapsed, last_line }));
    };
    Heartbeat { every: HEARTBEAT, tell: Box::new(tell) }
}

/// What commands are run with. It is asked for by the first call, since the server may begin before it is made.
pub(super) struct RunsWith {
    pub executor: Arc<dyn Executor>,
    pub report: ReportSettings,
    pub observer: Arc<dyn Observer>,
}

/// What every thread has; they share nothing else but the channel.
struct Shared {
    executor: Arc<dyn Executor>,
    report: ReportSettings,
    observer: Arc<dyn Observer>,
    events: EventSender,
}

/// How a thread gets its jobs.
type Jobs = Sender<(Box<Job>, StopSignal)>;

/// The threads.
///
/// A thread that has been confined stays so: each rule with a sandbox or limits of its own has threads of its own.
pub(super) struct Workers {
    with: Box<dyn Fn() -> RunsWith>,
    events: EventSender,
    /// By the command whose rule it is; `None` for all others.
    idle: HashMap<Option<String>, Vec<Jobs>>,
    /// Those that run a call, by its number.
    busy: HashMap<u64, (Option<String>, Jobs)>,
}

impl Workers {
    pub(super) fn new(with: impl Fn() -> RunsWith + 'static, events: EventSender) -> Self {
        Self { with: Box::new(with), events, idle: HashMap::new(), busy: HashMap::new() }
    }

    /// Hands the job to an idle thread, or to a new one; gives what ends its command.
    ///
    /// # Errors
    /// [`NotRun::NoPipe`] and [`NotRun::NoThread`].
    pub(super) fn run(&mut self, job: Box<Job>) -> Result<Stop, NotRun> {
        // Before anything begins, so that nothing runs which can't be ended.
        let (stop, signal) = stop().map_err(|source| NotRun::NoPipe { source })?;
        let of_rule =
            job.command.rule().and_then(|rule| Some((rule.name.clone(), (self.with)().executor.for_rule(rule)?)));
        let (rule, executor) = of_rule.map_or((None, None), |(rule, executor)| (Some(rule), Some(executor)));
        let (key, mut job) = (job.key, (job, signal));
        loop {
            let jobs = match self.idle.get_mut(&rule).and_then(Vec::pop) {
                Some(jobs) => jobs,
                None => self.start(executor.clone(), |_| ()).map_err(|source| NotRun::NoThread { source })?,
            };
            match jobs.send(job) {
                Ok(()) => {
                    self.busy.insert(key, (rule, jobs));
                    return Ok(stop);
                }
                // That thread has ended.
                Err(mpsc::SendError(returned)) => job = returned,
            }
        }
    }

    /// Starts a thread before there is a job for it, which does beforehand what its first command would have to wait for.
    pub(super) fn prepare(&mut self) {
        // Without a thread the first command waits.
        let started = self.start(None, |executor| executor.prepare());
        self.idle.entry(None).or_default().extend(started);
    }

    /// Starts a thread, for the executor of a rule or for all others.
    fn start(
        &self,
        executor: Option<Arc<dyn Executor>>,
        first: impl FnOnce(&dyn Executor) + Send + 'static,
    ) -> io::Result<Jobs> {
        let (jobs, receiver) = mpsc::channel::<(Box<Job>, StopSignal)>();
        let RunsWith { executor: of_all, report, observer } = (self.with)();
        let executor = executor.unwrap_or(of_all);
        let shared = Shared { executor, report, observer, events: self.events.clone() };
        let work = move || {
            own_children();
            first(&*shared.executor);
            while let Ok((job, signal)) = receiver.recv() {
                let ended = run(&shared, *job, signal);
                if shared.executor.has_worn_thread() {
                    // Before the loop can give it another job.
                    drop(receiver);
                    shared.events.send(Event::Ended(ended));
                    return;
                }
                if !shared.events.send(Event::Ended(ended)) {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("worker".into()).spawn(work)?;
        Ok(jobs)
    }

    /// Takes the thread back of a call that has ended.
    pub(super) fn release(&mut self, key: u64) {
        if let Some((rule, jobs)) = self.busy.remove(&key) {
            self.idle.entry(rule).or_default().push(jobs);
        }
    }
}

fn run(shared: &Shared, job: Job, stop: StopSignal) -> CallEnded {
    let Job {
        key,
        command,
        input,
        limits,
        wants_progress,
        literal_pattern,
        revision,
        is_background: _,
        is_fed: _,
        shown: _,
        spool,
        feed,
        is_audited,
    } = job;
    let report = ReportSettings { kept_as: spool.as_ref().filter(|spool| spool.keeps()).map(|_| key), ..shared.report };
    let word = command.words().first().cloned().unwrap_or_default();
    let success = command.success_exit_codes().to_vec();
    let heartbeat = wants_progress.then(|| heartbeat(key, shared.events.clone()));
    let untold = Arc::new(Mutex::new(None));
    let on_start = is_audited.then(|| tell_start(key, shared.events.clone(), Arc::clone(&untold)));
    let invocation = Invocation { command, input, limits, stop, heartbeat, spool, feed, on_start };
    // A panic ends a call with an error, and neither the thread nor the server.
    let outcome = catch_unwind(AssertUnwindSafe(|| shared.executor.run(invocation)));
    let seen = match &outcome {
        Ok(Ok(output)) => CommandOutcome::Ran(output),
        Ok(Err(error)) => CommandOutcome::Failed(error),
        Err(_) => CommandOutcome::Panicked,
    };
    observe_end(&*shared.observer, key, seen);
    let facts = is_audited.then(|| {
        let started = untold.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::new(EndOfCommand {
            started,
            ..outcome.as_ref().ok().and_then(|ran| ran.as_ref().ok()).map(end_of).unwrap_or_default()
        })
    });
    let (result, how) = match outcome {
        Ok(Ok(output)) => {
            let Output { end, elapsed, .. } = output;
            (execute_result(output, literal_pattern, &success, report), HowEnded::Ran { end, elapsed })
        }
        Ok(Err(error)) => (failure(&word, &error), HowEnded::Failed(error.to_string())),
        Err(_) => {
            let sentence = "the server failed while it ran the command; its log says more".to_owned();
            (CallToolResult::error(sentence.clone()), HowEnded::Failed(sentence))
        }
    };
    CallEnded { key, result: result.encode(revision), how, shell: None, facts }
}

/// Tells the loop that a command has started. Nobody waits for the loop: where it is behind, it hears of it with the end.
fn tell_start(key: u64, events: EventSender, untold: Arc<Mutex<Option<StartedCommand>>>) -> OnStart {
    OnStart(Box::new(move |started| {
        let sent = events.try_send(Event::Started { key, started: Box::new(started) });
        if let Some(Event::Started { started, .. }) = sent.err().map(|event| *event) {
            *untold.lock().unwrap_or_else(PoisonError::into_inner) = Some(*started);
        }
    }))
}

/// What is recorded of a command that ran.
pub(super) fn end_of(output: &Output) -> EndOfCommand {
    let (stdout, stderr) = (Some(stream(&output.stdout)), Some(stream(&output.stderr)));
    EndOfCommand { started: None, limit: output.limit, stdout, stderr }
}

/// Tells of the end of a command. It has run, so a panic of the observer is dropped.
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
        | ExecError::Limits { .. }
        | ExecError::Confine { .. }
        | ExecError::Lost { .. } => {
            format!("command {word} failed: {error}")
        }
    };
    CallToolResult::error(sentence)
}
