//! Ends what a command has left behind, on the thread that ran it: the part that certainly belongs to this command.
//!
//! Every living process of a tree descends from a child of this thread or from an orphan. So if the thread has no child
//! and the process no orphan, which two system calls can tell, the tree is gone. Otherwise a confined thread kills its
//! whole domain at once. An unconfined thread hunts its own children; orphans are left to `Orphans`, which knows which
//! other calls run.

use std::cell::Cell;
use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::process::{Process, Stat, below, stat};
use super::tracers::{LETTING_GO, end_tracers, end_tracers_of};
use super::{children, signal_descendants};
use crate::sandbox::OwnDomain;

/// How long leftovers are hunted, or killed processes are waited for, before the call is answered anyway.
pub(super) const HUNT: Duration = Duration::from_secs(1);
/// How long the leftovers of a command of the persistent shell are hunted before the shell itself is ended.
const HUNT_BESIDE_SHELL: Duration = Duration::from_millis(300);
/// How long to wait for a killed process at a time.
const PAUSE: Duration = Duration::from_micros(100);

thread_local! {
    /// Whether all children of this thread are commands, or leftovers of commands.
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
    /// Whether children of earlier calls are still alive in this thread.
    static IS_WORN: Cell<bool> = const { Cell::new(false) };
}

/// Lets this thread, which belongs to the server, end all of its children. A thread of a program that embeds the
/// executor may have other children.
pub(crate) fn own_children() {
    IS_OURS.set(true);
}

/// Ends what the commands of this thread, which were reaped, have left behind, as far as it certainly belongs to
/// them: the children of this thread, and everything in the thread's domain. Processes in `held` are held by the
/// kernel and can't be waited for.
pub(in crate::exec) fn end_leftovers(held: &[Pid]) {
    children::own_commands_are_reaped();
    if !IS_OURS.get() {
        return;
    }
    let has_children = children::reap_own();
    if !has_children && children::has_no_orphan() {
        return;
    }
    let until = Instant::now() + HUNT;
    if let Some(domain) = OwnDomain::of_this_thread() {
        domain.kill_all();
        wait_for_domain(domain, until);
    } else if has_children && !hunt_children(held, until) {
        IS_WORN.set(true);
    }
}

/// Whether the calling thread has children that it could not end in time. They could not be told from the children of
/// its next command. When the thread ends they become orphans.
pub(crate) fn is_worn() -> bool {
    IS_WORN.get()
}

/// Waits until the killed processes of the domain are gone, and reaps them.
fn wait_for_domain(domain: OwnDomain, until: Instant) {
    loop {
        let has_children = children::reap_own();
        if !has_children && !reap_orphans_of(domain) || Instant::now() >= until {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// Reaps the orphans of the domain that have ended; returns whether there was any, since the children of one become
/// orphans when it ends. If this process gets no orphans, nobody can tell.
fn reap_orphans_of(domain: OwnDomain) -> bool {
    for_orphans_of(domain, |_| {})
}

/// Kills children of this thread until there is none; returns whether it succeeded.
fn hunt_children(held: &[Pid], until: Instant) -> bool {
    let (mut hunted, mut since): (Vec<Pid>, _) = (Vec::new(), Instant::now());
    while children::reap_own() {
        let found: Vec<Pid> = children::own().into_iter().filter(|child| !held.contains(child)).collect();
        found.iter().copied().for_each(kill_child);
        if found.is_empty() && !held.is_empty() {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        // Processes that keep changing are followed without a pause.
        if found != hunted {
            (hunted, since) = (found, Instant::now());
            continue;
        }
        if since.elapsed() >= LETTING_GO {
            hunted.iter().copied().for_each(end_tracers);
        }
        thread::sleep(PAUSE);
    }
    true
}

/// Kills a child of this process that nobody reaps meanwhile, and, if it leads a group, the whole group at once: then a
/// child of it that has not made a group of its own yet can't escape.
pub(super) fn kill_child(child: Pid) {
    // They fail if it leads no group, or if the system forbids it (a command that changed its user), and then nothing
    // else can be done. The number stays the child's as long as it is not reaped.
    let _ = kill_process_group(child, Signal::KILL);
    let _ = kill_process(child, Signal::KILL);
}

/// Ends what a command of the persistent shell has left below the shell, and in a sandbox also what has left that tree;
/// without a `shell` there is nothing below it. Returns whether that is certainly everything. On `false` the caller
/// must end the shell and its domain.
pub(crate) fn end_beside(shell: Option<Pid>) -> bool {
    let until = Instant::now() + HUNT_BESIDE_SHELL;
    let domain = OwnDomain::of_this_thread();
    let mut dead = HashSet::new();
    while Instant::now() < until {
        // In this order: a process that leaves the tree of the shell becomes an orphan, and never comes back.
        if shell.is_none_or(|shell| kill_below(shell, &mut dead))
            && !domain.is_some_and(|domain| for_orphans_of(domain, kill_child))
        {
            return true;
        }
    }
    false
}

/// Kills the descendants of the process, and returns whether none lives: this is so if every listed process was in
/// `dead` before the list was made.
fn kill_below(root: Pid, dead: &mut HashSet<Process>) -> bool {
    let found: Vec<(Pid, Option<Stat>)> = below(root).into_iter().map(|pid| (pid, stat(pid))).collect();
    let is_known = |(_, seen): &(Pid, Option<Stat>)| seen.is_some_and(|seen| dead.contains(&seen.process));
    if found.iter().all(is_known) {
        return true;
    }
    dead.extend(found.iter().filter_map(|(_, seen)| seen.filter(|seen| seen.has_ended)).map(|seen| seen.process));
    signal_descendants(root, Signal::KILL);
    // A parent below the root would wait for what a tracer keeps back. A process can make its parent its tracer (PTRACE_TRACEME),
    // so the root may be one, and it is not to be ended.
    end_tracers_of(found.into_iter().map(|(pid, _)| pid).collect(), Some(root));
    false
}

/// Calls `act` for each orphan of the domain, and reaps those that have ended; returns whether there was any.
fn for_orphans_of(domain: OwnDomain, act: impl Fn(Pid)) -> bool {
    if children::has_no_orphan() || !children::has_orphans_list() {
        return false;
    }
    let _reaping = children::reaping();
    let orphans: Vec<Pid> = children::orphans().into_iter().filter(|orphan| domain.has(*orphan)).collect();
    for orphan in &orphans {
        act(*orphan);
        children::reap_one(*orphan);
    }
    !orphans.is_empty()
}

/// Kills everything in the domain of this thread, including the persistent shell, if there is one.
pub(crate) fn end_domain() {
    if let Some(domain) = OwnDomain::of_this_thread() {
        domain.kill_all();
        wait_for_domain(domain, Instant::now() + HUNT);
    }
}
