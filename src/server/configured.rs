//! Makes what a server needs from single settings of the configuration.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::confinement::directory_of_operators_programs;
use crate::config::{Config, EnvEntry, Setting, Source};
use crate::exec::{Environment, EnvironmentSettings, OperatorProgram, Variable};
use crate::integrity::{CommandPaths, Guard};
use crate::policy::{
    AllowList, DirectorySettings, LineRules, Lines, Program, Programs, Roots, SearchPath, changes_reading,
};
use crate::sandbox::Level;
use crate::text::escape;
use crate::tools::{DescribedCommand, GrantLists, ListedIn};

/// Returns the guard of programs; `None` if nothing is demanded of them.
pub(super) fn guard(config: &Config, paths: &CommandPaths) -> Option<Arc<Guard>> {
    let lock = config.lock.value.as_ref().map(|file| config.surroundings.directory.join(file));
    Guard::of(config.trust.value, lock.as_deref(), paths.clone()).map(Arc::new)
}

/// The `PATH` of the commands, and that of each rule which has its own.
pub(super) fn command_paths(environment: &Environment, allow: &AllowList) -> CommandPaths {
    let path = environment.variables().find(|(name, _)| *name == "PATH").map(|(_, value)| value.to_owned());
    iter::once(path).chain(allow.rules().paths()).collect()
}

/// The variables that the operator names and that no command with described arguments gets, as messages show them.
pub(super) fn unset_for_rules(config: &Config, allow: &AllowList) -> Vec<String> {
    if !allow.rules().heads().any(|rule| rule.describes_arguments) {
        return Vec::new();
    }
    let named = config.env.value.iter().map(variable).map(|variable| match variable {
        Variable::Pass(name) | Variable::Set(name, _) => name,
    });
    named
        .chain(config.line_env.value.iter().cloned())
        .filter(|name| changes_reading(name.as_ref()))
        .map(|name| format!("`{}`", escape(&name)))
        .collect()
}

/// Returns descriptions for models of the commands that policies describe: those of the operator's own policies first.
pub(super) fn described(allow: &AllowList) -> Vec<DescribedCommand> {
    let rules = allow.rules();
    let mut names: Vec<&str> = rules.heads().filter(|rule| !rule.is_plain_any).map(|rule| rule.name).collect();
    names.sort_by_key(|name| rules.profile_of(name).is_some());
    let command = |name: &str| Some(DescribedCommand { name: name.to_owned(), synopsis: rules.synopsis(name)? });
    names.into_iter().filter_map(command).collect()
}

/// The commands that change nothing, according to the operator's list or to their rules.
pub(super) fn read_only(config: &Config, allow: &AllowList) -> Vec<String> {
    let of_rules = allow.rules().heads().filter(|rule| rule.read_only).map(|rule| rule.name.to_owned());
    config.read_only.value.iter().cloned().chain(of_rules).collect()
}

pub(super) fn directory_settings(config: &Config) -> DirectorySettings {
    DirectorySettings {
        server: config.surroundings.directory.clone(),
        cwd: config.cwd.value.clone(),
        project: config.project_dir.value.clone(),
        workspace: config.workspace_dir.value.clone(),
        roots: config.cwd_root.value.clone().map_or(Roots::Unrestricted, Roots::Within),
        project_commands: config.allow_project_commands.value,
        writable: config.write.value.clone(),
        is_confined: config.sandbox.value != Level::Off || config.rules.heads().any(|rule| rule.sandbox.is_confining()),
    }
}

/// After what time a call is handed over to the background; `None` for never. Without kept output none is, since its
/// output would be lost.
pub(super) fn hand_over(config: &Config) -> Option<Duration> {
    let is_on = config.has_background() && config.keep_output.value > 0;
    Some(config.hand_over.value).filter(|after| is_on && !after.is_zero())
}

/// Where the operator would add what the sandbox is to grant: where the list is, else in the file that is in use.
pub(super) fn grant_lists(config: &Config) -> GrantLists {
    GrantLists {
        read: listed_in(config, &config.read),
        write: listed_in(config, &config.write),
        exec: listed_in(config, &config.exec),
        grant: listed_in(config, &config.grant),
    }
}

fn listed_in<T>(config: &Config, list: &Setting<T>) -> ListedIn {
    match &list.source {
        Source::File(_) => ListedIn::File,
        Source::Default if config.file.value.is_some() => ListedIn::File,
        Source::Variable(name) => ListedIn::Variable(name),
        Source::Default | Source::Code | Source::Flag(_) => ListedIn::Flag,
    }
}

/// The directories in which files without a name can be created.
pub(super) fn temporary_directories(config: &Config) -> Vec<PathBuf> {
    let variables = if cfg!(windows) { ["TMP", "TEMP"].as_slice() } else { &["TMPDIR"] };
    let named = variables.iter().filter_map(|name| config.surroundings.variable(name)).map(PathBuf::from);
    let usual = ["/tmp", "/var/tmp"].iter().filter(|_| cfg!(unix)).map(PathBuf::from);
    named.filter(|directory| directory.is_absolute()).chain(usual).collect()
}

/// The program that keeps the head of the audit log elsewhere, and the log.
#[derive(Debug, Clone)]
pub(super) struct AnchorSettings {
    pub program: Result<Arc<OperatorProgram>, String>,
    pub log: PathBuf,
}

/// The program that keeps the head of the audit log elsewhere; `None` without an audit log or such a program.
pub(super) fn anchor_settings(config: &Config) -> Option<AnchorSettings> {
    let log = config.surroundings.directory.join(config.audit.value.as_ref()?);
    let words = config.audit_anchor.value.as_ref()?;
    let search_path =
        SearchPath::new(config.surroundings.variable("PATH")).with_endings(config.surroundings.variable("PATHEXT"));
    let programs = Programs::new(search_path.clone(), config.surroundings.directory.clone());
    let program = operators_program(config, words, "--audit-anchor", &programs, &search_path);
    Some(AnchorSettings { program, log })
}

/// Finds one of the operator's own programs, in the same way as an allow-list entry.
pub(super) fn operators_program(
    config: &Config,
    words: &[String],
    flag: &str,
    programs: &Programs,
    search_path: &SearchPath,
) -> Result<Arc<OperatorProgram>, String> {
    let mut environment = config.surroundings.variables.clone();
    environment.insert("PATH".into(), search_path.to_variable());
    // `PWD` names the server's directory, and the program runs in another one.
    environment.remove(OsStr::new("PWD"));
    let name = words.first().map_or("", String::as_str);
    let program = programs.find_listed(name).filter(Program::is_executable);
    let program = program.ok_or_else(|| format!("`{name}` of `{flag}` was not found, or can't be executed"))?;
    Ok(Arc::new(OperatorProgram {
        program: program.path().to_owned(),
        words: words.to_vec(),
        environment,
        directory: directory_of_operators_programs(config),
    }))
}

/// Finds the persistent shell in the same way as an allow-list entry: by its path, or by name in the operator's PATH.
pub(super) fn shell_program(shell: &Path, programs: &Programs) -> Result<PathBuf, String> {
    let program = shell.to_str().and_then(|shell| programs.find_listed(shell));
    let wrong = match program {
        Some(program) if program.is_executable() => return Ok(program.path().to_owned()),
        Some(_) => "can't be executed",
        None => "was not found",
    };
    Err(format!("the shell `{}` of `--shell` {wrong}; name a program in PATH, or its path", shell.display()))
}

pub(super) fn variable(entry: &EnvEntry) -> Variable {
    match entry {
        EnvEntry::Pass(name) => Variable::Pass(name.clone()),
        EnvEntry::Set(name, value) => Variable::Set(name.clone(), value.into()),
    }
}

/// The settings for lines. Their words may hold only the variables that the server makes itself, with the values that commands get:
/// what the operator names or passes on may be a secret.
pub(super) fn line_rules(config: &Config, environment: &Environment, path: OsString) -> LineRules {
    if config.lines.value == Lines::Off {
        return LineRules::default();
    }
    let own = Environment::new(&EnvironmentSettings {
        inherited: config.surroundings.variables.clone(),
        inherit_all: false,
        variables: Vec::new(),
        path,
    });
    let is_named = |name: &str| {
        config.env.value.iter().any(|entry| match entry {
            EnvEntry::Pass(named) | EnvEntry::Set(named, _) => named == name,
        })
    };
    let given: BTreeMap<&OsStr, &OsStr> = environment.variables().collect();
    let same = own.variables().filter(|(name, value)| given.get(name) == Some(value));
    let texts = same.filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())));
    let variables = texts.filter(|(name, _)| !is_named(name)).collect();
    LineRules { lines: config.lines.value, variables, writable: Vec::new() }
}
