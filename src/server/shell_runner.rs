//! The persistent shell, as the loop and the threads of calls use it. Calls run one at a time. The directory of a call is decided when
//! its turn comes, since the current directory of the shell is not known before.

mod place;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::auditor::end_of;
use super::event::{CallEnded, Event, HowEnded};
use super::inbox::EventSender;
use super::job::{heartbeat, observe_end};
use super::log::Fields;
use super::not_run::NotRun;
use super::observer::{CommandOutcome, Observer};
use crate::exec::{ExecError, Limits, OnStart, Output, Spool, StopSignal};
use crate::files::{Held, are_same};
use crate::mcp::{CallToolResult, Revision};
use crate::policy::{Base, Directories, ShellChange, ShellCommand};
use crate::shell::dialect::{Change, current as dialect};
use crate::shell::{Finished, Shell, ShellAction, ShellJob, ShellSettings, ShellState};
use crate::tools::ReportSettings;
use crate::tools::shell::{ShellCommandFacts, shell_hint, shell_result};
pub(super) use place::ShellPlace;

/// A call that waits for its turn.
#[derive(Debug)]
pub(super) struct ShellTurn {
    pub request: TurnOf,
    pub context: CallContext,
    pub limits: Limits,
    /// The directories with the client's roots; `None` for the operator's own.
    pub directories: Option<Arc<Directories>>,
    /// Whether the client wants progress.
    pub wants_progress: bool,
    /// Its words, without secrets; empty if it runs no command.
    pub shown: Vec<String>,
    /// The fields of the log line, if it does not run after all.
    pub described: Fields,
    /// Where its whole output is kept.
    pub spool: Option<Arc<Spool>>,
}

impl ShellTurn {
    /// The revision in which its result must be valid.
    pub(super) fn revision(&self) -> Revision {
        self.context.revision
    }

    /// Its words, without secrets; empty if it runs no command.
    pub(super) fn shown(&self) -> &[String] {
        &self.shown
    }

    /// Takes the fields of the log line, if it does not run after all.
    pub(super) fn take_described(&mut self) -> Fields {
        std::mem::take(&mut self.described)
    }

    /// Keeps its whole output there.
    pub(super) fn keep(&mut self, spool: Option<Arc<Spool>>) {
        self.spool = spool;
    }
}

/// A request of a call to the shell.
#[derive(Debug)]
pub(super) enum TurnOf {
    Run(ShellCommand),
    Change(Change, ShellCommand),
    Restart,
}

/// The facts that are needed to report the end of a call.
#[derive(Debug)]
pub(super) struct CallContext {
    /// The number of the call.
    pub key: u64,
    pub facts: ShellCommandFacts,
    /// The revision in which the result must be valid.
    pub revision: Revision,
    /// Whether its end is recorded.
    pub is_audited: bool,
    /// Whether its whole output can be read.
    pub is_kept: bool,
    /// Why the shell was restarted, if no answer has said so yet.
    pub restarted: Option<String>,
}

/// Starts shells.
struct Maker {
    settings: ShellSettings,
    report: ReportSettings,
    observer: Arc<dyn Observer>,
    events: EventSender,
}

impl Maker {
    /// Starts a shell, whose first answer gives the `reason`.
    fn make(&self, directory: Base, reason: Option<String>) -> io::Result<Shell<CallContext>> {
        let (report, observer, events) = (self.report.clone(), Arc::clone(&self.observer), self.events.clone());
        Shell::start(self.settings.clone(), directory, reason, move |finished| {
            // If the loop is gone, nobody is waiting for the answer.
            events.send(Event::Ended(ended(finished, &*observer, report.clone())));
        })
    }
}

/// The persistent shell; empty if there is none. The loop and the threads of calls share it, and whoever holds its lock walks no
/// path.
#[derive(Clone, Default)]
pub(super) struct ShellRunner(Option<Arc<Shared>>);

struct Shared {
    /// Starts another shell if the client's roots change.
    maker: Maker,
    running: Mutex<RunningShell>,
}

/// The shell that runs, and its state after the last call.
#[derive(Default)]
struct RunningShell {
    shell: Option<Shell<CallContext>>,
    /// The client's roots that the shell was started with.
    client_roots: Vec<Arc<Held>>,
    /// Whether a call has run in the shell, so that a restart would lose state.
    is_used: bool,
    /// The directories for the decision on the last call; `None` for the operator's own.
    directories: Option<Arc<Directories>>,
    place: ShellPlace,
    /// The current directory before the running call, if that call changes it.
    changed_from: Option<Arc<Path>>,
    /// How many of the changes were made before the running call.
    changes_before: usize,
    /// The number of the shell in which they were made.
    number: u64,
    /// Why the shell was restarted during a call that had been answered already.
    untold: Option<String>,
    /// Whether an old shell is still being ended.
    is_ending_one: bool,
    /// Whether the server ends, so that no other shell starts.
    is_closed: bool,
}

/// A call that may run where the shell is.
pub(super) struct CheckedTurn {
    job: ShellJob<CallContext>,
    directories: Option<Arc<Directories>>,
    client_roots: Vec<Arc<Held>>,
    wants_progress: bool,
    /// The change that it may make in the shell.
    change: Option<ShellChange>,
    /// The directory that it leaves, if it changes directories.
    changed_from: Option<Arc<Path>>,
}

impl ShellRunner {
    /// Starts the shell in `directory`, if there is to be one.
    pub(super) fn start(
        settings: Option<ShellSettings>,
        directory: Base,
        report: ReportSettings,
        observer: Arc<dyn Observer>,
        events: EventSender,
    ) -> io::Result<Self> {
        let Some(settings) = settings else { return Ok(Self::default()) };
        let place = ShellPlace { home: settings.home().map(Into::into), ..ShellPlace::default() };
        let maker = Maker { settings, report, observer, events };
        let shell = Some(maker.make(directory, None)?);
        let running = Mutex::new(RunningShell { shell, place, ..RunningShell::default() });
        Ok(Self(Some(Arc::new(Shared { maker, running }))))
    }

    /// Where the shell is after the last call.
    pub(super) fn place(&self) -> ShellPlace {
        self.0.as_ref().map(|shared| shared.running().place.clone()).unwrap_or_default()
    }

    /// Where a call with these directories finds the shell.
    pub(super) fn place_in(&self, directories: &Directories) -> ShellPlace {
        self.0.as_ref().map(|shared| shared.running().place_in(directories)).unwrap_or_default()
    }

    /// Checks what is known only when the turn of a call has come.
    ///
    /// # Errors
    /// [`NotRun`].
    pub(super) fn check(&self, turn: ShellTurn, operators: &Directories) -> Result<CheckedTurn, NotRun> {
        let Some(shared) = &self.0 else { return Err(NotRun::NoShell) };
        let ShellTurn { request, mut context, limits, directories: decided_in, wants_progress, shown, spool, .. } =
            turn;
        context.is_kept = spool.as_ref().is_some_and(|spool| spool.keeps());
        let directories = decided_in.as_deref().unwrap_or(operators);
        directories.check_client_roots()?;
        let (place, moved_in) = shared.running().found_in(directories);
        let mut changed_from = None;
        let mut change = None;
        let action = match request {
            TurnOf::Run(command) => {
                place.check(&command, directories)?;
                if dialect::changes_state(command.words()) {
                    change = Some(ShellChange { words: command.words().to_vec(), shown });
                }
                ShellAction::Run(command)
            }
            TurnOf::Restart => ShellAction::Restart("`restart` was called".to_owned()),
            TurnOf::Change(change, command) => {
                place.check(&command, directories)?;
                let target = place.directories().target(&change, directories)?;
                let start = || directories.resolve(None).ok().map(|directory| Arc::from(directory.path()));
                changed_from = place.current.as_ref().map(|current| Arc::clone(&current.path)).or_else(start);
                ShellAction::ChangeDirectory(target)
            }
        };
        let outside = "the shell had come to a directory that is not allowed; its state is lost";
        let is_outside = moved_in.is_some_and(|before| place.is_outside(before.as_deref().unwrap_or(operators)));
        let distrust = is_outside.then(|| outside.to_owned());
        let start_directory = directories.base();
        let client_roots = directories.client_roots().to_vec();
        let job = ShellJob { context, distrust, action, start_directory, limits, spool, on_start: None };
        Ok(CheckedTurn { job, directories: decided_in, client_roots, wants_progress, change, changed_from })
    }

    /// Begins a call, which `stop` ends. `on_start` is told when the shell gets its command.
    ///
    /// # Errors
    /// [`NotRun::NoShell`] and [`NotRun::NoThread`].
    pub(super) fn run(&self, turn: CheckedTurn, stop: StopSignal, on_start: Option<OnStart>) -> Result<(), NotRun> {
        let Some(shared) = &self.0 else { return Err(NotRun::NoShell) };
        let CheckedTurn { mut job, directories, client_roots, wants_progress, change, changed_from } = turn;
        let mut running = shared.following(&job.start_directory, client_roots)?;
        running.changes_before = running.place.changes.len();
        change.into_iter().for_each(|change| running.place.note(change));
        job.context.restarted = running.untold.take();
        job.on_start = on_start;
        (running.directories, running.changed_from) = (directories, changed_from);
        running.is_used = true;
        let heartbeat = wants_progress.then(|| heartbeat(job.context.key, shared.maker.events.clone()));
        let shell = running.shell.as_mut().ok_or(NotRun::NoShell)?;
        shell.run(job, stop, heartbeat).then_some(()).ok_or(NotRun::NoShell)
    }

    /// Notes the state of the shell after a call.
    pub(super) fn take(&self, state: ShellState) {
        self.0.iter().for_each(|shared| shared.running().take(&state));
    }

    /// Makes the next answer say why the shell was restarted, since the call has been answered already.
    pub(super) fn tell_later(&self, restarted: Option<String>) {
        let Some(shared) = &self.0 else { return };
        let mut running = shared.running();
        running.untold = restarted.or(running.untold.take());
    }

    /// Gives up a shell that has not started yet; returns whether it was given up, in which case its calls never end.
    pub(super) fn give_up(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| shared.running().shell.as_ref().is_some_and(Shell::give_up))
    }

    /// Lets the shell end; returns whether it has, or never started.
    pub(super) fn close(&self) -> bool {
        let Some(shared) = &self.0 else { return true };
        let mut running = shared.running();
        running.is_closed = true;
        !running.is_ending_one && running.shell.as_mut().is_none_or(Shell::close)
    }
}

impl Shared {
    /// Starts another shell if the client's roots are not those that this one was started with. It starts in the first
    /// of the new roots, without any state of the old shell.
    fn following(&self, start: &Base, client_roots: Vec<Arc<Held>>) -> Result<MutexGuard<'_, RunningShell>, NotRun> {
        let mut running = self.running();
        if are_same(&running.client_roots, &client_roots) {
            return Ok(running);
        }
        let reason = running.is_used.then(|| "the client's roots have changed; its state is lost".to_owned());
        let old = running.shell.take();
        running.is_ending_one = true;
        drop(running);
        // It ends first, so that there is never more than one shell, and that may take its time.
        drop(old);
        let mut running = self.running();
        running.is_ending_one = false;
        if running.is_closed {
            return Err(NotRun::NoShell);
        }
        running.shell = Some(self.maker.make(start.clone(), reason).map_err(|source| NotRun::NoThread { source })?);
        running.client_roots = client_roots;
        running.place = running.place.lost();
        running.number = 0;
        Ok(running)
    }

    fn running(&self) -> MutexGuard<'_, RunningShell> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningShell {
    /// Where a call with these directories finds the shell: at its start, if its client's roots are others.
    fn place_in(&self, directories: &Directories) -> ShellPlace {
        let is_same = are_same(&self.client_roots, directories.client_roots());
        if is_same { self.place.clone() } else { self.place.lost() }
    }

    /// The same, and the directories of the last call if it has told where the shell is; `None` in them for the operator's own.
    fn found_in(&self, directories: &Directories) -> (ShellPlace, Option<Option<Arc<Directories>>>) {
        let place = self.place_in(directories);
        let is_known = place.current.is_some();
        (place, is_known.then(|| self.directories.clone()))
    }

    fn take(&mut self, state: &ShellState) {
        let changed_from = self.changed_from.take();
        if state.shell != self.number {
            // The new shell has only the changes of this call.
            let changes = Arc::make_mut(&mut self.place.changes);
            changes.drain(..self.changes_before.min(changes.len()));
            self.number = state.shell;
        }
        let Some(current) = &state.directory else { return };
        if let Some(from) = changed_from.filter(|from| *from != current.path) {
            self.place.previous = Some(from);
        }
        if state.restarted.is_some() {
            self.place.previous = None;
        }
        self.place.current = Some(current.clone());
    }
}

fn ended(finished: Finished<CallContext>, observer: &dyn Observer, report: ReportSettings) -> CallEnded {
    let Finished { context, mut answer, host, shell: number, directory } = finished;
    let CallContext { key, facts, revision, is_audited, is_kept, restarted: before } = context;
    if let Ok(answer) = &mut answer {
        answer.restarted = answer.restarted.take().or(before);
    }
    let ran_in = answer.as_ref().ok().map(|answer| answer.directory.path.to_path_buf());
    let report = ReportSettings { kept_as: is_kept.then_some(key), directory: ran_in, ..report };
    // A restart of the shell isn't a command.
    if !facts.word.is_empty() {
        match &answer {
            Ok(answer) => observe_end(observer, key, CommandOutcome::Ran(&answer.output)),
            Err(why) => {
                let lost = ExecError::Lost { source: io::Error::other(why.clone()) };
                observe_end(observer, key, CommandOutcome::Failed(&lost));
            }
        }
    }
    let recorded = answer.as_ref().ok().filter(|_| is_audited).map(|answer| Box::new(end_of(&answer.output)));
    let (result, how, shell) = match answer {
        Ok(answer) => {
            let Output { end, elapsed, .. } = answer.output;
            let (restarted, directory) = (answer.restarted.clone(), Some(answer.directory.clone()));
            let shell = ShellState { host, shell: number, restarted, directory };
            let hint = shell_hint(&answer, &facts, &report);
            (shell_result(answer, &facts, &report), HowEnded::Ran { end, elapsed, hint }, shell)
        }
        Err(why) => {
            let shell = ShellState { host, shell: number, restarted: None, directory };
            (CallToolResult::error(format!("the call failed: {why}")), HowEnded::Failed(why), shell)
        }
    };
    CallEnded { key, result: result.encode(revision), how, shell: Some(shell), facts: recorded }
}
