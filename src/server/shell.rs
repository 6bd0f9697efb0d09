//! The persistent shell, as the loop has it: one call at a time, whose directory is decided when its turn comes, since only
//! then the current directory of the shell is known.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::event::{CallEnded, Event, HowEnded, ShellState};
use super::inbox::EventSender;
use super::job::{end_of, heartbeat, observe_end};
use super::not_run::NotRun;
use super::observer::{CommandOutcome, Observer};
use crate::exec::{ExecError, Limits, Output, Spool, StartedCommand, Stop, StopSignal, stop};
use crate::files::{FileState, Held, are_same};
use crate::mcp::{CallToolResult, Revision};
use crate::policy::{Base, Directories, Refusal, ShellChange, ShellCommand, WorkingDirectory};
use crate::shell::dialect::{Change, current as dialect};
use crate::shell::{Finished, First, Shell, ShellAction, ShellDirectories, ShellJob, ShellSettings};
use crate::tools::{ReportSettings, ShellCommandFacts, shell_result};

/// How much is remembered of what calls have changed in the shell, in bytes: more than a person is shown.
const MOST_CHANGES: usize = 16 * 1024;

/// A call that waits for its turn.
#[derive(Debug)]
pub(super) struct ShellTurn {
    pub request: TurnOf,
    pub context: CallContext,
    pub limits: Limits,
    /// The directories with the client's roots; `None` for the operator's own.
    pub directories: Option<Arc<Directories>>,
    /// Whether the client wants to hear how far it is.
    pub wants_progress: bool,
    /// Its words, without secrets; none for what runs no command.
    pub shown: Vec<String>,
    /// Where its whole output is kept.
    pub spool: Option<Arc<Spool>>,
}

impl ShellTurn {
    /// What is recorded of its start; `None` where it runs no command.
    pub(super) fn started(&self) -> Option<StartedCommand> {
        let (TurnOf::Run(command) | TurnOf::Change(_, command)) = &self.request else { return None };
        // What is built into the shell is the shell's own program.
        let program = command.program()?.to_owned();
        let file = FileState::of(&program).ok();
        Some(StartedCommand { pid: None, program, file, sha256: None })
    }
}

/// What a call asks of the shell.
#[derive(Debug)]
pub(super) enum TurnOf {
    Run(ShellCommand),
    Change(Change, ShellCommand),
    Restart,
}

/// What comes back with the end of a call.
#[derive(Debug)]
pub(super) struct CallContext {
    /// The number of the call.
    pub key: u64,
    pub facts: ShellCommandFacts,
    /// What the result must be valid in.
    pub revision: Revision,
    /// Whether its end is recorded.
    pub is_audited: bool,
    /// Whether its whole output can be read.
    pub is_kept: bool,
    /// Why the shell was started anew, where no answer has told that yet.
    pub restarted: Option<String>,
}

/// A call whose turn has come.
pub(super) enum Started {
    /// It runs, until this is used.
    Runs(Stop),
    /// It has ended already.
    Ended(CallEnded),
}

/// What a shell is made of, and where its answers go.
struct Maker {
    settings: ShellSettings,
    report: ReportSettings,
    observer: Arc<dyn Observer>,
    events: EventSender,
}

impl Maker {
    /// Starts a shell; its first answer tells for what `reason`.
    fn make(&self, directory: Base, reason: Option<String>) -> io::Result<Shell<CallContext>> {
        let (report, observer, events) = (self.report, Arc::clone(&self.observer), self.events.clone());
        Shell::start(self.settings.clone(), directory, reason, move |finished| {
            // Where the loop is gone nobody waits for the answer.
            events.send(Event::Ended(ended(finished, &*observer, report)));
        })
    }
}

/// The persistent shell; nothing in it without one.
#[derive(Default)]
pub(super) struct ShellRunner {
    shell: Option<Shell<CallContext>>,
    /// What another shell is made of, where the client's roots change; `None` without a shell.
    maker: Option<Maker>,
    /// The client's roots that the shell was started with.
    client_roots: Vec<Arc<Held>>,
    /// Whether a call has run in the shell, so that there is state to be lost.
    is_used: bool,
    /// Where the last call was decided; `None` for the operator's own directories.
    directories: Option<Arc<Directories>>,
    /// The current directory, as the shell's last answer said; `None` before the first.
    current: Option<Arc<Path>>,
    /// The same, held open, where the kernel tells.
    held: Option<Arc<Held>>,
    /// The directory before.
    previous: Option<Arc<Path>>,
    home: Option<PathBuf>,
    /// The current directory before the call that runs, where that changes it.
    changed_from: Option<Arc<Path>>,
    /// What calls have changed in the shell, the oldest first.
    changes: Vec<ShellChange>,
    /// How many of these were made before the call that runs.
    changes_before: usize,
    /// Which shell it is that they were made in.
    number: u64,
    /// Whether the current directory is one that the operator does not allow.
    is_outside: bool,
    /// Why it was started anew during a call that was answered before.
    untold: Option<String>,
    /// For the next call, where the last one has ended without.
    spare: Option<(Stop, StopSignal)>,
}

impl ShellRunner {
    /// Starts the shell, where there is to be one, in `directory`.
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

    /// What a change of the directory can be relative to.
    pub(super) fn directories(&self) -> ShellDirectories<'_> {
        ShellDirectories {
            current: self.current.as_deref(),
            previous: self.previous.as_deref(),
            home: self.home.as_deref(),
        }
    }

    /// Begins a call, and sees it through where the shell does it in no time.
    ///
    /// # Errors
    /// [`NotRun`].
    pub(super) fn begin(&mut self, turn: ShellTurn, operators: &Directories) -> Result<Started, NotRun> {
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

    /// What the shell is given, and the directory that it leaves by that.
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
            TurnOf::Restart => (ShellAction::Restart("it was asked for".to_owned()), None),
            TurnOf::Change(change, command) => {
                self.check(&command, directories)?;
                let target = self.directories().target(&change, directories)?;
                let start = || directories.resolve(None).ok().map(|directory| Arc::from(directory.path()));
                (ShellAction::ChangeDirectory(target), self.current.clone().or_else(start))
            }
        })
    }

    /// Makes sure that the rule of a command lets it run in the shell's directory, and takes the paths among its words.
    ///
    /// # Errors
    /// [`Refusal`].
    pub(super) fn check(&self, command: &ShellCommand, directories: &Directories) -> Result<(), Refusal> {
        if command.rule().is_none() {
            return Ok(());
        }
        let current = match (&self.held, &self.current) {
            (Some(held), _) => WorkingDirectory::of(Arc::clone(held)),
            (None, Some(path)) => WorkingDirectory::open(path),
            (None, None) => directories.base().open(),
        };
        let unknown = |error| Refusal::InShell { reason: format!("the shell's directory can't be looked at: {error}") };
        command.check_in(directories, &current.map_err(unknown)?, &self.changes)
    }

    /// Notes that a command may change what the shell holds.
    fn note(&mut self, change: ShellChange) {
        // To do the same again changes nothing that was not seen before.
        if self.changes.last() == Some(&change) {
            return;
        }
        let length = |words: &[String]| words.iter().map(|word| word.len() + 1).sum::<usize>();
        let held: usize = self.changes.iter().map(|change| length(&change.words)).sum();
        // So much is shown to nobody, and then nothing that depends on it is approved.
        if held <= MOST_CHANGES {
            self.changes.push(change);
        }
    }

    /// Starts another shell where the client's roots are not those that this one was started with: it begins in their
    /// first, and brings nothing along from the others.
    fn follow(&mut self, directories: &Directories) -> Result<(), NotRun> {
        let Some(maker) = self.maker.as_ref().filter(|_| !are_same(&self.client_roots, directories.client_roots()))
        else {
            return Ok(());
        };
        let reason = self.is_used.then(|| "the client's roots have changed; its state is lost".to_owned());
        // The old one ends first: there is one shell at any time.
        self.shell = None;
        self.shell = Some(maker.make(directories.base(), reason).map_err(|source| NotRun::NoThread { source })?);
        self.client_roots = directories.client_roots().to_vec();
        (self.current, self.held, self.previous) = (None, None, None);
        (self.is_outside, self.is_used) = (false, false);
        (self.changes, self.number) = (Vec::new(), 0);
        Ok(())
    }

    fn run(&mut self, job: ShellJob<CallContext>, wants_progress: bool) -> Result<Started, NotRun> {
        let (Some(shell), Some(maker)) = (&mut self.shell, &self.maker) else { return Err(NotRun::NoShell) };
        // Before anything begins, so that nothing runs which can't be ended.
        let (stop, signal) = match self.spare.take() {
            Some(spare) => spare,
            None => stop().map_err(|source| NotRun::NoPipe { source })?,
        };
        let key = job.context.key;
        match shell.begin(job) {
            First::Finished(finished) => {
                self.spare = Some((stop, signal));
                Ok(Started::Ended(ended(finished, &*maker.observer, maker.report)))
            }
            First::Work(work) => {
                let heartbeat = wants_progress.then(|| heartbeat(key, maker.events.clone()));
                shell.go_on(work, signal, heartbeat).then_some(Started::Runs(stop)).ok_or(NotRun::NoShell)
            }
        }
    }

    /// Takes what a call has told of the shell.
    ///
    /// A directory that was moved or linked anew between the check of a `cd` and its run could have led the shell where the
    /// operator does not allow it to be. Then it is started anew before anything else runs.
    pub(super) fn take(&mut self, state: ShellState, operators: &Directories) {
        let changed_from = self.changed_from.take();
        if state.shell != self.number {
            // Only what this call did is in the new one.
            self.changes.drain(..self.changes_before.min(self.changes.len()));
            self.number = state.shell;
        }
        let Some(current) = state.directory else { return };
        if let Some(from) = changed_from.filter(|from| *from != current) {
            self.previous = Some(from);
        }
        if state.restarted.is_some() {
            self.previous = None;
        }
        let path_before = self.current.replace(Arc::clone(&current));
        let held_before = std::mem::replace(&mut self.held, state.held);
        let is_unmoved = match (&held_before, &self.held) {
            // A command that the shell does by itself leaves it where it was.
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            (_, None) => path_before.as_ref() == Some(&current),
            (None, Some(_)) => false,
        };
        if !is_unmoved {
            let directories = self.directories.as_deref().unwrap_or(operators);
            // Where the kernel does not tell there is only a path to go by.
            let opened = self.held.clone().or_else(|| Held::open_directory(&current).ok().map(Arc::new));
            let is_outside = |current: Arc<Held>| !directories.is_base(&current) && directories.is_outside(&current);
            self.is_outside = opened.is_none_or(is_outside);
        }
    }

    /// Has the next answer tell why the shell was started anew, since that of the call is given already.
    pub(super) fn tell_later(&mut self, restarted: Option<String>) {
        self.untold = restarted.or(self.untold.take());
    }

    /// Gives the shell up where it has never started; says whether that is so, and then no call of it ever ends.
    pub(super) fn give_up(&self) -> bool {
        self.shell.as_ref().is_some_and(Shell::give_up)
    }

    /// Has the shell end; returns whether it has, or never started.
    pub(super) fn close(&mut self) -> bool {
        self.shell.as_mut().is_none_or(Shell::close)
    }
}

fn ended(finished: Finished<CallContext>, observer: &dyn Observer, report: ReportSettings) -> CallEnded {
    let Finished { context, mut answer, host, shell: number, stands } = finished;
    let CallContext { key, facts, revision, is_audited, is_kept, restarted: before } = context;
    if let Ok(answer) = &mut answer {
        answer.restarted = answer.restarted.take().or(before);
    }
    let report = ReportSettings { kept_as: is_kept.then_some(key), ..report };
    // To start the shell anew is no command.
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
            let (restarted, held) = (answer.restarted.clone(), answer.held.clone());
            let directory = Some(Arc::clone(&answer.directory));
            let shell = ShellState { host, shell: number, restarted, directory, held };
            (shell_result(answer, &facts, report), HowEnded::Ran { end, elapsed }, shell)
        }
        Err(why) => {
            let (directory, held) = stands.unzip();
            let shell = ShellState { host, shell: number, restarted: None, directory, held: held.flatten() };
            (CallToolResult::error(format!("the call failed: {why}")), HowEnded::Failed(why), shell)
        }
    };
    CallEnded { key, result: result.encode(revision), how, shell: Some(shell), facts: recorded }
}
