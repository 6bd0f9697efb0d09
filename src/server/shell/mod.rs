//! The persistent shell, as a server has it. Nothing else in `server` knows of `crate::shell`.
//!
//! - `settings`: how the shell is started, and what its operator should know
//! - `runner`: its calls, one by one, as the loop uses them
//! - `examined`: what would be decided for a command on it

mod examined;
mod runner;
mod settings;

pub(super) use examined::examine;
pub(super) use runner::{CallContext, ShellRunner, ShellState, ShellTurn, TurnOf};
pub(super) use settings::{settings, warnings};

pub use crate::shell::{ShellDirectories, ShellSettings};
