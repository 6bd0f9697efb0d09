//! The persistent shell, as the loop uses it. Calls run one at a time. The directory of a call is decided when its turn
//! comes, since the current directory of the shell is not known before.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::auditor::end_of;
use super::event::{CallEnded, Event, HowEnded};
use super::inbox::EventSender;
use super::job::{heartbeat, observe_end};
use super::not_run::NotRun;
use super::observer::{CommandOutcome, Observer};
use crate::exec::{ExecError, Limits, Output, Spool, StartedCommand, Stop, stop};
use crate::files::{FileState, Held, are_same};
use crate::mcp::{CallToolResult, Revision};
use crate::policy::{Base, Directories, Refusal, ShellChange, ShellCommand, WorkingDirectory};
use crate::shell::dialect::{Change, current as dialect};
use crate::shell::{
    Finished, Shell, ShellAction, ShellDirectories, ShellDirectory, ShellJob, ShellSettings, ShellState,
};
use crate::tools::ReportSettings;
use crate::tools::shell::{ShellCommandFacts, shell_hint, shell_result};

/// How many bytes of the changes that calls made to the shell are remembered: more than a person is shown.
const MOST_CHANGES: usize = 16 * 1024;

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

    /// Keeps its whole output there.
    pub(super) fn keep(&mut self, spool: Option<Arc<Spool>>) {
        self.spool = spool;
    }

    /// Returns the facts for the record of its start; `None` if it runs no command.
    pub(super) fn started(&self) -> Option<StartedCommand> {
        let (TurnOf::Run(command) | TurnOf::Change(_, command)) = &self.request else { return None };
        // The program of a builtin is the shell itself.
        let program = command.program()?.to_owned();
        let file = FileState::of(&program).ok();
        Some(StartedCommand { pid: None, program, file, sha256: None })
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

/// The persistent shell; empty if there is none.
#[derive(Default)]
pub(super) struct ShellRunner {
    shell: Option<Shell<CallContext>>,
    /// Starts another shell if the client's roots change; `None` without a shell.
    maker: Option<Maker>,
    /// The client's roots that the shell was started with.
    client_roots: Vec<Arc<Held>>,
    /// Whether a call has run in the shell, so that a restart would lose state.
    is_used: bool,
    /// The directories for the decision on the last call; `None` for the operator's own.
    directories: Option<Arc<Directories>>,
    /// The current directory, as the shell's last answer said; `None` before the first.
    current: Option<ShellDirectory>,
    /// The previous directory, to which `cd -` goes.
    previous: Option<Arc<Path>>,
    home: Option<PathBuf>,
    /// The current directory before the running call, if that call changes it.
    changed_from: Option<Arc<Path>>,
    /// The changes that calls made to the shell, the oldest first.
    changes: Vec<ShellChange>,
    /// How many of these were made before the running call.
    changes_before: usize,
    /// The number of the shell in which they were made.
    number: u64,
    /// Whether the current directory is one that the operator does not allow.
    is_outside: bool,
    /// Why the shell was restarted during a call that had been answered already.
    untold: Option<String>,
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
        let home = settings.home().map(Into::into);
        let maker = Maker { settings, report, observer, events };
        let shell = maker.make(directory, None)?;
        Ok(Self { shell: Some(shell), maker: Some(maker), home, ..Self::default() })
    }

    /// The directories that a `cd` can refer to.
    pub(super) fn directories(&self) -> ShellDirectories<'_> {
        ShellDirectories {
            current: self.current.as_ref().map(|current| &*current.path),
            previous: self.previous.as_deref(),
            home: self.home.as_deref(),
        }
    }

    /// Begins a call; returns what ends it.
    ///
    /// # Errors
    /// [`NotRun`].
    pub(super) fn begin(&mut self, turn: ShellTurn, operators: &Directories) -> Result<Stop, NotRun> {
        let ShellTurn { request, mut context, limits, directories: decided_in, wants_progress, shown, spool } = turn;
        context.is_kept = spool.as_ref().is_some_and(|spool| spool.keeps());
        let directories = decided_in.as_deref().unwrap_or(operators);
        let action = self.action(request, directories, shown);
        let job = action.map(|(action, changed_from)| {
            self.changed_from = changed_from;
            context.restarted = self.untold.take();
            let outside = "the shell had come to a directory that is not allowed; its state is lost";
            let distrust = std::mem::take(&mut self.is_outside).then(|| outside.to_owned());
            ShellJob { context, distrust, action, start_directory: directories.base(), limits, spool }
        });
        self.directories = decided_in;
        self.is_used = true;
        self.run(job?, wants_progress)
    }

    /// The action for the shell, and the directory that it leaves if it changes directories.
    fn action(
        &mut self,
        turn: TurnOf,
        directories: &Directories,
        shown: Vec<String>,
    ) -> Result<(ShellAction, Option<Arc<Path>>), NotRun> {
        directories.check_client_roots()?;
        self.follow(directories)?;
        self.changes_before = self.changes.len();
        Ok(match turn {
            TurnOf::Run(command) => {
                self.check(&command, directories)?;
                if dialect::changes_state(command.words()) {
                    self.note(ShellChange { words: command.words().to_vec(), shown });
                }
                (ShellAction::Run(command), None)
            }
            TurnOf::Restart => (ShellAction::Restart("`restart` was called".to_owned()), None),
            TurnOf::Change(change, command) => {
                self.check(&command, directories)?;
                let target = self.directories().target(&change, directories)?;
                let start = || directories.resolve(None).ok().map(|directory| Arc::from(directory.path()));
                (
                    ShellAction::ChangeDirectory(target),
                    self.current.as_ref().map(|current| Arc::clone(&current.path)).or_else(start),
                )
            }
        })
    }

    /// Checks that the rule of a command allows it, with the paths among its words, in the shell's current directory.
    ///
    /// # Errors
    /// [`Refusal`].
    pub(super) fn check(&self, command: &ShellCommand, directories: &Directories) -> Result<(), Refusal> {
        if command.rule().is_none() {
            return Ok(());
        }
        let current = match &self.current {
            Some(ShellDirectory { held: Some(held), .. }) => WorkingDirectory::of(Arc::clone(held)),
            Some(ShellDirectory { path, held: None }) => WorkingDirectory::open(path),
            None => directories.base().open(),
        };
        let unknown = |error| Refusal::InShell { reason: format!("the shell's directory can't be looked at: {error}") };
        command.check_in(directories, &current.map_err(unknown)?, &self.changes)
    }

    /// Notes that a command may change what the shell holds.
    fn note(&mut self, change: ShellChange) {
        // Repeating the last change adds nothing new.
        if self.changes.last() == Some(&change) {
            return;
        }
        let length = |words: &[String]| words.iter().map(|word| word.len() + 1).sum::<usize>();
        let held: usize = self.changes.iter().map(|change| length(&change.words)).sum();
        // Beyond this nobody is shown the changes, so nothing that depends on them is approved.
        if held <= MOST_CHANGES {
            self.changes.push(change);
        }
    }

    /// Starts another shell if the client's roots are not those that this one was started with. It starts in the first
    /// of the new roots, without any state of the old shell.
    fn follow(&mut self, directories: &Directories) -> Result<(), NotRun> {
        let Some(maker) = self.maker.as_ref().filter(|_| !are_same(&self.client_roots, directories.client_roots()))
        else {
            return Ok(());
        };
        let reason = self.is_used.then(|| "the client's roots have changed; its state is lost".to_owned());
        // The old one ends first, so that there is never more than one shell.
        self.shell = None;
        self.shell = Some(maker.make(directories.base(), reason).map_err(|source| NotRun::NoThread { source })?);
        self.client_roots = directories.client_roots().to_vec();
        (self.current, self.previous) = (None, None);
        (self.is_outside, self.is_used) = (false, false);
        (self.changes, self.number) = (Vec::new(), 0);
        Ok(())
    }

    fn run(&mut self, job: ShellJob<CallContext>, wants_progress: bool) -> Result<Stop, NotRun> {
        let (Some(shell), Some(maker)) = (&mut self.shell, &self.maker) else { return Err(NotRun::NoShell) };
        // First, so that nothing runs that can't be ended.
        let (stop, signal) = stop().map_err(|source| NotRun::NoPipe { source })?;
        let heartbeat = wants_progress.then(|| heartbeat(job.context.key, maker.events.clone()));
        shell.run(job, signal, heartbeat).then_some(stop).ok_or(NotRun::NoShell)
    }

    /// Notes the state of the shell after a call.
    ///
    /// If a directory was moved or relinked between the check of a `cd` and its run, the shell may have ended up in a
    /// directory that the operator does not allow. Then it is restarted before anything else runs.
    pub(super) fn take(&mut self, state: ShellState, operators: &Directories) {
        let changed_from = self.changed_from.take();
        if state.shell != self.number {
            // The new shell has only the changes of this call.
            self.changes.drain(..self.changes_before.min(self.changes.len()));
            self.number = state.shell;
        }
        let Some(current) = state.directory else { return };
        if let Some(from) = changed_from.filter(|from| *from != current.path) {
            self.previous = Some(from);
        }
        if state.restarted.is_some() {
            self.previous = None;
        }
        let is_unmoved = self.current.as_ref().is_some_and(|before| match (&before.held, &current.held) {
            // A builtin other than `cd` leaves the shell where it was, with the same handle.
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            (_, None) => before.path == current.path,
            (None, Some(_)) => false,
        });
        if !is_unmoved {
            let directories = self.directories.as_deref().unwrap_or(operators);
            // If the kernel does not report the directory, there is only its path.
            let opened = current.held.clone().or_else(|| Held::open_directory(&current.path).ok().map(Arc::new));
            let is_outside = |current: Arc<Held>| !directories.is_base(&current) && directories.is_outside(&current);
            self.is_outside = opened.is_none_or(is_outside);
        }
        self.current = Some(current);
    }

    /// Makes the next answer say why the shell was restarted, since the call has been answered already.
    pub(super) fn tell_later(&mut self, restarted: Option<String>) {
        self.untold = restarted.or(self.untold.take());
    }

    /// Gives up a shell that has not started yet; returns whether it was given up, in which case its calls never end.
    pub(super) fn give_up(&self) -> bool {
        self.shell.as_ref().is_some_and(Shell::give_up)
    }

    /// Lets the shell end; returns whether it has, or never started.
    pub(super) fn close(&mut self) -> bool {
        self.shell.as_mut().is_none_or(Shell::close)
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
