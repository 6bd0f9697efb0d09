//! The sandbox that a configuration asks for: what it grants, what of it can be enforced, and what is wrong with it.

mod described;
mod granted;
mod rules;
mod temporary;
mod warnings;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::Config;
use crate::exec::RuleExecution;
use crate::files::Held;
use crate::integrity::CommandPaths;
use crate::network::Network;
use crate::policy::rules::{LimitsRule, RuleHead};
use crate::policy::{AllowList, Directories, Programs};
use crate::sandbox::{
    Enforcement, Executed, Kernel, Level, OpenedPlaces, Sandbox, SandboxError, SandboxSettings, TemporaryDirectory,
};
use crate::tools::NetworkGrant;

use granted::{Granted, granted_by_presets, home, named_places};
use rules::{Limited, level_of, network_of};
use temporary::{moved, temporary};
pub(super) use warnings::directory_of_operators_programs;
use warnings::{prepared, problems, unstartable, unusable, without_effect};

/// How commands are confined.
#[derive(Debug)]
pub struct Confinement {
    level: Level,
    /// The enforcement of the sandbox, or why the server must not start.
    enforcement: Result<Enforcement, SandboxError>,
    /// Paths that the operator names but a command may have prepared; they are not granted.
    refused: Vec<SandboxError>,
    /// The temporary directory of the commands, removed at the end of the server; `None` if no confined command may write.
    temporary: Option<Result<TemporaryDirectory, SandboxError>>,
    warnings: Vec<String>,
    problems: Vec<String>,
    confines_rules: bool,
    /// The errors of the sandboxes of rules that can't be enforced.
    of_rules: Vec<SandboxError>,
    /// The grants of each preset, as far as its paths exist.
    presets: Vec<Granted>,
    /// Where confined commands may write, apart from the temporary directory.
    writable: Vec<PathBuf>,
}

impl Confinement {
    /// Returns the confinement; the executor's sandbox, which is `None` with the level `off`; and how commands run
    /// whose rules have a sandbox or limits of their own.
    pub(super) fn new(
        config: &Config,
        allow: &AllowList,
        directories: &Directories,
        (programs, paths): (&Programs, &CommandPaths),
        limits: &Limited,
    ) -> (Self, Option<Arc<Sandbox>>, HashMap<String, RuleExecution>) {
        let level = config.sandbox.value;
        let is_rule_confined = confines_rules(allow, level);
        if level == Level::Off && !is_rule_confined {
            let rules = rules::executions(config, allow, limits, None, None, |_| None);
            return (Self::off(config), None, rules);
        }
        // Finding out what the kernel enforces takes about as long as opening everything that is granted.
        let probe = Kernel::probe();
        let (network, best_effort) = (config.network(), config.sandbox_best_effort.value);
        let presets = granted_by_presets(config);
        let (named, has_read_only_roots) = named_places(config, &presets);
        let opened = OpenedPlaces::open(named, &directories.granted());
        let add = |executed: &mut Executed, program: &Path| {
            executed.add(&config.surroundings.directory.join(program), paths, &opened.writable);
        };
        let found = |name: &str| found(allow, programs, name);
        let mut executed = Executed::default();
        for program in allow.names().iter().filter_map(|name| found(name)) {
            add(&mut executed, &program);
        }
        for (path, walked) in &opened.exec {
            executed.add_walked(path, walked, paths, &opened.writable);
        }
        // What sets the limits, or enters the network of a call, runs within the sandbox already, as the commands that it becomes.
        let launcher = std::env::current_exe().ok();
        let has_limits = |rule: RuleHead<'_>| *rule.limits != LimitsRule::default();
        let makes_limits = !config.resource_limits().is_none() || allow.rules().heads().any(has_limits);
        let makes_network = network == Network::Loopback;
        if let Some(launcher) = launcher.as_ref().filter(|_| makes_limits || makes_network) {
            add(&mut executed, launcher);
        }
        let mut warnings = if level == Level::Off { Vec::new() } else { unusable(config, directories, &opened) };
        warnings.extend(prepared(config, programs.search_path().entries(), &opened));
        let kernel = probe.kernel();
        let mut enforcement = Enforcement::new(level, network.clone(), kernel, best_effort);
        let mut of_rules = Vec::new();
        if let Err(error) = rules::try_own_network(config, allow) {
            match enforcement {
                Ok(_) if level > Level::Off && makes_network => enforcement = Err(error),
                Ok(_) | Err(_) => of_rules.push(error),
            }
        }
        // Commands that write nothing could only look into it.
        let writes = |rule: RuleHead<'_>| {
            !rule.sandbox.writes_nothing() && level_of(rule.sandbox, level).is_some_and(|level| level > Level::Off)
        };
        let uses_temporary = level > Level::Off || allow.rules().heads().any(writes);
        let temporary = (uses_temporary && enforcement.is_ok()).then(|| temporary(config, &opened));
        if let Some(Ok(temporary)) = &temporary {
            warnings.extend(moved(config, temporary));
        }
        let mut problems = problems(level, allow, &opened);
        if !config.grant.value.is_empty() && home(config).is_none() {
            problems
                .push("`--grant` is about the home directory, and `HOME` names none, so nothing is granted".to_owned());
        }
        let own = temporary.as_ref().and_then(|temporary| temporary.as_ref().ok());
        let mut settings = SandboxSettings {
            level,
            network,
            kernel,
            best_effort,
            programs: executed,
            paths: paths.clone(),
            directories: opened.directories.clone(),
            read: opened.read.clone(),
            write: opened.write.clone(),
            exec: opened.exec.iter().map(|(_, walked)| Arc::clone(walked.held())).collect(),
            writable: opened.writable.clone(),
            is_read_only: false,
            is_shared: false,
        };
        settings.directories.extend(own.map(|temporary| Arc::clone(temporary.held())));
        let all = Arc::new(Sandbox::new(settings.clone()));
        let of_rule = |rule: RuleHead<'_>| {
            let is_read_only = rule.sandbox.writes_nothing();
            let reads_all = is_read_only && rule.sandbox.level.is_none() && level == Level::Off;
            let level = level_of(rule.sandbox, level)?;
            let network = network_of(rule.sandbox, level, config);
            let mut settings = SandboxSettings { level, network, is_read_only, ..settings.clone() };
            if reads_all {
                settings.exec.extend(Held::open(Path::new("/")).ok().map(Arc::new));
            }
            if rule.sandbox.exec_own {
                let one = found(rule.name).map(|program| {
                    let program = config.surroundings.directory.join(program);
                    settings.programs.of_one(&program, paths, &opened.writable)
                });
                (settings.programs, settings.exec) = (one.unwrap_or_default(), Vec::new());
            }
            let makes_limits = makes_limits || *rule.limits != LimitsRule::default();
            let makes_network = settings.network == Network::Loopback;
            if let Some(launcher) = launcher.as_ref().filter(|_| makes_limits || makes_network) {
                add(&mut settings.programs, launcher);
            }
            if rule.sandbox.paths_claimed {
                settings.directories = own.map(|temporary| Arc::clone(temporary.held())).into_iter().collect();
                (settings.read, settings.write) = (Vec::new(), Vec::new());
            } else if opened.directories.is_empty() && !has_read_only_roots {
                // If nobody names working directories, paths must lie in the one where calls run.
                settings.directories.extend(directories.base().held().cloned());
            }
            Some(all.of_settings(settings))
        };
        let temporary_path = own.map(|temporary| temporary.path().to_owned());
        let global = (level != Level::Off).then(|| Arc::clone(&all));
        let rules = rules::executions(config, allow, limits, global.as_ref(), temporary_path.as_deref(), of_rule);
        let unenforced = |rule: RuleHead<'_>| {
            let error = rules.get(rule.name)?.sandbox.as_ref()?.enforcement().err()?;
            Some((rule.sandbox.level, rule.name.to_owned(), error))
        };
        for (level, name, error) in allow.rules().heads().filter_map(unenforced) {
            match level {
                Some(_) => of_rules.push(error),
                // It asks for no level, so the other commands run.
                None => warnings.push(format!("every call of `{name}` is refused: {error}")),
            }
        }
        let program = |name: &str| Some(config.surroundings.directory.join(found(name)?));
        warnings.extend(unstartable(allow, global.as_deref(), &rules, program));
        let writable = writable(&opened);
        let refused = opened.refused;
        (
            Self {
                level,
                enforcement,
                refused,
                temporary,
                warnings,
                problems,
                confines_rules: is_rule_confined,
                of_rules,
                presets,
                writable,
            },
            global,
            rules,
        )
    }

    /// The confinement where nothing runs. The operator's places are opened, and no sandbox is made.
    pub(super) fn to_decide(config: &Config, allow: &AllowList, directories: &Directories) -> Self {
        let level = config.sandbox.value;
        if level == Level::Off && !confines_rules(allow, level) {
            return Self::off(config);
        }
        let (named, _) = named_places(config, &granted_by_presets(config));
        let opened = OpenedPlaces::open(named, &directories.granted());
        let writable = writable(&opened);
        Self { level, refused: opened.refused, writable, ..Self::off(config) }
    }

    /// No confinement.
    fn off(config: &Config) -> Self {
        let kernel = Kernel::Without("the sandbox is off");
        Self {
            level: Level::Off,
            enforcement: Enforcement::new(Level::Off, Network::Full, kernel, true),
            refused: Vec::new(),
            temporary: None,
            warnings: without_effect(config),
            problems: Vec::new(),
            confines_rules: false,
            of_rules: Vec::new(),
            presets: Vec::new(),
            writable: Vec::new(),
        }
    }

    /// Adds the warnings about the sandbox of the persistent shell, which may execute one more program.
    pub(super) fn warn_of_shell(&mut self, sandbox: &Sandbox) {
        for warning in sandbox.warnings() {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// Whether commands are to be confined.
    pub fn is_on(&self) -> bool {
        self.level != Level::Off
    }

    /// Whether all commands are to be confined by the level `strict`.
    pub(super) fn is_strict(&self) -> bool {
        self.level == Level::Strict
    }

    /// Whether some rule confines its commands, whatever the level of the others is.
    pub(super) fn confines_rules(&self) -> bool {
        self.confines_rules
    }

    /// The setting that would give all commands a network, but for those whose rule says otherwise.
    pub(super) fn network_grant(&self) -> NetworkGrant {
        let enforced = self.enforcement.as_ref().ok().filter(|_| self.is_on());
        enforced.map_or(NetworkGrant::None, |enforcement| NetworkGrant::of_server(&enforcement.network))
    }

    /// Whether the server may start.
    ///
    /// # Errors
    /// `SandboxError` if the kernel can't enforce the level, if a command may have prepared what one of the operator's
    /// paths leads to, or if the commands have no place for temporary files.
    pub fn check(&self) -> Result<(), &SandboxError> {
        self.enforcement.as_ref()?;
        if let Some(refused) = self.of_rules.first().or(self.refused.first()) {
            return Err(refused);
        }
        self.temporary.as_ref().map_or(Ok(()), |temporary| temporary.as_ref().map(drop))
    }

    /// The directories and files that all commands may write, but for those whose rule says otherwise; empty if they are not confined.
    pub(super) fn writable(&self) -> &[PathBuf] {
        if self.is_on() { &self.writable } else { &[] }
    }

    /// The `TMPDIR` of the commands; `None` if only the commands of some rules are confined.
    pub fn temporary(&self) -> Option<&Path> {
        self.temporary.as_ref().filter(|_| self.is_on())?.as_ref().ok().map(TemporaryDirectory::path)
    }

    /// Removes the temporary directory, once all commands have ended; returns what the log says if something of it is left.
    pub(super) fn remove_temporary(&self) -> Option<String> {
        let temporary = self.temporary.as_ref()?.as_ref().ok()?;
        let why = match temporary.remove().err()? {
            error if error.kind() == std::io::ErrorKind::TimedOut => "it holds too much to be removed now".to_owned(),
            error => error.to_string(),
        };
        let path = temporary.path().display();
        Some(format!(
            "the temporary directory `{path}` is left behind: {why}; the next server that starts removes what it can"
        ))
    }

    /// Returns warnings for the operator.
    pub(super) fn warnings(&self) -> Vec<String> {
        let missing = self.enforcement.as_ref().map(Enforcement::missing).unwrap_or_default();
        let missing = (!missing.is_empty())
            .then(|| format!("the sandbox does not enforce all of its level here; missing: {}", missing.join(", ")));
        missing.into_iter().chain(self.warnings.clone()).collect()
    }

    /// Returns the problems that keep the sandbox from being as the operator asked.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut stops: Vec<String> = self.refused.iter().map(ToString::to_string).collect();
        let first = self.check().err().map(ToString::to_string);
        stops.extend(first.filter(|first| !stops.contains(first)));
        stops.into_iter().chain(self.problems.clone()).collect()
    }
}

/// Whether some rule confines its commands, if `level` is that of the others.
fn confines_rules(allow: &AllowList, level: Level) -> bool {
    allow.rules().heads().any(|rule| level_of(rule.sandbox, level).is_some_and(|level| level > Level::Off))
}

/// The directories and files that all commands may write.
fn writable(opened: &OpenedPlaces) -> Vec<PathBuf> {
    opened.directories.iter().chain(&opened.write).map(|held| held.path().to_owned()).collect()
}

/// The program of a command of the allow-list: the one that its rule names, else the one that its name is looked up as.
fn found(allow: &AllowList, programs: &Programs, name: &str) -> Option<PathBuf> {
    let sought = allow.rules().head(name).map_or(name, |rule| rule.sought);
    programs.find_listed(sought).map(|program| program.path().to_owned())
}
