//! Stands where `run` would, on systems that run no lines.

use crate::cli::error::CliError;
use crate::cli::{Outcome, stdio};
use crate::config::Flags;

/// The flags of the subcommand.
#[derive(Debug, PartialEq, Eq, Default)]
pub(in crate::cli) struct Options {
    pub line: Option<String>,
    pub grant: Option<String>,
    pub flags_only: bool,
}

pub(super) fn run(_: &Flags, _: Vec<String>, _: &Options) -> Result<Outcome, CliError> {
    stdio::note("`run` is not there on this system, which runs no lines; use `allowexec call`");
    Ok(Outcome::Status(126))
}
