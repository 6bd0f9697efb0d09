//! What the process does to itself before anything else, so that no command reaches into it, nor gets what it was never
//! meant to have. It changes the whole process: a program that embeds the crate does it itself, where it wants it.

use std::io;

/// Keeps commands from this process, before there is any and before there is a second thread.
///
/// - Descriptors that the parent has left open are closed in every command. std marks all that it opens itself, but not what
///   was there before.
/// - Signals that the parent has blocked stay blocked through exec(3), here and in every command, since std leaves the mask as it
///   is: SIGTERM would end neither. What waits already ends this process now, when nothing has been started.
/// - On Linux nobody but `CAP_SYS_PTRACE` looks at this process from now on: not at its environment, its memory, its
///   directories nor its streams under `/proc/PID`, all of which the system else opens to each process of the same user; see
///   `PR_SET_DUMPABLE` in prctl(2), and ptrace(2). The kernel dumps no core of it either.
/// - On Linux that capability is left out of what this process starts, where it has it: commands of root would pass else.
pub(super) fn harden() -> io::Result<()> {
    #[cfg(unix)]
    {
        close_fds::set_fds_cloexec(3, &[]);
        nix::sys::signal::SigSet::empty().thread_set_mask()?;
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        keep_ptrace()?;
    }
    Ok(())
}

/// Takes this process, and with it its commands, out of the session of its parent: a process may join each group of its own
/// session, and what a command leaves stopped in the parent's would bring SIGHUP on all of that, see
/// [`Signals`](super::signals::Signals). Nor has a command the parent's terminal then.
///
/// Where the parent has put it into a group of its own, it goes back for a moment to that of the parent, since who leads a
/// group can't leave its session. It stays where it is where the group has other members, as that of a shell's pipeline does,
/// where it leads a session already, and where the parent's group lies outside this PID namespace.
#[cfg(unix)]
pub(super) fn leave_session() {
    use rustix::process::{getpid, getppid, setpgid, setsid};
    if setsid().is_ok() {
        return;
    }
    let Some(parents) = getppid().and_then(crate::exec::group_of) else { return };
    // The kernel refuses this to who leads a session.
    if setpgid(None, Some(parents)).is_ok() && setsid().is_err() {
        // The group is there as long as it has members, which is why it could not be left.
        let _ = setpgid(None, Some(getpid()));
    }
}

/// There are no sessions to leave.
#[cfg(not(unix))]
pub(super) fn leave_session() {}

/// Has nothing that is started from now on trace what it could not trace as an ordinary user: root gets by execve(2) no more
/// than what is in the bounding set, or what is inheritable, see capabilities(7). This process keeps it, to find what a
/// command of another user holds.
///
/// It is the one capability that leads into this process. To trace a process of the same user that has no more
/// capabilities needs none, so that `strace` and `gdb` of root work on what they start.
#[cfg(target_os = "linux")]
fn keep_ptrace() -> io::Result<()> {
    use rustix::thread::{CapabilitySet, capabilities, remove_capability_from_bounding_set, set_capabilities};
    let mut sets = capabilities(None)?;
    if sets.inheritable.contains(CapabilitySet::SYS_PTRACE) {
        // It can't be ambient then either.
        sets.inheritable.remove(CapabilitySet::SYS_PTRACE);
        set_capabilities(None, sets)?;
    }
    // An ordinary user has none to give, and what sets one at its start (`sudo`) is the operator's.
    if sets.effective.contains(CapabilitySet::SYS_PTRACE | CapabilitySet::SETPCAP) {
        remove_capability_from_bounding_set(CapabilitySet::SYS_PTRACE)?;
    }
    Ok(())
}
