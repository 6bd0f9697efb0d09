//! Finds and ends processes that left the tree of their command (a daemon, `setsid`, `CLONE_PARENT`), on Linux.
//!
//! The server makes itself a subreaper, so that a process whose parent ends becomes a child of the server's main
//! thread. So every living process of a command's tree descends from an orphan or from a child of the thread that
//! started the command.
//!
//! - `children` lists and reaps the children of threads.
//! - `process` identifies a process, and finds its descendants.
//! - `leftovers` is the end of a call on its own thread: the children of the thread, and its domain in a sandbox.
//! - `tracers` ends what keeps a killed process from ending.
//! - [`Orphans`] is the end of a call for the loop: which call does each remaining process belong to?

mod children;
mod leftovers;
mod orphans;
mod process;
mod tracers;

use rustix::process::{getpid, set_child_subreaper};

pub(crate) use children::start_registered;
pub(super) use children::try_reaping;
pub(in crate::exec) use leftovers::end_leftovers;
pub(crate) use leftovers::{end_beside, end_domain, is_worn, own_children};
pub(crate) use orphans::Orphans;
pub(crate) use process::{group_of, signal_descendants};
pub(in crate::exec) use tracers::{LETTING_GO, end_tracers, end_tracers_of_group};

/// Makes this process a subreaper: orphans become its children from now on, so that they can be found and ended.
///
/// It changes the whole process, so programs should call it before they start threads, and libraries should not call
/// it.
pub fn own_descendants() {
    // Only kernels too old for this crate refuse it; then orphans become children of init, unnoticed.
    if set_child_subreaper(Some(getpid())).is_ok() {
        children::orphans_fall_to_us();
    }
}
