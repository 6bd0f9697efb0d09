//! The risks of a configuration, and what to change. Problems, which keep calls from being served, are found elsewhere.

use std::path::{Path, PathBuf};

use super::tools;
use crate::config::Config;
use crate::exec::since_1970;
use crate::integrity::{Guard, Replaceable, Trust};
use crate::policy::rules::{SandboxWord, profile_describing};
use crate::sandbox::{Enforcement, Kernel, Level};
use crate::server::Parts;

/// A risk, and how to avoid it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Risk {
    pub what: String,
    /// The advice; `None` if `what` already says it.
    pub help: Option<String>,
}

impl Risk {
    pub(super) fn new(what: String, help: String) -> Self {
        Self { what, help: Some(help) }
    }

    /// In one sentence.
    pub(super) fn sentence(&self) -> String {
        match &self.help {
            Some(help) => format!("{}; {help}", self.what),
            None => self.what.clone(),
        }
    }
}

/// All risks of a configuration.
pub(super) fn find(config: &Config, parts: &Parts) -> Vec<Risk> {
    let mut risks: Vec<Risk> =
        parts.warnings().into_iter().map(|what| Risk { help: narrower(parts, &what), what }).collect();
    risks.extend(unconfined(config, parts));
    risks.extend(wide_grants(config));
    risks.extend(wide_directories(config));
    risks.extend(outside_of_roots(config, parts));
    risks.extend(repositories(config, parts));
    risks.extend(tildes(config));
    risks.extend(replaceable(config, parts));
    risks.extend(tools::needs(config, parts));
    // Several entries of the allow-list may mean one program.
    let mut once: Vec<Risk> = Vec::new();
    for risk in risks {
        if !once.contains(&risk) {
            once.push(risk);
        }
    }
    once
}

/// Advises how to narrow a command if a warning says that it can start any program.
fn narrower(parts: &Parts, warning: &str) -> Option<String> {
    let names = parts.policy.allow_list().names().iter();
    let name = names.into_iter().find(|name| warning.starts_with(&format!("`{name}` on the allow-list ")))?;
    Some(match profile_describing(name) {
        Some(profile) => {
            format!("put `--profile {profile}` in place of `{name}`, which describes what it may be called with")
        }
        None => "describe in a policy what it may be called with (`spec/guide/policy.md`)".to_owned(),
    })
}

/// Programs that others can replace. With `--trust owner` they don't run, which is a problem instead.
fn replaceable(config: &Config, parts: &Parts) -> Vec<Risk> {
    if config.trust.value == Trust::Owner {
        return Vec::new();
    }
    let guard = Guard::new(Trust::Owner, parts.paths.clone());
    let mut risks = Vec::new();
    for (what, program) in parts.programs() {
        let risk = |found: Replaceable| {
            Risk::new(format!("the program of `{what}` can be replaced by others: {found}"), found.help())
        };
        match guard.replaceable(&program, since_1970()) {
            Ok(found) => risks.extend(found.into_iter().map(risk)),
            Err(error) => risks.push(Risk { what: error.to_string(), help: None }),
        }
    }
    risks
}

/// Whether the commands of an entry run in a sandbox.
pub(super) fn is_confined(config: &Config, parts: &Parts, name: &str) -> bool {
    let rule = parts.policy.allow_list().rules().get(name);
    match rule.and_then(|rule| rule.sandbox.level) {
        Some(level) => level != SandboxWord::Off,
        None => config.sandbox.value != Level::Off,
    }
}

/// Commands that can do whatever the server's user can, although the kernel could confine them.
fn unconfined(config: &Config, parts: &Parts) -> Option<Risk> {
    let can_confine =
        Enforcement::new(Level::Workspace, Level::Workspace.default_network(), Kernel::current(), false).is_ok();
    let allow = parts.policy.allow_list();
    let writes_nothing = |name: &str| allow.rules().get(name).is_some_and(|rule| rule.sandbox.writes_nothing());
    let is_open = |name: &&String| !is_confined(config, parts, name) && !writes_nothing(name);
    let names: Vec<&String> = allow.names().iter().filter(is_open).collect();
    let allows_more = allow.allows_any() || allow.allows_project();
    let is_open = !names.is_empty() || (allows_more && config.sandbox.value == Level::Off);
    (can_confine && is_open).then(|| {
        let shown: Vec<&str> = names.iter().take(3).map(|name| name.as_str()).collect();
        let more = if names.len() > shown.len() { " and others" } else { "" };
        let who = if shown.is_empty() { "commands".to_owned() } else { format!("`{}`{more}", shown.join("`, `")) };
        Risk::new(
            format!("without a sandbox {who} can read and write whatever the server's user can"),
            "add `--sandbox workspace`, and name the directories of the work with `--cwd-root`".to_owned(),
        )
    })
}

/// The paths that are granted, with their flags.
fn grants(config: &Config) -> [(&'static str, &[PathBuf]); 3] {
    [("read", &config.read.value), ("write", &config.write.value), ("exec", &config.exec.value)]
}

/// Where a path leads, starting from the server's directory.
pub(super) fn resolved(config: &Config, path: &Path) -> PathBuf {
    let path = config.surroundings.directory.join(path);
    crate::files::canonicalize(&path).unwrap_or(path)
}

fn is_root(path: &Path) -> bool {
    path.parent().is_none()
}

pub(super) fn home(config: &Config) -> Option<PathBuf> {
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    let home = config.surroundings.variable(name).map(Path::new).filter(|home| home.is_absolute())?;
    Some(crate::files::canonicalize(home).unwrap_or_else(|_| home.to_owned()))
}

fn wide_grants(config: &Config) -> Vec<Risk> {
    let home = home(config);
    let mut risks = Vec::new();
    for (flag, paths) in grants(config) {
        for path in paths {
            let found = resolved(config, path);
            let what =
                if is_root(&found) { "everything" } else { "your whole home directory, keys and settings included," };
            let verb = match flag {
                "read" => "read",
                "write" => "read and write",
                _ => "read and execute",
            };
            if is_root(&found) || home.as_ref() == Some(&found) {
                risks.push(Risk::new(
                    format!("`--{flag} {}` lets commands {verb} {what} despite the sandbox", path.display()),
                    "name the directories that they need".to_owned(),
                ));
            }
        }
    }
    risks
}

/// The directories that calls work in, with their flags.
pub(super) fn directories(config: &Config) -> impl Iterator<Item = (&'static str, &PathBuf)> {
    let roots = config.cwd_root.value.iter().flatten().map(|path| ("cwd-root", path));
    let workspace = config.workspace_dir.value.iter().map(|path| ("workspace-dir", path));
    roots.chain(workspace).chain(config.project_dir.value.iter().map(|path| ("project-dir", path)))
}

/// Repositories that lie outside of the directories that calls work in: those of linked worktrees, of submodules, and
/// other ones whose objects are used.
fn repositories(config: &Config, parts: &Parts) -> Vec<Risk> {
    let is_confined = parts.policy.allow_list().has_entry("git") && is_confined(config, parts, "git");
    let roots = directories(config).map(|(_, path)| resolved(config, path));
    let mut roots: Vec<PathBuf> = roots.filter(|_| is_confined).collect();
    roots.dedup();
    let is_readable = |path: &PathBuf| {
        let named = [&config.read.value, &config.write.value, &config.exec.value];
        roots.iter().any(|root| path.starts_with(root)) || named.iter().any(|paths| is_granted(config, paths, path))
    };
    let mut risks = Vec::new();
    for root in &roots {
        for path in crate::cli::workbench::git::outside(root).into_iter().filter(|path| !is_readable(path)) {
            risks.push(Risk::new(
                format!(
                    "`{}` belongs to a repository in `{}`, which the sandbox does not grant, so `git` fails there",
                    root.join(".git").display(),
                    path.display()
                ),
                format!("add {}", parts.report.lists.read.adding("read", &path.display().to_string())),
            ));
        }
    }
    risks
}

fn wide_directories(config: &Config) -> Vec<Risk> {
    let home = home(config);
    let risk = |(flag, path): (&'static str, &PathBuf)| {
        let found = resolved(config, path);
        let what = match (is_root(&found), home.as_ref() == Some(&found)) {
            (true, _) => "`/`, so it bounds nothing",
            (false, true) => "your home directory, with all its keys and settings",
            (false, false) => return None,
        };
        let relative =
            if path.is_absolute() { "" } else { "; some clients start servers in `/` or in the home directory" };
        let what = format!("`--{flag} {}` is {what}{relative}", path.display());
        Some(Risk::new(what, "name the directory of the project by its absolute path".to_owned()))
    };
    directories(config).filter_map(risk).collect()
}

/// Calls without `cwd` that run outside of `--cwd-root`. In a sandbox they can access nothing there, which another warning
/// says.
fn outside_of_roots(config: &Config, parts: &Parts) -> Option<Risk> {
    let base = resolved(config, &parts.policy.directories().base().path);
    let mut roots = config.cwd_root.value.iter().flatten().map(|root| resolved(config, root)).peekable();
    let first = roots.peek().cloned()?;
    let is_outside = config.sandbox.value == Level::Off && roots.all(|root| root.is_dir() && !base.starts_with(root));
    is_outside.then(|| {
        Risk::new(
            format!("calls that name no `cwd` run in `{}`, outside of `--cwd-root`", base.display()),
            format!("add `--cwd {}`", first.display()),
        )
    })
}

/// Paths that begin with `~`, which only shells expand.
fn tildes(config: &Config) -> Vec<Risk> {
    let named = directories(config).chain(config.cwd.value.iter().map(|path| ("cwd", path)));
    let granted = grants(config).into_iter().flat_map(|(flag, paths)| paths.iter().map(move |path| (flag, path)));
    let is_tilde =
        |path: &Path| path.to_str().is_some_and(|text| text.starts_with('~')) && !resolved(config, path).exists();
    let home = home(config);
    let risk = |(flag, path): (&'static str, &PathBuf)| {
        let rest = path.strip_prefix("~").ok();
        let meant = home.as_ref().zip(rest).map(|(home, rest)| format!(", such as `{}`", home.join(rest).display()));
        Risk::new(
            format!("`--{flag} {}` names a directory called `~`, since only a shell would expand it", path.display()),
            format!("write the whole path{}", meant.unwrap_or_default()),
        )
    };
    named.chain(granted).filter(|(_, path)| is_tilde(path)).map(risk).collect()
}

/// Whether one of these granted paths contains a path.
pub(super) fn is_granted(config: &Config, paths: &[PathBuf], wanted: &Path) -> bool {
    let wanted = resolved(config, wanted);
    paths.iter().any(|path| wanted.starts_with(resolved(config, path)))
}
