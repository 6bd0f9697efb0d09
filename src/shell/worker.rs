//! The thread that owns the session: runs one call after another, and starts the shell anew where it must.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::dialect::{Status, current as dialect};
use super::error::ShellError;
use super::marker::Marker;
use super::session::{Ending, Ran, Session, end_of, how};
use crate::exec::{Captured, End, Environment, Host, Limits, StopSignal};
use crate::policy::ShellCommand;
use crate::sandbox::Sandbox;

/// What the shell is made of.
#[derive(Debug, Clone)]
pub struct ShellSettings {
    /// The program, by its absolute path, or why there is none.
    pub program: Result<PathBuf, String>,
    /// What it and its commands find in their environment.
    pub environment: Environment,
    /// What it and its commands are confined to; `None` for nothing.
    pub sandbox: Option<Arc<Sandbox>>,
}

/// One call, ready to run.
#[derive(Debug)]
pub struct ShellJob<T> {
    /// What the caller wants back with the call's end.
    pub context: T,
    /// Why the shell that is there must not be used any more, where it must not.
    pub distrust: Option<String>,
    /// What to do.
    pub task: Task,
    /// Where a shell starts that has to be started for this call.
    pub start_directory: PathBuf,
    /// Its bounds.
    pub limits: Limits,
    /// Where the wish to end it arrives.
    pub stop: StopSignal,
}

/// What a call asks of the shell.
#[derive(Debug)]
pub enum Task {
    /// To run a command, which is used up.
    Run(ShellCommand),
    /// To change its directory to this canonical path, which was checked.
    ChangeDirectory(PathBuf),
    /// To end, and to be started anew, for this reason.
    Restart(String),
}

/// A call that has ended.
#[derive(Debug)]
pub struct Finished<T> {
    /// As the job brought it.
    pub context: T,
    /// What it came to, or why there is no shell to ask.
    pub answer: Result<Answer, String>,
    /// Tells what the call left behind; of no shell, where there is none.
    pub host: Host,
}

/// What a call came to.
#[derive(Debug)]
pub struct Answer {
    /// How the command ended.
    pub end: End,
    /// What was kept of its standard output.
    pub stdout: Captured,
    /// What was kept of its standard error.
    pub stderr: Captured,
    /// Where the shell stands now.
    pub directory: PathBuf,
    /// Why the shell had to be started anew.
    pub restarted: Option<String>,
    /// From the call's turn to its end.
    pub elapsed: Duration,
}

/// The handle of the thread. Dropping it ends the shell.
#[derive(Debug)]
pub struct Shell<T> {
    jobs: Option<Sender<Box<ShellJob<T>>>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Shell<T> {
    /// Starts the thread, which at once starts the shell in `directory`; `finished` is called on it for each call. Where
    /// the shell takes another one's place, the first answer tells for what `reason`.
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
    ) -> std::io::Result<Self> {
        let (jobs, received): (_, Receiver<Box<ShellJob<T>>>) = mpsc::channel();
        let work = move || {
            let mut worker = Worker { settings, session: None, directory: PathBuf::new(), lost: None };
            // The first call tells what goes wrong here.
            worker.lost = worker.open(&directory).err().or(reason);
            for job in received {
                finished(worker.serve(*job));
            }
        };
        let thread = std::thread::Builder::new().name("shell".into()).spawn(work)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Hands over one call; the next one only once this one has finished. Gives it back where the thread is gone.
    ///
    /// # Errors
    /// The job itself.
    pub fn run(&self, job: Box<ShellJob<T>>) -> Result<(), Box<ShellJob<T>>> {
        match &self.jobs {
            Some(jobs) => jobs.send(job).map_err(|mpsc::SendError(job)| job),
            None => Err(job),
        }
    }
}

impl<T> Drop for Shell<T> {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // It panics nowhere, and if it did the shell would be dropped all the same.
            let _ = thread.join();
        }
    }
}

struct Worker {
    settings: ShellSettings,
    session: Option<Session>,
    directory: PathBuf,
    /// Why there is no session, where the next call has to tell it.
    lost: Option<String>,
}

impl Worker {
    fn serve<T>(&mut self, job: ShellJob<T>) -> Finished<T> {
        let ShellJob { context, distrust, task, start_directory, limits, stop } = job;
        if let Some(why) = distrust {
            self.lose(why);
        }
        // A panic ends a call with an error, and neither the thread nor the server.
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(task, &start_directory, limits, &stop)))
            .unwrap_or_else(|_| {
                self.session = None;
                self.lost = Some("the server failed while the shell ran a command".to_owned());
                Err("the server failed while the shell ran the command; its log says more".to_owned())
            });
        let host = self.session.as_ref().map(|session| session.host().clone()).unwrap_or_default();
        Finished { context, answer, host }
    }

    fn answer(&mut self, task: Task, start: &Path, limits: Limits, stop: &StopSignal) -> Result<Answer, String> {
        let started = Instant::now();
        let answer = |end, stdout, stderr, directory, restarted| Answer {
            end,
            stdout,
            stderr,
            directory,
            restarted,
            elapsed: started.elapsed(),
        };
        let words = match task {
            Task::Restart(reason) => {
                self.session = None;
                self.lost = None;
                self.open(start)?;
                let nothing = Captured::default();
                return Ok(answer(End::Exited(0), nothing.clone(), nothing, self.directory.clone(), Some(reason)));
            }
            Task::Run(command) => command.words().to_vec(),
            Task::ChangeDirectory(path) => {
                let path = path.to_str().ok_or("the path of the directory is no UTF-8, so no call can name it")?;
                dialect::change_to(path).map_err(|refused| refused.to_string())?
            }
        };
        let mut restarted = self.revive(start)?;
        let marker = Marker::fresh();
        let line = dialect::line(&words, &marker);
        let Some(session) = &mut self.session else { return Err("there is no shell".to_owned()) };
        let Ran { ending, stdout, stderr, ended_by_us, is_shutdown } =
            match session.run(&line, &marker, Some(stop), limits) {
                Ok(ran) => ran,
                Err(source) => {
                    self.lose("the server could not watch it".to_owned());
                    return Err(ShellError::Lost { source }.to_string());
                }
            };
        let end = match ending {
            Ending::Answered(status) => {
                self.directory = session.directory(&status);
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
        Ok(answer(end, stdout, stderr, self.directory.clone(), restarted))
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
        self.directory = session.directory(&Status { code: 0, directory: start_directory.display().to_string() });
        self.session = Some(session);
        Ok(())
    }
}
