//! The one list of what can be set. Flags, variables, keys of the file, the help and `doctor` are read off it, and a
//! man page or shell completions can be.

use std::path::PathBuf;

use super::amount::{count, duration, duration_text, limit_size, size, size_text, switch, switch_text, time_limit};
use super::config::DEFAULT_SHELL;
use super::entry;
use super::env_entry::EnvEntry;
use super::error::printable;
use super::log_level::LogLevel;
use super::setting::Setting;
use super::spec::{Group, Shown, Spec, Takes};
use super::words::{self, LogFormat, RootsMode};
use crate::policy::rules::written;

/// The flag that names the file; the file itself can't set it.
pub(super) const CONFIG: &str = "config";
/// What is on unless it is switched off: its flag has a value, and its key is a boolean too.
pub(super) const ON_OR_OFF: &str = "on|off";

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
        help: "Commands that may run, matched exactly with the first word of a call, or a command and a subcommand \
               (git status); `@shell` stands for what a shell is there for, and `*` allows every command",
        set: |config, given| {
            config.allow = given.all(entry::command)?.map(entry::with_sets);
            Ok(())
        },
        show: |config| shown(&config.allow, |names| joined(names, String::clone)),
    },
    Spec {
        flag: "policy",
        takes: Takes::List,
        value: "FILE",
        variable: "ALLOWEXEC_POLICY",
        group: Group::Commands,
        default: "none",
        help: "YAML files with rules for the arguments of commands; a command they describe runs by its rule alone",
        set: |config, given| {
            config.policy = given.all(entry::path)?;
            Ok(())
        },
        show: |config| shown(&config.policy, |paths| joined(paths, |path| path.display().to_string())),
    },
    Spec {
        flag: "profile",
        takes: Takes::List,
        value: "NAMES",
        variable: "ALLOWEXEC_PROFILE",
        group: Group::Commands,
        default: "none",
        help: "Policies that are shipped with allowexec, such as git-readonly",
        set: |config, given| {
            config.profile = given.all(entry::name)?.map(entry::without_repetitions);
            Ok(())
        },
        show: |config| shown(&config.profile, |names| joined(names, String::clone)),
    },
    Spec {
        flag: "ask",
        takes: Takes::List,
        value: "NAMES",
        variable: "ALLOWEXEC_ASK",
        group: Group::Commands,
        default: "none",
        help: "Commands that a person approves each time, or commands and subcommands (git push)",
        set: |config, given| {
            config.ask = given.all(entry::asked)?.map(entry::with_sets);
            Ok(())
        },
        show: |config| shown(&config.ask, |names| joined(names, String::clone)),
    },
    Spec {
        flag: "ask-with",
        takes: Takes::Text,
        value: "COMMAND",
        variable: "ALLOWEXEC_ASK_WITH",
        group: Group::Commands,
        default: "the client, where it can ask",
        help: "Your program that asks a person: it gets the request as JSON on standard input; exit status 0 runs the \
               command, 10 runs it for the session, any other one refuses it",
        set: |config, given| given.set(&mut config.ask_with, |text| entry::program(text).map(Some)),
        show: |config| shown(&config.ask_with, |words| words.as_ref().map(|words| printable(&written(words)))),
    },
    Spec {
        flag: "ask-timeout",
        takes: Takes::Number,
        value: "DURATION",
        variable: "ALLOWEXEC_ASK_TIMEOUT",
        group: Group::Commands,
        default: "2m",
        help: "How long a person has to answer; then the command is refused",
        set: |config, given| given.set(&mut config.ask_timeout, time_limit),
        show: |config| shown(&config.ask_timeout, |time| Some(duration_text(*time))),
    },
    Spec {
        flag: "read-only",
        takes: Takes::List,
        value: "NAMES",
        variable: "ALLOWEXEC_READ_ONLY",
        group: Group::Commands,
        default: "none",
        help: "Commands that only read; a tool is annotated readOnlyHint if all of its commands do",
        set: |config, given| {
            config.read_only = given.all(entry::name)?.map(entry::without_repetitions);
            Ok(())
        },
        show: |config| shown(&config.read_only, |names| joined(names, String::clone)),
    },
    Spec {
        flag: "trust",
        takes: Takes::Text,
        value: "WHOM",
        variable: "ALLOWEXEC_TRUST",
        group: Group::Commands,
        default: "any",
        help: "Which programs run, by who can replace them: any, or owner (nobody but root and the server's user)",
        set: |config, given| given.set(&mut config.trust, words::trust),
        show: |config| shown(&config.trust, |trust| Some(trust.to_string())),
    },
    Spec {
        flag: "lock",
        takes: Takes::Text,
        value: "FILE",
        variable: "ALLOWEXEC_LOCK",
        group: Group::Commands,
        default: "none",
        help: "Run only programs that are what this file holds, which `allowexec lock` writes",
        set: |config, given| given.set(&mut config.lock, |text| entry::path(text).map(Some)),
        show: |config| shown_path(&config.lock),
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
        flag: "network",
        takes: Takes::Text,
        value: "WHICH",
        variable: "ALLOWEXEC_NETWORK",
        group: Group::Sandbox,
        default: "none at strict, else full",
        help: "Sockets for commands in the sandbox: none (but socketpair), or full",
        set: |config, given| given.set(&mut config.network, |text| words::network(text).map(Some)),
        show: |config| shown(&config.network, |network| network.map(|network| network.to_string())),
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
        flag: "grant",
        takes: Takes::List,
        value: "PRESETS",
        variable: "ALLOWEXEC_GRANT",
        group: Group::Sandbox,
        default: "none",
        help: "Let commands in the sandbox use files of the home directory: those of git, rust, node, python, go",
        set: |config, given| {
            config.grant = given.all(words::preset)?;
            Ok(())
        },
        show: |config| shown(&config.grant, |presets| joined(presets, |preset| preset.name().to_owned())),
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
        help: "Time between SIGTERM and SIGKILL when a process tree is ended",
        set: |config, given| given.set(&mut config.grace, duration),
        show: |config| shown(&config.grace, |time| Some(duration_text(*time))),
    },
    Spec {
        flag: "max-output",
        takes: Takes::Number,
        value: "BYTES",
        variable: "ALLOWEXEC_MAX_OUTPUT",
        group: Group::Limits,
        default: "16KiB",
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
        flag: "background",
        takes: Takes::Text,
        value: ON_OR_OFF,
        variable: "ALLOWEXEC_BACKGROUND",
        group: Group::Limits,
        default: "on",
        help: "Whether calls can run in the background, and clients get the tools for them: on or off",
        set: |config, given| given.set(&mut config.background, switch),
        show: |config| shown_switch(&config.background),
    },
    Spec {
        flag: "hand-over",
        takes: Takes::Number,
        value: "DURATION",
        variable: "ALLOWEXEC_HAND_OVER",
        group: Group::Limits,
        default: "50s",
        help: "A call that still runs then is answered and goes on in the background; `0s` for never",
        set: |config, given| {
            given.set(&mut config.hand_over, |text| {
                if text.trim_ascii() == "0" { Ok(std::time::Duration::ZERO) } else { duration(text) }
            })
        },
        show: |config| shown(&config.hand_over, |time| Some(duration_text(*time))),
    },
    Spec {
        flag: "max-background",
        takes: Takes::Number,
        value: "DURATION",
        variable: "ALLOWEXEC_MAX_BACKGROUND",
        group: Group::Limits,
        default: "1h",
        help: "How long a call may run in the background, and the longest time limit that it may ask for",
        set: |config, given| given.set(&mut config.max_background, time_limit),
        show: |config| shown(&config.max_background, |time| Some(duration_text(*time))),
    },
    Spec {
        flag: "max-background-calls",
        takes: Takes::Number,
        value: "N",
        variable: "ALLOWEXEC_MAX_BACKGROUND_CALLS",
        group: Group::Limits,
        default: "8",
        help: "Calls that run in the background at once; more are refused",
        set: |config, given| given.set(&mut config.max_background_calls, count),
        show: |config| shown(&config.max_background_calls, |calls| Some(calls.to_string())),
    },
    Spec {
        flag: "keep-output",
        takes: Takes::Number,
        value: "SIZE",
        variable: "ALLOWEXEC_KEEP_OUTPUT",
        group: Group::Limits,
        default: "64MiB",
        help: "Whole output kept for each call, to be read later, and four times that in all; `0` keeps nothing",
        set: |config, given| given.set(&mut config.keep_output, size),
        show: |config| shown(&config.keep_output, |bytes| Some(size_text(*bytes))),
    },
    Spec {
        flag: "max-memory",
        takes: Takes::Number,
        value: "SIZE",
        variable: "ALLOWEXEC_MAX_MEMORY",
        group: Group::Resources,
        default: "none",
        help: "Memory of the whole call where a cgroup can be used, else of each of its processes",
        set: |config, given| given.set(&mut config.max_memory, |text| limit_size(text).map(Some)),
        show: |config| shown(&config.max_memory, |limit| limit.map(size_text)),
    },
    Spec {
        flag: "max-cpu",
        takes: Takes::Number,
        value: "DURATION",
        variable: "ALLOWEXEC_MAX_CPU",
        group: Group::Resources,
        default: "none",
        help: "Processor time of each process of a call, in whole seconds",
        set: |config, given| given.set(&mut config.max_cpu, |text| time_limit(text).map(Some)),
        show: |config| shown(&config.max_cpu, |limit| limit.map(duration_text)),
    },
    Spec {
        flag: "max-processes",
        takes: Takes::Number,
        value: "N",
        variable: "ALLOWEXEC_MAX_PROCESSES",
        group: Group::Resources,
        default: "none",
        help: "Processes and threads of the whole call where a cgroup can be used, else of the server's user",
        set: |config, given| given.set(&mut config.max_processes, |text| count(text).map(Some)),
        show: |config| shown(&config.max_processes, |limit| limit.map(|count| count.to_string())),
    },
    Spec {
        flag: "max-file-size",
        takes: Takes::Number,
        value: "SIZE",
        variable: "ALLOWEXEC_MAX_FILE_SIZE",
        group: Group::Resources,
        default: "none",
        help: "The longest file that a process of a call can write",
        set: |config, given| given.set(&mut config.max_file_size, |text| limit_size(text).map(Some)),
        show: |config| shown(&config.max_file_size, |limit| limit.map(size_text)),
    },
    Spec {
        flag: "max-open-files",
        takes: Takes::Number,
        value: "N",
        variable: "ALLOWEXEC_MAX_OPEN_FILES",
        group: Group::Resources,
        default: "none",
        help: "Files that a process of a call has open at once",
        set: |config, given| given.set(&mut config.max_open_files, |text| count(text).map(Some)),
        show: |config| shown(&config.max_open_files, |limit| limit.map(|count| count.to_string())),
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
        help: "With `serve`: write the session as a transcript, secrets included; %t is the time, %p the process, %c the client",
        set: |config, given| given.set(&mut config.record, |text| entry::path(text).map(Some)),
        show: |config| shown_path(&config.record),
    },
    Spec {
        flag: "record-force",
        takes: Takes::Switch,
        value: "",
        variable: "ALLOWEXEC_RECORD_FORCE",
        group: Group::Operation,
        default: "off",
        help: "Let the recording replace a file that is there already; `--force` says the same",
        set: |config, given| given.set(&mut config.record_force, switch),
        show: |config| shown_switch(&config.record_force),
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
        flag: "audit",
        takes: Takes::Text,
        value: "FILE",
        variable: "ALLOWEXEC_AUDIT",
        group: Group::Operation,
        default: "none",
        help: "Append every request, decision, start and end to this audit log; a call that can't be recorded does not run",
        set: |config, given| given.set(&mut config.audit, |text| entry::path(text).map(Some)),
        show: |config| shown_path(&config.audit),
    },
    Spec {
        flag: "audit-sync",
        takes: Takes::Switch,
        value: "",
        variable: "ALLOWEXEC_AUDIT_SYNC",
        group: Group::Operation,
        default: "off",
        help: "Wait until each record of the audit log is on the disk",
        set: |config, given| given.set(&mut config.audit_sync, switch),
        show: |config| shown_switch(&config.audit_sync),
    },
    Spec {
        flag: "audit-max-size",
        takes: Takes::Number,
        value: "SIZE",
        variable: "ALLOWEXEC_AUDIT_MAX_SIZE",
        group: Group::Operation,
        default: "none",
        help: "Begin a new audit log before the file becomes larger; the old one becomes FILE.1, the next FILE.2, and so on",
        set: |config, given| given.set(&mut config.audit_max_size, |text| limit_size(text).map(Some)),
        show: |config| shown(&config.audit_max_size, |size| size.map(size_text)),
    },
    Spec {
        flag: "audit-anchor",
        takes: Takes::Text,
        value: "COMMAND",
        variable: "ALLOWEXEC_AUDIT_ANCHOR",
        group: Group::Operation,
        default: "none",
        help: "Your program that keeps the head of the audit log elsewhere: it gets one on standard input at the end of each \
               session and every ten minutes",
        set: |config, given| given.set(&mut config.audit_anchor, |text| entry::program(text).map(Some)),
        show: |config| shown(&config.audit_anchor, |words| words.as_ref().map(|words| printable(&written(words)))),
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
        flag: "log-file",
        takes: Takes::Text,
        value: "FILE",
        variable: "ALLOWEXEC_LOG_FILE",
        group: Group::Operation,
        default: "stderr",
        help: "The file that the log is appended to instead of stderr, readable by its owner alone",
        set: |config, given| given.set(&mut config.log_file, |text| entry::path(text).map(Some)),
        show: |config| shown_path(&config.log_file),
    },
    Spec {
        flag: "log-format",
        takes: Takes::Text,
        value: "FORMAT",
        variable: "ALLOWEXEC_LOG_FORMAT",
        group: Group::Operation,
        default: "text",
        help: "How a line of the log is written: text, or json (an object each)",
        set: |config, given| given.set(&mut config.log_format, LogFormat::parse),
        show: |config| shown(&config.log_format, |format| Some(format.name().to_owned())),
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
