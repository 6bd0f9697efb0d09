//! What a resolved configuration comes to: the parts that the server is made of.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::examine::examine;
use super::shell_calls::Stand;
use super::{Asked, Confinement, Observer, Unobserved};
use crate::config::{Config, EnvEntry, LogLevel, RootsMode};
use crate::exec::{Environment, EnvironmentSettings, Executor, Limits, Processes, Variable};
use crate::policy::{
    AllowList, Directories, DirectorySettings, Policy, Programs, Roots, SearchPath, SystemPlaces, Verdict, wrappers,
};
use crate::sandbox::{Level, Sandbox};
use crate::shell::ShellSettings;
use crate::shell::dialect::current as dialect;
use crate::tools::{ReportSettings, ToolSettings, Toolbox};

/// The parts of a server, each made of the configuration and of nothing else.
pub struct Parts {
    /// What decides.
    pub policy: Policy,
    /// What runs.
    pub executor: Arc<dyn Executor>,
    /// What clients see.
    pub toolbox: Toolbox,
    /// The bounds of calls that name none.
    pub limits: Limits,
    /// What shapes results.
    pub report: ReportSettings,
    /// The persistent shell, where there is one.
    pub shell: Option<ShellSettings>,
    /// How many calls run at once.
    pub max_concurrent: usize,
    /// From which level on the log is written.
    pub log_level: LogLevel,
    /// How commands are confined.
    pub confinement: Confinement,
    /// What is done with the client's roots.
    pub roots: RootsMode,
    /// Who hears of decisions and ends; nobody by default.
    pub observer: Arc<dyn Observer>,
    /// How many calls were made without a client.
    pub(super) calls: AtomicU64,
}

impl Parts {
    /// Makes the parts.
    pub fn new(config: &Config) -> Self {
        let search_path =
            SearchPath::new(config.surroundings.variable("PATH")).with_endings(config.surroundings.variable("PATHEXT"));
        let allow = AllowList::new(config.allow.value.iter().cloned());
        let programs = Programs::new(search_path.clone(), config.surroundings.directory.clone());
        let directories = Directories::new(directory_settings(config, &search_path));
        let (confinement, sandbox) = Confinement::new(config, &allow, &directories, &programs);
        let toolbox = Toolbox::new(ToolSettings {
            allowed: allow.summary(),
            which: config.tools.value,
            entries: allow.names().to_vec(),
            timeout: config.timeout.value,
            max_timeout: config.max_timeout.value,
            max_output: config.max_output.value,
            structured: config.structured.value,
            sandbox: confinement.describe_for_models(),
        });
        let mut environment = Environment::new(&EnvironmentSettings {
            inherited: config.surroundings.variables.clone(),
            inherit_all: config.inherit_env.value,
            variables: config.env.value.iter().map(variable).collect(),
            path: search_path.to_variable(),
        });
        if let Some(temporary) = confinement.temporary() {
            environment.set("TMPDIR", temporary.into());
        }
        let shell = config.tools.value.has_shell().then(|| {
            let program = shell_program(&config.shell.value, &programs);
            // The shell executes itself and what is allowed; commands without a shell don't execute the shell.
            let with_shell = |sandbox: &Sandbox| match &program {
                Ok(program) => sandbox.with_program(program.clone()),
                Err(_) => sandbox.with_directories(&[]),
            };
            let sandbox = sandbox.as_ref().map(with_shell).map(Arc::new);
            ShellSettings { program, environment: environment.clone(), sandbox }
        });
        let processes = Processes::new(environment);
        Self {
            shell,
            policy: Policy::new(allow, directories, programs),
            executor: Arc::new(match sandbox {
                Some(sandbox) => processes.with_sandbox(sandbox),
                None => processes,
            }),
            toolbox,
            limits: Limits {
                timeout: config.timeout.value,
                grace: config.grace.value,
                max_output: config.max_output.value,
            },
            report: ReportSettings { structured: config.structured.value, exit_error: config.exit_error.value },
            max_concurrent: config.max_concurrent.value,
            log_level: config.log.value,
            confinement,
            roots: config.roots.value,
            observer: Arc::new(Unobserved),
            calls: AtomicU64::new(0),
        }
    }

    /// What would be decided for a command that is called in `directory`, by the tools that there are; runs nothing.
    pub fn examine(&self, asked: Asked, directory: Option<&str>) -> Verdict {
        let home = self.shell.as_ref().and_then(ShellSettings::home);
        examine(&self.policy, self.toolbox.which(), asked, directory, Stand { home, ..Stand::default() })
    }

    /// Whether there is a persistent shell, and the name is built into it, so that no program is needed for it.
    pub fn is_built_in(&self, name: &str) -> bool {
        self.shell.is_some() && dialect::is_builtin(name)
    }

    /// What the operator should know before anything runs, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let allow = self.policy.allow_list();
        let mut warnings = Vec::new();
        if allow.allows_any() {
            warnings.push("the allow-list holds `*`: every command is allowed".to_owned());
        }
        for name in allow.names() {
            if let Some(reach) = wrappers::reach_of(name) {
                warnings.push(format!("`{name}` on the allow-list {}", reach.meaning()));
            }
        }
        if self.shell.is_some() {
            let refused = allow.names().iter().filter_map(|name| dialect::refuse(std::slice::from_ref(name)).err());
            warnings.extend(refused.map(|refused| format!("on the persistent shell every call is refused: {refused}")));
        }
        let directories = self.policy.directories();
        if directories.allow_project_commands() {
            warnings.push("commands under the project directory are allowed, whoever wrote them".to_owned());
        }
        if directories.are_clients_roots_free() && self.roots != RootsMode::Ignore {
            warnings.push(
                "the client's roots say which directories are the work's, and no directory of yours bounds them; name one with \
                 `--project-dir`, `--workspace-dir` or `--cwd-root`, or say `--roots ignore`"
                    .to_owned(),
            );
        }
        warnings.extend(self.confinement.warnings());
        warnings
    }

    /// What keeps calls from being served, one sentence each.
    pub fn problems(&self) -> Vec<String> {
        let directories = self.policy.directories().problems();
        let mut problems: Vec<String> = directories.iter().map(ToString::to_string).collect();
        problems.extend(self.policy.directories().contradictions());
        problems.extend(self.shell.as_ref().and_then(|shell| shell.program.clone().err()));
        let allow = self.policy.allow_list();
        if allow.names().is_empty() && !allow.allows_any() && !self.policy.directories().allow_project_commands() {
            problems.push("no command is allowed: name some with `--allow` or `ALLOWED_COMMANDS`".to_owned());
        }
        problems.extend(self.confinement.problems());
        problems
    }
}

/// Where Unixes have their programs and settings.
const SYSTEM: &[&str] = &[
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/local/lib",
    "/etc",
    "/boot",
    "/dev",
    "/proc",
    "/sys",
    "/nix",
    "/gnu",
];

fn directory_settings(config: &Config, search_path: &SearchPath) -> DirectorySettings {
    let is_confined = config.sandbox.value != Level::Off;
    let project_commands = config.allow_project_commands.value;
    // Elsewhere a client's roots grant nothing, and nobody asks for these places.
    let system = (is_confined || project_commands).then(|| {
        let system = SYSTEM.iter().filter(|_| cfg!(unix)).map(PathBuf::from);
        let home = config.surroundings.variable(if cfg!(windows) { "USERPROFILE" } else { "HOME" });
        let home = home.map(PathBuf::from).filter(|home| home.is_absolute());
        SystemPlaces::new(system, search_path.entries().iter().cloned(), home)
    });
    DirectorySettings {
        server: config.surroundings.directory.clone(),
        cwd: config.cwd.value.clone(),
        project: config.project_dir.value.clone(),
        workspace: config.workspace_dir.value.clone(),
        roots: config.cwd_root.value.clone().map_or(Roots::Unrestricted, Roots::Within),
        project_commands,
        is_confined,
        system: Arc::new(system.unwrap_or_default()),
    }
}

/// Finds the persistent shell as an entry of the allow-list is found: by its path, or by name in the operator's PATH.
fn shell_program(shell: &Path, programs: &Programs) -> Result<PathBuf, String> {
    let program = shell.to_str().and_then(|shell| programs.find_listed(shell));
    let wrong = match program {
        Some(program) if program.is_executable() => return Ok(program.path().to_owned()),
        Some(_) => "can't be executed",
        None => "was not found",
    };
    Err(format!("the shell `{}` of `--shell` {wrong}; name a program in PATH, or its path", shell.display()))
}

fn variable(entry: &EnvEntry) -> Variable {
    match entry {
        EnvEntry::Pass(name) => Variable::Pass(name.clone()),
        EnvEntry::Set(name, value) => Variable::Set(name.clone(), value.into()),
    }
}
