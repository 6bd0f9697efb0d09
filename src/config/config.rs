//! The resolved configuration, and how the sources are laid over each other.

use std::path::PathBuf;
use std::time::Duration;

use super::env_entry::EnvEntry;
use super::error::ConfigError;
use super::file;
use super::flags::Flags;
use super::log_level::LogLevel;
use super::setting::{Setting, Source};
use super::table::CONFIG;
use super::variables::Surroundings;
use super::words::RootsMode;
use crate::policy::{WhichTools, tool_names};
use crate::sandbox::Level;

/// The persistent shell where nobody names one.
pub(super) const DEFAULT_SHELL: &str = if cfg!(windows) { "cmd.exe" } else { "/bin/sh" };

/// What is allowed with `--tools shell` where nobody allows anything.
const SHELL_COMMANDS: &[&str] = if cfg!(windows) {
    &["dir", "echo", "curl", "type", "find", "findstr", "cd", "where", "set", "podman"]
} else {
    &["ls", "echo", "curl", "cat", "find", "grep", "cd", "pwd", "which", "printenv", "podman"]
};

/// Every setting with its source. Directories stand as they were given: relative ones are meant from
/// [`Surroundings::directory`], and none has been looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The file that settings were read from; none by default.
    pub file: Setting<Option<PathBuf>>,
    /// The allow-list in its order, without repetitions; empty by default, which allows nothing. `*` allows all.
    pub allow: Setting<Vec<String>>,
    /// Where a call's `cwd` must lie. `None`, the default, is no restriction; an empty list is set but holds no entry,
    /// and refuses every call that names a `cwd`.
    pub cwd_root: Setting<Option<Vec<PathBuf>>>,
    /// The outermost directory of all projects; none by default.
    pub workspace_dir: Setting<Option<PathBuf>>,
    /// What relative directories are resolved against; by default the client's first root, where it has one.
    pub project_dir: Setting<Option<PathBuf>>,
    /// Where calls run that name no `cwd`; by default the project directory, else the server's.
    pub cwd: Setting<Option<PathBuf>>,
    /// Which tools there are: `execute` by default.
    pub tools: Setting<WhichTools>,
    /// The program of the persistent shell, a name or a path: `/bin/sh` by default, `cmd.exe` on Windows.
    pub shell: Setting<PathBuf>,
    /// Whether a path under the project directory may run; off by default.
    pub allow_project_commands: Setting<bool>,
    /// What is done with the client's roots; they are used by default.
    pub roots: Setting<RootsMode>,
    /// How far commands are confined; not at all by default.
    pub sandbox: Setting<Level>,
    /// Whether commands run where the kernel can't enforce all of that; off by default.
    pub sandbox_best_effort: Setting<bool>,
    /// What else commands in the sandbox may read; nothing by default.
    pub read: Setting<Vec<PathBuf>>,
    /// What else they may read and write; nothing by default.
    pub write: Setting<Vec<PathBuf>>,
    /// What else they may read and execute; nothing by default.
    pub exec: Setting<Vec<PathBuf>>,
    /// For calls that name no time limit: 30 seconds by default, more than zero, at most `max_timeout`.
    pub timeout: Setting<Duration>,
    /// The most a call may ask for: 10 minutes by default, more than zero, at most a week.
    pub max_timeout: Setting<Duration>,
    /// Between the polite end of a process tree and the forced one: 1 second by default; zero forces it at once.
    pub grace: Setting<Duration>,
    /// Bytes kept of each stream: 64 KiB by default, at most 1024 GiB, `0` for no bound.
    pub max_output: Setting<u64>,
    /// Calls that run at once: 16 by default, at least 1.
    pub max_concurrent: Setting<usize>,
    /// What commands get beside the environment that is built for them, in the order given; nothing by default.
    pub env: Setting<Vec<EnvEntry>>,
    /// Whether commands get the server's whole environment; off by default.
    pub inherit_env: Setting<bool>,
    /// Whether results carry structured content; off by default.
    pub structured: Setting<bool>,
    /// Whether a non-zero exit is an error; off by default.
    pub exit_error: Setting<bool>,
    /// Where the session is recorded; nowhere by default.
    pub record: Setting<Option<PathBuf>>,
    /// Whether a session that can't be recorded any more ends; off by default.
    pub record_required: Setting<bool>,
    /// What is written to stderr; `info` by default.
    pub log: Setting<LogLevel>,
    /// What the process was started with.
    pub surroundings: Surroundings,
}

impl Config {
    /// What holds where nobody sets anything.
    pub fn defaults(surroundings: Surroundings) -> Self {
        Self {
            file: Setting::default(None),
            allow: Setting::default(Vec::new()),
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
            read: Setting::default(Vec::new()),
            write: Setting::default(Vec::new()),
            exec: Setting::default(Vec::new()),
            timeout: Setting::default(Duration::from_secs(30)),
            max_timeout: Setting::default(Duration::from_secs(10 * 60)),
            grace: Setting::default(Duration::from_secs(1)),
            max_output: Setting::default(64 * 1024),
            max_concurrent: Setting::default(16),
            env: Setting::default(Vec::new()),
            inherit_env: Setting::default(false),
            structured: Setting::default(false),
            exit_error: Setting::default(false),
            record: Setting::default(None),
            record_required: Setting::default(false),
            log: Setting::default(LogLevel::Info),
            surroundings,
        }
    }

    /// Lays the file over the defaults, the variables over that, and the flags over all; reads the file that
    /// `--config` or `ALLOWEXEC_CONFIG` names.
    ///
    /// # Errors
    /// A [`ConfigError`] for the first thing that is wrong in any source, be it replaced by a stronger one or not.
    pub fn resolve(flags: &Flags, surroundings: Surroundings) -> Result<Self, ConfigError> {
        let variables = surroundings.given()?;
        let mut config = Self::defaults(surroundings);
        for given in variables.iter().chain(flags.given()).filter(|given| given.spec.flag == CONFIG) {
            (given.spec.set)(&mut config, given)?;
        }
        let file = file::given(&config.file, &config.surroundings.directory)?;
        for given in file.iter().chain(&variables).chain(flags.given()) {
            (given.spec.set)(&mut config, given)?;
        }
        config.bound_timeout()?;
        config.name_tools()?;
        Ok(config)
    }

    /// Gives an empty allow-list the commands that a shell of this platform is there for, and makes sure that each
    /// command can have a tool of its own.
    fn name_tools(&mut self) -> Result<(), ConfigError> {
        let which = self.tools.value;
        if !which.has_shell() {
            return Ok(());
        }
        if which == WhichTools::Shell && self.allow.value.is_empty() {
            self.allow = Setting::default(SHELL_COMMANDS.iter().map(|&name| name.to_owned()).collect());
        }
        match tool_names(&self.allow.value, which.own_names()) {
            Ok(_) => Ok(()),
            Err(source) => Err(ConfigError::ToolNames {
                which,
                which_source: self.tools.source.clone(),
                allow_source: self.allow.source.clone(),
                source: Box::new(source),
            }),
        }
    }

    /// Holds the timeout to its maximum. One that nobody set gives way, so that `--max-timeout 10s` is enough; one that
    /// somebody set is a contradiction, since a bound is never raised silently.
    pub(super) fn bound_timeout(&mut self) -> Result<(), ConfigError> {
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
