//! The sandbox, which limits the access of a running command: levels, grants, what the kernel can enforce, and threads
//! that confine themselves (Linux: Landlock, and seccomp for what Landlock does not cover).
//!
//! It decides nothing about commands and starts none. A Landlock domain belongs to a thread and is inherited by what
//! the thread starts, so a thread that spawns commands confines itself, for good, and the server's other threads stay
//! free.
//!
//! - [`Level`] and [`Network`](crate::network::Network) are what the operator chooses; [`Kernel`] is what this kernel supports; [`Enforcement`]
//!   is the result of both.
//! - [`SandboxSettings`] and [`Grant`] say what is reachable: handles, each opened once, from which every later set of
//!   rules is made. [`OpenedPlaces`] opens what the operator names, [`Executed`] finds what programs need to start, and
//!   `system_grants` finds what is readable of the system at `strict`.
//! - [`Sandbox`] is all of that for one set of directories; only [`Sandbox::confine_thread`] has an effect.
//! - `OwnDomain` lets a thread with scoped signals end all of its commands, and nothing else (Linux).
//! - [`Preset`] is a named set of grants in the home directory.
//! - [`TemporaryDirectory`] is the temporary directory of the commands.

mod error;
mod grant;
mod level;
mod opened;
#[cfg_attr(target_os = "linux", path = "linux/mod.rs")]
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod platform;
mod preset;
#[expect(clippy::module_inception, reason = "the file is named after its main type")]
// It is const; on Windows the lint does not see that through the macro.
#[cfg_attr(windows, allow(clippy::missing_const_for_thread_local, reason = "it is const"))]
mod sandbox;
mod temporary;

pub use error::SandboxError;
pub use grant::{Access, Grant};
pub use level::{Enforcement, Kernel, Level};
pub use opened::{Named, NamedPlaces, OpenedPlaces};
pub use platform::Executed;
pub(crate) use platform::*;
pub use preset::Preset;
pub use sandbox::{Sandbox, SandboxSettings};
pub use temporary::TemporaryDirectory;

/// Whether a level lets commands read the file at that path without any grant.
pub(crate) fn is_read_anyway(level: Level, path: &std::path::Path) -> bool {
    read_anyway(level).iter().any(|system| path.starts_with(system))
}

/// Whether a level lets commands execute what lies at that path without any grant.
pub(crate) fn is_executed_anyway(level: Level, path: &std::path::Path) -> bool {
    executed_anyway(level).iter().any(|system| path.starts_with(system))
}
