//! The environment and the directory of the process, and the settings in its environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use super::error::{ConfigError, printable};
use super::flags::utf8;
use super::given::Given;
use super::setting::SettingPlace;
use super::spec::Spec;
use super::table::SETTINGS;
use crate::text::nearest;

/// Variables that begin with this are settings or mistakes; other unknown variables are not our concern.
const PREFIX: &str = "ALLOWEXEC_";

/// The variable that holds the question for the program of `--ask-with`. That program may start another server, for which
/// the variable is neither a setting nor a mistake.
pub const ASK_TEXT: &str = "ALLOWEXEC_ASK_TEXT";

/// Variables of other servers, the server that reads each, and what to use here instead. People who switch to allowexec often
/// leave them in their configuration.
const OF_OTHERS: [(&str, &str, &str); 6] = [
    ("ALLOW_COMMANDS", "mcp-shell-server", "`ALLOWED_COMMANDS` or `--allow`"),
    ("ALLOW_PATTERNS", "mcp-shell-server", "a policy (`--policy`), which describes arguments"),
    ("ALLOWED_DIR", "cli-mcp-server", "`--cwd-root DIR --cwd DIR`, and `--sandbox workspace` to enforce it"),
    ("ALLOWED_FLAGS", "cli-mcp-server", "a policy (`--policy`), which names the options of each command"),
    ("COMMAND_TIMEOUT", "cli-mcp-server", "`ALLOWEXEC_TIMEOUT` or `--timeout`, with a unit (`30s`)"),
    ("ALLOW_SHELL_OPERATORS", "cli-mcp-server", "one call for each command, since no shell runs here"),
];

/// The environment and the directory that the process was started with.
#[derive(Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The environment variables, whatever their encoding.
    pub variables: BTreeMap<OsString, OsString>,
    /// The current directory, which relative directories start from.
    pub directory: PathBuf,
}

impl Surroundings {
    /// Those of the running process.
    ///
    /// # Errors
    /// [`ConfigError::Directory`] if the current directory can't be found, for instance because it was removed.
    pub fn of_this_process() -> Result<Self, ConfigError> {
        let directory = std::env::current_dir().map_err(|source| ConfigError::Directory { source })?;
        Ok(Self { variables: std::env::vars_os().collect(), directory })
    }

    /// The same without the variables that are settings.
    pub(crate) fn without_settings(mut self) -> Self {
        self.variables.retain(|name, _| !SETTINGS.iter().any(|spec| same_name(name, spec.variable)));
        self
    }

    /// Where the approvals of agents' hooks are kept, below the state directory of the XDG base directories; `None` if neither
    /// `XDG_STATE_HOME` nor `HOME` is an absolute path.
    pub(crate) fn grants_directory(&self) -> Option<PathBuf> {
        let absolute = |name| self.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
        Some(state.join("allowexec").join("grants"))
    }

    /// A sentence for each variable that is set here and is a setting of another server.
    pub(crate) fn settings_of_others(&self) -> Vec<String> {
        let is_set = |name| self.variable(name).is_some_and(|value| !value.is_empty());
        let found = OF_OTHERS.into_iter().filter(|(name, ..)| is_set(name));
        found
            .map(|(name, server, ours)| format!("`{name}` is a setting of {server} and sets nothing here; use {ours}"))
            .collect()
    }

    /// The settings' variables that are set.
    pub(crate) fn setting_variables(&self) -> impl Iterator<Item = &'static str> {
        let is_set = |spec: &&Spec| self.variable(spec.variable).is_some_and(|value| !value.is_empty());
        SETTINGS.iter().filter(is_set).map(|spec| spec.variable)
    }

    /// The variable of this name; on Windows, case doesn't matter. It may be empty: settings treat that as unset, since
    /// clients fill in their templates that way.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let in_any_case = || self.variables.iter().find(|(key, _)| same_name(key, name)).map(|(_, value)| value);
        let value = if cfg!(windows) { in_any_case() } else { self.variables.get(OsStr::new(name)) };
        value.map(OsString::as_os_str)
    }

    /// The clock of this system.
    pub(crate) fn clock(&self) -> Box<dyn Fn() -> SystemTime + Send> {
        Box::new(SystemTime::now)
    }

    /// The name of this machine; empty if it is unknown.
    pub(crate) fn host(&self) -> String {
        let of_kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let host = of_kernel.or_else(|| self.first_text(&["HOSTNAME", "COMPUTERNAME"]));
        host.map_or_else(String::new, |host| host.trim().to_owned())
    }

    /// The first of these variables that is set.
    fn first_text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.variable(name)).map(|value| value.to_string_lossy().into_owned())
    }

    /// The user that the process runs as: the number, and the name if the environment has one.
    pub(crate) fn user(&self) -> String {
        let name = self.first_text(&["USER", "LOGNAME", "USERNAME"]);
        #[cfg(unix)]
        let id = Some(rustix::process::geteuid().as_raw().to_string());
        #[cfg(not(unix))]
        let id: Option<String> = None;
        match (id, name) {
            (Some(id), Some(name)) => format!("{id} ({name})"),
            (id, name) => id.or(name).unwrap_or_default(),
        }
    }

    /// The settings among the variables, in the table's order.
    ///
    /// # Errors
    /// A value that is not UTF-8, or an unknown name that begins with `ALLOWEXEC_`.
    pub(super) fn given(&self) -> Result<Vec<Given>, ConfigError> {
        for (name, value) in &self.variables {
            let is_known = || same_name(name, ASK_TEXT) || SETTINGS.iter().any(|spec| same_name(name, spec.variable));
            if !value.is_empty() && has_our_prefix(name) && !is_known() {
                return Err(unknown_variable(&name.to_string_lossy()));
            }
        }
        let mut all = Vec::new();
        for spec in SETTINGS {
            let Some(value) = self.variable(spec.variable).filter(|value| !value.is_empty()) else {
                continue;
            };
            let place = SettingPlace::Variable(spec.variable);
            let text = utf8(value.to_owned(), &place)?;
            all.push(Given::written(spec, place, text));
        }
        Ok(all)
    }
}

/// The directory and the number of variables, without their values, which may be secrets.
impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Surroundings({} variables, in `{}`)", self.variables.len(), self.directory.display())
    }
}

fn same_name(key: &OsStr, name: &str) -> bool {
    if cfg!(windows) { key.eq_ignore_ascii_case(name) } else { key == name }
}

fn has_our_prefix(name: &OsStr) -> bool {
    let start = name.as_encoded_bytes().get(..PREFIX.len());
    start.is_some_and(|start| {
        if cfg!(windows) { start.eq_ignore_ascii_case(PREFIX.as_bytes()) } else { start == PREFIX.as_bytes() }
    })
}

/// Compares the name without its prefix with the keys of the file. So `ALLOWEXEC_ALLOW` leads to `ALLOWED_COMMANDS`, one of
/// the two variables whose names have no such prefix.
fn unknown_variable(given: &str) -> ConfigError {
    let name = given.get(PREFIX.len()..).unwrap_or(given);
    let meant = nearest(name, SETTINGS.iter().map(Spec::key));
    let meant = meant.and_then(|key| SETTINGS.iter().find(|spec| spec.key() == key));
    ConfigError::UnknownVariable { given: printable(given), nearest: meant.map(|spec| spec.variable) }
}
