//! The threads that run calls: started when they are needed, then kept, since a new thread costs a part of a spawn.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use super::event::Event;
use super::{CommandEnded, CommandOutcome, EventSender, Observer};
use crate::exec::{End, ExecError, Executor, Heartbeat, Invocation, Output};
use crate::jsonrpc::encode;
use crate::mcp::{CallToolResult, Revision};
use crate::policy::NOT_FOUND_NOTE;
use crate::tools::{ReportSettings, execute_result};

/// One call, ready to run.
#[derive(Debug)]
pub(super) struct Job {
    /// The loop's number for the call.
    pub key: u64,
    /// What to run.
    pub invocation: Invocation,
    /// The client's roots, which a sandbox lets it work in; empty for none.
    pub client_roots: Vec<PathBuf>,
    /// What a shell would have expanded in the command line.
    pub literal_pattern: Option<&'static str>,
    /// What the result must be valid in.
    pub revision: Revision,
}

/// How far a call is that still runs.
#[derive(Debug)]
pub struct Progress {
    pub(super) key: u64,
    /// Since the command was started.
    pub(super) elapsed: Duration,
    /// What the command printed last.
    pub(super) last_line: String,
}

/// How often a client hears of a call that it wants to hear of.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Has the loop told how far the call is.
pub(super) fn heartbeat(key: u64, events: EventSender) -> Heartbeat {
    let tell = move |elapsed, last_line| {
        // Where the channel is full the loop is behind, and progress is the last thing that it needs.
        events.send_if_free(Event::Progress(Progress { key, elapsed, last_line }));
    };
    Heartbeat { every: HEARTBEAT, tell: Box::new(tell) }
}

/// A call that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(super) key: u64,
    /// The result, encoded.
    pub(super) result: Vec<u8>,
    pub(super) end: Ended,
}

/// What the log says of a call's end.
#[derive(Debug)]
pub(super) enum Ended {
    /// The command ran.
    Ran { end: End, elapsed: Duration },
    /// It did not, or was lost.
    Failed(String),
}

/// How many sets of roots have workers of their own at once.
const MOST_CREWS: usize = 4;

/// The threads, and what they share: nothing but the two channels.
///
/// A thread that has been confined to some directories stays so, so each set of a client's roots has a crew of its own;
/// the crew whose last call is the longest ago goes when there are too many, which happens as roots change.
pub(super) struct Workers {
    executor: Arc<dyn Executor>,
    report: ReportSettings,
    observer: Arc<dyn Observer>,
    events: EventSender,
    /// In the order of their last call.
    crews: VecDeque<Crew>,
    /// The workers that run a call, by its number.
    busy: HashMap<u64, (Vec<PathBuf>, Sender<Box<Job>>)>,
}

struct Crew {
    client_roots: Vec<PathBuf>,
    executor: Arc<dyn Executor>,
    idle: Vec<Sender<Box<Job>>>,
}

impl Workers {
    pub(super) fn new(
        executor: Arc<dyn Executor>,
        report: ReportSettings,
        observer: Arc<dyn Observer>,
        events: EventSender,
    ) -> Self {
        Self { executor, report, observer, events, crews: VecDeque::new(), busy: HashMap::new() }
    }

    /// The executor of calls of clients without roots.
    pub(super) fn executor(&self) -> Arc<dyn Executor> {
        Arc::clone(&self.executor)
    }

    /// Hands the job to an idle worker, or to a new one. Gives it back where no thread can be had.
    pub(super) fn run(&mut self, mut job: Box<Job>) -> Result<(), Box<Job>> {
        let (key, report, events) = (job.key, self.report, self.events.clone());
        self.turn_to(&job.client_roots);
        let Some(crew) = self.crews.back_mut() else { return Err(job) };
        let (client_roots, executor) = (crew.client_roots.clone(), Arc::clone(&crew.executor));
        while let Some(jobs) = crew.idle.pop() {
            match jobs.send(job) {
                Ok(()) => {
                    self.busy.insert(key, (client_roots, jobs));
                    return Ok(());
                }
                Err(mpsc::SendError(returned)) => job = returned,
            }
        }
        let (jobs, receiver) = mpsc::channel::<Box<Job>>();
        let observer = Arc::clone(&self.observer);
        let work = move || {
            for job in receiver {
                let finished = run(&*executor, &*observer, *job, report);
                if !events.send(Event::Finished(finished)) {
                    return;
                }
            }
        };
        if std::thread::Builder::new().name("worker".into()).spawn(work).is_err() {
            return Err(job);
        }
        jobs.send(job).map_err(|mpsc::SendError(job)| job)?;
        self.busy.insert(key, (client_roots, jobs));
        Ok(())
    }

    /// Takes the worker of a call back that has ended; it goes where its crew has gone.
    pub(super) fn release(&mut self, key: u64) {
        let Some((client_roots, jobs)) = self.busy.remove(&key) else { return };
        if let Some(crew) = self.crews.iter_mut().find(|crew| crew.client_roots == client_roots) {
            crew.idle.push(jobs);
        }
    }

    /// Makes the crew for these roots the last one.
    fn turn_to(&mut self, client_roots: &[PathBuf]) {
        let take = |crews: &mut VecDeque<Crew>, roots: &[PathBuf]| {
            crews.iter().position(|crew| crew.client_roots == roots).and_then(|place| crews.remove(place))
        };
        let crew = take(&mut self.crews, client_roots).unwrap_or_else(|| {
            let own = if client_roots.is_empty() { None } else { self.executor.with_directories(client_roots) };
            match own {
                Some(executor) => Crew { client_roots: client_roots.to_vec(), executor, idle: Vec::new() },
                // What the executor does is the same for all roots.
                None => take(&mut self.crews, &[]).unwrap_or_else(|| Crew {
                    client_roots: Vec::new(),
                    executor: Arc::clone(&self.executor),
                    idle: Vec::new(),
                }),
            }
        });
        if self.crews.len() >= MOST_CREWS {
            self.crews.pop_front();
        }
        self.crews.push_back(crew);
    }
}

fn run(executor: &dyn Executor, observer: &dyn Observer, job: Job, report: ReportSettings) -> Finished {
    let Job { key, invocation, client_roots: _, literal_pattern, revision } = job;
    let word = invocation.command.words().first().cloned().unwrap_or_default();
    // A panic ends a call with an error, and neither the worker nor the server.
    let outcome = catch_unwind(AssertUnwindSafe(|| executor.run(invocation)));
    let seen = match &outcome {
        Ok(Ok(output)) => CommandOutcome::Ran(output),
        Ok(Err(error)) => CommandOutcome::Failed(error),
        Err(_) => CommandOutcome::Panicked,
    };
    // The command has run, whatever becomes of who hears of it.
    let _ = catch_unwind(AssertUnwindSafe(|| observer.ended(&CommandEnded { call: key, outcome: seen })));
    let (result, end) = match outcome {
        Ok(Ok(output)) => {
            let Output { end, elapsed, .. } = output;
            (execute_result(output, literal_pattern, report), Ended::Ran { end, elapsed })
        }
        Ok(Err(error)) => (failure(&word, &error), Ended::Failed(error.to_string())),
        Err(_) => {
            let sentence = "the server failed while it ran the command; its log says more".to_owned();
            (CallToolResult::error(sentence.clone()), Ended::Failed(sentence))
        }
    };
    Finished { key, result: encode::to_json(&result.for_revision(revision)), end }
}

fn failure(word: &str, error: &ExecError) -> CallToolResult {
    let word = crate::policy::quoted(word);
    let sentence = match error {
        ExecError::ProgramGone { .. } | ExecError::InterpreterMissing { .. } => {
            format!("command {word} could not be started: {error}. {NOT_FOUND_NOTE}")
        }
        ExecError::Spawn { .. } | ExecError::Confine { .. } | ExecError::Lost { .. } => {
            format!("command {word} failed: {error}")
        }
    };
    CallToolResult::error(sentence)
}
