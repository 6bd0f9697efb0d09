//! The environment of commands: built, not inherited, unless the operator says so.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::policy::{changes_reading, seems_to_change_reading};

/// The variables that are passed on if the server has them.
const PASSED: &[&str] = if cfg!(windows) {
    &[
        "HOME",
        "USERPROFILE",
        "HOMEDRIVE",
        "HOMEPATH",
        "USERNAME",
        "USERDOMAIN",
        "COMPUTERNAME",
        "SystemRoot",
        "SystemDrive",
        "windir",
        "ComSpec",
        "PATHEXT",
        "TEMP",
        "TMP",
        "APPDATA",
        "LOCALAPPDATA",
        "ProgramData",
        "ProgramFiles",
        "ProgramFiles(x86)",
        "ProgramW6432",
        "CommonProgramFiles",
        "CommonProgramFiles(x86)",
        "CommonProgramW6432",
        "ALLUSERSPROFILE",
        "PUBLIC",
        "NUMBER_OF_PROCESSORS",
        "PROCESSOR_ARCHITECTURE",
        "OS",
        "LANG",
        "TZ",
    ]
} else {
    &["HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR"]
};

/// The beginning of the names of further variables that are passed on.
const PASSED_PREFIX: &str = "LC_";

/// Variables that tell programs that there is no user to ask.
const NON_INTERACTIVE: [(&str, &str); 5] =
    [("TERM", "dumb"), ("NO_COLOR", "1"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// The language of commands if the server has none: without one, programs take text that is not ASCII for bytes.
const LANGUAGE: (&str, &str) = ("LANG", "C.UTF-8");

/// Makes `cmd.exe`, and other programs that ask Windows where a program is, skip the current directory.
const NO_CURRENT_DIRECTORY: (&str, &str) = ("NoDefaultCurrentDirectoryInExePath", "1");

/// A variable that the operator names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variable {
    /// Passed on with the value that the server has; left out if it has none.
    Pass(String),
    /// Set to this value.
    Set(String, OsString),
}

/// The settings from which the environment of commands is built.
#[derive(Debug, Clone, Default)]
pub struct EnvironmentSettings {
    /// The server's own environment.
    pub inherited: BTreeMap<OsString, OsString>,
    /// Whether all of it is passed on.
    pub inherit_all: bool,
    /// The variables that the operator names; of two with one name the last counts.
    pub variables: Vec<Variable>,
    /// The cleaned search path, which becomes `PATH` in either case.
    pub path: OsString,
}

/// The variables that every command gets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    /// Those of them that change how programs read their arguments.
    of_reading: Vec<OsString>,
}

impl Environment {
    /// Builds it from the variables that are passed on (`HOME`, `USER`, `LOGNAME`, `SHELL`, `LANG`, `LC_*`, `TZ`,
    /// `TMPDIR`, or everything), the variables that tell programs that there is no user to ask, those that the operator
    /// names, and the cleaned `PATH`. `LANG` is `C.UTF-8` if the server has none (not on Windows).
    ///
    /// Variables passed on by `inherit_all` override the settings against interaction, and variables of the operator
    /// override both. Another `PATH` counts only if the operator sets it. On Windows names are compared without case,
    /// the variables that Windows programs need are passed on, and `NoDefaultCurrentDirectoryInExePath` is set.
    pub fn new(settings: &EnvironmentSettings) -> Self {
        let mut variables = BTreeMap::new();
        let set = |variables: &mut BTreeMap<OsString, OsString>, name: &str, value: &OsStr| {
            insert(variables, OsString::from(name), value.to_owned());
        };
        for (name, value) in NON_INTERACTIVE {
            set(&mut variables, name, OsStr::new(value));
        }
        let passed = settings.inherited.iter().filter(|(name, _)| settings.inherit_all || is_passed(name));
        passed.for_each(|(name, value)| insert(&mut variables, name.clone(), value.clone()));
        if !cfg!(windows) && variables.get(OsStr::new(LANGUAGE.0)).is_none_or(|language| language.is_empty()) {
            let (name, language) = LANGUAGE;
            set(&mut variables, name, OsStr::new(language));
        }
        set(&mut variables, "PATH", &settings.path);
        if cfg!(windows) {
            let (name, value) = NO_CURRENT_DIRECTORY;
            set(&mut variables, name, OsStr::new(value));
        }
        for variable in &settings.variables {
            match variable {
                Variable::Set(name, value) => set(&mut variables, name, value),
                // The cleaned one is there already.
                Variable::Pass(name) if is_same(OsStr::new(name), OsStr::new("PATH")) => {}
                Variable::Pass(name) => {
                    let inherited = settings.inherited.iter().find(|(key, _)| is_same(key, OsStr::new(name)));
                    if let Some((name, value)) = inherited {
                        insert(&mut variables, name.clone(), value.clone());
                    }
                }
            }
        }
        let is_named = |name: &OsStr| {
            settings.variables.iter().any(|variable| match variable {
                Variable::Pass(named) | Variable::Set(named, _) => is_same(OsStr::new(named), name),
            })
        };
        let is_of_reading =
            |name: &&OsString| changes_reading(name) || (seems_to_change_reading(name) && !is_named(name));
        let of_reading = variables.keys().filter(is_of_reading).cloned().collect();
        Self { variables, of_reading }
    }

    /// The variables that change how programs read their arguments. Commands whose arguments a rule describes don't get them,
    /// unless the rule itself sets them.
    pub fn of_reading(&self) -> &[OsString] {
        &self.of_reading
    }

    /// The same without these.
    #[must_use]
    pub fn without_those_of_reading(mut self) -> Self {
        for name in std::mem::take(&mut self.of_reading) {
            self.variables.remove(&name);
        }
        self
    }

    /// The variables, by name.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Sets one more variable, replacing one of the same name.
    pub fn set(&mut self, name: &str, value: OsString) {
        insert(&mut self.variables, name.into(), value);
    }
}

/// Inserts a variable, replacing one of the same name. On Windows the two names may differ in case, and of two such
/// variables (`Path` and the cleaned `PATH`) a process would get only one.
fn insert(variables: &mut BTreeMap<OsString, OsString>, name: OsString, value: OsString) {
    if cfg!(windows) {
        variables.retain(|other, _| !is_same(other, &name));
    }
    variables.insert(name, value);
}

fn is_same(left: &OsStr, right: &OsStr) -> bool {
    if cfg!(windows) { left.eq_ignore_ascii_case(right) } else { left == right }
}

fn is_passed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let same = |passed: &&str| is_same(OsStr::new(passed), OsStr::new(name));
    name.starts_with(PASSED_PREFIX) || PASSED.iter().any(same)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn build(inherit_all: bool, variables: &[Variable]) -> String {
        build_from(
            &[("HOME", "/home/x"), ("LC_ALL", "C"), ("SECRET", "s"), ("TERM", "xterm"), ("PATH", ".:/bin")],
            inherit_all,
            variables,
        )
    }

    fn build_from(inherited: &[(&str, &str)], inherit_all: bool, variables: &[Variable]) -> String {
        let settings = EnvironmentSettings {
            inherited: inherited.iter().map(|&(name, value)| (name.into(), value.into())).collect(),
            inherit_all,
            variables: variables.to_vec(),
            path: "/bin".into(),
        };
        let environment = Environment::new(&settings);
        let shown = environment
            .variables()
            .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()));
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_environment_is_built_and_the_operator_has_the_last_word() {
        let fixed =
            "GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 HOME=/home/x LANG=C.UTF-8 LC_ALL=C NO_COLOR=1 PAGER=cat PATH=/bin";
        assert_eq!(build(false, &[]), format!("{fixed} TERM=dumb"));
        assert_eq!(build(true, &[]), format!("{fixed} SECRET=s TERM=xterm"));
        let pass = |name: &str| Variable::Pass(name.to_owned());
        let named = [pass("SECRET"), pass("PATH"), pass("MISSING"), Variable::Set("TERM".into(), "vt100".into())];
        assert_eq!(build(false, &named), format!("{fixed} SECRET=s TERM=vt100"));
        // A variable whose name looks like one of those is unset for described commands only where nobody named it.
        let inherited = ["POSIXLY_CORRECT", "JAVA_OPTS", "NODE_OPTIONS", "BLOCKSIZE", "FIGNORE"];
        let settings = EnvironmentSettings {
            inherited: inherited.into_iter().map(|name| (name.into(), "1".into())).collect(),
            inherit_all: true,
            variables: vec![pass("JAVA_OPTS"), Variable::Set("TAR_OPTIONS".into(), "-v".into())],
            path: "/bin".into(),
        };
        assert_eq!(Environment::new(&settings).of_reading(), ["NODE_OPTIONS", "POSIXLY_CORRECT", "TAR_OPTIONS"]);
        let path = [Variable::Set("PATH".into(), "/opt".into())];
        assert_eq!(build(false, &path), format!("{} TERM=dumb", fixed.replace("PATH=/bin", "PATH=/opt")));
    }

    #[test]
    fn the_language_is_utf8_where_the_server_has_none() {
        let language = |inherited: &[(&str, &str)], inherit_all, variables: &[Variable]| {
            let built = build_from(inherited, inherit_all, variables);
            built.split(' ').find(|variable| variable.starts_with("LANG=")).map(str::to_owned)
        };
        for inherit_all in [false, true] {
            for none in [&[][..], &[("LANG", "")]] {
                assert_eq!(language(none, inherit_all, &[]).unwrap(), "LANG=C.UTF-8");
            }
            assert_eq!(language(&[("LANG", "de_DE.UTF-8")], inherit_all, &[]).unwrap(), "LANG=de_DE.UTF-8");
            let set = Variable::Set("LANG".into(), "C".into());
            assert_eq!(language(&[], inherit_all, &[set]).unwrap(), "LANG=C");
        }
    }
}
