//! The calls of the persistent shell: those that wait for their turn, and the one that runs.
//!
//! They have a queue of their own beside the calls that run one process each, and run one by one in the order of their
//! arrival. Where a `cd` may lead is decided when its turn comes, since only then it is known where the shell stands.

mod stand;
mod turns;

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::calls::{MOST_WAITING, MOST_WAITING_BYTES, Pending};
use super::event::Event;
use super::workers::{Ended, heartbeat};
use super::{CommandEnded, CommandOutcome, EventSender, Observer};
use crate::exec::{ExecError, Host, Limits, Output, Stop, StopReason, StopSignal, stop};
use crate::jsonrpc::{RequestId, encode};
use crate::mcp::{CallToolResult, Revision};
use crate::policy::{Directories, ShellCommand};
use crate::shell::dialect::Change;
use crate::shell::{Finished, First, Shell, ShellJob, ShellSettings};
use crate::tools::{ReportSettings, ShellCommandFacts, shell_result};

pub(super) use stand::Stand;

/// Why a call is not run.
const NO_THREAD: &str = "the persistent shell has no thread to run on";

/// What a call brings along to its answer.
#[derive(Debug)]
struct Context {
    key: u64,
    facts: ShellCommandFacts,
    revision: Revision,
}

/// A call of the shell's that has ended.
#[derive(Debug)]
pub struct ShellFinished {
    pub(super) key: u64,
    /// The result, encoded.
    pub(super) result: Vec<u8>,
    pub(super) end: Ended,
    /// Tells what it left behind; `None` where there can be nothing.
    pub(super) host: Option<Host>,
    pub(super) restarted: Option<String>,
    /// Where the shell stands now, where that is known.
    directory: Option<Arc<Path>>,
}

/// What is to be done when a call's turn comes.
#[derive(Debug)]
enum Turn {
    Run(ShellCommand),
    Change(Change),
    Restart,
}

#[derive(Debug)]
struct Waiting {
    pending: Pending,
    turn: Turn,
    context: Context,
    limits: Limits,
    size: usize,
    /// The directories with the client's roots; `None` for the operator's own.
    directories: Option<Arc<Directories>>,
}

#[derive(Debug)]
struct Running {
    key: u64,
    /// `None` once nobody wants the answer any more.
    pending: Option<Pending>,
    /// `None` once it has ended, and the loop is about to come to its answer.
    stop: Option<Stop>,
    /// Where the shell stood before, where the call changes that.
    before: Option<Arc<Path>>,
}

/// What a shell is made of, and where its answers go.
struct Maker {
    settings: ShellSettings,
    report: ReportSettings,
    observer: Arc<dyn Observer>,
    events: EventSender,
}

impl Maker {
    /// Starts a shell that may work in these roots of the client's; its first answer tells for what `reason`.
    fn make(&self, client_roots: &[PathBuf], directory: PathBuf, reason: Option<String>) -> io::Result<Shell<Context>> {
        let sandbox = self.settings.sandbox.as_ref().map(|sandbox| match client_roots {
            [] => Arc::clone(sandbox),
            roots => Arc::new(sandbox.with_directories(roots)),
        });
        let settings = ShellSettings { sandbox, ..self.settings.clone() };
        let (report, observer, events) = (self.report, Arc::clone(&self.observer), self.events.clone());
        Shell::start(settings, directory, reason, move |finished| {
            // Where the loop is gone nobody waits for the answer.
            events.send(Event::ShellFinished(ended(finished, &*observer, report)));
        })
    }
}

/// The persistent shell and its calls.
#[derive(Default)]
pub(super) struct ShellCalls {
    /// Dropped before the shell, which waits for the call that it runs.
    running: Option<Running>,
    shell: Option<Shell<Context>>,
    /// What another shell is made of, where the client's roots change; `None` without a shell.
    maker: Option<Maker>,
    /// The client's roots that the shell was started with.
    client_roots: Vec<PathBuf>,
    /// Whether a call has run in the shell, so that there is state to be lost.
    is_used: bool,
    /// Where the last call was decided; `None` for the operator's own directories.
    directories: Option<Arc<Directories>>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    /// Where the shell stands, as its last answer said; `None` before the first.
    directory: Option<Arc<Path>>,
    /// Where it stood before its last change of directory.
    previous: Option<Arc<Path>>,
    home: Option<PathBuf>,
    /// Whether it stands where the operator does not allow it to.
    has_left: bool,
    /// For the next call, where the last one has ended without.
    spare: Option<(Stop, StopSignal)>,
}

/// A call whose turn has come.
enum Begun {
    Runs(Stop),
    Ended(ShellFinished),
}

impl ShellCalls {
    /// Starts the shell, where there is to be one, in `directory`.
    pub(super) fn start(
        settings: Option<ShellSettings>,
        directory: PathBuf,
        report: ReportSettings,
        observer: Arc<dyn Observer>,
        events: EventSender,
    ) -> io::Result<Self> {
        let Some(settings) = settings else { return Ok(Self::default()) };
        let home = settings.home().map(Into::into);
        let maker = Maker { settings, report, observer, events };
        let shell = maker.make(&[], directory, None)?;
        Ok(Self { shell: Some(shell), maker: Some(maker), home, ..Self::default() })
    }

    /// Has the shell work in the roots that the client has now: where they are others than before, another shell takes
    /// its place, since what a thread is confined to can't be changed.
    fn follow(&mut self, directories: &Directories) -> Result<(), String> {
        let Some(maker) = self.maker.as_ref().filter(|_| self.client_roots != directories.client_roots()) else {
            return Ok(());
        };
        let reason = self.is_used.then(|| "the client's roots have changed; its state is lost".to_owned());
        // The old one ends first: there is one shell at any time.
        self.shell = None;
        let shell = maker.make(directories.client_roots(), directories.base().path, reason);
        self.shell = Some(shell.map_err(|error| format!("no thread can be had for the shell: {error}"))?);
        self.client_roots = directories.client_roots().to_vec();
        (self.directory, self.previous, self.has_left, self.is_used) = (None, None, false, false);
        Ok(())
    }

    /// Takes the running call off; `None` where nobody wants its answer.
    pub(super) fn finish(&mut self, finished: &ShellFinished) -> Option<Pending> {
        let running = self.running.take_if(|running| running.key == finished.key)?;
        if let Some(directory) = &finished.directory {
            if let Some(before) = running.before.filter(|before| before != directory) {
                self.previous = Some(before);
            }
            if finished.restarted.is_some() {
                self.previous = None;
            }
            self.directory = Some(directory.clone());
        }
        running.pending
    }

    /// Gives up every call of this request: a waiting one at once, the running one by ending its command.
    pub(super) fn cancel(&mut self, id: &RequestId) -> Vec<Pending> {
        let (gone, waiting): (Vec<Waiting>, Vec<Waiting>) =
            self.waiting.drain(..).partition(|call| call.pending.id == *id);
        self.waiting = waiting.into();
        self.waiting_bytes -= gone.iter().map(|call| call.size).sum::<usize>();
        let mut cancelled: Vec<Pending> = gone.into_iter().map(|call| call.pending).collect();
        if let Some(running) = &mut self.running {
            if let Some(pending) = running.pending.take_if(|pending| pending.id == *id) {
                if let Some(stop) = &running.stop {
                    stop.wish(StopReason::Cancelled);
                }
                cancelled.push(pending);
            }
        }
        cancelled
    }

    /// Gives up every call there is.
    pub(super) fn shut_down(&mut self) {
        self.waiting.clear();
        self.waiting_bytes = 0;
        if let Some(running) = &mut self.running {
            running.pending = None;
            if let Some(stop) = &running.stop {
                stop.wish(StopReason::Shutdown);
            }
        }
        if self.shell.as_ref().is_some_and(Shell::give_up) {
            // It waits for a shell that never comes, on a thread that nobody waits for.
            self.running = None;
        }
    }

    /// Ends the shell, and waits for that.
    pub(super) fn end(&mut self) {
        self.shut_down();
        self.shell = None;
    }

    /// Where the shell stands, as its last answer said.
    pub(super) fn directory(&self) -> Option<Arc<Path>> {
        self.directory.clone()
    }

    /// The call of this number, where it runs and its answer is wanted.
    pub(super) fn get_mut(&mut self, key: u64) -> Option<&mut Pending> {
        self.running.as_mut().filter(|running| running.key == key)?.pending.as_mut()
    }

    pub(super) fn running(&self) -> Option<u64> {
        self.running.as_ref().map(|running| running.key)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_none() && self.waiting.is_empty()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_none()
    }

    /// Has the shell begin a call, and see it through where it does so in no time.
    fn begin(&mut self, job: ShellJob<Context>, wants_progress: bool) -> Result<Begun, String> {
        let (Some(shell), Some(maker)) = (&mut self.shell, &self.maker) else { return Err(NO_THREAD.to_owned()) };
        // Before anything begins, so that nothing runs which can't be ended.
        let (wish, signal) = match self.spare.take() {
            Some(spare) => spare,
            None => stop().map_err(|error| format!("the server has no means left to run a command: {error}"))?,
        };
        let key = job.context.key;
        match shell.begin(job) {
            First::Finished(finished) => {
                self.spare = Some((wish, signal));
                Ok(Begun::Ended(ended(finished, &*maker.observer, maker.report)))
            }
            First::Work(work) => {
                let heartbeat = wants_progress.then(|| heartbeat(key, maker.events.clone()));
                shell.go_on(work, signal, heartbeat).then_some(Begun::Runs(wish)).ok_or_else(|| NO_THREAD.to_owned())
            }
        }
    }

    fn queue(&mut self, call: Waiting) -> Result<(), String> {
        if self.waiting.len() >= MOST_WAITING || self.waiting_bytes >= MOST_WAITING_BYTES {
            return Err("too many calls are waiting for the shell; wait for some of their answers first".to_owned());
        }
        self.waiting_bytes += call.size;
        self.waiting.push_back(call);
        Ok(())
    }

    /// Where the shell stands, and what a change of the directory can be relative to.
    pub(super) fn stand(&self) -> Stand<'_> {
        Stand { here: self.directory.as_deref(), previous: self.previous.as_deref(), home: self.home.as_deref() }
    }
}

fn ended(finished: Finished<Context>, observer: &dyn Observer, report: ReportSettings) -> ShellFinished {
    observe_end(observer, &finished);
    encoded(finished, report)
}

/// Tells of the end of a command; a panic in the hook is not the call's.
fn observe_end(observer: &dyn Observer, finished: &Finished<Context>) {
    let call = finished.context.key;
    // To start the shell anew is no command.
    if finished.context.facts.word.is_empty() {
        return;
    }
    let tell = || match &finished.answer {
        Ok(answer) => observer.ended(&CommandEnded { call, outcome: CommandOutcome::Ran(&answer.output) }),
        Err(why) => {
            let lost = ExecError::Lost { source: io::Error::other(why.clone()) };
            observer.ended(&CommandEnded { call, outcome: CommandOutcome::Failed(&lost) });
        }
    };
    drop(catch_unwind(AssertUnwindSafe(tell)));
}

fn encoded(finished: Finished<Context>, report: ReportSettings) -> ShellFinished {
    let Finished { context: Context { key, facts, revision }, answer, host } = finished;
    let directory = answer.as_ref().ok().map(|answer| Arc::clone(&answer.directory));
    let (result, end, restarted) = match answer {
        Ok(answer) => {
            let Output { end, elapsed, .. } = answer.output;
            let restarted = answer.restarted.clone();
            (shell_result(answer, &facts, report), Ended::Ran { end, elapsed }, restarted)
        }
        Err(why) => (CallToolResult::error(format!("the call failed: {why}")), Ended::Failed(why), None),
    };
    ShellFinished { key, result: encode::to_json(&result.for_revision(revision)), end, host, restarted, directory }
}
