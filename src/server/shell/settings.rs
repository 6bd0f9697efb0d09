//! How the persistent shell of a server is started, and what its operator should know.

use std::sync::Arc;

use crate::config::Config;
use crate::exec::{Environment, Launcher, LimitsError};
use crate::integrity::Guard;
use crate::policy::{AllowList, Policy, Programs, Settable};
use crate::sandbox::Sandbox;
use crate::server::configured;
use crate::shell::ShellSettings;
use crate::shell::dialect::current as dialect;

/// The settings of the shell, if there is to be one.
pub(in crate::server) fn settings(
    config: &Config,
    allow: &AllowList,
    programs: &Programs,
    environment: &Environment,
    sandbox: Option<&Sandbox>,
    launcher: &Result<Option<Launcher>, Arc<LimitsError>>,
    guard: Option<&Arc<Guard>>,
) -> Option<ShellSettings> {
    if !config.tools.value.has_shell() {
        return None;
    }
    let program = configured::shell_program(&config.shell.value, programs);
    let (program, launcher) = match launcher {
        Ok(launcher) => (program, launcher.clone()),
        Err(error) => (Err(error.to_string()), None),
    };
    // The shell executes itself and what is allowed; commands without a shell need not execute it.
    let sandbox = sandbox.map(|sandbox| Arc::new(sandbox.for_shell(program.as_deref().ok())));
    // The shell has one environment for all commands.
    let describes = allow.rules().heads().any(|rule| rule.describes_arguments);
    let environment = environment.clone();
    let environment = if describes { environment.without_those_of_reading() } else { environment };
    Some(ShellSettings { program, environment, sandbox, launcher, guard: guard.cloned() })
}

/// What the operator should know about the commands of the shell, one sentence each.
pub(in crate::server) fn warnings(policy: &Policy) -> Vec<String> {
    let names = policy.allow_list().names();
    let refused = names.iter().filter_map(|name| dialect::refuse(std::slice::from_ref(name), Settable::Harmless).err());
    let refused = refused.map(|refused| format!("on the persistent shell every call is refused: {refused}"));
    let sets_nothing = policy.settable() == Settable::Named(&[]);
    let sets = names.iter().filter(|name| sets_nothing && dialect::sets_variables(name)).map(|name| {
        format!(
            "on the persistent shell `{name}` changes no variable, since rules or subcommands limit what commands get; name \
             those that calls may change with `--line-env`"
        )
    });
    let unheld = policy.allow_list().rules().iter().filter(|rule| !rule.has_no_settings()).map(|rule| {
        format!(
            "on the persistent shell every call of `{}` is refused: its rule in {} sets a sandbox, an environment or limits \
             of its own",
            rule.name, rule.origin
        )
    });
    refused.chain(sets).chain(unheld).collect()
}
