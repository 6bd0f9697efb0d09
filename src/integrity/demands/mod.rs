//! The demands of the operator on programs: that nobody else can replace them, and that they are what the lock file holds.

mod difference;
mod guard;
#[cfg_attr(not(target_os = "linux"), path = "no_libraries.rs")]
mod libraries;
mod lock;
mod locking;
mod replaceable;

pub use guard::Guard;
pub(crate) use lock::Lock;
pub use lock::LockError;
pub(crate) use locking::{Locked, lock};
pub use replaceable::Replaceable;

/// Whether this build has the room.
pub(crate) const IS_BUILT: bool = true;
