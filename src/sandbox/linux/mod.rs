//! The sandbox that the kernel of Linux enforces, and what it takes.
//!
//! - `landlock` makes the rules, and confines threads; `seccomp` and `calls` refuse what Landlock does not cover, and `capabilities`
//!   gives up what would go round both.
//! - `own_domain` lets a thread end all that it has confined.
//! - `programs` finds what programs need to start, `system` what is readable of the system.
//! - `temporary` makes and removes a directory through handles, and `left_behind` removes those of servers that were killed.

mod calls;
mod capabilities;
mod landlock;
mod left_behind;
mod own_domain;
mod programs;
mod seccomp;
mod system;
mod temporary;

pub(super) use landlock::Domain;
pub(crate) use landlock::{KernelProbe, confine_in_own_network};
pub(crate) use own_domain::OwnDomain;
pub use programs::Executed;
pub(super) use system::{executed_anyway, own_grants, read_anyway, system_grants};
pub(super) use temporary::{Lock, make, remove, remove_left_behind};
