//! Runs one call after another in the session, and starts the shell anew where it must.
//!
//! What a shell does in no time is watched by the caller, since to wake another thread costs more than that. Everything
//! else is for the shell's own thread: what takes longer, what begins with a shell, and what ends without one.
//!
//! A shell may take long to start, or never answer. It is waited for by nobody longer than that one wants: the thread
//! alone waits until a call comes, a call until its own end, and the next one goes on.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::call::{Answer, Finished, ShellSettings, Task};
use super::dialect::Status;
use super::error::ShellError;
use super::marker::Markers;
use super::session::{Ending, Opened, Opening, Ran, Session, Watch, Watched, end_of, how};
use crate::exec::{Beats, Captured, End, Heartbeat, Limits, Output, StopSignal};

/// How long a call is watched by who begins it. Nothing else is served in this time.
const BRIEF: Duration = Duration::from_micros(300);

/// How long an answer waits for the shell that takes the place of the one which its call has ended.
const REPLACING: Duration = Duration::from_millis(500);

/// What a call comes to that a server does not run any more which ends.
pub(super) const ENDS: &str = "the server ends";

/// What a call comes to in which the server panicked.
const PANICKED: &str = "the server failed while the shell ran the command; its log says more";

/// A call for the thread, which may have begun.
#[derive(Debug)]
pub struct Work<T> {
    pub(super) context: T,
    pub(super) start_directory: PathBuf,
    pub(super) stage: Stage,
}

/// How far a call is.
#[derive(Debug)]
pub(super) enum Stage {
    /// Nothing was done yet.
    New { distrust: Option<String>, task: Task, limits: Limits },
    /// The shell has its line.
    Watching { begun: Begun, watch: Box<Watch> },
    /// There is no line for it, and this is why.
    Refused(String),
    /// The line has ended, or can't be watched any more.
    Ran { begun: Begun, ran: io::Result<Ran> },
}

/// What a call on the thread has to do with the loop before it ends.
pub(super) struct Aside {
    pub stop: StopSignal,
    pub heartbeat: Option<Heartbeat>,
}

/// What is known of a call since its turn.
#[derive(Debug)]
pub(super) struct Begun {
    started: Instant,
    restarted: Option<String>,
    /// Whether the shell itself runs a command, which leaves it where it stood.
    stays: bool,
}

/// How far the thread is with what can't be hurried: to make the rules of a sandbox looks through the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// It has started no shell yet.
    Preparing,
    /// It has, or is about to; from now on it waits for nothing without heeding a wish.
    Running,
    /// It must not start one any more, and nobody waits for it.
    Over,
}

/// A panic of who held it has left no session in it, and nothing panics while a life is held.
pub(super) fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What runs the calls.
#[derive(Debug)]
pub(super) struct Worker {
    pub settings: ShellSettings,
    life: Arc<Mutex<Life>>,
    markers: Markers,
    session: Option<Session>,
    /// The shell that still starts, where none is there.
    opening: Option<Opening>,
    directory: Arc<Path>,
    /// Why there is no session, where the next call has to tell it.
    lost: Option<String>,
}

impl Worker {
    pub fn new(settings: ShellSettings, life: Arc<Mutex<Life>>) -> Self {
        let directory = Path::new("").into();
        Self { settings, life, markers: Markers::default(), session: None, opening: None, directory, lost: None }
    }

    /// Starts the first shell, and waits for it until there is company.
    pub fn open_first(&mut self, directory: &Path, company: &StopSignal, reason: Option<String>) {
        let opened = self.open(directory, Some(company), None);
        // The first call tells what goes wrong here.
        self.lost = opened.err().or(reason);
    }

    /// Begins a call in the shell that there is, and watches it for a moment.
    pub fn begin(&mut self, task: Task, limits: Limits) -> Stage {
        let Some(session) = self.session.as_mut().filter(|_| self.lost.is_none()) else {
            return Stage::New { distrust: None, task, limits };
        };
        if !matches!(session.settle(), Ok(true)) {
            return Stage::New { distrust: None, task, limits };
        }
        let begun = Begun { started: Instant::now(), restarted: None, stays: task.stays() };
        let order = match task.order(limits, self.markers.fresh()) {
            Ok(order) => order,
            Err(why) => return Stage::Refused(why),
        };
        let watch = || session.watch(Session::begin(order, begun.started), None, Some(BRIEF));
        match catch_unwind(AssertUnwindSafe(watch)).unwrap_or_else(|_| Err(io::Error::other(PANICKED))) {
            Ok(Watched::Waits(watch)) => Stage::Watching { begun, watch },
            Ok(Watched::Ended(ran)) => Stage::Ran { begun, ran: Ok(ran) },
            Err(error) => Stage::Ran { begun, ran: Err(error) },
        }
    }

    /// Sees a call through; with nothing aside only one that has run.
    pub fn serve<T>(&mut self, work: Work<T>, aside: Option<Aside>) -> Finished<T> {
        let Work { context, start_directory, stage } = work;
        // A panic ends a call with an error, and neither the thread nor the server.
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(stage, &start_directory, aside)));
        let answer = answer.unwrap_or_else(|_| {
            self.lose("the server failed while the shell ran a command".to_owned());
            Err(PANICKED.to_owned())
        });
        let host = self.session.as_ref().map(|session| session.host().clone()).unwrap_or_default();
        Finished { context, answer, host: Some(host) }
    }

    fn answer(&mut self, stage: Stage, start: &Path, aside: Option<Aside>) -> Result<Answer, String> {
        let (stop, heartbeat) = aside.map_or((None, None), |aside| (Some(aside.stop), aside.heartbeat));
        let stop = stop.as_ref();
        let (begun, ran) = match stage {
            Stage::New { task: Task::Restart(reason), limits, .. } => return self.restart(start, reason, limits, stop),
            Stage::New { distrust, task, limits } => {
                if let Some(why) = distrust {
                    self.lose(why);
                }
                let begun = Begun { started: Instant::now(), restarted: None, stays: task.stays() };
                let order = task.order(limits, self.markers.fresh())?;
                let begun = Begun { restarted: self.revive(start, stop, begun.started, limits)?, ..begun };
                // Its time runs from its turn on, and not from when the shell was there.
                let ran = self.watch(Session::begin(order, begun.started), stop, heartbeat, begun.started);
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

    fn watch(
        &mut self,
        mut watch: Watch,
        stop: Option<&StopSignal>,
        heartbeat: Option<Heartbeat>,
        started: Instant,
    ) -> io::Result<Ran> {
        let session = self.session.as_mut().ok_or_else(|| io::Error::other("there is no shell"))?;
        if let Some(heartbeat) = heartbeat {
            watch.hear(Beats::new(heartbeat, started));
        }
        match session.watch(watch, stop, None)? {
            Watched::Ended(ran) => Ok(ran),
            Watched::Waits(_) => Err(io::Error::other("a watch without an end of its patience ended")),
        }
    }

    fn restart(
        &mut self,
        start: &Path,
        reason: String,
        limits: Limits,
        stop: Option<&StopSignal>,
    ) -> Result<Answer, String> {
        let started = Instant::now();
        (self.session, self.opening, self.lost) = (None, None, None);
        self.open_within(start, stop, started, limits)?;
        let nothing = Captured::default;
        let output = Output { end: End::Exited(0), stdout: nothing(), stderr: nothing(), elapsed: started.elapsed() };
        Ok(Answer { output, directory: Arc::clone(&self.directory), restarted: Some(reason) })
    }

    fn conclude(&mut self, begun: Begun, ran: Ran, start: &Path, stop: Option<&StopSignal>) -> Result<Answer, String> {
        let Begun { started, mut restarted, stays } = begun;
        let Ran { ending, stdout, stderr, ended_by_us, is_shutdown } = ran;
        let end = match ending {
            Ending::Answered(status) => {
                if let Some(session) = self.session.as_ref().filter(|_| !stays) {
                    self.directory = session.directory(&status).into();
                }
                ended_by_us.unwrap_or(End::Exited(status.code))
            }
            Ending::Died(status) => {
                self.session = None;
                let reason = format!("the shell ended {} during this call; its state is lost", how(status));
                restarted = Some(if is_shutdown { reason } else { self.replace(start, reason, stop) });
                ended_by_us.unwrap_or(end_of(status))
            }
            Ending::Unresponsive => {
                self.session = None;
                // No other shell is started for a server that ends itself.
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
        let output = Output { end, stdout, stderr, elapsed: started.elapsed() };
        Ok(Answer { output, directory: Arc::clone(&self.directory), restarted })
    }

    /// Makes sure that there is a shell; says why, where it had to be started.
    fn revive(
        &mut self,
        start_directory: &Path,
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

    /// Starts the shell that follows one that was lost during a call; what goes wrong with it is told too. One that takes
    /// its time is left to the next call.
    fn replace(&mut self, start_directory: &Path, reason: String, stop: Option<&StopSignal>) -> String {
        match self.open(start_directory, stop, Some(Instant::now() + REPLACING)) {
            Ok(()) => reason,
            Err(why) => {
                self.lost = Some(reason.clone());
                format!("{reason}, and no other could be started: {why}")
            }
        }
    }

    /// Makes sure that there is a shell for a call that has begun then.
    fn open_within(
        &mut self,
        start_directory: &Path,
        stop: Option<&StopSignal>,
        started: Instant,
        limits: Limits,
    ) -> Result<(), String> {
        self.open(start_directory, stop, Some(started + limits.timeout))?;
        match &self.opening {
            None => Ok(()),
            // Also where the call is not wanted any more, and then nobody hears it.
            Some(opening) => {
                let program = opening.program().to_owned();
                Err(ShellError::Starting { program, timeout: limits.timeout }.to_string())
            }
        }
    }

    /// Starts a shell, where none does so already, and waits for it: until it is there, or the wish to stop is, or that
    /// moment. Then it goes on starting.
    pub fn open(
        &mut self,
        start_directory: &Path,
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
                let told = Status { code: 0, directory: self.directory.display().to_string() };
                self.directory = session.directory(&told).into();
                self.session = Some(session);
            }
        }
        Ok(())
    }

    fn start(&mut self, directory: &Path) -> Result<Opening, String> {
        let program = self.settings.program.clone()?;
        if let Some(sandbox) = &self.settings.sandbox {
            // Of this thread, and so of every shell that it starts; a second time is nothing.
            sandbox.confine_thread().map_err(|error| format!("the shell is not started, since {error}"))?;
        }
        let mut life = lock(&self.life);
        if *life == Life::Over {
            return Err(ENDS.to_owned());
        }
        *life = Life::Running;
        drop(life);
        let opening =
            Opening::start(&program, &self.settings.environment, directory).map_err(|error| error.to_string())?;
        self.directory = directory.into();
        Ok(opening)
    }
}
