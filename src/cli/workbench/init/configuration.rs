//! The settings for a project: its directories, the sandbox, and what the sandbox grants besides them.
//!
//! Commands must not be able to write the configuration, else a command decides what the next start allows. So if the
//! configuration is in the project's own directory, commands can write the directories in it, but not its files.

use std::path::{Path, PathBuf};

use super::project::{Kind, Project};
use crate::config::Surroundings;
use crate::sandbox::{Enforcement, Kernel, Level, SandboxError, is_executed_anyway};

/// A text as YAML: a JSON string is one in YAML too.
pub(in crate::cli::workbench) fn yaml(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    // YAML takes these for line ends.
    quoted.replace('\u{85}', "\\u0085").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| yaml(&path.display().to_string())).collect();
    match paths.as_slice() {
        [one] => format!(" [{one}]\n"),
        several => several.iter().fold("\n".to_owned(), |text, path| format!("{text}  - {path}\n")),
    }
}

/// A directory that a variable names, else one in the home directory.
pub(super) fn home_of(surroundings: &Surroundings, variable: &str, usual: &str) -> Option<PathBuf> {
    let path = |name| surroundings.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    path(variable).or_else(|| Some(path("HOME").or_else(|| path("USERPROFILE"))?.join(usual)))
}

/// The sandbox's grants besides the project.
#[derive(Default)]
struct Grants {
    presets: Vec<&'static str>,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    exec: Vec<PathBuf>,
    /// The variables that commands need to find it.
    env: Vec<&'static str>,
}

/// The comment on `lines`.
const LINES: &str = "\n# A call may be a line of several commands, such as `cargo test 2>&1 | tail -5`: each is decided by the policy, and no shell runs.\n";

/// The comment on `network` where each call can have a loopback of its own.
const LOOPBACK: &str = "\n# The network of all commands whose rule names no other: each call has a loopback of its own, on which tests can start\n\
                        # servers. `network: full` opens every network to all of them; to open it to one command, write it in the `sandbox` of\n\
                        # its rule.\n\
                        network: loopback\n";

/// The comment on `grant` of a Node project, which does not name the preset `node`.
const NO_NPMRC: &str = "# `grant: [node]` would also let commands read ~/.npmrc, where npm keeps tokens. Scripts and tests don't need it.\n";

/// Where version managers keep Node: by their variable, else in the home directory.
const NODE_MANAGERS: [(&str, &str); 3] =
    [("NVM_DIR", ".nvm"), ("VOLTA_HOME", ".volta"), ("FNM_DIR", ".local/share/fnm")];

/// The default network of commands. The level `workspace` leaves it open.
fn network(loopback: &Result<(), SandboxError>) -> String {
    match loopback {
        Ok(()) => LOOPBACK.to_owned(),
        Err(error) => format!(
            "\n# Commands have no network, unless their rule names one. Tests can't listen on 127.0.0.1 here; where they can, write\n\
             # `network: loopback`: {}\n\
             # `network: full` opens every network to all commands whose rule names none.\n\
             network: none\n",
            one_line(&error.to_string())
        ),
    }
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the settings. `loopback` says whether this system can give each call a network of its own.
pub(super) fn text(
    project: &Project,
    surroundings: &Surroundings,
    policy: &Path,
    is_beneath: bool,
    loopback: &Result<(), SandboxError>,
) -> String {
    let root = std::slice::from_ref(&project.root);
    let mut text = format!(
        "# Written by `allowexec init`. Paths are absolute because clients may start servers in any directory.\n\
         # `allowexec doctor --config {}` shows what this allows; `allowexec setup CLIENT --config {0}` connects a client.\n\
         policy:{}",
        super::CONFIGURATION,
        list(&[policy.to_owned()])
    );
    if !is_enforceable() {
        text.push_str(&format!(
            "\n# Where calls run. This system has no sandbox, so only the policy limits what commands can reach.\n\
             cwd_root:{}cwd: {}\n",
            list(root),
            yaml(&project.root.display().to_string())
        ));
        if cfg!(unix) {
            text.push_str(LINES);
            text.push_str("lines: on\n");
            text.push_str(&line_env(project));
        }
        return text;
    }
    let mut grants = grants(project, surroundings);
    text.push_str("\n# The kernel confines commands to these directories.\nsandbox: workspace\n");
    text.push_str(&format!("cwd_root:{}cwd: {}\n", list(root), yaml(&project.root.display().to_string())));
    if is_beneath {
        grants.read.insert(0, project.root.clone());
        grants.write.splice(0..0, written(project));
        grants.exec.splice(0..0, executed(project));
        text.push_str(
            "\n# Commands can read the whole project, but write only to the paths in `write`. So they can't change these settings,\n\
             # `.git`, or files of the project that name programs to run. To let them write to the whole project, keep the\n\
             # settings elsewhere: `allowexec init --to DIR`.\n",
        );
    }
    if project.is(Kind::Node) {
        text.push_str(NO_NPMRC);
    }
    if !grants.presets.is_empty() {
        text.push_str(&format!("grant: [{}]\n", grants.presets.join(", ")));
    }
    for (key, paths) in [("read", &grants.read), ("write", &grants.write), ("exec", &grants.exec)] {
        match repositories(project, is_beneath) {
            locked if key == "write" && !locked.is_empty() => text.push_str(&written_with(&locked, paths)),
            _ if !paths.is_empty() => text.push_str(&format!("{key}:{}", list(paths))),
            _ => {}
        }
    }
    if !grants.env.is_empty() {
        text.push_str(&format!("env: [{}]\n", grants.env.join(", ")));
    }
    text.push_str(&network(loopback));
    text.push_str(LINES);
    text.push_str("lines: files\n");
    text.push_str(&line_env(project));
    text
}

/// The variables that a line may set in front of a command: those of everyday work with what the project uses. None of them names
/// code to load or a program to run, or adds options.
fn line_env(project: &Project) -> String {
    let of_kind = |kind: &Kind| match kind {
        Kind::Rust => &["RUST_BACKTRACE", "RUST_LOG", "CARGO_TERM_COLOR"][..],
        Kind::Node => &["NODE_ENV"],
        Kind::Python => &["PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"],
        Kind::Go => &["GOTRACEBACK"],
        Kind::Make => &[],
    };
    if project.kinds.is_empty() {
        return String::new();
    }
    let names: Vec<&str> =
        ["CI", "FORCE_COLOR", "NO_COLOR"].iter().chain(project.kinds.iter().flat_map(of_kind)).copied().collect();
    format!(
        "# `RUST_LOG=debug cargo test` and the like: a line may set these in front of a command.\nline_env: [{}]\n",
        names.join(", ")
    )
}

fn is_enforceable() -> bool {
    Enforcement::new(Level::Workspace, Level::Workspace.default_network(), Kernel::current(), false).is_ok()
}

fn written(project: &Project) -> Vec<PathBuf> {
    let mut names: Vec<&str> = project.directories.iter().map(String::as_str).collect();
    // What lies in one of the others is written anyway.
    let is_new = |name: &&str| !project.directories.iter().any(|known| Path::new(name).starts_with(known));
    names.extend(project.built.iter().chain(&project.ignored).map(String::as_str).filter(is_new));
    let lock = project.is(Kind::Rust).then(|| project.root.join("Cargo.lock"));
    names.into_iter().map(|name| project.root.join(name)).chain(lock).collect()
}

/// The directories of the project's repository that commands can't write, and which commits need.
pub(super) fn repositories(project: &Project, is_beneath: bool) -> Vec<PathBuf> {
    if !project.has_git || !is_enforceable() {
        return Vec::new();
    }
    let own = project.root.join(".git");
    let own = (is_beneath && own.is_dir()).then_some(own);
    own.into_iter().chain(crate::cli::workbench::git::outside(&project.root)).collect()
}

/// The key `write`, in which the lines of `locked` are commented out: they count once `# ` is gone.
fn written_with(locked: &[PathBuf], paths: &[PathBuf]) -> String {
    let rows = |paths: &[PathBuf], start: &str| -> String {
        paths.iter().map(|path| format!("{start}- {}\n", yaml(&path.display().to_string()))).collect()
    };
    let said = [
        format!(
            "To let calls commit, take in the lines of the repository, and say git-commit in place of git-readonly in {}.",
            super::POLICY
        ),
        "Commands that may write there can change git's settings and hooks, too.".to_owned(),
    ];
    let comment = |indent: &str| said.iter().map(|line| format!("{indent}# {line}\n")).collect::<String>();
    match paths.is_empty() {
        true => format!("{}# write:\n{}", comment(""), rows(locked, "#   ")),
        false => format!("write:\n{}{}{}", comment("  "), rows(locked, "  # "), rows(paths, "  ")),
    }
}

/// The directories whose programs are run, since they are built or installed there.
fn executed(project: &Project) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for kind in &project.kinds {
        match kind {
            Kind::Rust => names.push("target"),
            Kind::Node => names.push("node_modules"),
            Kind::Python => names.extend(project.venv.as_ref().map(|venv| venv.name.as_str())),
            Kind::Make => names.extend(project.directories.iter().chain(&project.ignored).map(String::as_str)),
            Kind::Go => {}
        }
    }
    let is_there = |path: &PathBuf| path.symlink_metadata().is_ok_and(|data| data.is_dir());
    let mut paths: Vec<PathBuf> = names.into_iter().map(|name| project.root.join(name)).filter(is_there).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Whether the lock file of cargo is missing, which commands can't make in a directory that they may not write.
pub(super) fn lacks_lock(project: &Project) -> bool {
    is_enforceable() && project.is(Kind::Rust) && project.root.join("Cargo.lock").symlink_metadata().is_err()
}

/// The build cache of Go, if it is missing: then the sandbox can't grant it, and no build works.
pub(super) fn missing_cache(project: &Project, surroundings: &Surroundings) -> Option<PathBuf> {
    let cache = home_of(surroundings, "GOCACHE", ".cache/go-build").filter(|_| project.is(Kind::Go))?;
    (is_enforceable() && !cache.exists()).then_some(cache)
}

/// Returns the grants in the home directory that the project's tools need: a preset of the server, and by their paths
/// the directories that variables name instead.
fn grants(project: &Project, surroundings: &Surroundings) -> Grants {
    let is_there = |path: &PathBuf| path.exists();
    let below = |variable: &'static str, usual: &str, parts: &[&str]| -> Vec<PathBuf> {
        // Without the variable, the usual directory is covered by the preset.
        let home = home_of(surroundings, variable, usual).filter(|_| surroundings.variable(variable).is_some());
        home.iter().flat_map(|home| parts.iter().map(move |part| home.join(part))).filter(is_there).collect()
    };
    let mut grants = Grants::default();
    if project.has_git {
        grants.read.extend(crate::cli::workbench::git::outside(&project.root));
    }
    for kind in &project.kinds {
        match kind {
            // Not the whole directory, which holds the credentials of registries.
            Kind::Rust => {
                grants.presets.push("rust");
                grants.read.extend(below("CARGO_HOME", ".cargo", &["registry", "git", "config.toml"]));
                grants.read.extend(below("RUSTUP_HOME", ".rustup", &["settings.toml"]));
                grants.exec.extend(below("CARGO_HOME", ".cargo", &["bin"]));
                grants.exec.extend(below("RUSTUP_HOME", ".rustup", &["toolchains"]));
                let is_set = |name: &&str| surroundings.variable(name).is_some_and(|value| !value.is_empty());
                grants.env.extend(["CARGO_HOME", "RUSTUP_HOME"].iter().filter(|name| is_set(name)));
            }
            // Not the preset, which would let commands read ~/.npmrc.
            Kind::Node => {
                let managers =
                    NODE_MANAGERS.iter().filter_map(|(variable, usual)| home_of(surroundings, variable, usual));
                grants.exec.extend(managers.filter(is_there));
            }
            Kind::Python => {
                grants.presets.push("python");
                // Its interpreter is a link to the one that it was made with.
                let base = project.venv.as_ref().and_then(|venv| venv.base.clone());
                let is_of_system = |base: &PathBuf| is_executed_anyway(Level::Workspace, base);
                grants.exec.extend(base.filter(|base| base.exists() && !is_of_system(base)));
            }
            Kind::Go => {
                grants.presets.push("go");
                grants.write.extend(home_of(surroundings, "GOCACHE", ".cache/go-build").filter(is_there));
            }
            Kind::Make => {}
        }
    }
    grants
}
