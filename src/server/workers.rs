//! The threads that run calls: started when they are needed, then kept, since a new thread costs a part of a spawn.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use super::event::Event;
use super::{CommandEnded, CommandOutcome, EventSender, Observer};
use crate::exec::{End, ExecError, Executor, Invocation, Output};
use crate::jsonrpc::encode;
use crate::mcp::{CallToolResult, Revision};
use crate::policy::NOT_FOUND_NOTE;
use crate::tools::{Report, ReportSettings};

/// One call, ready to run.
#[derive(Debug)]
pub(super) struct Job {
    /// The loop's number for the call.
    pub key: u64,
    /// What to run.
    pub invocation: Invocation,
    /// What a shell would have expanded in the command line.
    pub literal_pattern: Option<&'static str>,
    /// What the result must be valid in.
    pub revision: Revision,
}

/// A call that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(super) key: u64,
    worker: usize,
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

/// The threads, and what they share: nothing but the two channels.
pub(super) struct Workers {
    executor: Arc<dyn Executor>,
    report: ReportSettings,
    observer: Arc<dyn Observer>,
    events: EventSender,
    started: Vec<Sender<Box<Job>>>,
    idle: Vec<usize>,
}

impl Workers {
    pub(super) fn new(
        executor: Arc<dyn Executor>,
        report: ReportSettings,
        observer: Arc<dyn Observer>,
        events: EventSender,
    ) -> Self {
        Self { executor, report, observer, events, started: Vec::new(), idle: Vec::new() }
    }

    /// Hands the job to an idle worker, or to a new one. Gives it back where no thread can be had.
    pub(super) fn run(&mut self, mut job: Box<Job>) -> Result<(), Box<Job>> {
        while let Some(worker) = self.idle.pop() {
            let Some(jobs) = self.started.get(worker) else { continue };
            match jobs.send(job) {
                Ok(()) => return Ok(()),
                Err(mpsc::SendError(returned)) => job = returned,
            }
        }
        let worker = self.started.len();
        let (jobs, receiver) = mpsc::channel::<Box<Job>>();
        let (executor, report, events) = (Arc::clone(&self.executor), self.report, self.events.clone());
        let observer = Arc::clone(&self.observer);
        let work = move || {
            for job in receiver {
                let finished = run(&*executor, &*observer, *job, worker, report);
                if events.send(Event::Finished(finished)).is_err() {
                    return;
                }
            }
        };
        if std::thread::Builder::new().name("worker".into()).spawn(work).is_err() {
            return Err(job);
        }
        self.started.push(jobs);
        self.started.last().map_or(Ok(()), |jobs| jobs.send(job).map_err(|mpsc::SendError(job)| job))
    }

    /// Takes a worker back whose call has ended.
    pub(super) fn release(&mut self, finished: &Finished) {
        self.idle.push(finished.worker);
    }
}

fn run(executor: &dyn Executor, observer: &dyn Observer, job: Job, worker: usize, report: ReportSettings) -> Finished {
    let Job { key, invocation, literal_pattern, revision } = job;
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
            (Report::result(output, literal_pattern, report), Ended::Ran { end, elapsed })
        }
        Ok(Err(error)) => (failure(&word, &error), Ended::Failed(error.to_string())),
        Err(_) => {
            let sentence = "the server failed while it ran the command; its log says more".to_owned();
            (CallToolResult::error(sentence.clone()), Ended::Failed(sentence))
        }
    };
    Finished { key, worker, result: encode::to_json(&result.for_revision(revision)), end }
}

fn failure(word: &str, error: &ExecError) -> CallToolResult {
    let word = crate::policy::quoted(word);
    let sentence = match error {
        ExecError::ProgramGone { .. } | ExecError::InterpreterMissing { .. } => {
            format!("command {word} could not be started: {error}. {NOT_FOUND_NOTE}")
        }
        ExecError::Spawn { .. } | ExecError::Lost { .. } => format!("command {word} failed: {error}"),
    };
    CallToolResult::error(sentence)
}
