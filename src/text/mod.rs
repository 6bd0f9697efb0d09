//! Makes text from outside safe to show: in a log, in a message, in an error, on a terminal.
//!
//! Names, arguments, paths and messages come from clients, files and commands. Only this layer decides which of their
//! characters are shown unchanged. It does not know where they are shown, and imports nothing of ours.
//!
//! - [`is_plain`] says which characters are shown unchanged: not those that are invisible, change or imitate others.
//! - [`escape`] replaces the others.
//! - [`write_json_string`] writes text as JSON does, and fast.
//! - [`nearest`] finds the known word that an unknown one was probably meant to be.
//! - [`read_duration`] and [`read_size`] read amounts with units.
//! - [`clean`] leaves out what only a terminal needs.
//! - `time` writes points in time.
//! - [`Secrets`] replaces values that must not be shown, however they are spelled.
//! - `is_never_set` knows the names of variables that no call sets.
//! - [`quote`] puts text in double quotes, exact and of bounded length, for a field of a log line.

mod amount;
mod escape;
mod json;
mod nearest;
mod plain;
mod secrets;
mod terminal;
pub(crate) mod time;
mod variables;

pub(crate) use amount::{DURATION_PATTERN, SIZE_PATTERN, ZERO_PATTERN, counted, milliseconds};
pub use amount::{
    DurationError, LARGEST_SIZE, LONGEST_DURATION, SizeError, duration_text, read_duration, read_size, size_text,
};
pub use escape::{escape, escape_block, escape_bytes, escape_os};
pub use json::{json_string_length, write_json_string};
pub use nearest::nearest;
pub use plain::{is_plain, is_right_to_left};
pub(crate) use terminal::{Cleaned, clean};
pub(crate) use variables::is_never_set;

mod quote;

pub use quote::quote;
pub(crate) use quote::quote_to_judge;
pub(crate) use secrets::{SHORTEST as SHORTEST_SECRET, Secrets};
