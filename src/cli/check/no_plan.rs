//! Stands where the output for a line of several commands would, in a build without them: there is none.

use crate::cli::Outcome;
use crate::cli::error::CliError;
use crate::config::Config;
use crate::policy::line::LineDecision;

pub(super) fn run(decision: &LineDecision, _: &Config, _: bool) -> Result<Outcome, CliError> {
    match decision.0 {}
}
