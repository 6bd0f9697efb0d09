//! The settings: default, file, environment and flags, resolved into one `Config` that knows where each value came
//! from.
//!
//! A flag beats a variable, which beats the file, which beats the default. A list replaces the list of a weaker source; the
//! two are not merged. Everything that was given is checked, even if a stronger source replaces it. A new setting is a row
//! of `SETTINGS` and a field of `Config`.
//!
//! This layer reads the files that `--config` and `--policy` name, and in `Surroundings::of_this_process` the process's
//! environment and directory. It starts nothing, prints nothing and looks at no directory: `policy` finds out whether a
//! root exists.
//!
//! - `config`: `Config`, and how the sources are combined
//! - `table`: `SETTINGS`, the one list of what can be set; `spec`: one row of it
//! - `flags`, `variables`, `file`: what each source gives, as text
//! - `builder`: a configuration made in code
//! - `replayable`: the settings as a replay of the session needs them
//! - `absolute`: the flags, rewritten to mean the same from any directory
//! - `given`: the text of one setting from one source, and how it becomes a `Setting`
//! - `feature`: the rooms that a build may leave out, and their settings
//! - `setting`: `Setting`, `Source` and `SettingPlace`
//! - `amount`, `entry`, `env_entry`, `log_level`, `words`: what a value may be, and how it is written out
//! - `schema`: the JSON schema of the file
//! - `describe`: the settings' part of `--help`, and the rows of `doctor`
//! - `error`: everything that can be wrong; `wrong`: what can be wrong with one value

mod absolute;
mod amount;
mod builder;
#[expect(clippy::module_inception, reason = "the file is named after its main type")]
mod config;
mod describe;
mod entry;
mod env_entry;
mod error;
mod feature;
mod file;
mod flags;
mod given;
mod log_level;
mod replayable;
#[cfg_attr(not(feature = "rules"), path = "no_rules.rs")]
mod rules;
mod schema;
mod setting;
mod spec;
mod table;
mod variables;
mod words;
mod wrong;

#[cfg(test)]
#[cfg(feature = "workbench")]
mod tests;

pub use builder::ConfigBuilder;
pub use config::Config;
pub use describe::{Row, help, rows};
pub use env_entry::EnvEntry;
pub use error::ConfigError;
pub use flags::{Flags, unknown_flag};
pub use log_level::LogLevel;
pub use replayable::Replayable;
pub use setting::{Setting, SettingPlace, Source};
pub use spec::{Group, Shown, Spec, Takes};
pub use table::SETTINGS;
pub use variables::{ASK_TEXT, Surroundings};
pub use words::{LogFormat, RootsMode};
pub use wrong::Wrong;

pub(crate) use absolute::{absolute_arguments, given_arguments};
pub(crate) use error::meant;
pub(crate) use feature::Feature;
pub(crate) use flags::repeated;
pub(crate) use schema::{schema, words as words_of};
