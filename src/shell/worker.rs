//! Runs one call after another in the session, and starts the shell anew where it must.
//!
//! What a shell does in no time is watched by the caller, since to wake another thread costs more than that. Everything
//! else is for the shell's own thread: what takes longer, what begins with a shell, and what ends without one.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::call::{Answer, Finished, ShellJob, ShellSettings, Task};
use super::dialect::Status;
use super::error::ShellError;
use super::marker::Markers;
use super::session::{Ending, Ran, Session, Watch, Watched, end_of, how};
use crate::exec::{Beats, Captured, End, Heartbeat, Limits, Output, StopSignal};

/// How long a call is watched by who begins it. Nothing else is served in this time.
const BRIEF: Duration = Duration::from_micros(300);

/// What a call comes to in which the server panicked.
const PANICKED: &str = "the server failed while the shell ran the command; its log says more";

/// What became of a call's first moments.
#[derive(Debug)]
pub enum First<T> {
    /// It has ended.
    Finished(Finished<T>),
    /// It is for the thread.
    Work(Work<T>),
}

/// A call for the thread, which may have begun.
#[derive(Debug)]
pub struct Work<T> {
    context: T,
    start_directory: PathBuf,
    stage: Stage,
}

/// How far a call is.
#[derive(Debug)]
enum Stage {
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
struct Aside {
    stop: StopSignal,
    heartbeat: Option<Heartbeat>,
}

/// What is known of a call since its turn.
#[derive(Debug)]
struct Begun {
    started: Instant,
    restarted: Option<String>,
    /// Whether the shell itself runs a command, which leaves it where it stood.
    stays: bool,
}

/// The shell, and the thread that sees its longer calls through. Dropping it ends both.
#[derive(Debug)]
pub struct Shell<T> {
    /// Locked by who runs a call, and by the thread while it starts the first shell.
    worker: Arc<Mutex<Worker>>,
    work: Option<Sender<(Work<T>, Aside)>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Shell<T> {
    /// Starts the thread, which at once starts the shell in `directory`; `finished` is called on it for each call that
    /// ends there. Where the shell takes another one's place, the first answer tells for what `reason`.
    ///
    /// A shell that can't be started is tried again at the next call, whose answer says why.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub fn start(
        settings: ShellSettings,
        directory: PathBuf,
        reason: Option<String>,
        mut finished: impl FnMut(Finished<T>) + Send + 'static,
    ) -> io::Result<Self> {
        let worker = Arc::new(Mutex::new(Worker::new(settings)));
        let (sender, received) = mpsc::channel::<(Work<T>, Aside)>();
        let shared = Arc::clone(&worker);
        let work = move || {
            // Who begins a call before this finds no session, and hands the call over.
            let mut opening = lock(&shared);
            // The first call tells what goes wrong here.
            opening.lost = opening.open(&directory).err().or(reason);
            drop(opening);
            for (work, aside) in received {
                let ended = lock(&shared).serve(work, Some(aside));
                finished(ended);
            }
        };
        let thread = std::thread::Builder::new().name("shell".into()).spawn(work)?;
        Ok(Self { worker, work: Some(sender), thread: Some(thread) })
    }

    /// Begins a call, and sees it through where the shell does it in no time. To be called once the last call has
    /// finished.
    pub fn begin(&self, job: ShellJob<T>) -> First<T> {
        let ShellJob { context, distrust, task, start_directory, limits } = job;
        let is_brief = distrust.is_none() && task.is_brief();
        // It is locked only while the thread starts the first shell.
        let Some(mut worker) = self.worker.try_lock().ok().filter(|_| is_brief) else {
            let stage = Stage::New { distrust, task, limits };
            return First::Work(Work { context, start_directory, stage });
        };
        let stage = worker.begin(task, limits);
        let has_answered =
            matches!(&stage, Stage::Refused(_) | Stage::Ran { ran: Ok(Ran { ending: Ending::Answered(_), .. }), .. });
        let work = Work { context, start_directory, stage };
        if has_answered {
            // Only what the shell does by itself is brief.
            First::Finished(Finished { host: None, ..worker.serve(work, None) })
        } else {
            First::Work(work)
        }
    }

    /// Hands a call over to the thread, with who may end it and who hears of it; says whether there still is a thread.
    pub fn go_on(&self, work: Work<T>, stop: StopSignal, heartbeat: Option<Heartbeat>) -> bool {
        let aside = Aside { stop, heartbeat };
        self.work.as_ref().is_some_and(|sender| sender.send((work, aside)).is_ok())
    }
}

impl<T> Drop for Shell<T> {
    fn drop(&mut self) {
        self.work = None;
        if let Some(thread) = self.thread.take() {
            // It panics nowhere, and if it did the shell would be dropped all the same.
            let _ = thread.join();
        }
    }
}

/// A panic of who held it has left no session in it.
fn lock(worker: &Mutex<Worker>) -> MutexGuard<'_, Worker> {
    worker.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct Worker {
    settings: ShellSettings,
    markers: Markers,
    session: Option<Session>,
    directory: Arc<Path>,
    /// Why there is no session, where the next call has to tell it.
    lost: Option<String>,
}

impl Worker {
    fn new(settings: ShellSettings) -> Self {
        Self { settings, markers: Markers::default(), session: None, directory: Path::new("").into(), lost: None }
    }

    /// Begins a call in the shell that there is, and watches it for a moment.
    fn begin(&mut self, task: Task, limits: Limits) -> Stage {
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
    fn serve<T>(&mut self, work: Work<T>, aside: Option<Aside>) -> Finished<T> {
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
        let (begun, ran) = match stage {
            Stage::New { task: Task::Restart(reason), .. } => return self.restart(start, reason),
            Stage::New { distrust, task, limits } => {
                if let Some(why) = distrust {
                    self.lose(why);
                }
                let begun = Begun { started: Instant::now(), restarted: None, stays: task.stays() };
                let order = task.order(limits, self.markers.fresh())?;
                let begun = Begun { restarted: self.revive(start)?, ..begun };
                let ran = self.watch(Session::begin(order, Instant::now()), aside, begun.started);
                (begun, ran)
            }
            Stage::Watching { begun, watch } => {
                let ran = self.watch(*watch, aside, begun.started);
                (begun, ran)
            }
            Stage::Refused(why) => return Err(why),
            Stage::Ran { begun, ran } => (begun, ran),
        };
        match ran {
            Ok(ran) => self.conclude(begun, ran, start),
            Err(source) => {
                self.lose("the server could not watch it".to_owned());
                Err(ShellError::Lost { source }.to_string())
            }
        }
    }

    fn watch(&mut self, mut watch: Watch, aside: Option<Aside>, started: Instant) -> io::Result<Ran> {
        let session = self.session.as_mut().ok_or_else(|| io::Error::other("there is no shell"))?;
        let (stop, heartbeat) = aside.map_or((None, None), |aside| (Some(aside.stop), aside.heartbeat));
        if let Some(heartbeat) = heartbeat {
            watch.hear(Beats::new(heartbeat, started));
        }
        match session.watch(watch, stop.as_ref(), None)? {
            Watched::Ended(ran) => Ok(ran),
            Watched::Waits(_) => Err(io::Error::other("a watch without an end of its patience ended")),
        }
    }

    fn restart(&mut self, start: &Path, reason: String) -> Result<Answer, String> {
        let started = Instant::now();
        self.session = None;
        self.lost = None;
        self.open(start)?;
        let nothing = Captured::default;
        let output = Output { end: End::Exited(0), stdout: nothing(), stderr: nothing(), elapsed: started.elapsed() };
        Ok(Answer { output, directory: Arc::clone(&self.directory), restarted: Some(reason) })
    }

    fn conclude(&mut self, begun: Begun, ran: Ran, start: &Path) -> Result<Answer, String> {
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
                restarted = Some(self.replace(start, reason));
                ended_by_us.unwrap_or(end_of(status))
            }
            Ending::Unresponsive => {
                self.session = None;
                // No other shell is started for a server that ends itself.
                if is_shutdown {
                    return Err("the server ends".to_owned());
                }
                let reason = match ended_by_us {
                    Some(_) if cfg!(windows) => "the shell was ended with its command; its state is lost",
                    Some(_) => "the shell did not answer after its command was ended; its state is lost",
                    None => "the shell did not answer as a shell does; its state is lost",
                };
                restarted = Some(self.replace(start, reason.to_owned()));
                ended_by_us.unwrap_or(End::Stopped)
            }
        };
        let output = Output { end, stdout, stderr, elapsed: started.elapsed() };
        Ok(Answer { output, directory: Arc::clone(&self.directory), restarted })
    }

    /// Makes sure that there is a shell; says why, where it had to be started.
    fn revive(&mut self, start_directory: &Path) -> Result<Option<String>, String> {
        if let Some(session) = &mut self.session {
            match session.settle() {
                Ok(true) => return Ok(self.lost.take()),
                Ok(false) | Err(_) => {
                    self.lose("the shell had ended before this call; its state is lost".to_owned());
                }
            }
        }
        self.open(start_directory)?;
        Ok(self.lost.take())
    }

    fn lose(&mut self, why: String) {
        self.session = None;
        self.lost = Some(why);
    }

    /// Starts the shell that follows one that was lost during a call; what goes wrong with it is told too.
    fn replace(&mut self, start_directory: &Path, reason: String) -> String {
        match self.open(start_directory) {
            Ok(()) => reason,
            Err(why) => {
                self.lost = Some(reason.clone());
                format!("{reason}, and no other could be started: {why}")
            }
        }
    }

    fn open(&mut self, start_directory: &Path) -> Result<(), String> {
        let program = self.settings.program.clone()?;
        if let Some(sandbox) = &self.settings.sandbox {
            // Of this thread, and so of every shell that it starts; a second time is nothing.
            sandbox.confine_thread().map_err(|error| format!("the shell is not started, since {error}"))?;
        }
        let session =
            Session::start(&program, &self.settings.environment, start_directory).map_err(|error| error.to_string())?;
        let told = Status { code: 0, directory: start_directory.display().to_string() };
        self.directory = session.directory(&told).into();
        self.session = Some(session);
        Ok(())
    }
}
