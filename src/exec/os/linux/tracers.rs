//! The processes that trace others, see ptrace(2).
//!
//! The kernel tells a tracer of the exit of its tracee first. The parent hears of it once the tracer has waited for it or
//! has ended itself. A tracer may even stop its tracee in its exit (`PTRACE_O_TRACEEXIT`), and then SIGKILL does not end
//! that either. Only the end of the tracer helps, because the kernel then lets go of all that it traces.

use std::collections::HashSet;
use std::fs;
use std::iter;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal};

use super::children;
use super::process::{below, stat};
use crate::sandbox::OwnDomain;

/// How long a tracer may take to let go of a process that has ended or was killed.
pub(crate) const LETTING_GO: Duration = Duration::from_millis(20);
/// How far the parents of a tracer are followed.
const DEEPEST: usize = 10_000;

/// Kills what traces the process, which was killed, or a descendant of it. In a sandbox kills everything in the domain of
/// this thread, which belongs to the same command.
pub(crate) fn end_tracers(killed: Pid) {
    if let Some(domain) = OwnDomain::of_this_thread() {
        domain.kill_all();
    }
    end_tracers_of(iter::once(killed).chain(below(killed)).collect(), None);
}

/// The same for the orphans in this group, whose leader was reaped.
pub(crate) fn end_tracers_of_group(group: Pid) {
    let is_member = |orphan: &Pid| stat(*orphan).is_some_and(|orphan| orphan.group == Some(group));
    end_tracers_of(children::orphans().into_iter().filter(is_member).collect(), None);
}

/// Kills what traces these processes, what traces their tracers, and so on, but not the process that is `spared`. Two processes
/// that stop each other in their exit can't be ended by anybody.
pub(super) fn end_tracers_of(mut killed: Vec<Pid>, spared: Option<Pid>) {
    let mut tracers: HashSet<Pid> = HashSet::new();
    while let Some(traced) = killed.pop() {
        // Each thread may have a tracer of its own.
        let found = children::threads_of(traced).filter_map(|thread| kill_tracer(thread, spared));
        killed.extend(found.filter(|tracer| tracers.insert(*tracer)));
    }
}

/// Kills the process that traces the thread, if that descends from this process; returns which it is.
fn kill_tracer(thread: Pid, spared: Option<Pid>) -> Option<Pid> {
    let tracing_thread = status(thread, "TracerPid:")?;
    let tracer = status(tracing_thread, "Tgid:")?;
    let held = pidfd_open(tracer, PidfdFlags::empty()).ok()?;
    // Its number was not given to another process before it was held.
    let is_same = status(thread, "TracerPid:") == Some(tracing_thread);
    if !is_same || spared == Some(tracer) || !descends_from_us(tracer) {
        return None;
    }
    // A confined thread must not signal by pidfd, and only then the number has to do: after another error it may be that of
    // another process. Both fail if the system forbids it (a command that changed its user), and then nothing else can be done.
    if pidfd_send_signal(&held, Signal::KILL) == Err(Errno::PERM) {
        let _ = kill_process(tracer, Signal::KILL);
    }
    Some(tracer)
}

/// A number in `/proc/PID/status`; `None` for 0 as well.
fn status(thread: Pid, key: &str) -> Option<Pid> {
    let text = fs::read(format!("/proc/{}/status", thread.as_raw_nonzero())).ok()?;
    let text = String::from_utf8_lossy(&text);
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    Pid::from_raw(value.trim().parse().ok()?)
}

/// Whether the process was started by this one, or by one that was: neither this process, nor a debugger of the operator's.
fn descends_from_us(process: Pid) -> bool {
    let parent_of = |process: &Pid| stat(*process)?.parent;
    let parents = iter::successors(parent_of(&process), parent_of);
    parents.take(DEEPEST).any(|parent| parent == getpid())
}
