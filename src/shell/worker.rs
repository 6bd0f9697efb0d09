//! Runs one call after another in the session, on the shell's own thread, and starts a new shell when it must.
//!
//! A shell may take long to start, or never answer. The thread waits for it only until a call comes. Then that call
//! waits, until its own end, and after it the next call.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::call::{Answer, Finished, ShellAction, ShellJob, ShellSettings};
use super::directories::ShellDirectory;
use super::error::ShellError;
use super::marker::Markers;
use super::session::{Ending, OpenedShell, Opening, Ran, Session, Watch, Watched, end_of, exit_status, how};
use crate::exec::{
    Beats, Captured, End, Heartbeat, Launcher, Limits, OnStart, Output, Spool, StartedCommand, StopSignal,
};
use crate::files::FileState;
use crate::policy::Base;

/// How long an answer waits for the shell that replaces the one that its call has ended.
const REPLACING: Duration = Duration::from_millis(500);

/// The answer to a call that the server does not run because it ends.
pub(super) const ENDS: &str = "the server ends";

/// The answer to a call during which the server panicked.
const PANICKED: &str = "the server failed while the shell ran the command; its log says more";

/// The fate of the first shell. Before it is decided, the thread makes the rules of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstShell {
    /// It is started; from now on the thread obeys stop signals whenever it waits.
    Started,
    /// It must not be started any more, and nobody waits for the thread.
    GivenUp,
}

/// The ends of a call on the thread that the loop holds before it ends.
#[derive(Debug)]
pub(super) struct Control {
    pub stop: StopSignal,
    pub heartbeat: Option<Heartbeat>,
}

/// A call since its turn.
#[derive(Debug)]
struct CommandBegun {
    started: Instant,
    restarted: Option<String>,
    /// Whether the shell itself runs a command that does not change its directory.
    stays: bool,
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

    /// Starts the first shell, and waits for it until a call comes.
    pub fn open_first(&mut self, directory: &Base, company: &StopSignal, reason: Option<String>) {
        let opened = self.open(directory, Some(company), None);
        // The first call reports what goes wrong here.
        self.lost = opened.err().or(reason);
    }

    /// Runs a call to its end.
    pub fn serve<T>(&mut self, job: ShellJob<T>, control: Control) -> Finished<T> {
        let ShellJob { context, distrust, action, start_directory, limits, spool, on_start } = job;
        let starts_nothing = action.is_brief();
        // A panic ends only the call, with an error, and neither the thread nor the server.
        let answer = catch_unwind(AssertUnwindSafe(|| {
            if let ShellAction::Restart(reason) = action {
                return self.restart(&start_directory, reason, limits, Some(&control.stop));
            }
            let stood = self.stands().cloned();
            if let Some(why) = distrust {
                self.lose(why);
            }
            self.run(action, (stood, &start_directory), (limits, spool), (control, on_start))
        }));
        let answer = answer.unwrap_or_else(|_| {
            self.lose("the server failed while the shell ran a command".to_owned());
            Err(PANICKED.to_owned())
        });
        let has_stayed = answer.as_ref().is_ok_and(|answer| answer.restarted.is_none());
        // Only a command that the shell runs itself leaves certainly nothing.
        let host = match starts_nothing && has_stayed {
            true => None,
            false => Some(self.session.as_ref().map(|session| session.host().clone()).unwrap_or_default()),
        };
        let directory = self.session.as_ref().and(self.stands()).cloned();
        Finished { context, answer, host, shell: self.shells, directory }
    }

    /// Runs a line in the shell, where one has to be started first. `stood` is where the shell was when the call was decided.
    fn run(
        &mut self,
        action: ShellAction,
        (stood, start): (Option<ShellDirectory>, &Base),
        (limits, spool): (Limits, Option<Arc<Spool>>),
        (Control { stop, heartbeat }, on_start): (Control, Option<OnStart>),
    ) -> Result<Answer, String> {
        let started = Instant::now();
        let (is_bound, relies_on_changes) = (action.is_bound_to_directory(), action.relies_on_changes());
        let (stays, program) = (action.stays(), action.program().map(Path::to_owned));
        let line = action.shell_line(limits, spool, self.markers.fresh())?;
        let restarted = self.revive(start, Some(&stop), started, limits)?;
        if is_bound && stood.is_some_and(|stood| !stood.is_same(&self.directory)) {
            let why = restarted.map_or_else(String::new, |why| format!("{why}: "));
            return Err(format!("{why}{MOVED}"));
        }
        if let Some(why) = restarted.as_ref().filter(|_| relies_on_changes) {
            return Err(format!("{why}: {RENEWED}"));
        }
        // As late as possible.
        if let Some(program) = program {
            self.settings.vouch(&program).map_err(|error| format!("it was not started: {error}"))?;
            if let Some(OnStart(tell)) = on_start {
                let file = FileState::of(&program).ok();
                tell(StartedCommand { pid: None, program, file, sha256: None });
            }
        }
        // Its time runs from its turn on, not from when the shell was ready.
        match self.watch(Watch::new(line, started), &stop, heartbeat, started) {
            Ok(ran) => self.conclude(CommandBegun { started, restarted, stays }, ran, start, Some(&stop)),
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
        stop: &StopSignal,
        heartbeat: Option<Heartbeat>,
        started: Instant,
    ) -> io::Result<Ran> {
        let session = self.session.as_mut().ok_or_else(|| io::Error::other("there is no shell"))?;
        if let Some(heartbeat) = heartbeat {
            watch.beats = Some(Beats::new(heartbeat, started));
        }
        match session.watch(watch, Some(stop), None)? {
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

    fn conclude(
        &mut self,
        begun: CommandBegun,
        ran: Ran,
        start: &Base,
        stop: Option<&StopSignal>,
    ) -> Result<Answer, String> {
        let CommandBegun { started, mut restarted, stays } = begun;
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
            OpenedShell::Waits(opening) => self.opening = Some(opening),
            OpenedShell::Session(session) => {
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
            let failed = |error| format!("the shell is not started, since {error}");
            // A shell that is started anew gets the network of the first.
            let launcher = self.settings.launcher.clone();
            self.settings.launcher = Launcher::for_sandbox(launcher, sandbox, None).map_err(failed)?;
            // This confines the thread, and so every shell that it starts; a second time has no effect.
            sandbox.confine_thread().map_err(failed)?;
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
