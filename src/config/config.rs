//! The resolved configuration, and how the sources are combined.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::entry;
use super::env_entry::EnvEntry;
use super::error::ConfigError;
use super::feature::Feature;
use super::file::{self, FileFrom};
use super::flags::Flags;
use super::log_level::LogLevel;
use super::setting::{Setting, Source};
use super::table::CONFIG;
use super::variables::Surroundings;
use super::words::{LogFormat, RootsMode};
use crate::exec::{Limits, ResourceLimits};
use crate::files::{Beneath, Sha256};
use crate::integrity::Trust;
use crate::network::Network;
use crate::policy::rules::Rules;
use crate::policy::{AllowList, Lines};
use crate::sandbox::{Level, Preset};
use crate::tools::{CallTool, WhichTools, tool_names};

/// The persistent shell, unless a setting names another.
pub(super) const DEFAULT_SHELL: &str = if cfg!(windows) { "cmd.exe" } else { "/bin/sh" };

/// Every setting with its source. Directories are as they were given: relative ones start from
/// [`Surroundings::directory`], and none has been looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The file that settings were read from; none by default.
    pub file: Setting<Option<PathBuf>>,
    /// The allow-list in its order, without repetitions, with named sets replaced by their commands. By default it is empty
    /// and allows nothing; with `--tools shell` the default is the set `@shell`. `*` allows everything.
    pub allow: Setting<Vec<String>>,
    /// The files with rules for arguments; none by default.
    pub policy: Setting<Vec<PathBuf>>,
    /// The shipped profiles that are used; none by default.
    pub profile: Setting<Vec<String>>,
    /// Commands that a person must approve each time; none by default.
    pub ask: Setting<Vec<String>>,
    /// The program that asks, with its arguments; by default the client asks, if it can.
    pub ask_with: Setting<Option<Vec<String>>>,
    /// How long a question stays open: 2 minutes by default, more than zero.
    pub ask_timeout: Setting<Duration>,
    /// Which programs may run, by who can replace them; any by default.
    pub trust: Setting<Trust>,
    /// The file that says what programs must be; none by default.
    pub lock: Setting<Option<PathBuf>>,
    /// The commands that the operator says change nothing, in addition to those whose rules say so; none by default.
    pub read_only: Setting<Vec<String>>,
    /// The rules of these files and profiles, and those made of the entries of `ask` and of the entries of `allow` that have
    /// several words; read together with the other settings.
    pub rules: Arc<Rules>,
    /// The directories that the `cwd` of a call must be in. `None`, the default, is no restriction; an empty list refuses
    /// every call that names a `cwd`.
    pub cwd_root: Setting<Option<Vec<PathBuf>>>,
    /// The outermost directory of all projects; none by default.
    pub workspace_dir: Setting<Option<PathBuf>>,
    /// The directory that relative ones are resolved against; by default the client's first root, if it has one.
    pub project_dir: Setting<Option<PathBuf>>,
    /// The directory that calls without `cwd` run in; by default the project directory, else the server's.
    pub cwd: Setting<Option<PathBuf>>,
    /// Which tools there are: `execute` by default.
    pub tools: Setting<WhichTools>,
    /// The program of the persistent shell, a name or a path: `/bin/sh` by default, `cmd.exe` on Windows.
    pub shell: Setting<PathBuf>,
    /// Whether programs below the project directory may run; off by default.
    pub allow_project_commands: Setting<bool>,
    /// How the client's roots are treated; they are used by default.
    pub roots: Setting<RootsMode>,
    /// How far commands are confined; not at all by default.
    pub sandbox: Setting<Level>,
    /// Whether commands run even if the kernel can't enforce all of that; off by default.
    pub sandbox_best_effort: Setting<bool>,
    /// The network of commands in the sandbox; by default what `Level::default_network` gives.
    pub network: Setting<Option<Network>>,
    /// Further paths that commands in the sandbox may read; none by default.
    pub read: Setting<Vec<PathBuf>>,
    /// Further paths that they may read and write; none by default.
    pub write: Setting<Vec<PathBuf>>,
    /// Further paths that they may read and execute; none by default.
    pub exec: Setting<Vec<PathBuf>>,
    /// The tools whose files in the home directory commands in the sandbox may use; none by default.
    pub grant: Setting<Vec<Preset>>,
    /// The time limit of calls that name none: 30 seconds by default, more than zero, at most `max_timeout`.
    pub timeout: Setting<Duration>,
    /// The longest time limit that a call may ask for: 10 minutes by default, more than zero, at most a week.
    pub max_timeout: Setting<Duration>,
    /// The time between SIGTERM and SIGKILL when a process tree is ended: 1 second by default; zero sends SIGKILL at
    /// once.
    pub grace: Setting<Duration>,
    /// Bytes kept of each stream: 16 KiB by default, at most 1024 GiB, `0` for no bound.
    pub max_output: Setting<u64>,
    /// Calls that run concurrently: 16 by default, at least 1.
    pub max_concurrent: Setting<usize>,
    /// Whether calls can run in the background, and clients get the tools for them; on by default, where the build has it.
    pub background: Setting<bool>,
    /// After how long a call that is still running is answered and continues in the background: 50 seconds by default; zero
    /// for never.
    pub hand_over: Setting<Duration>,
    /// The longest that a call runs in the background: 1 hour by default, more than zero.
    pub max_background: Setting<Duration>,
    /// Calls that run concurrently in the background: 8 by default, at least 1.
    pub max_background_calls: Setting<usize>,
    /// Bytes kept of the output of a call, and four times that of all calls: 64 MiB by default; `0` keeps nothing.
    pub keep_output: Setting<u64>,
    /// Bytes of memory of a call if a cgroup can be used, else of each of its processes; no limit by default.
    pub max_memory: Setting<Option<u64>>,
    /// Processor time of each process of a call, in whole seconds; no limit by default.
    pub max_cpu: Setting<Option<Duration>>,
    /// Processes and threads of a call if a cgroup can be used, else of the server's user; no limit by default.
    pub max_processes: Setting<Option<usize>>,
    /// Bytes of the largest file that a process of a call can write; no limit by default.
    pub max_file_size: Setting<Option<u64>>,
    /// Files that a process of a call can have open; no limit by default.
    pub max_open_files: Setting<Option<usize>>,
    /// Variables that are added to the environment that is built for commands, in the order given; none by default.
    pub env: Setting<Vec<EnvEntry>>,
    /// Whether commands get the server's whole environment; off by default.
    pub inherit_env: Setting<bool>,
    /// The variables that calls may change in the persistent shell. If it is empty, the default, they change none if rules limit
    /// commands, and otherwise all that widely used programs take no code from.
    pub line_env: Setting<Vec<String>>,
    /// Whether a call may be a line of several commands.
    pub lines: Setting<Lines>,
    /// Whether results carry structured content; off by default.
    pub structured: Setting<bool>,
    /// Whether a non-zero exit is an error; off by default.
    pub exit_error: Setting<bool>,
    /// The file that the session is recorded to; none by default.
    pub record: Setting<Option<PathBuf>>,
    /// Whether a recording replaces an existing file; off by default.
    pub record_force: Setting<bool>,
    /// Whether a session ends once it can't be recorded any more; off by default.
    pub record_required: Setting<bool>,
    /// The audit log; none by default.
    pub audit: Setting<Option<PathBuf>>,
    /// Whether each record is on the disk before its call continues; off by default.
    pub audit_sync: Setting<bool>,
    /// The size at which a new audit log is begun; none by default.
    pub audit_max_size: Setting<Option<u64>>,
    /// The program that gets the head of the audit log; none by default.
    pub audit_anchor: Setting<Option<Vec<String>>>,
    /// The level of the log; `info` by default.
    pub log: Setting<LogLevel>,
    /// The file that the log is appended to; by default it goes to stderr.
    pub log_file: Setting<Option<PathBuf>>,
    /// How the lines of the log are written; as text by default.
    pub log_format: Setting<LogFormat>,
    /// The environment and the directory that the process was started with.
    pub surroundings: Surroundings,
    /// The digests of the policy files, as they were read.
    pub(crate) policy_digests: Vec<(PathBuf, Sha256)>,
}

impl Config {
    /// The settings if nobody sets anything.
    pub fn defaults(surroundings: Surroundings) -> Self {
        Self {
            file: Setting::default(None),
            allow: Setting::default(Vec::new()),
            policy: Setting::default(Vec::new()),
            profile: Setting::default(Vec::new()),
            ask: Setting::default(Vec::new()),
            ask_with: Setting::default(None),
            ask_timeout: Setting::default(Duration::from_secs(120)),
            trust: Setting::default(Trust::Any),
            lock: Setting::default(None),
            read_only: Setting::default(Vec::new()),
            rules: Arc::default(),
            cwd_root: Setting::default(None),
            workspace_dir: Setting::default(None),
            project_dir: Setting::default(None),
            cwd: Setting::default(None),
            tools: Setting::default(WhichTools::Execute),
            shell: Setting::default(PathBuf::from(DEFAULT_SHELL)),
            allow_project_commands: Setting::default(false),
            roots: Setting::default(RootsMode::Use),
            sandbox: Setting::default(Level::Off),
            sandbox_best_effort: Setting::default(false),
            network: Setting::default(None),
            read: Setting::default(Vec::new()),
            write: Setting::default(Vec::new()),
            exec: Setting::default(Vec::new()),
            grant: Setting::default(Vec::new()),
            timeout: Setting::default(Duration::from_secs(30)),
            max_timeout: Setting::default(Duration::from_secs(10 * 60)),
            grace: Setting::default(Duration::from_secs(1)),
            max_output: Setting::default(Limits::DEFAULT_MAX_OUTPUT),
            max_concurrent: Setting::default(16),
            background: Setting::default(Feature::Background.is_built()),
            hand_over: Setting::default(Duration::from_secs(50)),
            max_background: Setting::default(Duration::from_secs(60 * 60)),
            max_background_calls: Setting::default(8),
            keep_output: Setting::default(64 * 1024 * 1024),
            max_memory: Setting::default(None),
            max_cpu: Setting::default(None),
            max_processes: Setting::default(None),
            max_file_size: Setting::default(None),
            max_open_files: Setting::default(None),
            env: Setting::default(Vec::new()),
            inherit_env: Setting::default(false),
            line_env: Setting::default(Vec::new()),
            lines: Setting::default(Lines::Off),
            structured: Setting::default(false),
            exit_error: Setting::default(false),
            record: Setting::default(None),
            record_force: Setting::default(false),
            record_required: Setting::default(false),
            audit: Setting::default(None),
            audit_sync: Setting::default(false),
            audit_max_size: Setting::default(None),
            audit_anchor: Setting::default(None),
            log: Setting::default(LogLevel::Info),
            log_file: Setting::default(None),
            log_format: Setting::default(LogFormat::Text),
            surroundings,
            policy_digests: Vec::new(),
        }
    }

    /// The limits that the kernel enforces on commands.
    pub fn resource_limits(&self) -> ResourceLimits {
        ResourceLimits {
            memory: self.max_memory.value,
            file_size: self.max_file_size.value,
            cpu: self.max_cpu.value,
            processes: self.max_processes.value.map(|count| count as u64),
            open_files: self.max_open_files.value.map(|count| count as u64),
        }
    }

    /// The defaults, overridden by the text of a file; neither variables nor flags are read. Errors call the text `file`.
    ///
    /// # Errors
    /// A [`ConfigError`] for the first thing that is wrong.
    pub fn from_text(text: &str, file: &Path, surroundings: Surroundings) -> Result<Self, ConfigError> {
        let mut config = Self::defaults(surroundings);
        for given in &file::parse(text, file)? {
            given.apply(&mut config)?;
        }
        config.bound_timeout()?;
        config.read_rules(FileFrom::Anywhere)?;
        config.name_tools()?;
        Ok(config)
    }

    /// The defaults, overridden by the file that `--config` or `ALLOWEXEC_CONFIG` names, then by the variables, then by the
    /// flags.
    ///
    /// # Errors
    /// A [`ConfigError`] for the first thing that is wrong in any source, even if a stronger one replaces it.
    pub fn resolve(flags: &Flags, surroundings: Surroundings) -> Result<Self, ConfigError> {
        Self::resolve_from(flags, surroundings, FileFrom::Anywhere)
    }

    /// Like [`Self::resolve`], for flags and variables whose author must not read the operator's files: every file that they
    /// name must be in the directory `files`, and no link to it is followed.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn resolve_beneath(flags: &Flags, surroundings: Surroundings, files: &Beneath) -> Result<Self, ConfigError> {
        Self::resolve_from(flags, surroundings, FileFrom::Beneath(files))
    }

    fn resolve_from(flags: &Flags, surroundings: Surroundings, from: FileFrom<'_>) -> Result<Self, ConfigError> {
        let variables = surroundings.given()?;
        let mut config = Self::defaults(surroundings);
        for given in variables.iter().chain(flags.given()).filter(|given| given.spec.flag == CONFIG) {
            given.apply(&mut config)?;
        }
        let file = file::given(&config.file, &config.surroundings.directory, from)?;
        for given in file.iter().chain(&variables).chain(flags.given()) {
            given.apply(&mut config)?;
        }
        config.check()?;
        file::check_lock(&config.lock, from)?;
        config.read_rules(from)?;
        config.name_tools()?;
        Ok(config)
    }

    /// Returns the allow-list, with the rules of the policies.
    pub fn allow_list(&self) -> AllowList {
        AllowList::new(self.allow.value.iter().cloned())
            .with_rules(Arc::clone(&self.rules))
            .with_project(self.allow_project_commands.value && self.why_no_project_commands().is_none())
    }

    /// Why `--allow-project-commands` can allow nothing with the other settings, if it can't.
    pub(crate) fn why_no_project_commands(&self) -> Option<&'static str> {
        // Roots count only inside these, and an empty list of roots lets none count.
        let bounds_roots = match &self.cwd_root.value {
            Some(roots) => !roots.is_empty(),
            None => self.workspace_dir.value.is_some(),
        };
        let executes_none = self.sandbox.value == Level::Strict && self.exec.value.is_empty();
        if !self.tools.value.has_execute() {
            Some("with `--tools shell`, which runs no program by its path")
        } else if self.lock.value.is_some() {
            Some("with `--lock`, whose file holds no programs of the project")
        } else if executes_none && !self.sandbox_best_effort.value {
            Some("with `--sandbox strict` and without `--exec`")
        } else if self.project_dir.value.is_some() {
            None
        } else if self.roots.value == RootsMode::Ignore {
            Some("with `--roots ignore` and without `--project-dir`")
        } else if !bounds_roots {
            Some("without `--project-dir`, or `--workspace-dir` or `--cwd-root` for a client's project to lie in")
        } else {
            None
        }
    }

    /// Fills an empty allow-list with the set `@shell`, and makes sure that each command can have a tool of its own.
    fn name_tools(&mut self) -> Result<(), ConfigError> {
        let which = self.tools.value;
        if !which.has_shell() {
            return Ok(());
        }
        if which == WhichTools::Shell && self.allow.value.is_empty() && self.rules.is_empty() {
            self.allow = Setting::default(entry::SHELL_COMMANDS.iter().map(|&name| name.to_owned()).collect());
        }
        // `*` has no name, and is an error here.
        let star = self.allow.value.iter().filter(|entry| *entry == "*").cloned();
        let names: Vec<String> = self.allow_list().names().iter().cloned().chain(star).collect();
        let call_tools = if self.has_background() { CallTool::NAMES.as_slice() } else { &[] };
        match tool_names(&names, &[which.own_names(), call_tools].concat()) {
            Ok(_) => Ok(()),
            Err(source) => Err(ConfigError::ToolNames {
                which,
                which_source: self.tools.source.clone(),
                allow_source: self.allow.source.clone(),
                source: Box::new(source),
            }),
        }
    }

    /// The directories that commands work in or may write to, and the current one. Below them, commands can put links, so the
    /// server follows none when it writes a file there.
    pub(crate) fn changeable_directories(&self) -> Vec<PathBuf> {
        let here = &self.surroundings.directory;
        let single = [&self.workspace_dir.value, &self.project_dir.value, &self.cwd.value];
        let roots = self.cwd_root.value.iter().flatten();
        let named = single.into_iter().flatten().chain(roots).chain(&self.write.value);
        let named = named.map(|directory| here.join(directory)).chain([here.clone()]);
        // Everything is below the root of the file system, the system's own links included.
        named.filter(|directory| directory.parent().is_some()).collect()
    }

    /// Whether calls can run in the background: if the setting says so, and the build can.
    pub(crate) fn has_background(&self) -> bool {
        self.background.value && Feature::Background.is_built()
    }

    /// The values of the variables that the operator gives commands, which may be secrets.
    pub(crate) fn secret_values(&self) -> Vec<String> {
        let value = |entry: &EnvEntry| match entry {
            EnvEntry::Set(_, value) => Some(value.clone()),
            EnvEntry::Pass(name) => self.surroundings.variable(name)?.to_str().map(str::to_owned),
        };
        self.env.value.iter().filter_map(value).collect()
    }

    /// The network of commands, by the setting or else by the level.
    pub fn network(&self) -> Network {
        self.network.value.clone().unwrap_or_else(|| self.sandbox.value.default_network())
    }

    /// Looks for settings that contradict each other.
    pub(super) fn check(&mut self) -> Result<(), ConfigError> {
        self.bound_timeout()?;
        let network = self.network();
        if self.sandbox.value == Level::Off && network != Network::Full {
            let network_source = self.network.source.clone();
            return Err(ConfigError::NetworkWithoutSandbox { network, network_source });
        }
        if self.lock.value.is_some() && self.allow.value.iter().any(|entry| entry == "*") {
            let (lock_source, allow_source) = (self.lock.source.clone(), self.allow.source.clone());
            return Err(ConfigError::LockOfAny { lock_source, allow_source });
        }
        if cfg!(not(unix)) && self.lines.value != Lines::Off {
            return Err(ConfigError::NoLines { lines_source: self.lines.source.clone() });
        }
        if cfg!(not(unix)) && self.trust.value == Trust::Owner {
            return Err(ConfigError::TrustWithoutModes { trust_source: self.trust.source.clone() });
        }
        Ok(())
    }

    /// Makes sure that the timeout is at most the maximum. A default timeout is lowered, so that `--max-timeout 10s` is
    /// enough; one that somebody set is an error, since the two contradict each other.
    fn bound_timeout(&mut self) -> Result<(), ConfigError> {
        let (timeout, max_timeout) = (&self.timeout, &self.max_timeout);
        if timeout.value <= max_timeout.value {
            return Ok(());
        }
        if timeout.source == Source::Default {
            self.timeout = max_timeout.clone();
            return Ok(());
        }
        Err(ConfigError::TimeoutOverMaximum {
            timeout: timeout.value,
            timeout_source: timeout.source.clone(),
            max_timeout: max_timeout.value,
            max_timeout_source: max_timeout.source.clone(),
        })
    }
}
