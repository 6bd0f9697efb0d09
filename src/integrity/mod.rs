//! Whether programs are still what the operator trusts: who can replace their files, and whether these have changed.
//!
//! It starts nothing and decides nothing about commands. Files are opened once and checked through their handles. What was
//! read from them is remembered for as long as they don't change.
//!
//! - [`Guard`] checks a program against [`Trust`] and a lock file. It returns a [`Checked`] handle to execute, or why the
//!   program may not run, as [`Untrusted`].
//! - [`Replaceable`] is something that others than root and the server's user can replace.
//! - `Contents` is what is known from the bytes of a file.
//! - `demands` has the guard and lock files: `Lock` is one, and `lock` makes one from the programs as they are now. The guard of a build
//!   without `evidence` refuses every program. [`Trust`] is a demand as settings say it.
//! - `needed_by` finds what is executed with a program (Unix): its interpreters and loader. env(1) looks interpreters up in
//!   [`CommandPaths`]. [`Unclear`] is why it is unclear which one runs.
//! - [`reach_of`] knows programs that start others by their names, and [`KnownPrograms`] by their files; `script` skims what
//!   scripts do with their arguments.

mod checked;
mod command_paths;
mod contents;
#[cfg_attr(not(feature = "evidence"), path = "no_demands.rs")]
pub(crate) mod demands;
#[cfg(unix)]
mod elf;
#[cfg_attr(not(unix), path = "no_needed.rs")]
mod needed;
mod script;
mod stand_in;
mod trust;
mod unclear;
mod untrusted;
mod wrappers;

pub use checked::Checked;
pub use command_paths::CommandPaths;
pub use demands::{Guard, LockError, Replaceable};
pub(crate) use needed::{Interpreters, Needed, needed_by};
pub(crate) use stand_in::KnownPrograms;
pub(crate) use trust::LARGEST_LOCK;
pub use trust::Trust;
pub use unclear::Unclear;
pub use untrusted::Untrusted;
pub(crate) use wrappers::is_runner;
pub use wrappers::{Reach, reach_of};
