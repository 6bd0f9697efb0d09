//! Whether programs are what they were: who can replace their files, and what these files are.
//!
//! It starts nothing and decides nothing about commands. Files are opened once and looked at through their handles; what is
//! learnt of their contents is kept for as long as they don't change.
//!
//! - [`Trust`] is what the operator demands; [`Guard`] checks a program by it, and returns what may be executed as a
//!   [`Checked`] handle, or why not as [`Untrusted`].
//! - [`Replaceable`] is what others than root and the server's user can replace.
//! - `Contents` is what the bytes of a file tell, read once for each state of it.
//! - `Lock` is a lock file, `lock` makes one of the programs as they are, and `Difference` is what differs.
//! - `needed_by` finds what is executed with a program: interpreters and the loader (Unix). [`CommandPaths`] is where env(1)
//!   looks interpreters up, [`Unclear`] why it can't be told which one runs.

mod checked;
mod command_paths;
mod contents;
mod difference;
#[cfg(target_os = "linux")]
mod elf;
mod guard;
#[cfg(target_os = "linux")]
mod libraries;
mod lock;
mod locking;
#[cfg(unix)]
mod needed;
mod replaceable;
mod unclear;
mod untrusted;

pub use checked::Checked;
pub use command_paths::CommandPaths;
#[cfg(target_os = "linux")]
pub(crate) use elf::Elf;
pub use guard::{Guard, Trust};
pub use lock::LockError;
pub(crate) use lock::{LARGEST_LOCK, Lock};
pub(crate) use locking::{Locked, lock};
#[cfg(target_os = "linux")]
pub(crate) use needed::{Interpreters, Needed, needed_by, read as read_head};
pub use replaceable::Replaceable;
pub use unclear::Unclear;
pub use untrusted::Untrusted;
