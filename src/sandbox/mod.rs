//! What a command may touch once it runs: levels, what is granted, what the kernel can enforce, and the thread that
//! confines itself (Linux: Landlock, and seccomp for what Landlock leaves open between threads).
//!
//! Decides nothing and starts nothing. A Landlock domain belongs to a thread and is inherited by what the thread starts,
//! so the thread that spawns commands confines itself, once and for good, and the server's other threads stay free.
//!
//! - [`Level`] is what the operator chooses; [`Kernel`] is what this kernel can; [`Enforcement`] is what comes of both.
//! - [`SandboxSettings`] and [`Grant`] say what is reachable; `programs` follows programs to what starting them needs,
//!   `system` finds what of the system is readable at `strict` (both on Linux alone).
//! - [`Sandbox`] is all of that for one set of directories; [`Sandbox::confine_thread`] is the one effect.
//! - [`TemporaryDirectory`] is the commands' own.

mod error;
mod grant;
#[cfg(target_os = "linux")]
mod landlock;
mod level;
#[cfg(not(target_os = "linux"))]
mod no_landlock;
#[cfg(target_os = "linux")]
pub mod programs;
#[expect(clippy::module_inception, reason = "the file is named after its main type")]
// It is const; in what the macro makes of it for Windows the lint does not see that.
#[cfg_attr(windows, allow(clippy::missing_const_for_thread_local, reason = "it is const"))]
mod sandbox;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
pub mod system;
mod temporary;

pub use error::SandboxError;
pub use grant::{Access, Grant};
#[cfg(target_os = "linux")]
use landlock::{Domain, kernel};
pub use level::{Enforcement, Kernel, Level};
#[cfg(not(target_os = "linux"))]
use no_landlock::{Domain, kernel, own_grants, system_grants};
pub use sandbox::{Sandbox, SandboxSettings};
#[cfg(target_os = "linux")]
use system::{own_grants, system_grants};
pub use temporary::TemporaryDirectory;
