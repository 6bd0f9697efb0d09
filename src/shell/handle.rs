//! The shell as who calls it has it: begun calls, the thread that sees the longer ones through, and the end of both.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::call::{Finished, ShellJob, ShellSettings};
use super::session::{Ending, Ran};
use super::worker::{Aside, Life, Stage, Work, Worker, lock};
use crate::exec::{Heartbeat, Stop, StopSignal, stop};

/// What became of a call's first moments.
#[derive(Debug)]
pub enum First<T> {
    /// It has ended.
    Finished(Finished<T>),
    /// It is for the thread.
    Work(Work<T>),
}

/// The shell, and the thread that sees its longer calls through. Dropping it ends both; a thread that has started no shell
/// yet ends by itself, and is not waited for.
#[derive(Debug)]
pub struct Shell<T> {
    /// Locked by who runs a call, and by the thread while it starts the first shell.
    worker: Arc<Mutex<Worker>>,
    work: Option<Sender<(Work<T>, Aside)>>,
    /// Keeps the thread at the start of the first shell, until a call or the end comes.
    alone: Option<Stop>,
    life: Arc<Mutex<Life>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Shell<T> {
    /// Starts the thread, which at once starts the shell in `directory`; `finished` is called on it for each call that
    /// ends there. Where the shell takes another one's place, the first answer tells for what `reason`.
    ///
    /// A shell that can't be started is tried again at the next call, whose answer says why.
    ///
    /// # Errors
    /// Where no thread can be had, or nothing to wake it with.
    pub fn start(
        settings: ShellSettings,
        directory: PathBuf,
        reason: Option<String>,
        mut finished: impl FnMut(Finished<T>) + Send + 'static,
    ) -> io::Result<Self> {
        let life = Arc::new(Mutex::new(Life::Preparing));
        let worker = Arc::new(Mutex::new(Worker::new(settings, Arc::clone(&life))));
        let (sender, received) = mpsc::channel::<(Work<T>, Aside)>();
        let (alone, company) = stop()?;
        let shared = Arc::clone(&worker);
        let work = move || {
            // Who begins a call before this finds no session, and hands the call over.
            lock(&shared).open_first(&directory, &company, reason);
            drop(company);
            for (work, aside) in received {
                let ended = lock(&shared).serve(work, Some(aside));
                finished(ended);
            }
        };
        let thread = std::thread::Builder::new().name("shell".into()).spawn(work)?;
        Ok(Self { worker, work: Some(sender), alone: Some(alone), life, thread: Some(thread) })
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
    pub fn go_on(&mut self, work: Work<T>, stop: StopSignal, heartbeat: Option<Heartbeat>) -> bool {
        let aside = Aside { stop, heartbeat };
        let is_sent = self.work.as_ref().is_some_and(|sender| sender.send((work, aside)).is_ok());
        self.alone = None;
        is_sent
    }
}

impl<T> Shell<T> {
    /// Gives the shell up where the thread has started none yet, and says whether it has not: then it never will, and a
    /// call that was handed over runs nothing.
    pub fn give_up(&self) -> bool {
        let mut life = lock(&self.life);
        if *life == Life::Preparing {
            *life = Life::Over;
        }
        *life == Life::Over
    }
}

impl<T> Drop for Shell<T> {
    fn drop(&mut self) {
        (self.work, self.alone) = (None, None);
        let has_no_shell = self.give_up();
        if let Some(thread) = self.thread.take().filter(|_| !has_no_shell) {
            // It panics nowhere, and if it did the shell would be dropped all the same.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::worker::ENDS;
    use std::path::Path;

    /// A shell whose thread does what it is given.
    fn over(life: Life, thread: impl FnOnce() + Send + 'static) -> Shell<()> {
        let life = Arc::new(Mutex::new(life));
        let program = Err("there is none".to_owned());
        let settings = ShellSettings { program, environment: crate::exec::Environment::default(), sandbox: None };
        let worker = Arc::new(Mutex::new(Worker::new(settings, Arc::clone(&life))));
        Shell { worker, work: None, alone: None, life, thread: Some(std::thread::spawn(thread)) }
    }

    #[test]
    fn a_thread_that_has_started_no_shell_is_not_waited_for_and_starts_none_later() {
        let (go_on, prepared) = mpsc::channel::<()>();
        let shell = over(Life::Preparing, move || prepared.recv().unwrap_or_default());
        let worker = Arc::clone(&shell.worker);
        assert!(shell.give_up());
        // It would wait for ever.
        drop(shell);
        lock(&worker).settings.program = Ok("/bin/sh".into());
        assert_eq!(lock(&worker).open(Path::new("/"), None, None), Err(ENDS.to_owned()));
        drop(go_on);
    }

    #[test]
    fn a_thread_that_has_started_a_shell_is_waited_for() {
        let (ended, end) = mpsc::channel();
        let shell = over(Life::Running, move || {
            std::thread::yield_now();
            ended.send(()).unwrap_or_default();
        });
        assert!(!shell.give_up());
        drop(shell);
        assert_eq!(end.try_recv(), Ok(()));
    }
}
