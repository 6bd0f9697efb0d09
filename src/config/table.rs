//! The one list of what can be set. Flags, variables, keys of the file, the help and `doctor` are read off it, and a
//! man page or shell completions can be.

use std::path::PathBuf;

use super::amount::{count, duration, duration_text, size, size_text, switch, switch_text, time_limit};
use super::config::{Config, DEFAULT_SHELL};
use super::entry;
use super::env_entry::EnvEntry;
use super::error::{ConfigError, printable};
use super::given::Given;
use super::log_level::LogLevel;
use super::setting::{Setting, Source};
use super::words::{self, RootsMode};

/// The flag that names the file; the file itself can't set it.
pub(super) const CONFIG: &str = "config";

/// One setting.
#[derive(Debug)]
pub struct Spec {
    /// The flag without its dashes. With `_` for `-` it is the key in the file.
    pub flag: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// What the value is called in the help; empty for a switch.
    pub value: &'static str,
    /// The environment variable.
    pub variable: &'static str,
    /// Where it stands in the help.
    pub group: Group,
    /// What holds where nobody sets it: a value as it would be written, or words where there is none.
    pub default: &'static str,
    /// One sentence for the help, without the default.
    pub help: &'static str,
    /// Parses what a source gives and replaces the setting in the configuration.
    pub(super) set: fn(&mut Config, &Given) -> Result<(), ConfigError>,
    /// The resolved value as text, with its source.
    pub show: fn(&Config) -> Shown<'_>,
}

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// On or off: a flag without a value.
    Switch,
    /// One text.
    Text,
    /// One number, mostly with a unit.
    Number,
    /// A list: comma-separated in flags, which may be repeated, and in variables.
    List,
}

/// The parts of the help, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// What is allowed.
    Commands,
    /// Where it runs.
    Directories,
    /// What it can touch.
    Sandbox,
    /// How much of it.
    Limits,
    /// With which variables.
    Environment,
    /// What clients get.
    Results,
    /// What the operator gets, and from where settings come.
    Operation,
}

impl Group {
    /// All groups in their order.
    pub const ALL: [Group; 7] = [
        Group::Commands,
        Group::Directories,
        Group::Sandbox,
        Group::Limits,
        Group::Environment,
        Group::Results,
        Group::Operation,
    ];

    /// The heading in the help.
    pub fn heading(self) -> &'static str {
        match self {
            Group::Commands => "What may run",
            Group::Directories => "Where it runs",
            Group::Sandbox => "What commands can touch (Linux)",
            Group::Limits => "How long and how much",
            Group::Environment => "What commands get",
            Group::Results => "What clients get",
            Group::Operation => "What the operator gets",
        }
    }
}

/// A value as `doctor` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown<'a> {
    /// The value, or `None` where there is none: then the words of [`Spec::default`] stand for it.
    pub text: Option<String>,
    /// Where it came from.
    pub source: &'a Source,
}

impl Spec {
    /// The key in the file.
    pub fn key(&self) -> String {
        self.flag.replace('-', "_")
    }
}

/// The setting with this flag, written without its dashes.
pub(super) fn by_flag(name: &str) -> Option<&'static Spec> {
    SETTINGS.iter().find(|spec| spec.flag == name)
}

fn shown<'a, T>(setting: &'a Setting<T>, text: impl FnOnce(&T) -> Option<String>) -> Shown<'a> {
    Shown { text: text(&setting.value), source: &setting.source }
}

fn shown_switch(setting: &Setting<bool>) -> Shown<'_> {
    shown(setting, |&on| Some(switch_text(on).to_owned()))
}

fn shown_path(setting: &Setting<Option<PathBuf>>) -> Shown<'_> {
    shown(setting, |path| path.as_ref().map(|path| printable(&path.display().to_string())))
}

/// Entries with commas between them; `None` where there are none.
fn joined<T>(list: &[T], text: impl Fn(&T) -> String) -> Option<String> {
    (!list.is_empty()).then(|| list.iter().map(|entry| printable(&text(entry))).collect::<Vec<_>>().join(", "))
}

/// All settings, in the order of the help.
pub static SETTINGS: &[Spec] = &[
    Spec {
        flag: "allow",
        takes: Takes::List,
        value: "NAMES",
        variable: "ALLOWED_COMMANDS",
        group: Group::Commands,
        default: "nothing",
        help: "Commands that may run, matched exactly with the first word of a call; `*` allows every command",
        set: |config, given| {
            config.allow = given.all(entry::command)?.map(entry::without_repetitions);
            Ok(())
        },
        show: |config| shown(&config.allow, |names| joined(names, String::clone)),
    },
    Spec {
        flag: "allow-project-commands",
        takes: Takes::Switch,
        value: "",
        variable: "ALLOWEXEC_ALLOW_PROJECT_COMMANDS",
        group: Group::Commands,
        default: "off",
        help: "Allow a command given by a path that lies, links resolved, under the project directory",
        set: |config, given| given.set(&mut config.allow_project_commands, switch),
        show: |config| shown_switch(&config.allow_project_commands),
    },
    Spec {
        flag: "tools",
        takes: Takes::Text,
        value: "WHICH",
        variable: "ALLOWEXEC_TOOLS",
        group: Group::Commands,
        default: "execute",
        help: "execute: one process a call; shell: a tool for each allowed command, all on one persistent shell, with a \
               list of its own where nothing is allowed; all: both",
        set: |config, given| given.set(&mut config.tools, entry::which_tools),
        show: |config| shown(&config.tools, |which| Some(which.name().to_owned())),
    },
    Spec {
        flag: "shell",
        takes: Takes::Text,
        value: "PROGRAM",
        variable: "ALLOWEXEC_SHELL",
        group: Group::Commands,
        default: DEFAULT_SHELL,
        help: "The program of the persistent shell: a POSIX shell, on Windows cmd.exe",
        set: |config, given| given.set(&mut config.shell, entry::path),
        show: |config| shown(&config.shell, |shell| Some(printable(&shell.display().to_string()))),
    },
    Spec {
        flag: "cwd-root",
        takes: Takes::List,
        value: "DIRS",
        variable: "ALLOWED_CWD_ROOTS",
        group: Group::Directories,
        default: "no restriction",
        help: "Where the `cwd` of a call must lie; a list without an entry refuses every call that names one",
        set: |config, given| {
            config.cwd_root = given.all(entry::path)?.map(Some);
            Ok(())
        },
        show: |config| {
            shown(&config.cwd_root, |roots| {
                let roots = roots.as_ref()?;
                joined(roots, |root| root.display().to_string()).or(Some("set, but without an entry".to_owned()))
            })
        },
    },
    Spec {
        flag: "workspace-dir",
        takes: Takes::Text,
        value: "DIR",
        variable: "ALLOWEXEC_WORKSPACE_DIR",
        group: Group::Directories,
        default: "none",
        help: "The outermost directory of all projects; nothing a client names may lie outside",
        set: |config, given| given.set(&mut config.workspace_dir, |text| entry::path(text).map(Some)),
        show: |config| shown_path(&config.workspace_dir),
    },
    Spec {
        flag: "project-dir",
        takes: Takes::Text,
        value: "DIR",
        variable: "ALLOWEXEC_PROJECT_DIR",
        group: Group::Directories,
        default: "the first root of the client, else none",
        help: "What relative directories are resolved against, and where calls run that name none",
        set: |config, given| given.set(&mut config.project_dir, |text| entry::path(text).map(Some)),
        show: |config| shown_path(&config.project_dir),
    },
    Spec {
        flag: "cwd",
        takes: Takes::Text,
        value: "DIR",
        variable: "ALLOWEXEC_CWD",
        group: Group::Directories,
        default: "the project directory, else the server's",
        help: "The default working directory within the project",
        set: |config, given| given.set(&mut config.cwd, |text| entry::path(text).map(Some)),
        show: |config| shown_path(&config.cwd),
    },
    Spec {
        flag: "roots",
        takes: Takes::Text,
        value: "MODE",
        variable: "ALLOWEXEC_ROOTS",
        group: Group::Directories,
        default: "use",
        help: "The client's roots: use (ask clients that have roots), ignore, or require (refuse calls until they are known)",
        set: |config, given| given.set(&mut config.roots, RootsMode::parse),
        show: |config| shown(&config.roots, |mode| Some(mode.to_string())),
    },
    Spec {
        flag: "sandbox",
        takes: Takes::Text,
        value: "LEVEL",
        variable: "ALLOWEXEC_SANDBOX",
        group: Group::Sandbox,
        default: "off",
        help: "How far the kernel confines commands: off, workspace or strict",
        set: |config, given| given.set(&mut config.sandbox, words::level),
        show: |config| shown(&config.sandbox, |level| Some(level.to_string())),
    },
    Spec {
        flag: "sandbox-best-effort",
        takes: Takes::Switch,
        value: "",
        variable: "ALLOWEXEC_SANDBOX_BEST_EFFORT",
        group: Group::Sandbox,
        default: "off",
        help: "Run with what the kernel can enforce instead of refusing to start",
        set: |config, given| given.set(&mut config.sandbox_best_effort, switch),
        show: |config| shown_switch(&config.sandbox_best_effort),
    },
    Spec {
        flag: "read",
        takes: Takes::List,
        value: "PATHS",
        variable: "ALLOWEXEC_READ",
        group: Group::Sandbox,
        default: "none",
        help: "What else commands in the sandbox may read",
        set: |config, given| {
            config.read = given.all(entry::path)?;
            Ok(())
        },
        show: |config| shown(&config.read, |paths| joined(paths, |path| path.display().to_string())),
    },
    Spec {
        flag: "write",
        takes: Takes::List,
        value: "PATHS",
        variable: "ALLOWEXEC_WRITE",
        group: Group::Sandbox,
        default: "none",
        help: "What else they may read and write",
        set: |config, given| {
            config.write = given.all(entry::path)?;
            Ok(())
        },
        show: |config| shown(&config.write, |paths| joined(paths, |path| path.display().to_string())),
    },
    Spec {
        flag: "exec",
        takes: Takes::List,
        value: "PATHS",
        variable: "ALLOWEXEC_EXEC",
        group: Group::Sandbox,
        default: "none",
        help: "What else they may read and execute",
        set: |config, given| {
            config.exec = given.all(entry::path)?;
            Ok(())
        },
        show: |config| shown(&config.exec, |paths| joined(paths, |path| path.display().to_string())),
    },
    Spec {
        flag: "timeout",
        takes: Takes::Number,
        value: "DURATION",
        variable: "ALLOWEXEC_TIMEOUT",
        group: Group::Limits,
        default: "30s",
        help: "How long a call may run that names no time limit: a number with ms, s, m or h",
        set: |config, given| given.set(&mut config.timeout, time_limit),
        show: |config| shown(&config.timeout, |time| Some(duration_text(*time))),
    },
    Spec {
        flag: "max-timeout",
        takes: Takes::Number,
        value: "DURATION",
        variable: "ALLOWEXEC_MAX_TIMEOUT",
        group: Group::Limits,
        default: "10m",
        help: "The longest time limit that a call may ask for",
        set: |config, given| given.set(&mut config.max_timeout, time_limit),
        show: |config| shown(&config.max_timeout, |time| Some(duration_text(*time))),
    },
    Spec {
        flag: "grace",
        takes: Takes::Number,
        value: "DURATION",
        variable: "ALLOWEXEC_GRACE",
        group: Group::Limits,
        default: "1s",
        help: "Between the polite end of a process tree and the forced one",
        set: |config, given| given.set(&mut config.grace, duration),
        show: |config| shown(&config.grace, |time| Some(duration_text(*time))),
    },
    Spec {
        flag: "max-output",
        takes: Takes::Number,
        value: "BYTES",
        variable: "ALLOWEXEC_MAX_OUTPUT",
        group: Group::Limits,
        default: "64KiB",
        help: "Kept of each stream: bytes, or a number with KB, KiB, MB, MiB, GB or GiB; `0` for no bound",
        set: |config, given| given.set(&mut config.max_output, size),
        show: |config| shown(&config.max_output, |bytes| Some(size_text(*bytes))),
    },
    Spec {
        flag: "max-concurrent",
        takes: Takes::Number,
        value: "N",
        variable: "ALLOWEXEC_MAX_CONCURRENT",
        group: Group::Limits,
        default: "16",
        help: "Calls that run at once; the others wait",
        set: |config, given| given.set(&mut config.max_concurrent, count),
        show: |config| shown(&config.max_concurrent, |calls| Some(calls.to_string())),
    },
    Spec {
        flag: "env",
        takes: Takes::List,
        value: "NAME[=VALUE]",
        variable: "ALLOWEXEC_ENV",
        group: Group::Environment,
        default: "the built environment",
        help: "Variables passed on to commands, or set for them; a value with a comma has to stand in the file",
        set: |config, given| {
            config.env = given.all(EnvEntry::parse)?;
            Ok(())
        },
        show: |config| shown(&config.env, |entries| joined(entries, EnvEntry::to_string)),
    },
    Spec {
        flag: "inherit-env",
        takes: Takes::Switch,
        value: "",
        variable: "ALLOWEXEC_INHERIT_ENV",
        group: Group::Environment,
        default: "off",
        help: "Pass the server's whole environment on",
        set: |config, given| given.set(&mut config.inherit_env, switch),
        show: |config| shown_switch(&config.inherit_env),
    },
    Spec {
        flag: "structured",
        takes: Takes::Switch,
        value: "",
        variable: "ALLOWEXEC_STRUCTURED",
        group: Group::Results,
        default: "off",
        help: "Declare an output schema and send structured content beside the text, for clients that are programs",
        set: |config, given| given.set(&mut config.structured, switch),
        show: |config| shown_switch(&config.structured),
    },
    Spec {
        flag: "exit-error",
        takes: Takes::Switch,
        value: "",
        variable: "ALLOWEXEC_EXIT_ERROR",
        group: Group::Results,
        default: "off",
        help: "Make a non-zero exit an error",
        set: |config, given| given.set(&mut config.exit_error, switch),
        show: |config| shown_switch(&config.exit_error),
    },
    Spec {
        flag: "record",
        takes: Takes::Text,
        value: "FILE",
        variable: "ALLOWEXEC_RECORD",
        group: Group::Operation,
        default: "off",
        help: "With `serve`: write the session as a transcript, in place of a file of that name; `allowexec replay` plays it",
        set: |config, given| given.set(&mut config.record, |text| entry::path(text).map(Some)),
        show: |config| shown_path(&config.record),
    },
    Spec {
        flag: "record-required",
        takes: Takes::Switch,
        value: "",
        variable: "ALLOWEXEC_RECORD_REQUIRED",
        group: Group::Operation,
        default: "off",
        help: "End the session where it can't be recorded any more, instead of going on with a warning",
        set: |config, given| given.set(&mut config.record_required, switch),
        show: |config| shown_switch(&config.record_required),
    },
    Spec {
        flag: "log",
        takes: Takes::Text,
        value: "LEVEL",
        variable: "ALLOWEXEC_LOG",
        group: Group::Operation,
        default: "info",
        help: "What is written to stderr: off, error, warn, info or debug",
        set: |config, given| given.set(&mut config.log, LogLevel::parse),
        show: |config| shown(&config.log, |level| Some(level.to_string())),
    },
    Spec {
        flag: CONFIG,
        takes: Takes::Text,
        value: "FILE",
        variable: "ALLOWEXEC_CONFIG",
        group: Group::Operation,
        default: "none",
        help: "A YAML file of settings, whose keys are the flags' names with `_` for `-`",
        set: |config, given| given.set(&mut config.file, |text| entry::path(text).map(Some)),
        show: |config| shown_path(&config.file),
    },
];
