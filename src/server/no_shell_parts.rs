//! Stands where the parts for the persistent shell would, in a build without it: there is never one.

use std::sync::Arc;

use super::asked::Asked;
use crate::config::Config;
use crate::exec::{Environment, Launcher, LimitsError};
use crate::integrity::Guard;
use crate::policy::{AllowList, Explanation, Policy, Programs, Refusal, Verdict};
use crate::sandbox::Sandbox;
use crate::shell::{ShellDirectories, ShellSettings};

pub(super) fn settings(
    _: &Config,
    _: &AllowList,
    _: &Programs,
    _: &Environment,
    _: Option<&Sandbox>,
    _: &Result<Option<Launcher>, Arc<LimitsError>>,
    _: Option<&Arc<Guard>>,
) -> Option<ShellSettings> {
    None
}

pub(super) fn warnings(_: &Policy) -> Vec<String> {
    Vec::new()
}

/// `--tools shell` can't be set, so nobody asks.
pub(super) fn examine(_: &Policy, _: Asked, _: Option<&str>, _: ShellDirectories<'_>) -> Verdict {
    let reason = "this build has no persistent shell; it was built without `shell`".to_owned();
    Verdict { explanation: Explanation::default(), refusal: Some(Refusal::InShell { reason }) }
}
