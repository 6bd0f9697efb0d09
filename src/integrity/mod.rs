//! Whether programs are what they were: who can replace their files, and what these files are.
//!
//! It starts nothing and decides nothing about commands. Files are opened once and looked at through their handles; what is
//! learnt of their contents is kept for as long as they don't change.
//!
//! - [`Trust`] is what the operator demands; [`Guard`] checks a program by it, and returns what may be executed as a
//!   [`Checked`] handle, or why not as [`Untrusted`].
//! - [`Replaceable`] is what others than root and the server's user can replace.
//! - `Contents` is what the bytes of a file tell, read once for each state of it.
//! - `needed_by` finds what is executed with a program: interpreters and the loader (Unix).

mod checked;
mod contents;
#[cfg(unix)]
mod elf;
mod guard;
#[cfg(unix)]
mod needed;
mod replaceable;
mod untrusted;

pub use checked::Checked;
#[cfg(target_os = "linux")]
pub(crate) use elf::Elf;
pub use guard::{Guard, Trust};
#[cfg(target_os = "linux")]
pub(crate) use needed::needed_by;
pub use replaceable::{By, Replaceable};
pub use untrusted::Untrusted;
