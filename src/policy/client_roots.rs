//! The client's roots: they narrow what the operator configured, and never widen it.

use std::path::{Path, PathBuf};

use super::file_uri::parse_file_uri;
use super::quoted::quoted;
use super::system_places::SystemPlaces;

/// The canonical directories that a client's roots come to, in its order; and what was dropped, one sentence each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientRoots {
    /// The directories. Where it is empty the client is as one without roots.
    pub directories: Vec<PathBuf>,
    /// Why others are not among them.
    pub dropped: Vec<String>,
}

/// What the operator bounds directories by: each list is one bound, and a directory must lie in one of each.
pub(super) type Bounds<'a> = [(&'static str, Vec<&'a Path>)];

impl ClientRoots {
    /// Reads the URIs, finds out where they really are, and cuts them to the operator's bounds.
    ///
    /// A root in a bound stays; of a root around one the bound is left; any other is dropped, as is what is no `file://`
    /// URI, does not exist, is no directory, or is one of the places that are `kept` from clients.
    pub(super) fn new(uris: &[String], bounds: &Bounds<'_>, kept: Option<&SystemPlaces>) -> Self {
        let mut roots = Self::default();
        for uri in uris {
            let canonical = parse_file_uri(uri).map_err(|error| error.to_string()).and_then(|path| {
                let canonical = dunce::canonicalize(&path).map_err(|error| error.to_string())?;
                if canonical.is_dir() { Ok(canonical) } else { Err("it is no directory".to_owned()) }
            });
            let free = canonical.and_then(|directory| match kept.and_then(|kept| kept.near(&directory)) {
                Some(place) => {
                    Err(format!("it would open `{}` to commands; name the directory of the work", place.display()))
                }
                None => Ok(directory),
            });
            let cut = free.and_then(|directory| cut(directory, bounds));
            match cut {
                Ok(directories) => roots.add(directories),
                Err(why) => {
                    roots.dropped.push(format!("the client's root {} is not used: {why}", quoted(uri)));
                }
            }
        }
        roots
    }

    fn add(&mut self, directories: Vec<PathBuf>) {
        for directory in directories {
            if !self.directories.contains(&directory) {
                self.directories.push(directory);
            }
        }
    }
}

fn cut(directory: PathBuf, bounds: &Bounds<'_>) -> Result<Vec<PathBuf>, String> {
    let mut left = vec![directory];
    for (setting, bound) in bounds {
        left = left.iter().flat_map(|directory| common(directory, bound)).collect();
        if left.is_empty() {
            return Err(format!("it lies outside of what {setting} allows"));
        }
    }
    Ok(left)
}

/// What a directory and a list of them have in common.
fn common(directory: &Path, bound: &[&Path]) -> Vec<PathBuf> {
    if bound.iter().any(|outer| directory.starts_with(outer)) {
        return vec![directory.to_owned()];
    }
    bound.iter().filter(|inner| inner.starts_with(directory)).map(|&inner| inner.to_owned()).collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::policy::{Directories, DirectorySettings, Roots};
    use std::fs;
    use std::sync::Arc;

    fn tree() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let base = dunce::canonicalize(dir.path()).unwrap();
        for place in ["dev/one/src", "dev/two", "dev/three", "elsewhere", "development"] {
            fs::create_dir_all(base.join(place)).unwrap();
        }
        fs::write(base.join("dev/file"), "").unwrap();
        std::os::unix::fs::symlink(base.join("elsewhere"), base.join("dev/link")).unwrap();
        (dir, base)
    }

    fn narrowed(base: &Path, settings: DirectorySettings, roots: &[&str]) -> (Directories, ClientRoots) {
        let uris: Vec<String> = roots.iter().map(|root| format!("file://{}/{root}", base.display())).collect();
        Directories::new(DirectorySettings { server: base.to_owned(), ..settings }).with_client_roots(&uris)
    }

    #[test]
    fn roots_narrow_and_never_widen() {
        let (_dir, base) = tree();
        let check = |settings: &DirectorySettings, roots: &[&str], expected: &[&str]| {
            let (_, client) = narrowed(&base, settings.clone(), roots);
            let found: Vec<&Path> = client.directories.iter().map(|path| path.strip_prefix(&base).unwrap()).collect();
            let expected: Vec<&Path> = expected.iter().map(Path::new).collect();
            assert_eq!(found, expected, "{roots:?}: {:?}", client.dropped);
        };
        let free = DirectorySettings::default();
        check(&free, &["dev/two", "dev/one", "dev/two"], &["dev/two", "dev/one"]);
        check(&free, &["missing", "dev/file", "dev/link"], &["elsewhere"]);
        let within = |roots: &[&str]| Roots::Within(roots.iter().map(PathBuf::from).collect());
        let workspace = DirectorySettings { workspace: Some("dev".into()), ..Default::default() };
        check(&workspace, &["dev/one", "development", "elsewhere", "dev/link", "dev/.."], &["dev/one", "dev"]);
        let roots = DirectorySettings { roots: within(&["dev/one", "dev/two"]), ..Default::default() };
        check(&roots, &["dev/three", "dev/one/src"], &["dev/one/src"]);
        check(&roots, &["dev"], &["dev/one", "dev/two"]);
        let both = DirectorySettings {
            workspace: Some("dev".into()),
            roots: within(&["dev/two", "elsewhere"]),
            ..Default::default()
        };
        check(&both, &["."], &["dev/two"]);
        check(&both, &["elsewhere"], &[]);
        let none = DirectorySettings { roots: within(&[]), ..Default::default() };
        check(&none, &["dev"], &[]);
        let broken = DirectorySettings { roots: within(&["nowhere"]), ..Default::default() };
        check(&broken, &["dev"], &[]);
    }

    #[test]
    fn where_roots_grant_something_they_grant_nothing_beyond_the_operators_directories() {
        let (_dir, base) = tree();
        let found = |settings: &DirectorySettings, roots: &[&str]| -> Vec<PathBuf> {
            let (_, client) = narrowed(&base, settings.clone(), roots);
            client.directories.iter().map(|path| path.strip_prefix(&base).unwrap_or(path).to_owned()).collect()
        };
        let project = DirectorySettings { project: Some("dev/one".into()), ..Default::default() };
        let confined = DirectorySettings { is_confined: true, ..project.clone() };
        assert_eq!(found(&project, &["dev", "elsewhere"]), [Path::new("dev"), Path::new("elsewhere")]);
        assert_eq!(
            found(&confined, &["dev", "elsewhere", "dev/one/src"]),
            [Path::new("dev/one"), Path::new("dev/one/src")]
        );
        let wider = DirectorySettings { workspace: Some("dev".into()), ..confined };
        assert_eq!(found(&wider, &["dev/two", "elsewhere"]), [Path::new("dev/two")]);
        // Nothing is named: no place of the system's, nor what holds one.
        let system =
            SystemPlaces::new([base.join("dev/two")], [base.join("dev/one/src")], Some(base.join("elsewhere")));
        let system = Arc::new(system);
        let free = DirectorySettings { system, ..Default::default() };
        assert_eq!(found(&free, &["dev"]), [Path::new("dev")]);
        for settings in [
            DirectorySettings { is_confined: true, ..free.clone() },
            DirectorySettings { project_commands: true, ..free.clone() },
        ] {
            fs::create_dir_all(base.join("elsewhere/work")).unwrap();
            fs::create_dir_all(base.join("dev/two/sub")).unwrap();
            assert_eq!(
                found(&settings, &[".", "dev", "dev/two", "dev/two/sub", "dev/one/src", "elsewhere"]),
                [] as [PathBuf; 0]
            );
            let good = [Path::new("dev/one"), Path::new("dev/three"), Path::new("elsewhere/work")];
            assert_eq!(found(&settings, &["dev/one", "dev/three", "elsewhere/work"]), good);
        }
    }

    #[test]
    fn the_first_root_is_the_project_and_all_are_allowed() {
        let (_dir, base) = tree();
        let (directories, _) = narrowed(&base, DirectorySettings::default(), &["dev/one", "dev/two"]);
        let resolve = |directories: &Directories, cwd: Option<&str>| match directories.resolve(cwd) {
            Ok(directory) => directory.path().strip_prefix(&base).unwrap().display().to_string(),
            Err(error) => error.to_string().replace(&base.display().to_string(), "[base]"),
        };
        assert_eq!(resolve(&directories, None), "dev/one");
        assert_eq!(resolve(&directories, Some("src")), "dev/one/src");
        assert_eq!(resolve(&directories, Some("../two")), "dev/two");
        assert_eq!(
            resolve(&directories, Some("../three")),
            "`cwd` `../three` is not allowed: it is not inside an allowed root; allowed roots: [base]/dev/one, [base]/dev/two"
        );
        let operator = DirectorySettings { project: Some("dev/two".into()), ..Default::default() };
        assert_eq!(resolve(&narrowed(&base, operator, &["dev"]).0, None), "dev/two");
        let cwd = DirectorySettings { cwd: Some("src".into()), ..Default::default() };
        assert_eq!(resolve(&narrowed(&base, cwd, &["dev/one"]).0, None), "dev/one/src");
        // Without a usable root the client is as one without roots.
        let (directories, client) = narrowed(&base, DirectorySettings::default(), &["missing"]);
        assert_eq!(resolve(&directories, Some("elsewhere")), "elsewhere");
        let uri = format!("file://{}/missing", base.display());
        assert_eq!(
            client.dropped,
            [format!("the client's root `{uri}` is not used: No such file or directory (os error 2)")]
        );
    }
}
