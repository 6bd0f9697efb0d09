//! Runs one call after another in the session, and starts a new shell when it must.
//!
//! The caller itself watches the first moments of a call, since waking another thread costs more than that. The shell's
//! own thread does everything else: calls that take longer, calls that begin by starting a shell, and calls that end
//! without one.
//!
//! A shell may take long to start, or never answer. The thread waits for it only until a call comes. Then that call
//! waits, until its own end, and after it the next call.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::call::{Answer, Finished, ShellAction, ShellSettings};
use super::directories::ShellDirectory;
use super::error::ShellError;
use super::marker::Markers;
use super::session::{Ending, Opened, Opening, Ran, Session, Watch, Watched, end_of, exit_status, how};
use super::work::{Begun, Control, Stage, Work};
use crate::exec::{Beats, Captured, End, Heartbeat, Limits, Output, Spool, StopSignal};
use crate::policy::Base;

/// How long the caller watches a call. It serves nothing else in this time.
const BRIEF: Duration = Duration::from_micros(300);

/// How long an answer waits for the shell that replaces the one that its call has ended.
const REPLACING: Duration = Duration::from_millis(500);

/// The answer to a call that the server does not run because it ends.
pub(super) const ENDS: &str = "the server ends";

/// The answer to a call during which the server panicked.
const PANICKED: &str = "the server failed while the shell ran the command; its log says more";

/// What was decided about the first shell. Before that, its thread makes the rules of a sandbox, which searches the
/// system and can't be interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstShell {
    /// It is started; from now on the thread obeys stop signals whenever it waits.
    Started,
    /// It must not be started any more, and nobody waits for the thread.
    GivenUp,
}

/// Locks the worker. Even after a panic of a holder, the worker has no broken session.
pub(super) fn lock(held: &Mutex<Worker>) -> MutexGuard<'_, Worker> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a command did not run that was decided for the directory of a shell that is gone.
const MOVED: &str = "the shell was restarted in another directory than the one that the command was checked for, so it was not run; \
                     call it again to have it checked again";

/// Why a command did not run that a person approved for the state of a shell that is gone.
const RENEWED: &str = "the command was approved for a shell whose state is lost, so it was not run; call it again to have it approved \
                       for the new shell";

/// Runs the calls.
#[derive(Debug)]
pub(super) struct Worker {
    pub settings: ShellSettings,
    first: Arc<OnceLock<FirstShell>>,
    markers: Markers,
    session: Option<Session>,
    /// The shell that is still starting, if there is none yet.
    opening: Option<Opening>,
    /// How many shells there were.
    shells: u64,
    directory: ShellDirectory,
    /// Why there is no session, if the next call has to report it.
    lost: Option<String>,
}

impl Worker {
    pub fn new(settings: ShellSettings, first: Arc<OnceLock<FirstShell>>) -> Self {
        Self {
            settings,
            first,
            markers: Markers::default(),
            session: None,
            opening: None,
            shells: 0,
            directory: ShellDirectory { path: Path::new("").into(), held: None },
            lost: None,
        }
    }

    /// Ends the shell. Call it on the thread that started the shell, since only that thread can end its domain.
    pub fn close(&mut self) {
        (self.session, self.opening) = (None, None);
    }

    /// Starts the first shell, and waits for it until a call comes.
    pub fn open_first(&mut self, directory: &Base, company: &StopSignal, reason: Option<String>) {
        let opened = self.open(directory, Some(company), None);
        // The first call reports what goes wrong here.
        self.lost = opened.err().or(reason);
    }

    /// Begins a call in the running shell, and watches it for a moment.
    pub fn begin(&mut self, action: ShellAction, limits: Limits, spool: Option<Arc<Spool>>) -> Stage {
        let Some(session) = self.session.as_mut().filter(|_| self.lost.is_none()) else {
            return Stage::New { distrust: None, action, limits, spool };
        };
        // Checking a program can take long.
        let is_checked = self.settings.guard.is_some() && action.program().is_some();
        if is_checked || !matches!(session.settle(), Ok(true)) {
            return Stage::New { distrust: None, action, limits, spool };
        }
        let begun = Begun { started: Instant::now(), restarted: None, stays: action.stays() };
        let line = match action.shell_line(limits, spool, self.markers.fresh()) {
            Ok(line) => line,
            Err(why) => return Stage::Refused(why),
        };
        let watch = || session.watch(Watch::new(line, begun.started), None, Some(BRIEF));
        match catch_unwind(AssertUnwindSafe(watch)).unwrap_or_else(|_| Err(io::Error::other(PANICKED))) {
            Ok(Watched::Waits(watch)) => Stage::Watching { begun, watch },
            Ok(Watched::Ended(ran)) => Stage::Ran { begun, ran: Ok(ran) },
            Err(error) => Stage::Ran { begun, ran: Err(error) },
        }
    }

    /// Finishes a call; without `control` only one that has run.
    pub fn serve<T>(&mut self, work: Work<T>, control: Option<Control>) -> Finished<T> {
        let Work { context, start_directory, stage } = work;
        // A panic ends only the call, with an error, and neither the thread nor the server.
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(stage, &start_directory, control)));
        let answer = answer.unwrap_or_else(|_| {
            self.lose("the server failed while the shell ran a command".to_owned());
            Err(PANICKED.to_owned())
        });
        let host = self.session.as_ref().map(|session| session.host().clone()).unwrap_or_default();
        let directory = self.session.as_ref().and(self.stands()).cloned();
        Finished { context, answer, host: Some(host), shell: self.shells, directory }
    }

    fn answer(&mut self, stage: Stage, start: &Base, control: Option<Control>) -> Result<Answer, String> {
        let (stop, heartbeat) = control.map_or((None, None), |control| (Some(control.stop), control.heartbeat));
        let stop = stop.as_ref();
        let (begun, ran) = match stage {
            Stage::New { action: ShellAction::Restart(reason), limits, .. } => {
                return self.restart(start, reason, limits, stop);
            }
            Stage::New { distrust, action, limits, spool } => {
                let stood = self.stands().cloned();
                if let Some(why) = distrust {
                    self.lose(why);
                }
                let begun = Begun { started: Instant::now(), restarted: None, stays: action.stays() };
                let is_bound = action.is_bound_to_directory();
                let relies_on_changes = action.relies_on_changes();
                let program = action.program().map(Path::to_owned);
                let line = action.shell_line(limits, spool, self.markers.fresh())?;
                let begun = Begun { restarted: self.revive(start, stop, begun.started, limits)?, ..begun };
                if is_bound && stood.is_some_and(|stood| !stood.is_same(&self.directory)) {
                    let why = begun.restarted.map_or_else(String::new, |why| format!("{why}: "));
                    return Err(format!("{why}{MOVED}"));
                }
                if let Some(why) = begun.restarted.as_ref().filter(|_| relies_on_changes) {
                    return Err(format!("{why}: {RENEWED}"));
                }
                // As late as possible.
                if let Some(program) = program {
                    self.settings.vouch(&program).map_err(|error| format!("it was not started: {error}"))?;
                }
                // Its time runs from its turn on, not from when the shell was ready.
                let ran = self.watch(Watch::new(line, begun.started), stop, heartbeat, begun.started);
                (begun, ran)
            }
            Stage::Watching { begun, watch } => {
                let ran = self.watch(*watch, stop, heartbeat, begun.started);
                (begun, ran)
            }
            Stage::Refused(why) => return Err(why),
            Stage::Ran { begun, ran } => (begun, ran),
        };
        match ran {
            Ok(ran) => self.conclude(begun, ran, start, stop),
            Err(source) => {
                self.lose("the server could not watch it".to_owned());
                Err(ShellError::Lost { source }.to_string())
            }
        }
    }

    /// The shell's directory, or its last one if the shell was lost; `None` until a new shell has reported it.
    fn stands(&self) -> Option<&ShellDirectory> {
        Some(&self.directory).filter(|directory| self.opening.is_none() && !directory.path.as_os_str().is_empty())
    }

    fn watch(
        &mut self,
        mut watch: Watch,
        stop: Option<&StopSignal>,
        heartbeat: Option<Heartbeat>,
        started: Instant,
    ) -> io::Result<Ran> {
        let session = self.session.as_mut().ok_or_else(|| io::Error::other("there is no shell"))?;
        if let Some(heartbeat) = heartbeat {
            watch.beats = Some(Beats::new(heartbeat, started));
        }
        match session.watch(watch, stop, None)? {
            Watched::Ended(ran) => Ok(ran),
            Watched::Waits(_) => Err(io::Error::other("a watch without an end of its patience ended")),
        }
    }

    fn restart(
        &mut self,
        start: &Base,
        reason: String,
        limits: Limits,
        stop: Option<&StopSignal>,
    ) -> Result<Answer, String> {
        let started = Instant::now();
        (self.session, self.opening, self.lost) = (None, None, None);
        self.open_within(start, stop, started, limits)?;
        let nothing = Captured::default;
        let output = Output {
            end: End::Exited(0),
            stdout: nothing(),
            stderr: nothing(),
            limit: None,
            elapsed: started.elapsed(),
        };
        Ok(Answer { output, directory: self.directory.clone(), restarted: Some(reason) })
    }

    fn conclude(&mut self, begun: Begun, ran: Ran, start: &Base, stop: Option<&StopSignal>) -> Result<Answer, String> {
        let Begun { started, mut restarted, stays } = begun;
        let Ran { ending, stdout, stderr, ended_by_us, is_shutdown } = ran;
        let mut limit = None;
        let end = match ending {
            Ending::Answered(status) => {
                limit = self.session.as_mut().and_then(|session| session.hit(exit_status(status.code)));
                if let Some(session) = self.session.as_ref().filter(|_| !stays) {
                    self.directory = place(session, Path::new(&status.directory));
                }
                if self.session.as_ref().is_some_and(Session::is_spent) {
                    self.session = None;
                    let reason = "the shell was ended with what its command left behind, which could not be ended \
                                  otherwise; its state is lost";
                    let reason = reason.to_owned();
                    restarted = Some(if is_shutdown { reason } else { self.replace(start, reason, stop) });
                }
                ended_by_us.unwrap_or(End::Exited(status.code))
            }
            Ending::Died(status) => {
                limit = self.session.take().and_then(|mut session| session.hit(status));
                let reason = format!("the shell ended {} during this call; its state is lost", how(status));
                restarted = Some(if is_shutdown { reason } else { self.replace(start, reason, stop) });
                ended_by_us.unwrap_or(end_of(status))
            }
            Ending::Unresponsive => {
                self.session = None;
                // A server that ends starts no other shell.
                if is_shutdown {
                    return Err(ENDS.to_owned());
                }
                let reason = match ended_by_us {
                    Some(_) if cfg!(windows) => "the shell was ended with its command; its state is lost",
                    Some(_) => "the shell did not answer after its command was ended; its state is lost",
                    None => "the shell did not answer as a shell does; its state is lost",
                };
                restarted = Some(self.replace(start, reason.to_owned(), stop));
                ended_by_us.unwrap_or(End::Stopped)
            }
        };
        let output = Output { end, stdout, stderr, limit, elapsed: started.elapsed() };
        Ok(Answer { output, directory: self.directory.clone(), restarted })
    }

    /// Makes sure that there is a shell; returns why one had to be started, if so.
    fn revive(
        &mut self,
        start_directory: &Base,
        stop: Option<&StopSignal>,
        started: Instant,
        limits: Limits,
    ) -> Result<Option<String>, String> {
        if let Some(session) = &mut self.session {
            match session.settle() {
                Ok(true) => return Ok(self.lost.take()),
                Ok(false) | Err(_) => {
                    self.lose("the shell had ended before this call; its state is lost".to_owned());
                }
            }
        }
        self.open_within(start_directory, stop, started, limits)?;
        Ok(self.lost.take())
    }

    fn lose(&mut self, why: String) {
        (self.session, self.opening) = (None, None);
        self.lost = Some(why);
    }

    /// Starts the shell that replaces one that was lost during a call; the answer also says what goes wrong with it. If
    /// it is slow, the next call waits for it.
    fn replace(&mut self, start_directory: &Base, reason: String, stop: Option<&StopSignal>) -> String {
        match self.open(start_directory, stop, Some(Instant::now() + REPLACING)) {
            Ok(()) => reason,
            Err(why) => {
                self.lost = Some(reason.clone());
                format!("{reason}, and no other could be started: {why}")
            }
        }
    }

    /// Makes sure that there is a shell for a call that began at that time.
    fn open_within(
        &mut self,
        start_directory: &Base,
        stop: Option<&StopSignal>,
        started: Instant,
        limits: Limits,
    ) -> Result<(), String> {
        self.open(start_directory, stop, Some(started + limits.timeout))?;
        match &self.opening {
            None => Ok(()),
            // Even if the call was cancelled; then nobody reads the answer.
            Some(opening) => {
                let program = opening.program().to_owned();
                Err(ShellError::Starting { program, timeout: limits.timeout }.to_string())
            }
        }
    }

    /// Starts a shell, unless one is starting already, and waits for it, until it is ready, or a stop signal comes, or
    /// the given time. Afterwards it goes on starting.
    pub fn open(
        &mut self,
        start_directory: &Base,
        stop: Option<&StopSignal>,
        until: Option<Instant>,
    ) -> Result<(), String> {
        let opening = match self.opening.take() {
            Some(opening) => opening,
            None => self.start(start_directory)?,
        };
        match opening.wait(stop, until).map_err(|error| error.to_string())? {
            Opened::Waits(opening) => self.opening = Some(opening),
            Opened::Session(session) => {
                self.directory = place(&session, &self.directory.path);
                self.session = Some(session);
                self.shells += 1;
            }
        }
        Ok(())
    }

    fn start(&mut self, directory: &Base) -> Result<Opening, String> {
        let program = self.settings.program.clone()?;
        if let Some(sandbox) = &self.settings.sandbox {
            // This confines the thread, and so every shell that it starts; a second time has no effect.
            sandbox.confine_thread().map_err(|error| format!("the shell is not started, since {error}"))?;
        }
        self.settings.vouch(&program).map_err(|error| format!("the shell is not started: {error}"))?;
        if *self.first.get_or_init(|| FirstShell::Started) == FirstShell::GivenUp {
            return Err(ENDS.to_owned());
        }
        let opening = Opening::start(&program, &self.settings, directory).map_err(|error| error.to_string())?;
        self.directory = ShellDirectory { path: directory.path.as_path().into(), held: None };
        Ok(opening)
    }
}

/// The shell's directory: from the kernel if possible, else as the shell has reported it.
fn place(session: &Session, reported: &Path) -> ShellDirectory {
    match session.held_directory() {
        Some(held) => ShellDirectory { path: held.path().into(), held: Some(Arc::new(held)) },
        None => ShellDirectory { path: reported.into(), held: None },
    }
}
