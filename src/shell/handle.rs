//! The shell as the server uses it: its thread, which runs its calls, and the end of both.

use std::io;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use super::call::{Finished, ShellJob, ShellSettings};
use super::worker::{Control, FirstShell, Worker};
use crate::exec::{Heartbeat, Stop, StopSignal, own_children, stop};
use crate::policy::Base;

/// The shell, and the thread that runs its calls. Dropping it ends both. A thread that has not started a shell yet ends by
/// itself, and the drop does not wait for it.
#[derive(Debug)]
pub struct Shell<T> {
    work: Option<Sender<(ShellJob<T>, Control)>>,
    /// Lets the thread wait for the first shell until a call or the end comes.
    alone: Option<Stop>,
    first: Arc<OnceLock<FirstShell>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Shell<T> {
    /// Starts the thread, which immediately starts the shell in `directory`. The thread calls `finished` for each call
    /// that ends. If the shell replaces another one, the first answer gives the `reason`.
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
        let mut worker = Worker::new(settings, Arc::clone(&first));
        let (sender, received) = mpsc::channel::<(ShellJob<T>, Control)>();
        let (alone, company) = stop()?;
        let work = move || {
            own_children();
            worker.open_first(&directory, &company, reason);
            drop(company);
            for (job, control) in received {
                finished(worker.serve(job, control));
            }
        };
        let thread = std::thread::Builder::new().name("shell".into()).spawn(work)?;
        Ok(Self { work: Some(sender), alone: Some(alone), first, thread: Some(thread) })
    }

    /// Hands a call to the thread, with its stop signal and its heartbeat; returns whether the thread still exists.
    pub fn run(&mut self, job: ShellJob<T>, stop: StopSignal, heartbeat: Option<Heartbeat>) -> bool {
        let is_sent = self.work.as_ref().is_some_and(|sender| sender.send((job, Control { stop, heartbeat })).is_ok());
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

    /// Lets the thread end after its calls; returns whether nobody needs to wait for that any more.
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

    fn worker(first: &Arc<OnceLock<FirstShell>>) -> Worker {
        let settings = ShellSettings {
            program: Ok("/bin/sh".into()),
            environment: crate::exec::Environment::default(),
            sandbox: None,
            launcher: None,
            guard: None,
        };
        Worker::new(settings, Arc::clone(first))
    }

    /// A shell whose thread runs the given function.
    fn over(first: &Arc<OnceLock<FirstShell>>, thread: impl FnOnce() + Send + 'static) -> Shell<()> {
        let thread = Some(std::thread::spawn(thread));
        Shell { work: None, alone: None, first: Arc::clone(first), thread }
    }

    #[test]
    fn a_thread_that_has_started_no_shell_is_not_waited_for_and_starts_none_later() {
        let (go_on, prepared) = mpsc::channel::<()>();
        let first = Arc::default();
        let shell = over(&first, move || prepared.recv().unwrap_or_default());
        assert!(shell.give_up());
        // Otherwise it would wait forever.
        drop(shell);
        let opened = worker(&first).open(&Base::of("/".into(), "the test"), None, None);
        assert_eq!(opened, Err(ENDS.to_owned()));
        drop(go_on);
    }

    #[test]
    fn a_thread_that_has_started_a_shell_is_waited_for() {
        let (ended, end) = mpsc::channel();
        let shell = over(&Arc::new(FirstShell::Started.into()), move || {
            std::thread::yield_now();
            ended.send(()).unwrap_or_default();
        });
        assert!(!shell.give_up());
        drop(shell);
        assert_eq!(end.try_recv(), Ok(()));
    }
}
