//! The grants that well-known tools need from the sandbox besides the directories that calls work in, and the flags for
//! them. A rule grants what its command needs, so this is about commands that are allowed with any arguments.

use std::path::{Path, PathBuf};

use super::risks::{Risk, directories, home, is_confined, is_granted, resolved};
use crate::config::Config;
use crate::files::read_regular;
use crate::policy::rules::CommandRule;
use crate::sandbox::{Level, Preset, is_executed_anyway};
use crate::server::Parts;
use crate::tools::ListedIn;

/// Tools that are often installed outside of the system's directories, and the preset that may grant their installation.
const INSTALLED: [(&str, Preset); 9] = [
    ("python3", Preset::Python),
    ("python", Preset::Python),
    ("pip", Preset::Python),
    ("pip3", Preset::Python),
    ("node", Preset::Node),
    ("npm", Preset::Node),
    ("npx", Preset::Node),
    ("go", Preset::Go),
    ("cargo", Preset::Rust),
];

/// The files that tools read in the home directory, if they exist.
const FILES: [(&str, &str, Preset); 11] = [
    ("git", ".gitconfig", Preset::Git),
    ("git", ".config/git", Preset::Git),
    ("npm", ".npmrc", Preset::Node),
    ("cargo", ".cargo/registry", Preset::Rust),
    ("python3", ".local/lib", Preset::Python),
    ("pip", ".local/lib", Preset::Python),
    ("pip", ".config/pip", Preset::Python),
    ("pip", ".pip", Preset::Python),
    ("pytest", ".local/lib", Preset::Python),
    ("go", "go/pkg/mod", Preset::Go),
    ("go", ".config/go", Preset::Go),
];

/// The programs that tools start to do their work, which may not be executed with `strict`.
const STARTED: [(&str, &[&str]); 4] = [("npm", &["sh"]), ("npx", &["sh"]), ("make", &["sh"]), ("cargo", &["cc", "ld"])];

/// Where compilers keep the programs that `cc` starts.
const OF_COMPILERS: [&str; 2] = ["/usr/lib/gcc", "/usr/libexec/gcc"];

/// The largest file in which a version manager names versions.
const LARGEST_VERSION: u64 = 64 * 1024;

/// Reports the needs of tools that the sandbox of a configuration does not grant.
pub(super) fn needs(config: &Config, parts: &Parts) -> Vec<Risk> {
    let tools = Tools { config, parts, home: home(config) };
    [tools.shims(), tools.installations(), tools.files(), tools.caches(), tools.started()].concat()
}

struct Tools<'a> {
    config: &'a Config,
    parts: &'a Parts,
    home: Option<PathBuf>,
}

impl Tools<'_> {
    /// Whether a command is allowed with any arguments, and confined by the server's own level.
    fn is_plain(&self, name: &str) -> bool {
        let allow = self.parts.policy.allow_list();
        self.config.sandbox.value != Level::Off
            && allow.names().iter().any(|entry| entry == name)
            && allow.rules().get(name).is_none_or(|rule| CommandRule::is_plain_any(rule))
    }

    /// The words for a preset, behind "add ".
    fn granting(&self, preset: Preset) -> String {
        self.parts.report.lists.grant.adding("grant", preset.name())
    }

    /// The words for paths that may be executed, behind "add ".
    fn executing(&self, paths: &[PathBuf]) -> String {
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let list = self.parts.report.lists.exec;
        list.adding("exec", &paths.join(if list == ListedIn::Flag { "," } else { "`, `" }))
    }

    fn has(&self, preset: Preset) -> bool {
        self.config.grant.value.contains(&preset)
    }

    /// Whether a preset lets a path of the home directory be executed.
    fn is_in(&self, preset: Preset, path: &Path) -> bool {
        let Some(home) = &self.home else { return false };
        preset.executed().iter().any(|granted| path.starts_with(home.join(granted)))
    }

    /// Whether commands may execute what is there, and so read it.
    fn is_executed(&self, path: &Path) -> bool {
        let is_of_work = self.config.sandbox.value == Level::Workspace
            && directories(self.config).any(|(_, directory)| path.starts_with(resolved(self.config, directory)));
        is_of_work
            || is_granted(self.config, &self.config.exec.value, path)
            || Preset::ALL.into_iter().any(|preset| self.has(preset) && self.is_in(preset, path))
    }

    /// Programs in PATH that only start another program, which is in the home directory.
    fn shims(&self) -> Vec<Risk> {
        let names = self.parts.policy.allow_list().names().iter();
        names.filter(|name| is_confined(self.config, self.parts, name)).filter_map(|name| self.shim(name)).collect()
    }

    fn shim(&self, name: &str) -> Option<Risk> {
        let program = self.parts.program_of(name)?;
        let found = crate::files::canonicalize(program.path()).unwrap_or_else(|_| program.path().to_owned());
        let bin = program.path().parent()?;
        if found.file_stem().is_some_and(|stem| stem == "rustup") && name != "rustup" {
            return self.shim_of_rustup(name, bin);
        }
        let manager = bin.parent().filter(|_| bin.ends_with("shims"))?;
        let is_usual = self.is_in(Preset::Python, manager);
        let is_granted = is_usual && self.has(Preset::Python)
            || is_granted(self.config, &self.config.exec.value, &manager.join("versions"));
        // These shims are scripts, which start programs of the system.
        let is_strict = self.config.sandbox.value == Level::Strict;
        let grant = if is_usual { self.granting(Preset::Python) } else { self.executing(&[manager.to_owned()]) };
        let real = format!("put the directory of the real program in PATH before the shims{}", chosen(manager));
        let help = if is_granted { real } else { format!("add {grant}, and {real}") };
        (!is_granted || is_strict).then(|| {
            Risk::new(
                format!(
                    "`{name}` is a shim of the version manager in `{}`, and the sandbox does not let it start {}",
                    manager.display(),
                    if is_granted { "what it finds the real one with" } else { "the real one" }
                ),
                help,
            )
        })
    }

    fn shim_of_rustup(&self, name: &str, bin: &Path) -> Option<Risk> {
        let rustup = self.config.surroundings.variable("RUSTUP_HOME").map(PathBuf::from);
        let (toolchains, help) = match rustup.filter(|path| path.is_absolute()) {
            None => (None, format!("add {}", self.granting(Preset::Rust))),
            Some(rustup) => {
                let toolchains = rustup.join("toolchains");
                let settings = rustup.join("settings.toml").display().to_string();
                let help = format!(
                    "add {}, {} and `--env RUSTUP_HOME`",
                    self.executing(&[bin.to_owned(), toolchains.clone()]),
                    self.parts.report.lists.read.adding("read", &settings)
                );
                (Some(toolchains), help)
            }
        };
        let exec = &self.config.exec.value;
        let is_granted = match &toolchains {
            None => self.has(Preset::Rust),
            Some(toolchains) => is_granted(self.config, exec, toolchains),
        } || {
            // The usual place may also be granted by its path.
            let usual = self.home.as_ref().map(|home| home.join(".rustup/toolchains"));
            usual.is_some_and(|usual| is_granted(self.config, exec, &usual))
        };
        (!is_granted).then(|| {
            Risk::new(
                format!("`{name}` is a shim of rustup, and the sandbox does not let it start the toolchain"),
                help,
            )
        })
    }

    /// Interpreters and toolchains that are not the system's: the sandbox grants their file, but nothing that it loads.
    fn installations(&self) -> Vec<Risk> {
        let lacking = |(name, preset): (&str, Preset)| {
            // `started` covers what `go` needs with `strict`.
            let is_covered = name == "go" && self.config.sandbox.value == Level::Strict;
            let program = self.parts.program_of(name).filter(|_| self.is_plain(name) && !is_covered)?;
            // Links to the directory `bin` are followed, as version managers have them, but a link in `bin` is not.
            let bin = crate::files::canonicalize(program.path().parent()?).ok()?;
            let is_shim = crate::files::canonicalize(program.path()).is_ok_and(|found| found.ends_with("rustup"));
            let installation = bin.parent().filter(|_| bin.ends_with("bin") && !is_shim)?;
            if is_executed_anyway(Level::Workspace, installation) || self.is_executed(installation) {
                return None;
            }
            let grant = if self.is_in(preset, installation) {
                self.granting(preset)
            } else {
                self.executing(&[installation.to_owned()])
            };
            Some(Risk::new(
                format!(
                    "`{name}` needs its installation in `{}`, which the sandbox does not grant",
                    installation.display()
                ),
                format!("add {grant}"),
            ))
        };
        INSTALLED.into_iter().filter_map(lacking).collect()
    }

    /// Reports the files in the home directory that tools read and the sandbox does not grant.
    fn files(&self) -> Vec<Risk> {
        let Some(home) = &self.home else { return Vec::new() };
        let mut reported: Vec<(&str, Preset)> = Vec::new();
        let mut risks = Vec::new();
        for (name, path, preset) in FILES {
            let path = home.join(path);
            let given = [&self.config.read.value, &self.config.write.value, &self.config.exec.value];
            let granted = self.has(preset) || given.iter().any(|paths| is_granted(self.config, paths, &path));
            if self.is_plain(name) && path.exists() && !granted && !reported.contains(&(name, preset)) {
                reported.push((name, preset));
                risks.push(Risk::new(
                    format!("`{name}` reads `{}`, which the sandbox does not grant", path.display()),
                    format!("add {}", self.granting(preset)),
                ));
            }
        }
        risks
    }

    /// The build cache of Go, without which it builds nothing.
    fn caches(&self) -> Vec<Risk> {
        let is_named = self.config.inherit_env.value || self.config.env.value.iter().any(|env| env.name() == "GOCACHE");
        let Some(home) = self.home.as_ref().filter(|_| self.is_plain("go") && !is_named) else { return Vec::new() };
        let cache = home.join(".cache/go-build");
        let is_of_work = directories(self.config).any(|(_, path)| cache.starts_with(resolved(self.config, path)));
        if is_of_work || is_granted(self.config, &self.config.write.value, &cache) {
            return Vec::new();
        }
        let first = if cache.exists() { "" } else { "make that directory, and " };
        vec![Risk::new(
            format!("`go` builds nothing without its cache, `{}`, which commands can't write", cache.display()),
            format!("{first}add {}", self.parts.report.lists.write.adding("write", &cache.display().to_string())),
        )]
    }

    /// With `strict`: the programs that tools start.
    fn started(&self) -> Vec<Risk> {
        if self.config.sandbox.value != Level::Strict {
            return Vec::new();
        }
        let mut risks = Vec::new();
        for (name, programs) in STARTED {
            if !self.is_plain(name) {
                continue;
            }
            let is_listed =
                |program: &&&str| self.parts.policy.allow_list().names().iter().any(|name| name == **program);
            let programs = programs.iter().filter(|program| !is_listed(program));
            let mut paths: Vec<PathBuf> =
                programs.filter_map(|program| Some(self.parts.program_of(program)?.path().to_owned())).collect();
            if name == "cargo" {
                paths.extend(OF_COMPILERS.map(PathBuf::from).into_iter().filter(|path| path.is_dir()));
                paths.extend(self.targets());
            }
            risks.extend(self.lacks(name, paths));
        }
        // The compiler and everything else that `go` starts.
        let go = self.parts.program_of("go").filter(|_| self.is_plain("go"));
        let found = go.and_then(|go| crate::files::canonicalize(go.path()).ok());
        let root = found.as_deref().and_then(|found| found.parent()?.parent()).filter(|root| root.join("pkg").is_dir());
        risks.extend(root.and_then(|root| self.lacks("go", vec![root.to_owned()])));
        risks
    }

    /// The directories that cargo builds in, and from which it runs tests and build scripts.
    fn targets(&self) -> Vec<PathBuf> {
        let roots = directories(self.config).map(|(_, path)| resolved(self.config, path));
        let mut targets: Vec<PathBuf> =
            roots.filter(|root| root.join("Cargo.toml").is_file()).map(|root| root.join("target")).collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    fn lacks(&self, name: &str, paths: Vec<PathBuf>) -> Option<Risk> {
        let paths: Vec<PathBuf> = paths.into_iter().filter(|path| !self.is_executed(path)).collect();
        let list = |paths: &[PathBuf], between: &str| {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(between)
        };
        let missing: Vec<PathBuf> = paths.iter().filter(|path| !path.exists()).cloned().collect();
        let first = if missing.is_empty() { String::new() } else { format!("make `{}`, and ", list(&missing, "`, `")) };
        (!paths.is_empty()).then(|| {
            Risk::new(
                format!("`{name}` starts programs that `strict` does not grant: `{}`", list(&paths, "`, `")),
                format!("{first}add {}", self.executing(&paths)),
            )
        })
    }
}

/// The directory of the version manager's global version, as an example.
fn chosen(manager: &Path) -> String {
    let version = read_regular(&manager.join("version"), LARGEST_VERSION).unwrap_or_default();
    let version = String::from_utf8_lossy(&version);
    let bin = version.lines().next().map(|version| manager.join("versions").join(version.trim()).join("bin"));
    bin.filter(|bin| bin.is_dir()).map(|bin| format!(", such as `{}`", bin.display())).unwrap_or_default()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_version_is_read_from_a_file_and_a_fifo_is_not_waited_for() {
        let manager = tempfile::tempdir().unwrap();
        let path = manager.path().to_owned();
        fs::create_dir_all(path.join("versions/3.12/bin")).unwrap();
        fs::write(path.join("version"), "3.12\n3.11\n").unwrap();
        assert_eq!(chosen(&path), format!(", such as `{}`", path.join("versions/3.12/bin").display()));
        fs::remove_file(path.join("version")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path.join("version")).status().unwrap().success());
        let (done, waiting) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(chosen(&path)));
        assert_eq!(waiting.recv_timeout(Duration::from_secs(30)).as_deref(), Ok(""));
    }
}
