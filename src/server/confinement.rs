//! The sandbox that a configuration asks for: what it grants, what of it can be enforced, and what is wrong with it.

mod rules;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::Config;
use crate::exec::{Launcher, LimitsError, RuleExecution};
use crate::files::Held;
use crate::integrity::CommandPaths;
use crate::policy::rules::{CommandRule, LimitsRule, SandboxRule, SandboxWord};
use crate::policy::{AllowList, Directories, Programs};
use crate::sandbox::{
    Enforcement, Executed, Kernel, Level, Named, NamedPlaces, Network, OpenedPlaces, Preset, Sandbox, SandboxError,
    SandboxSettings, TemporaryDirectory, is_read_anyway,
};

/// How commands are confined.
#[derive(Debug)]
pub struct Confinement {
    level: Level,
    /// What is enforced, or why the server must not start.
    enforcement: Result<Enforcement, SandboxError>,
    /// Paths that the operator names but a command may have prepared; they are not granted.
    refused: Vec<SandboxError>,
    /// The temporary directory of the commands, removed at the end of the server; `None` with the level `off`.
    temporary: Option<Result<TemporaryDirectory, SandboxError>>,
    warnings: Vec<String>,
    problems: Vec<String>,
    confines_rules: bool,
    /// What can't be enforced of the sandboxes of rules.
    of_rules: Vec<SandboxError>,
    /// What each preset grants, as far as it exists.
    presets: Vec<Granted>,
}

/// What a preset grants on this machine.
#[derive(Debug, Clone)]
struct Granted {
    preset: Preset,
    read: Vec<Named>,
    executed: Vec<Named>,
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
        let is_rule_confined =
            allow.rules().iter().any(|rule| level_of(rule, level).is_some_and(|level| level > Level::Off));
        if level == Level::Off && !is_rule_confined {
            let kernel = Kernel::Without("the sandbox is off");
            let enforcement = Enforcement::new(level, Network::Full, kernel, true);
            let (refused, warnings, problems) = (Vec::new(), without_effect(config), Vec::new());
            let rules = rules::executions(config, allow, limits, None, None, |_| None);
            let of_rules = Vec::new();
            return (
                Self {
                    level,
                    enforcement,
                    refused,
                    temporary: None,
                    warnings,
                    problems,
                    confines_rules: false,
                    of_rules,
                    presets: Vec::new(),
                },
                None,
                rules,
            );
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
        let mut executed = Executed::default();
        for program in allow.names().iter().filter_map(|name| found(allow, programs, name)) {
            add(&mut executed, &program);
        }
        for (path, walked) in &opened.exec {
            executed.add_walked(path, walked, paths, &opened.writable);
        }
        // What sets the limits runs within the sandbox already, as the commands that it becomes.
        let launcher = std::env::current_exe().ok();
        let makes_limits = !config.resource_limits().is_none();
        if let Some(launcher) = launcher.as_ref().filter(|_| makes_limits) {
            add(&mut executed, launcher);
        }
        let mut warnings = if level == Level::Off { Vec::new() } else { warnings(config, directories, &opened) };
        warnings.extend(prepared(config, programs.search_path().entries(), &opened));
        let kernel = probe.kernel();
        let enforcement = Enforcement::new(level, network, kernel, best_effort);
        let temporary = enforcement.is_ok().then(|| temporary(config, &opened));
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
        let of_rule = |rule: &CommandRule| {
            let is_read_only = rule.sandbox.writes_nothing();
            let reads_all = is_read_only && rule.sandbox.level.is_none() && level == Level::Off;
            let level = level_of(rule, level)?;
            let network = network_of(rule, level, config);
            let mut settings = SandboxSettings { level, network, is_read_only, ..settings.clone() };
            if reads_all {
                settings.exec.extend(Held::open(Path::new("/")).ok().map(Arc::new));
            }
            if rule.sandbox.exec_own {
                (settings.programs, settings.exec) = (Executed::default(), Vec::new());
                if let Some(program) = found(allow, programs, &rule.name) {
                    add(&mut settings.programs, &program);
                }
            }
            let makes_limits = makes_limits || rule.limits != LimitsRule::default();
            if let Some(launcher) = launcher.as_ref().filter(|_| makes_limits) {
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
        let unenforced = |rule: &Arc<CommandRule>| {
            let error = rules.get(&rule.name)?.sandbox.as_ref()?.enforcement().err()?;
            Some((rule.sandbox.level, rule.name.clone(), error))
        };
        let mut of_rules = Vec::new();
        for (level, name, error) in allow.rules().iter().filter_map(unenforced) {
            match level {
                Some(_) => of_rules.push(error),
                // It asks for no level, so the other commands run.
                None => warnings.push(format!("every call of `{name}` is refused: {error}")),
            }
        }
        if let Some(global) = &global {
            warnings.extend(global.warnings());
        }
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
            },
            global,
            rules,
        )
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

    /// Whether all commands are without a network, but for those whose rule says otherwise.
    pub(super) fn lacks_network(&self) -> bool {
        let enforced = self.enforcement.as_ref().ok().filter(|_| self.is_on());
        enforced.is_some_and(|enforcement| enforcement.network == Network::None)
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

    /// What is enforced, as the end of a sentence; `None` with the level `off`.
    pub fn describe(&self) -> Option<String> {
        let enforcement = self.enforcement.as_ref().ok().filter(|_| self.is_on())?;
        Some(enforcement.describe())
    }

    /// How the calls of a rule are confined, for the person who approves one.
    pub(super) fn describe_for(&self, rule: &CommandRule) -> String {
        let SandboxRule { level, exec_own, network, paths_claimed, writes: _ } = &rule.sandbox;
        let Some(level) = level else {
            return match self.describe() {
                Some(described) if rule.sandbox.writes_nothing() => {
                    format!("{described}; it writes nothing, as its rule says")
                }
                Some(described) => described,
                None if rule.sandbox.writes_nothing() => "off, but it writes nothing, as its rule says".to_owned(),
                None => "off: nothing confines it".to_owned(),
            };
        };
        let also = [
            rule.sandbox.writes_nothing().then_some("writes nothing"),
            exec_own.then_some("executes only itself"),
            network.map(|network| if network { "with a network" } else { "without a network" }),
            paths_claimed.then_some("touches only the files that it names"),
        ];
        let also = also.into_iter().flatten().map(|also| format!(", {also}"));
        format!("{}, as its rule says{}", level.name(), also.collect::<String>())
    }

    /// What is enforced, for the models that call tools.
    pub(super) fn describe_for_models(&self) -> Option<String> {
        let enforced = self.enforcement.as_ref().ok().filter(|enforcement| enforcement.is_any());
        let consequence = match enforced.map(|enforcement| enforcement.network) {
            None => "",
            Some(Network::Full) => {
                " Commands can write only in the working directories and in `$TMPDIR`; `Permission denied` elsewhere comes \
                 from the sandbox."
            }
            Some(Network::None) => {
                " Commands can write only in the working directories and in `$TMPDIR`, and have no network; `Permission \
                 denied` elsewhere comes from the sandbox."
            }
        };
        self.describe().map(|sandbox| format!("Sandbox: {sandbox}.{consequence}"))
    }

    /// The `TMPDIR` of the commands; `None` if only the commands of some rules are confined.
    pub fn temporary(&self) -> Option<&Path> {
        self.temporary.as_ref().filter(|_| self.is_on())?.as_ref().ok().map(TemporaryDirectory::path)
    }

    /// Each preset by name, with a text that says what it grants; empty if nothing is confined.
    pub fn describe_presets(&self) -> Vec<(&'static str, String)> {
        let list =
            |named: &[Named]| named.iter().map(|named| named.path.display().to_string()).collect::<Vec<_>>().join(", ");
        let described = self.presets.iter().map(|Granted { preset, read, executed }| {
            let parts = [("to be read: ", read), ("to be read and executed: ", executed)];
            let parts = parts.into_iter().filter(|(_, named)| !named.is_empty());
            let parts: Vec<String> = parts.map(|(what, named)| format!("{what}{}", list(named))).collect();
            let nothing = || "nothing of it is in the home directory".to_owned();
            (preset.name(), Some(parts.join("; ")).filter(|text| !text.is_empty()).unwrap_or_else(nothing))
        });
        described.collect()
    }

    /// What the operator should know.
    pub(super) fn warnings(&self) -> Vec<String> {
        let missing = self.enforcement.as_ref().map(Enforcement::missing).unwrap_or_default();
        let missing = (!missing.is_empty())
            .then(|| format!("the sandbox does not enforce all of its level here; missing: {}", missing.join(", ")));
        missing.into_iter().chain(self.warnings.clone()).collect()
    }

    /// What keeps the sandbox from being as the operator asked.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut stops: Vec<String> = self.refused.iter().map(ToString::to_string).collect();
        let first = self.check().err().map(ToString::to_string);
        stops.extend(first.filter(|first| !stops.contains(first)));
        stops.into_iter().chain(self.problems.clone()).collect()
    }
}

/// What is set for a sandbox that there is not.
fn without_effect(config: &Config) -> Vec<String> {
    let granted = [
        ("read", config.read.value.is_empty()),
        ("write", config.write.value.is_empty()),
        ("exec", config.exec.value.is_empty()),
        ("grant", config.grant.value.is_empty()),
    ];
    let granted = granted.into_iter().filter(|(_, is_empty)| !is_empty).map(|(flag, _)| {
        format!("`--{flag}` grants nothing without a sandbox, and forbids nothing either; add `--sandbox workspace`")
    });
    granted.collect()
}

/// The level at which the commands of a rule run that has a sandbox of its own. Without a level of its own it is that of all
/// commands, `all`, and at `off` the weakest at which the kernel keeps commands from writing.
fn level_of(rule: &CommandRule, all: Level) -> Option<Level> {
    match rule.sandbox.level {
        Some(SandboxWord::Off) => Some(Level::Off),
        Some(SandboxWord::Workspace) => Some(Level::Workspace),
        Some(SandboxWord::Strict) => Some(Level::Strict),
        None => rule.sandbox.writes_nothing().then_some(all.max(Level::Workspace)),
    }
}

/// Whether the commands of a rule have a network: as the rule says, else as the operator says, else the level's default.
fn network_of(rule: &CommandRule, level: Level, config: &Config) -> Network {
    match rule.sandbox.network {
        Some(true) => Network::Full,
        Some(false) => Network::None,
        None => config.network.value.unwrap_or(Network::of(level)),
    }
}

/// The program of a command of the allow-list: the one that its rule names, else the one that its name is looked up as.
fn found(allow: &AllowList, programs: &Programs, name: &str) -> Option<PathBuf> {
    let program = allow.rules().get(name).and_then(|rule| rule.program.as_deref());
    programs.find_listed(program.unwrap_or(name)).map(|program| program.path().to_owned())
}

/// What enforces resource limits, `None` without limits, or why they can't be enforced.
pub(super) type Limited = Result<Option<Launcher>, Arc<LimitsError>>;

/// The home directory of the commands.
fn home(config: &Config) -> Option<&Path> {
    config.surroundings.variable("HOME").map(Path::new).filter(|home| home.is_absolute())
}

/// What the presets grant of the home directory; paths that don't exist are silently left out.
fn granted_by_presets(config: &Config) -> Vec<Granted> {
    let there = |paths: &[&str]| -> Vec<Named> {
        let paths = home(config).into_iter().flat_map(|home| paths.iter().map(|path| home.join(path)));
        paths.filter(|path| path.exists()).map(|path| Named { setting: "`--grant`", path }).collect()
    };
    let granted = |&preset: &Preset| Granted { preset, read: there(preset.read()), executed: there(preset.executed()) };
    config.grant.value.iter().map(granted).collect()
}

/// What the operator names, as absolute paths, and whether some root is read-only because `--read` names it too.
fn named_places(config: &Config, presets: &[Granted]) -> (NamedPlaces, bool) {
    let server = &config.surroundings.directory;
    let named = |setting, paths: &[PathBuf]| -> Vec<Named> {
        paths.iter().map(|path| Named { setting, path: server.join(path) }).collect()
    };
    let workspace = named("`--workspace-dir`", config.workspace_dir.value.as_slice());
    let project = named("`--project-dir`", config.project_dir.value.as_slice());
    let mut roots = named("`--cwd-root`", config.cwd_root.value.as_deref().unwrap_or_default());
    let read = named("`--read`", &config.read.value);
    let count = roots.len();
    roots.retain(|root| !read.iter().any(|read| read.path.components().eq(root.path.components())));
    let has_read_only_roots = roots.len() < count;
    let with = |own: Vec<Named>, of: fn(&Granted) -> &Vec<Named>| -> Vec<Named> {
        own.into_iter().chain(presets.iter().flat_map(of).cloned()).collect()
    };
    let named = NamedPlaces {
        directories: workspace.into_iter().chain(project).chain(roots).collect(),
        read: with(read, |granted| &granted.read),
        write: named("`--write`", &config.write.value),
        exec: with(named("`--exec`", &config.exec.value), |granted| &granted.executed),
    };
    (named, has_read_only_roots)
}

/// Where temporary files go if `TMPDIR` is not set, or names a directory in which commands can write.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

fn temporary(config: &Config, opened: &OpenedPlaces) -> Result<TemporaryDirectory, SandboxError> {
    // Joined, since on Windows these are relative to a drive.
    let usual = TEMPORARY.map(|place| config.surroundings.directory.join(place));
    let parents: Vec<&Path> = own_temporary(config).into_iter().chain(usual.iter().map(PathBuf::as_path)).collect();
    TemporaryDirectory::new(&parents, &opened.writable)
}

/// The server's own `TMPDIR`, if it is set.
fn own_temporary(config: &Config) -> Option<&Path> {
    config.surroundings.variable("TMPDIR").map(Path::new).filter(|parent| parent.is_absolute())
}

/// Says where the commands' temporary directory is, if it is not in the server's `TMPDIR`.
fn moved(config: &Config, temporary: &TemporaryDirectory) -> Option<String> {
    let own = own_temporary(config)?;
    let real = crate::files::canonicalize(own).ok()?;
    let parent = temporary.path().parent().filter(|parent| *parent != real)?;
    Some(format!(
        "commands can write in `{}` of `TMPDIR`, so their temporary directory is made in `{}`",
        own.display(),
        parent.display()
    ))
}

fn warnings(config: &Config, directories: &Directories, opened: &OpenedPlaces) -> Vec<String> {
    let mut warnings = Vec::new();
    let base = directories.base().path;
    let base = crate::files::canonicalize(&base).unwrap_or(base);
    let executed = opened.exec.iter().map(|(_, walked)| walked.held());
    let mut granted = opened.directories.iter().chain(&opened.read).chain(&opened.write).chain(executed);
    if !granted.any(|granted| base.starts_with(granted.path())) {
        warnings.push(format!(
            "calls that name no `cwd` run in `{}`, where the sandbox lets them neither read nor write; name a directory \
             with `--project-dir`",
            base.display()
        ));
    }
    if config.sandbox.value == Level::Strict && config.allow_project_commands.value {
        warnings.push("with `--sandbox strict`, the project's own commands run only if `--exec` names them".to_owned());
    }
    warnings
}

/// The directory in which the operator's own programs run. The server's directory is usually the project, in which
/// commands can write, so a command could control a program that reads its configuration from there.
pub(super) fn directory_of_operators_programs(config: &Config) -> PathBuf {
    if cfg!(unix) {
        return PathBuf::from("/");
    }
    let system = config.surroundings.variable("SystemRoot").map(PathBuf::from);
    system.filter(|system| system.is_absolute()).unwrap_or_else(|| config.surroundings.directory.clone())
}

/// A sentence for each place where commands may write but must not: what the server reads at its next start, where it
/// looks up programs, and what it writes for its operator.
fn prepared(config: &Config, search_path: &[PathBuf], opened: &OpenedPlaces) -> Vec<String> {
    let here = &config.surroundings.directory;
    let allows = "so a command can decide what the next start allows";
    let means = "so a command can decide which program a name means";
    let file = config.file.value.iter().map(|file| ("the configuration file", file, allows));
    let policies = config.policy.value.iter().map(|file| ("the policy", file, allows));
    let locks =
        config.lock.value.iter().map(|file| ("the lock file", file, "so a command can decide what programs may be"));
    let directories = search_path.iter().map(|directory| ("the directory of `PATH`", directory, means));
    let all = file.chain(policies).chain(locks).chain(directories).map(|(what, path, so)| (what, here.join(path), so));
    let approves = "so a command can approve what it likes";
    let elsewhere = directory_of_operators_programs(config);
    // Only the program itself is looked up from the server's directory; paths in its arguments count from where it runs.
    let named = |(place, word): (usize, &String)| match word.contains(std::path::is_separator) {
        true => Some(if place == 0 { here.join(word) } else { elsewhere.join(word) }),
        false => search_path.iter().map(|directory| directory.join(word)).find(|file| file.is_file()),
    };
    let asking = config.ask_with.value.iter().flat_map(|words| words.iter().enumerate()).filter_map(named);
    let all = all.chain(asking.map(|path| ("the `--ask-with` file", path, approves)));
    let keeps = "so a command can keep any head of the audit log that it likes";
    let anchoring = config.audit_anchor.value.iter().flat_map(|words| words.iter().enumerate()).filter_map(named);
    let all = all.chain(anchoring.map(|path| ("the `--audit-anchor` file", path, keeps)));
    let warning = |(what, path, so): (&str, PathBuf, &str)| {
        let why = opened.writable_way(&path)?;
        Some(format!("{what} `{}` {why}, {so}; keep it elsewhere", path.display()))
    };
    // They may not exist before the first start.
    let real = |path: &Path| crate::files::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let logs = [("the log file", &config.log_file.value), ("the audit log", &config.audit.value)];
    let logs = logs.into_iter().filter_map(|(what, file)| Some((what, file.as_ref()?))).filter_map(|(what, file)| {
        let why = opened.writable_way(here.join(file).parent()?)?;
        Some(format!("{what} `{}` {why}, so a command can change what it says; keep it elsewhere", file.display()))
    });
    let locked = config.audit.value.iter().filter(|file| {
        let directory = here.join(file).parent().map(Path::to_owned).unwrap_or_default();
        let is_readable = || opened.is_readable(&directory) || is_read_anyway(config.sandbox.value, &real(&directory));
        opened.writable_way(&directory).is_none() && is_readable()
    });
    let locked = locked.map(|file| {
        format!(
            "the audit log `{}` lies where commands may read, so a command can keep it locked, and other calls are refused \
             meanwhile; keep it elsewhere",
            file.display()
        )
    });
    all.filter_map(warning).chain(logs).chain(locked).collect()
}

fn problems(level: Level, allow: &AllowList, opened: &OpenedPlaces) -> Vec<String> {
    let mut problems = Vec::new();
    if level == Level::Strict && allow.allows_any() {
        problems.push(
            "`--sandbox strict` executes only commands that the allow-list names, and `*` names none; name them, or what \
             may be executed with `--exec`"
                .to_owned(),
        );
    }
    problems.extend(opened.missing.iter().cloned());
    problems
}
