//! Files and directories as handles, and what else only Linux has.
//!
//! - `held` opens them, and asks the kernel about them.
//! - `walk` and `reach` go along a path from handle to handle.
//! - `remove` empties a directory through its handle.
//! - `unnamed` makes files that have no name.
//! - `new_file` is an empty file that somebody else may write, and that is removed if nobody does.
//! - `file_systems` is what is known about file systems.

mod file_systems;
mod held;
mod new_file;
mod reach;
mod remove;
mod unnamed;
mod walk;

pub(super) use held::{Handle, Identifier};
pub(crate) use new_file::NewFile;
pub use remove::remove_within;
pub(super) use unnamed::nameless;
pub(crate) use unnamed::{give_name, unnamed};

/// The most links that are followed; the kernel follows as many.
const MOST_LINKS: usize = 40;
