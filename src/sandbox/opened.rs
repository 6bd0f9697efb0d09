//! The paths that the operator grants, each opened once, at the start; and those that are refused, because a command of
//! an earlier server may have changed where they lead.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::SandboxError;
use crate::files::{Held, Identity, Places, Walked};

/// A path as the operator gave it, made absolute, and its setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The setting, for messages.
    pub setting: &'static str,
    /// The path.
    pub path: PathBuf,
}

/// The paths that the operator grants.
#[derive(Debug, Clone, Default)]
pub struct NamedPlaces {
    /// The working directories.
    pub directories: Vec<Named>,
    /// Further paths that may be read.
    pub read: Vec<Named>,
    /// Further paths that may be read and written.
    pub write: Vec<Named>,
    /// Further paths that may be read and executed.
    pub exec: Vec<Named>,
}

/// The files and directories of the operator's paths, and how each was found.
#[derive(Debug, Default)]
pub struct OpenedPlaces {
    /// The working directories.
    pub directories: Vec<Arc<Held>>,
    /// Further files and directories that may be read.
    pub read: Vec<Arc<Held>>,
    /// Further ones that may be read and written.
    pub write: Vec<Arc<Held>>,
    /// Further ones that may be read and executed, by the path that was given.
    pub exec: Vec<(PathBuf, Walked)>,
    /// Where commands may write.
    pub writable: Places,
    /// The refused paths, which prevent the start.
    pub refused: Vec<SandboxError>,
    /// The paths that can't be opened and are left out: one sentence each.
    pub missing: Vec<String>,
}

impl OpenedPlaces {
    /// Opens what is named. The working directories were opened by the policy, and are `held`: only those are kept
    /// whose path leads there without a link that commands can make.
    pub fn open(named: NamedPlaces, held: &[Arc<Held>]) -> Self {
        let mut opened = Self::default();
        let NamedPlaces { directories, read, write, exec } = named;
        // The policy reports what is wrong with these.
        let directories = directories.into_iter().filter_map(|named| Some((Walked::to(&named.path).ok()?, named)));
        let directories: Vec<_> = directories.collect();
        let [read, write, exec] = [read, write, exec].map(|named| opened.walk(named));

        // Paths with fewer links come first: the fewer links, the less a command can have changed, and the certain ones
        // help to judge the others.
        let mut ways: Vec<_> = directories.iter().chain(&write).collect();
        ways.sort_by_key(|(walked, _)| walked.links().len());
        for (walked, _) in ways {
            if opened.writable.first_link(walked).is_none() {
                opened.writable.add(Arc::clone(walked.held()));
            }
        }
        let directories: BTreeSet<Identity> =
            opened.keep(directories).map(|(_, walked)| walked.held().identity().clone()).collect();
        opened.directories = held.iter().filter(|held| directories.contains(held.identity())).cloned().collect();
        opened.read = opened.keep(read).map(|(_, walked)| Arc::clone(walked.held())).collect();
        opened.write = opened.keep(write).map(|(_, walked)| Arc::clone(walked.held())).collect();
        opened.exec = opened.keep(exec).collect();
        opened
    }

    /// Describes why the path of another file that is opened at each start is unsafe, as the end of a sentence; `None`
    /// if it is safe.
    pub fn writable_way(&self, path: &Path) -> Option<String> {
        let walked = Walked::to(path).ok()?;
        if self.writable.hold_walked(&walked) {
            return Some("lies where commands may write".to_owned());
        }
        let link = self.writable.first_link(&walked)?;
        Some(format!("is reached through the link `{}`, which commands can make lead elsewhere", link.path.display()))
    }

    /// Whether commands can read the file or directory that a path leads to because of what the operator names.
    pub(crate) fn is_readable(&self, path: &Path) -> bool {
        let executed = self.exec.iter().map(|(_, walked)| walked.held());
        let named = self.directories.iter().chain(&self.read).chain(&self.write).chain(executed);
        let readable: Places = named.cloned().collect();
        Walked::to(path).is_ok_and(|walked| readable.hold_walked(&walked))
    }

    fn walk(&mut self, named: Vec<Named>) -> Vec<(Walked, Named)> {
        let mut found = Vec::new();
        for named in named {
            match Walked::to(&named.path) {
                Ok(walked) => found.push((walked, named)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => self.missing.push(format!(
                    "{} names `{}`, which does not exist, so nothing is granted",
                    named.setting,
                    named.path.display()
                )),
                Err(error) => self.missing.push(format!(
                    "{} names `{}`, which can't be opened, so nothing is granted: {error}",
                    named.setting,
                    named.path.display()
                )),
            }
        }
        found
    }

    /// Refuses each path that leads through a link which commands can make, and returns the others.
    fn keep(&mut self, found: Vec<(Walked, Named)>) -> impl Iterator<Item = (PathBuf, Walked)> + use<> {
        let mut kept = Vec::new();
        for (walked, Named { setting, path }) in found {
            match self.writable.first_link(&walked) {
                Some(link) => self.refused.push(SandboxError::WritableLink {
                    setting,
                    path,
                    link: link.path.clone(),
                    found: walked.held().path().to_owned(),
                }),
                None => kept.push((path, walked)),
            }
        }
        kept.into_iter()
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn world() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        for place in ["work/one", "work/two", "data/one", "home"] {
            fs::create_dir_all(base.join(place)).unwrap();
        }
        symlink(base.join("data"), base.join("shortcut")).unwrap();
        symlink(base.join("home"), base.join("work/link")).unwrap();
        symlink("two", base.join("work/inner")).unwrap();
        (dir, base)
    }

    /// The paths that are granted, and those that are refused.
    fn open(base: &Path, directories: &[&str], [read, write, exec]: [&[&str]; 3]) -> (Vec<String>, Vec<String>) {
        let named = |paths: &[&str]| {
            let named = |path: &&str| Named { setting: "`--it`", path: base.join(path) };
            paths.iter().map(named).collect::<Vec<_>>()
        };
        let held: Vec<_> =
            directories.iter().filter_map(|path| Held::open(&base.join(path)).ok().map(Arc::new)).collect();
        let all =
            NamedPlaces { directories: named(directories), read: named(read), write: named(write), exec: named(exec) };
        let opened = OpenedPlaces::open(all, &held);
        let relative = |held: &Arc<Held>| held.path().strip_prefix(base).unwrap().display().to_string();
        let exec = opened.exec.iter().map(|(_, walked)| walked.held());
        let granted = opened.directories.iter().chain(&opened.read).chain(&opened.write).chain(exec);
        let refused = opened.refused.iter().map(|error| match error {
            SandboxError::WritableLink { link, .. } => link.strip_prefix(base).unwrap().display().to_string(),
            other => other.to_string(),
        });
        (granted.map(relative).collect(), refused.collect())
    }

    #[test]
    fn a_link_that_commands_can_make_is_not_followed() {
        let (_dir, base) = world();
        let check = |directories: &[&str], paths: [&[&str]; 3], granted: &[&str], refused: &[&str]| {
            let found = open(&base, directories, paths);
            assert_eq!(
                (&*found.0, &*found.1),
                (
                    &*granted.iter().map(ToString::to_string).collect::<Vec<_>>(),
                    &*refused.iter().map(ToString::to_string).collect::<Vec<_>>(),
                ),
                "{directories:?} {paths:?}"
            );
        };
        // The operator's own links are followed, wherever they lead.
        check(&["shortcut/one"], [&["work/link"], &[], &["work/inner"]], &["data/one", "home", "work/two"], &[]);
        check(&["work"], [&["shortcut"], &[], &["work/two"]], &["work", "data", "work/two"], &[]);
        // Links in a working directory are not, even if they lead to a working directory.
        check(&["work", "work/link"], [&[], &[], &[]], &["work"], &["work/link"]);
        check(
            &["work"],
            [&["work/link"], &["work/inner"], &["work/two/../link"]],
            &["work"],
            &["work/link", "work/inner", "work/link"],
        );
        check(&[], [&["work/link"], &["work", "work/link"], &[]], &["work"], &["work/link", "work/link"]);
        // Nor if the path into it has another link.
        symlink(base.join("work/link"), base.join("far")).unwrap();
        check(&["work"], [&["far"], &[], &[]], &["work"], &["work/link"]);
        // A missing path is ignored.
        check(&["missing"], [&["missing"], &["missing"], &["missing"]], &[], &[]);
    }

    #[test]
    fn a_place_that_a_command_has_linked_to_everything_makes_nothing_else_suspect() {
        let (_dir, base) = world();
        fs::remove_dir(base.join("work/two")).unwrap();
        symlink("/", base.join("work/two")).unwrap();
        let (granted, refused) = open(&base, &["work", "work/two"], [&["shortcut"], &["work/two"], &[]]);
        assert_eq!((granted, refused), (vec!["work".to_owned(), "data".to_owned()], vec!["work/two".to_owned(); 2]));
    }
}
