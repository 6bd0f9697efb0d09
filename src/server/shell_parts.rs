//! The persistent shell before anything runs: how it is started, what its operator should know, and what would be decided for a
//! command on it.

use std::sync::Arc;

use super::asked::Asked;
use super::configured;
use crate::config::Config;
use crate::exec::{Environment, Launcher, LimitsError};
use crate::integrity::Guard;
use crate::policy::{AllowList, Policy, Programs, Settable, Verdict, WorkingDirectory};
use crate::sandbox::Sandbox;
use crate::shell::dialect::current as dialect;
use crate::shell::{ShellArguments, ShellDecision, ShellDirectories, ShellSettings, decide};

/// The settings of the shell, if there is to be one.
pub(super) fn settings(
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

/// Warnings about the commands of the shell, one sentence each.
pub(super) fn warnings(policy: &Policy) -> Vec<String> {
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

/// Decides as for a call of the persistent shell.
pub(super) fn examine(policy: &Policy, asked: Asked, cwd: Option<&str>, shell: ShellDirectories<'_>) -> Verdict {
    let (entry, arguments) = match asked {
        Asked::Line(line) => {
            let line = line.trim_start();
            let (entry, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            (entry.to_owned(), arguments.to_owned())
        }
        Asked::Words(first, arguments) => (first, dialect::join(&arguments)),
    };
    let ShellDecision { mut explanation, outcome, change } = decide(policy, &entry, ShellArguments::read(&arguments));
    let directories = policy.directories();
    let refusal = match (outcome, directories.resolve(cwd)) {
        (Err(refusal), _) => Some(refusal),
        (Ok(_), Err(error)) => Some(error.into()),
        (Ok(command), Ok(directory)) => {
            let current = Some(shell.current.filter(|_| cwd.is_none()).unwrap_or(directory.path()));
            explanation.directory = current.map(Into::into);
            let target = change.map(|change| ShellDirectories { current, ..shell }.target(&change, directories));
            let here = current.and_then(|current| WorkingDirectory::open(current).ok()).unwrap_or(directory);
            target.and_then(Result::err).or_else(|| command.check_in(directories, &here, &[]).err())
        }
    };
    Verdict { explanation, refusal }
}
