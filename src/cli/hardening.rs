//! Protects this process before anything else: no command can access it, or inherit what is not meant for commands. It
//! changes the whole process, so a program that embeds the crate decides itself whether to do it.

use std::io;

/// Protects this process from commands, before there are any, and before there is a second thread.
///
/// - Descriptors that the parent has left open are closed in every command. std marks those that it opens itself, but not
///   those that were open before.
/// - Signals that the parent has blocked would stay blocked through exec(3), here and in every command, since std leaves the
///   mask as it is: SIGTERM would end neither. A signal that is already pending ends this process now, before it has started
///   anything.
/// - On Linux, only processes with `CAP_SYS_PTRACE` can access this process from now on: its environment, its memory, its
///   directories and its streams under `/proc/PID` are otherwise open to every process of the same user; see
///   `PR_SET_DUMPABLE` in prctl(2), and ptrace(2). The kernel writes no core dump of it either.
/// - On Linux, nothing that this process starts gets that capability; otherwise the commands of root would have it.
pub(super) fn harden() -> io::Result<()> {
    close_fds::set_fds_cloexec(3, &[]);
    nix::sys::signal::SigSet::empty().thread_set_mask()?;
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        keep_ptrace()?;
    }
    Ok(())
}

/// Takes this process, and with it its commands, out of the session of its parent. A process may join any group of its own
/// session, and a command that leaves a stopped process in the parent's group could cause a SIGHUP to that whole group, see
/// [`Signals`](super::signals::Signals). Outside the session, commands have no access to the parent's terminal either.
///
/// The leader of a group can't leave its session. So if the parent has put this process into a group of its own, it joins the
/// parent's group for a moment. It stays where it is if its group has other members, as in the pipeline of a shell, if it
/// already leads a session, or if the parent's group is outside this PID namespace.
pub(super) fn leave_session() {
    use rustix::process::{getpid, getppid, setpgid, setsid};
    if setsid().is_ok() {
        return;
    }
    let Some(parents) = getppid().and_then(crate::exec::group_of) else { return };
    // The kernel refuses this to the leader of a session.
    if setpgid(None, Some(parents)).is_ok() && setsid().is_err() {
        // The old group still exists, since its other members are the reason why the session could not be left.
        let _ = setpgid(None, Some(getpid()));
    }
}

/// Removes `CAP_SYS_PTRACE` from everything that is started from now on: through execve(2), root gets only capabilities that
/// are in the bounding set or inheritable, see capabilities(7). This process keeps it, to see what commands of other users
/// have open.
///
/// It is the only capability that gives access to this process. Tracing a process of the same user that has no more
/// capabilities takes none, so root's `strace` and `gdb` still work on what they start.
#[cfg(target_os = "linux")]
fn keep_ptrace() -> io::Result<()> {
    use rustix::thread::{CapabilitySet, capabilities, remove_capability_from_bounding_set, set_capabilities};
    let mut sets = capabilities(None)?;
    if sets.inheritable.contains(CapabilitySet::SYS_PTRACE) {
        // This also removes it from the ambient set.
        sets.inheritable.remove(CapabilitySet::SYS_PTRACE);
        set_capabilities(None, sets)?;
    }
    // An ordinary user has no capability to pass on; programs that gain some when they start (`sudo`) are the operator's matter.
    if sets.effective.contains(CapabilitySet::SYS_PTRACE | CapabilitySet::SETPCAP) {
        remove_capability_from_bounding_set(CapabilitySet::SYS_PTRACE)?;
    }
    Ok(())
}
