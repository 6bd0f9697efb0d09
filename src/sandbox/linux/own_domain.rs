//! The Landlock domain of the calling thread, used to end everything in it.
//!
//! Each thread that confines itself makes a domain of its own, which contains that thread's commands and nothing else.
//! With scoped signals (ABI 6) kill(2) with -1 from that thread reaches all of them and no other process: the kernel
//! denies every other one and leaves out the server itself. Meanwhile it locks the process table, and a process that
//! has the signal can't fork(2), so nothing can escape.

use std::cell::Cell;
use std::marker::PhantomData;

use rustix::process::{Pid, Signal, getppid, kill_process_group, test_kill_process};

thread_local! {
    /// Whether the kernel confines the signals of this thread to its domain.
    static IS_SCOPED: Cell<bool> = const { Cell::new(false) };
}

/// Proof that the calling thread is in a domain which its signals can't leave. It can be obtained only on that thread
/// and can't be moved to another one: there the same call would end every process of the user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnDomain {
    of_this_thread: PhantomData<*const ()>,
}

impl OwnDomain {
    /// The domain of the calling thread; `None` if it is not confined, or its signals are not.
    pub(crate) fn of_this_thread() -> Option<Self> {
        IS_SCOPED.get().then_some(Self { of_this_thread: PhantomData })
    }

    /// To be called right after rules with scoped signals were applied to this thread successfully.
    pub(super) fn enter() {
        // The server's parent is outside every domain of the server. If this thread can signal it, the kernel does not
        // enforce what it claims.
        IS_SCOPED.set(getppid().is_none_or(|parent| test_kill_process(parent).is_err()));
    }

    /// Kills every process of the domain.
    pub(crate) fn kill_all(self) {
        // 1 is not a group: rustix negates it, and kill(2) takes -1 as all processes that may be signalled. It fails if
        // there are none.
        let _ = kill_process_group(Pid::INIT, Signal::KILL);
    }

    /// Whether the process is in the domain, and not reaped yet.
    pub(crate) fn has(self, process: Pid) -> bool {
        test_kill_process(process).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_not_confined_has_none() {
        assert!(OwnDomain::of_this_thread().is_none());
        std::thread::spawn(|| assert!(OwnDomain::of_this_thread().is_none())).join().unwrap();
    }
}
