//! A process tree: a process that was started, and everything it started that stays in its process group or its cgroup.
//!
//! Only the owner of the tree signals and reaps the process, so that no signal can reach a process of another command:
//! the number can't be reused as long as the process is not reaped, or its group has members.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, test_kill_process_group, waitid,
    waitpgid,
};

use super::super::{LETTING_GO, end_tracers, end_tracers_of_group, try_reaping};
use crate::exec::launcher::processor_times;
use crate::exec::{End, Failure, Launch, Limit};
use crate::poll::{pipe, poll_ready};

/// How long to wait for a killed command before it is left to be reaped later, because the kernel holds it.
pub(super) const UNKILLABLE: Duration = Duration::from_secs(1);
/// How often to look at processes whose end nothing reports.
pub(super) const TICK: Duration = Duration::from_millis(5);

/// The process and what it started.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    /// `None` once it is left to be reaped at a later call of this thread.
    child: Option<Child>,
    leader: Pid,
    /// Readable once the process has exited.
    exit: OwnedFd,
    status: Option<ExitStatus>,
    /// The launcher, if limits were set.
    launch: Option<Launch>,
    times: Option<[Duration; 2]>,
}

impl ProcessTree {
    /// Takes a child that leads a process group of its own.
    ///
    /// # Errors
    /// If its exit can't be watched; then it was killed.
    pub(crate) fn new(mut child: Child, launch: Option<Launch>) -> io::Result<Self> {
        // A child's number is never 0 or negative.
        let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let watched = leader
            .ok_or_else(|| io::Error::other("a child without a number"))
            .and_then(|leader| Ok((leader, exit_descriptor(leader)?)));
        match watched {
            Ok((leader, exit)) => Ok(Self { child: Some(child), leader, exit, status: None, launch, times: None }),
            Err(error) => {
                // If it can't be killed either, only one error can be reported, and the first one says more.
                let _ = child.kill();
                UNREAPED.with_borrow_mut(|unreaped| unreaped.push(child));
                Err(error)
            }
        }
    }

    /// The process itself, whose number is also that of its group.
    pub(crate) fn leader(&self) -> Pid {
        self.leader
    }

    /// The descriptor that becomes readable once the process has exited, before it is reaped.
    pub(crate) fn exit(&self) -> BorrowedFd<'_> {
        self.exit.as_fd()
    }

    /// Whether the process was reaped.
    pub(crate) fn is_reaped(&self) -> bool {
        self.status.is_some()
    }

    /// Sends SIGTERM to the whole tree.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
        // A stopped process can't handle SIGTERM before it continues.
        self.signal(Signal::CONT);
    }

    /// Sends SIGINT to the whole tree, as Ctrl-C does.
    pub(super) fn interrupt(&self) {
        self.signal(Signal::INT);
        // As above.
        self.signal(Signal::CONT);
    }

    /// Sends SIGTERM to the group, even if the process itself has left it.
    pub(crate) fn terminate_group(&self) {
        self.signal_group(Signal::TERM);
    }

    /// Sends the signal to the group, even if the process itself has left it.
    pub(crate) fn signal_group(&self, signal: Signal) {
        // It fails if the group is empty, or if the system forbids it.
        let _ = kill_process_group(self.leader, signal);
    }

    /// The same, and makes stopped processes continue, which could not handle the signal otherwise.
    pub(crate) fn terminate_and_continue_group(&self) {
        self.terminate_group();
        self.signal_group(Signal::CONT);
    }

    /// Sends SIGKILL to the whole tree.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Signals the group, and also the process itself, in case it has left its group.
    fn signal(&self, signal: Signal) {
        // Both fail if there is nothing left to signal, or if the system forbids it (a command that changed its user),
        // and then nothing else can be done.
        if !self.is_reaped() {
            let _ = kill_process_group(self.leader, signal);
            let _ = kill_process(self.leader, signal);
        } else if !self.is_gone() {
            let _ = kill_process_group(self.leader, signal);
        }
    }

    /// How the process has ended, if it has exited and no process that traces it keeps that back. It is not reaped, so that its
    /// group stays its own.
    pub(super) fn peek(&mut self) -> io::Result<Option<End>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Some(status) = waitid(WaitId::Pid(self.leader), options)? else { return Ok(None) };
        if self.launch.is_some() {
            // This is possible only before it is reaped.
            self.times = processor_times(self.leader.as_raw_nonzero().get().unsigned_abs());
        }
        Ok(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Some(End::Exited(code)),
            (None, Some(signal)) => Some(End::Signaled(signal)),
            (None, None) => None,
        })
    }

    /// Reaps the process if it has exited and no process that traces it keeps that back; returns its status then.
    pub(crate) fn try_reap(&mut self) -> io::Result<Option<ExitStatus>> {
        let Some(child) = &mut self.child else { return Err(io::Error::other("its exit status was lost")) };
        if self.launch.is_some() {
            // This is possible only before it is reaped.
            self.times = processor_times(child.id());
        }
        self.status = child.try_wait()?;
        Ok(self.status)
    }

    /// Kills the whole tree, and reaps the process; waits for it no longer than [`UNKILLABLE`].
    pub(crate) fn kill_and_reap(&mut self) -> io::Result<ExitStatus> {
        self.kill();
        let killed = Instant::now();
        loop {
            let [has_exited] = poll_ready(&[(Some(self.exit()), PollFlags::IN)], TICK)?;
            match self.try_reap()? {
                Some(status) => return Ok(status),
                // Its exit is kept back, and no descriptor tells when it is not any more.
                None if has_exited => std::thread::sleep(TICK),
                None => {}
            }
            if killed.elapsed() >= UNKILLABLE {
                return Err(io::Error::other("it does not end, though it was killed"));
            }
            if killed.elapsed() >= LETTING_GO {
                self.end_tracers();
            }
        }
    }

    /// Kills what traces the tree, which was killed, and so keeps it from ending.
    pub(super) fn end_tracers(&self) {
        if self.is_reaped() { end_tracers_of_group(self.leader) } else { end_tracers(self.leader) }
    }

    /// Whether certainly nothing is left in the group of the process, which was reaped.
    pub(super) fn is_gone(&self) -> bool {
        if test_kill_process_group(self.leader) == Err(Errno::SRCH) {
            return true;
        }
        // Members whose parents have ended are zombies that this process must reap, if it is a subreaper; until then
        // they count.
        let Some(_reaping) = try_reaping() else { return false };
        while let Ok(Some(_)) = waitpgid(self.leader, WaitOptions::NOHANG) {}
        test_kill_process_group(self.leader) == Err(Errno::SRCH)
    }

    /// How the process has ended, if it was reaped.
    pub(super) fn status(&self) -> Option<ExitStatus> {
        self.status
    }

    /// Why the program never began, if setting its limits failed.
    pub(crate) fn failure(&self, end: End) -> Option<Failure> {
        self.launch.as_ref()?.failure(end)
    }

    /// Which limit was hit by the process that ended with this status, if the kernel tells.
    pub(crate) fn hit(&mut self, status: ExitStatus) -> Option<Limit> {
        let launch = self.launch.as_mut()?;
        let times = match self.status {
            Some(_) => self.times,
            None => processor_times(self.child.as_ref()?.id()),
        };
        launch.hit(status, times)
    }

    /// Kills what is left in the cgroup, if there is one, and stops waiting.
    ///
    /// If even SIGKILL has not ended the process in time, a later call of this thread reaps it. A thread for that
    /// purpose would be in the same sandbox domain, and commands could signal it.
    pub(crate) fn end(&mut self) {
        if let Some(launch) = &mut self.launch {
            launch.end_tree();
        }
        if let Some(child) = self.child.take().filter(|_| self.status.is_none()) {
            UNREAPED.with_borrow_mut(|unreaped| unreaped.push(child));
        }
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        self.end();
    }
}

thread_local! {
    /// The processes of this thread that had not ended when their calls were answered.
    static UNREAPED: RefCell<Vec<Child>> = const { RefCell::new(Vec::new()) };
}

/// Reaps those processes that outlived their calls and have ended since.
pub(super) fn reap_late() {
    UNREAPED.with_borrow_mut(|unreaped| unreaped.retain_mut(|child| matches!(child.try_wait(), Ok(None))));
}

/// The processes that outlive their calls.
pub(in crate::exec) fn unreaped() -> Vec<Pid> {
    let numbers = UNREAPED.with_borrow(|unreaped| unreaped.iter().map(Child::id).collect::<Vec<u32>>());
    numbers.into_iter().filter_map(|number| Pid::from_raw(i32::try_from(number).ok()?)).collect()
}

/// A descriptor that becomes readable when the process has exited, before it is reaped.
fn exit_descriptor(process: Pid) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    if let Ok(descriptor) = rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty()) {
        return Ok(descriptor);
    }
    // Without pidfd, a thread waits and leaves the process for us to reap.
    let (receiver, sender) = pipe()?;
    let wait = move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(process), options), Err(Errno::INTR)) {}
        drop(sender);
    };
    std::thread::Builder::new().name("exit".into()).spawn(wait)?;
    Ok(receiver)
}
