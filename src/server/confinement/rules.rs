//! How commands run whose rules have a sandbox or limits of their own.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::config::Config;
use crate::exec::{Launcher, LimitsError, ResourceLimits, RuleExecution};
use crate::network::Network;
use crate::policy::AllowList;
use crate::policy::rules::{LimitsRule, RuleHead, SandboxRule, SandboxWord};
use crate::sandbox::{Level, Sandbox, SandboxError};

/// The launcher that sets resource limits, `None` without limits, or why they can't be enforced.
pub(super) type Limited = Result<Option<Launcher>, Arc<LimitsError>>;

/// The executions by the name of the command. `all` is the sandbox of the other commands; `own` makes that of a rule.
pub(super) fn executions(
    config: &Config,
    allow: &AllowList,
    limits: &Limited,
    all: Option<&Arc<Sandbox>>,
    temporary: Option<&Path>,
    own: impl Fn(RuleHead<'_>) -> Option<Sandbox>,
) -> HashMap<String, RuleExecution> {
    let is_own = |rule: &RuleHead<'_>| *rule.sandbox != SandboxRule::default() || *rule.limits != LimitsRule::default();
    let execution = |rule: RuleHead<'_>| {
        let sandbox = match own(rule) {
            Some(own) => Some(Arc::new(own)).filter(|sandbox| sandbox.level() > Level::Off),
            None => all.cloned(),
        };
        let limits = if *rule.limits == LimitsRule::default() {
            limits.clone()
        } else {
            Launcher::new(merged(rule.limits, config.resource_limits())).map_err(Arc::new)
        };
        let temporary = temporary.filter(|_| sandbox.is_some()).map(Path::to_owned);
        let is_claimed = rule.sandbox.paths_claimed && sandbox.is_some();
        (rule.name.to_owned(), RuleExecution { sandbox, is_claimed, limits, temporary })
    };
    allow.rules().heads().filter(is_own).map(execution).collect()
}

fn merged(rule: &LimitsRule, all: ResourceLimits) -> ResourceLimits {
    ResourceLimits {
        memory: rule.memory.or(all.memory),
        file_size: rule.file_size.or(all.file_size),
        cpu: rule.cpu.or(all.cpu),
        processes: rule.processes.or(all.processes),
        open_files: rule.open_files.or(all.open_files),
    }
}

/// The level at which the commands of a rule run that has a sandbox of its own. Without a level of its own it is that of all
/// commands, `all`, and at `off` the weakest at which the kernel keeps commands from writing.
pub(super) fn level_of(rule: &SandboxRule, all: Level) -> Option<Level> {
    match rule.level {
        Some(SandboxWord::Off) => Some(Level::Off),
        Some(SandboxWord::Workspace) => Some(Level::Workspace),
        Some(SandboxWord::Strict) => Some(Level::Strict),
        None => rule.writes_nothing().then_some(all.max(Level::Workspace)),
    }
}

/// The network of the commands of a rule: as the rule says, else as the operator says, else the level's default.
pub(super) fn network_of(rule: &SandboxRule, level: Level, config: &Config) -> Network {
    let named = rule.network.as_ref().or(config.network.value.as_ref());
    named.cloned().unwrap_or_else(|| level.default_network())
}

/// Tries whether calls can have a network of their own, if the commands of anyone are to have one.
///
/// # Errors
/// [`SandboxError::NoOwnNetwork`] if they can't.
pub(super) fn try_own_network(config: &Config, allow: &AllowList) -> Result<(), SandboxError> {
    let all = config.sandbox.value;
    let is_own = |level: Level, network: Network| level > Level::Off && network == Network::Loopback;
    let is_own_for = |rule: RuleHead<'_>| {
        level_of(rule.sandbox, all).is_some_and(|level| is_own(level, network_of(rule.sandbox, level, config)))
    };
    let is_needed = is_own(all, config.network()) || allow.rules().heads().any(is_own_for);
    if is_needed { Launcher::try_own_network() } else { Ok(()) }
}
