//! The shell as the server uses it: beginning calls, the thread that finishes the longer ones, and the end of both.

use std::io;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

use super::call::{Finished, ShellJob, ShellSettings};
use super::session::{Ending, Ran};
use super::work::{Control, Stage, Work};
use super::worker::{FirstShell, Worker, lock};
use crate::exec::{Heartbeat, Stop, StopSignal, own_children, stop};
use crate::policy::Base;

/// The state of a call after its first moments.
#[derive(Debug)]
pub enum First<T> {
    /// It has ended.
    Finished(Finished<T>),
    /// The thread has to finish it.
    Work(Work<T>),
}

/// The shell, and the thread that finishes its longer calls. Dropping it ends both. A thread that has not started a
/// shell yet ends by itself, and the drop does not wait for it.
#[derive(Debug)]
pub struct Shell<T> {
    /// Locked by the thread that runs a call, and by the shell's thread while it starts the first shell.
    worker: Arc<Mutex<Worker>>,
    work: Option<Sender<(Work<T>, Control)>>,
    /// Lets the thread wait for the first shell until a call or the end comes.
    alone: Option<Stop>,
    first: Arc<OnceLock<FirstShell>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Shell<T> {
    /// Starts the thread, which immediately starts the shell in `directory`. The thread calls `finished` for each call
    /// that ends there. If the shell replaces another one, the first answer gives the `reason`.
    ///
    /// If the shell can't be started, the next call tries again, and its answer says why.
    ///
    /// # Errors
    /// If there is no thread, or no pipe to wake it.
    pub fn start(
        settings: ShellSettings,
        directory: Base,
        reason: Option<String>,
        mut finished: impl FnMut(Finished<T>) + Send + 'static,
    ) -> io::Result<Self> {
        let first = Arc::default();
        let worker = Arc::new(Mutex::new(Worker::new(settings, Arc::clone(&first))));
        let (sender, received) = mpsc::channel::<(Work<T>, Control)>();
        let (alone, company) = stop()?;
        let shared = Arc::clone(&worker);
        let work = move || {
            own_children();
            // A call that begins before this finds no session, and is handed over.
            lock(&shared).open_first(&directory, &company, reason);
            drop(company);
            for (work, control) in received {
                let ended = lock(&shared).serve(work, Some(control));
                finished(ended);
            }
            lock(&shared).close();
        };
        let thread = std::thread::Builder::new().name("shell".into()).spawn(work)?;
        Ok(Self { worker, work: Some(sender), alone: Some(alone), first, thread: Some(thread) })
    }

    /// Begins a call, and finishes it if it takes only a moment. To be called after the last call has finished.
    pub fn begin(&self, job: ShellJob<T>) -> First<T> {
        let ShellJob { context, distrust, action, start_directory, limits, spool } = job;
        let is_brief = distrust.is_none() && action.is_brief();
        // It is locked only while the thread starts the first shell.
        let Some(mut worker) = self.worker.try_lock().ok().filter(|_| is_brief) else {
            let stage = Stage::New { distrust, action, limits, spool };
            return First::Work(Work { context, start_directory, stage });
        };
        let stage = worker.begin(action, limits, spool);
        let has_answered =
            matches!(&stage, Stage::Refused(_) | Stage::Ran { ran: Ok(Ran { ending: Ending::Answered(_), .. }), .. });
        let work = Work { context, start_directory, stage };
        if has_answered {
            // Only what the shell runs itself is brief.
            First::Finished(Finished { host: None, ..worker.serve(work, None) })
        } else {
            First::Work(work)
        }
    }

    /// Hands a call over to the thread, with its stop signal and its heartbeat; returns whether the thread still
    /// exists.
    pub fn go_on(&mut self, work: Work<T>, stop: StopSignal, heartbeat: Option<Heartbeat>) -> bool {
        let control = Control { stop, heartbeat };
        let is_sent = self.work.as_ref().is_some_and(|sender| sender.send((work, control)).is_ok());
        self.alone = None;
        is_sent
    }
}

impl<T> Shell<T> {
    /// Gives the shell up if the thread has not started one, and returns whether that is so. Then it never will, and a
    /// call that was handed over runs nothing.
    pub fn give_up(&self) -> bool {
        *self.first.get_or_init(|| FirstShell::GivenUp) == FirstShell::GivenUp
    }

    /// Has the thread end once its calls have; returns whether nobody needs to wait for that any more.
    pub fn close(&mut self) -> bool {
        (self.work, self.alone) = (None, None);
        self.give_up() || self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl<T> Drop for Shell<T> {
    fn drop(&mut self) {
        self.close();
        let has_no_shell = self.give_up();
        if let Some(thread) = self.thread.take().filter(|_| !has_no_shell) {
            // It never panics, and if it did, the shell would be dropped anyway.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::worker::ENDS;

    /// A shell whose thread runs the given function.
    fn over(first: OnceLock<FirstShell>, thread: impl FnOnce() + Send + 'static) -> Shell<()> {
        let first = Arc::new(first);
        let program = Err("there is none".to_owned());
        let settings = ShellSettings {
            program,
            environment: crate::exec::Environment::default(),
            sandbox: None,
            launcher: None,
            guard: None,
        };
        let worker = Arc::new(Mutex::new(Worker::new(settings, Arc::clone(&first))));
        Shell { worker, work: None, alone: None, first, thread: Some(std::thread::spawn(thread)) }
    }

    #[test]
    fn a_thread_that_has_started_no_shell_is_not_waited_for_and_starts_none_later() {
        let (go_on, prepared) = mpsc::channel::<()>();
        let shell = over(OnceLock::new(), move || prepared.recv().unwrap_or_default());
        let worker = Arc::clone(&shell.worker);
        assert!(shell.give_up());
        // Otherwise it would wait forever.
        drop(shell);
        lock(&worker).settings.program = Ok("/bin/sh".into());
        assert_eq!(lock(&worker).open(&Base::of("/".into(), "the test"), None, None), Err(ENDS.to_owned()));
        drop(go_on);
    }

    #[test]
    fn a_thread_that_has_started_a_shell_is_waited_for() {
        let (ended, end) = mpsc::channel();
        let shell = over(FirstShell::Started.into(), move || {
            std::thread::yield_now();
            ended.send(()).unwrap_or_default();
        });
        assert!(!shell.give_up());
        drop(shell);
        assert_eq!(end.try_recv(), Ok(()));
    }
}
