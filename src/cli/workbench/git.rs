//! Where the `.git` of a working tree leads: linked worktrees, submodules, and objects of other repositories. The files are
//! git's own (<https://git-scm.com/docs/gitrepository-layout>); nothing is run.

use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::files::read_regular;
use crate::sandbox::Level;

/// The largest file that is read.
const LARGEST: u64 = 64 * 1024;
/// The most repositories that are followed from one to the next.
const DEEPEST: usize = 8;

/// The directories outside of the working tree that git reads there, each canonical and once; those within another are left
/// out.
pub(super) fn outside(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Some(own) = git_directory(root) else { return found };
    found.push(own.clone());
    let common = common_directory(&own);
    found.push(common.clone());
    let mut objects = vec![common.join("objects")];
    for _ in 0..DEEPEST {
        let Some(place) = objects.pop() else { break };
        let others = text(&place.join("info/alternates")).unwrap_or_default();
        for other in others.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let Some(other) = canonical(place.join(other)) else { continue };
            if !found.contains(&other) {
                found.push(other.clone());
                objects.push(other);
            }
        }
    }
    let all = found.clone();
    found.retain(|path| !path.starts_with(root) && !all.iter().any(|other| path != other && path.starts_with(other)));
    found.sort_unstable();
    found.dedup();
    found
}

/// The repository that the sandbox of these settings keeps from commands: the `.git` of a directory that they can only read, unless `write`
/// names it.
pub(super) fn locked(config: &Config) -> Option<PathBuf> {
    let repositories = read_only(config).into_iter().map(|root| root.join(".git"));
    repositories.filter(|git| git.is_dir()).find(|git| !is_written(git, config))
}

/// The directories that calls may use and whose files the sandbox of these settings keeps from commands, but for what `write` names
/// below.
pub(super) fn read_only(config: &Config) -> Vec<PathBuf> {
    let absolute = |path: &PathBuf| config.surroundings.directory.join(path);
    let read: Vec<PathBuf> = config.read.value.iter().map(absolute).collect();
    let roots = config.cwd_root.value.iter().flatten().map(absolute).filter(|_| config.sandbox.value != Level::Off);
    roots.filter(|root| read.contains(root) && !is_written(root, config)).collect()
}

fn is_written(path: &Path, config: &Config) -> bool {
    config.write.value.iter().any(|write| path.starts_with(config.surroundings.directory.join(write)))
}

/// The directory that holds the repository of a working tree: `.git`, or what the file `.git` names.
fn git_directory(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return canonical(git);
    }
    let named = text(&git)?;
    canonical(root.join(named.strip_prefix("gitdir:")?.trim()))
}

/// The directory of a repository that its linked worktrees share: all but their HEAD and their index.
fn common_directory(own: &Path) -> PathBuf {
    text(&own.join("commondir")).map(|path| own.join(path)).and_then(canonical).unwrap_or_else(|| own.to_owned())
}

/// The name and the address of the person who commits: those in the settings of the repository, then those in the user's.
pub(super) fn person(root: &Path, home: Option<&Path>, settings: Option<&Path>) -> (Option<String>, Option<String>) {
    let files = [
        git_directory(root).map(|git| common_directory(&git).join("config")),
        home.map(|home| home.join(".gitconfig")),
        settings.map(|settings| settings.join("git/config")),
    ];
    let (mut name, mut email) = (None, None);
    for file in files.into_iter().flatten() {
        let mut is_user = false;
        for line in text(&file).unwrap_or_default().lines().map(str::trim) {
            if line.starts_with('[') {
                is_user = line.eq_ignore_ascii_case("[user]");
            } else if let (true, Some((key, value))) = (is_user, line.split_once('=')) {
                let value = value.trim().trim_matches('"').to_owned();
                match key.trim().to_ascii_lowercase().as_str() {
                    "name" => name = name.or(Some(value)),
                    "email" => email = email.or(Some(value)),
                    _ => {}
                }
            }
        }
    }
    (name, email)
}

fn text(file: &Path) -> Option<String> {
    let bytes = read_regular(file, LARGEST).ok()?;
    Some(String::from_utf8(bytes).ok()?.trim_end().to_owned())
}

fn canonical(path: PathBuf) -> Option<PathBuf> {
    crate::files::canonicalize(&path).ok()
}
