//! Commands that the loop of the server starts and watches by itself (Linux), because each thread that a call has to wake
//! costs a part of a spawn.
//!
//! The loop must never wait, so it starts only what starts at once: a native program on a file system of this machine,
//! which nothing confines or limits, and which can be checked without reading a file. It only watches commands that run
//! undisturbed: one that has to be ended, prints much or runs for long is given to a thread ([`Running::run_to_end`]).

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::iter;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::fs::statfs;

use super::os::{Over, SOURCES, Starting, Watched};
use super::run::{result, spawn_error};
use super::{ExecError, Invocation, Output, Processes, StartedCommand, StopSignal, Told};
use crate::files::{FileState, Held, is_of_this_machine, open_without_waiting};
use crate::integrity::{Checked, Needed, Untrusted, read_head};
use crate::policy::AllowedCommand;

/// How long a command is watched here. A loop that something holds up keeps no deadline.
const LONGEST: Duration = Duration::from_millis(200);
/// From how many bytes of a stream on others read it.
const MUCH: u64 = 16 * 1024;
/// How many programs are remembered. A client can name many, where everything is allowed.
const MOST: usize = 1024;

/// Finds out which commands start at once: the programs that can, each with its loader if it has one.
#[derive(Debug, Default)]
pub(crate) struct QuickStarts(HashMap<PathBuf, (FileState, Option<Vec<PathBuf>>)>);

/// The right to start a command here and now.
pub(crate) struct QuickStart<'a> {
    processes: &'a Processes,
    starting: Starting,
    /// The state of the program's file shortly before the start.
    state: FileState,
    /// The program as it was checked, if something is demanded of it.
    checked: Option<Checked>,
    /// The program and its loader, held until it has started.
    _opened: Vec<File>,
}

/// What to do with a command after a step.
pub(crate) enum Step {
    /// Watch it.
    Watch,
    /// Give it to a thread.
    Leave,
    /// Finish it.
    Over(io::Result<Over>),
}

/// A command that the loop watches.
pub(crate) struct Running {
    watched: Watched<StopSignal>,
    program: PathBuf,
    /// Whether no thread can be had for it.
    stays: bool,
}

impl QuickStarts {
    /// Whether the loop may start the command; `None` leaves it to a thread.
    pub(crate) fn of<'a>(&mut self, processes: &'a Processes, command: &AllowedCommand) -> Option<QuickStart<'a>> {
        if !processes.runs_plainly(command) {
            return None;
        }
        // If a file has to be read for the check, a thread does it.
        let checked = match processes.guard() {
            None => None,
            Some(guard) => Some(guard.check_known(command.program())?),
        };
        let state = match &checked {
            None => FileState::of(command.program()).ok()?,
            Some(checked) => checked.state().clone(),
        };
        let loaders = self.loaders(command.program(), &state)?;
        // The kernel follows a relative name from the directory of the command. Another file may be there since the last start.
        if !loaders.iter().all(|loader| loader.is_absolute() && is_local(loader).unwrap_or(false)) {
            return None;
        }
        // Where somebody has a lease on one of them, who executes it would wait. As long as it is open nobody gets one.
        let executed = iter::once(command.program()).chain(loaders.iter().map(PathBuf::as_path));
        let opened = executed.map(open_without_waiting).collect::<io::Result<Vec<File>>>().ok()?;
        let starting = Starting::of_main_thread()?;
        Some(QuickStart { processes, starting, state, checked, _opened: opened })
    }

    /// The loader of a program that a thread need not start, if it has one.
    fn loaders(&mut self, program: &Path, state: &FileState) -> Option<Vec<PathBuf>> {
        if let Some((_, loaders)) = self.0.get(program).filter(|(known, _)| known == state) {
            return loaders.clone();
        }
        if self.0.len() >= MOST {
            self.0.clear();
        }
        let loaders = if state.is_file() { loaders_of(program).unwrap_or(None) } else { None };
        self.0.insert(program.to_owned(), (state.clone(), loaders.clone()));
        loaders
    }
}

fn is_local(path: &Path) -> io::Result<bool> {
    Ok(is_of_this_machine(statfs(path)?.f_type))
}

/// The loader of a native program that is a file of this machine. A script needs its interpreter, and that can be anything.
fn loaders_of(program: &Path) -> io::Result<Option<Vec<PathBuf>>> {
    if !is_local(program)? {
        return Ok(None);
    }
    let head = read_head(&Held::open(program)?)?;
    let loaders = head.needed.into_iter().filter_map(|needed| match needed {
        Needed::Loader(loader) => Some(loader),
        Needed::Interpreter(..) | Needed::Shell => None,
    });
    Ok(head.is_native.then(|| loaders.collect()))
}

impl QuickStart<'_> {
    /// Starts the command as [`Executor::run`](super::Executor::run) does. Returns its start instead of telling it, if
    /// that is recorded.
    ///
    /// # Errors
    /// [`ExecError`] if it could not be started.
    pub(crate) fn begin(
        self,
        invocation: Invocation,
        is_recorded: bool,
    ) -> Result<(Running, Option<StartedCommand>), ExecError> {
        let Invocation { command: allowed, input, limits, stop, heartbeat, spool, feed, on_start: _ } = invocation;
        let started = Instant::now();
        let program = allowed.program().to_owned();
        let path = self.checked.as_ref().map_or_else(|| program.clone(), Checked::spawn_path);
        let mut command = Processes::of_words(path, &allowed, input.is_some() || feed.is_some());
        self.processes.surround(&mut command, &allowed);
        // Checked as late as possible, so that what was checked is what runs.
        if self.checked.as_ref().is_some_and(|checked| !checked.is_unchanged()) {
            return Err(ExecError::Untrusted { source: Untrusted::Changed { program } });
        }
        let child = self.starting.start(|| command.spawn()).map_err(|source| spawn_error(program.clone(), source))?;
        let start = is_recorded.then(|| StartedCommand {
            pid: Some(child.id()),
            program: program.clone(),
            file: Some(self.state),
            sha256: self.checked.as_ref().and_then(Checked::known_sha256),
        });
        let told = Told { heartbeat, spool, feed };
        let watched = Watched::new(child, input.unwrap_or_default(), stop, limits, started, told, None);
        let watched = watched.map_err(|source| ExecError::Lost { source })?;
        Ok((Running { watched, program, stays: false }, start))
    }
}

impl Running {
    /// How long to wait at most until the next [`step`](Self::step).
    pub(crate) fn wait(&mut self) -> Duration {
        let wait = self.watched.wait();
        if self.stays { wait } else { wait.min(LONGEST.saturating_sub(self.watched.age())) }
    }

    /// Has it watched here to its end.
    pub(crate) fn stay(&mut self) {
        self.stays = true;
    }

    /// What to wait for.
    pub(crate) fn sources(&self) -> [(Option<BorrowedFd<'_>>, PollFlags); SOURCES] {
        self.watched.sources()
    }

    /// Does what can be done, now that these sources are ready.
    pub(crate) fn step(&mut self, ready: [bool; SOURCES]) -> Step {
        match self.watched.step(ready).map(|over| over.or_else(|| self.watched.over())) {
            Ok(Some(over)) => Step::Over(Ok(over)),
            Ok(None) if self.is_quick() => Step::Watch,
            Ok(None) => Step::Leave,
            Err(error) => {
                self.watched.kill();
                Step::Over(Err(error))
            }
        }
    }

    fn is_quick(&self) -> bool {
        let is_quick = self.watched.written() < MUCH && self.watched.age() < LONGEST;
        self.stays || self.watched.is_running() && is_quick
    }

    /// What the command has come to.
    ///
    /// # Errors
    /// [`ExecError`] if it could not be watched.
    pub(crate) fn finish(self, over: io::Result<Over>) -> Result<Output, ExecError> {
        let Self { watched, program, .. } = self;
        result(over.and_then(|over| watched.finish(over)), program)
    }

    /// Watches it to its end on this thread, which is not the loop's.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn run_to_end(self) -> Result<Output, ExecError> {
        result(self.watched.run_to_end(), self.program)
    }
}
