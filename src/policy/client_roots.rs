//! The client's roots: they narrow what the operator configured, and never widen it.

use std::path::Path;
use std::sync::Arc;

use super::file_uri::parse_file_uri;
use super::quoted::quoted;
use crate::files::{Ancestry, Held};

/// The most roots that a client can have. If it names more, none of them is used.
pub const MOST_ROOTS: usize = 256;
/// The most bytes of a root's URI: the longest path that the kernel accepts (PATH_MAX), all of it percent-encoded.
const LONGEST_URI: usize = 3 * 4096 + "file://localhost".len();
/// How many directories a root may be nested in. Each of them is looked at to find out whether the root lies within the bounds.
const DEEPEST_ROOT: usize = 256;

/// The directories that a client's roots stand for, in the client's order, and why others are dropped.
#[derive(Debug, Clone, Default)]
pub struct ClientRoots {
    /// The directories, opened when they were compared with the operator's. If there are none, the client is treated as
    /// one without roots.
    pub directories: Vec<Arc<Held>>,
    /// Roots that do not count, because the operator named no directory that they could lie in.
    pub unbounded: Vec<Arc<Held>>,
    /// Why roots were dropped, one sentence each.
    pub dropped: Vec<String>,
}

/// The bounds that roots must lie in.
pub(super) enum Bounds {
    /// Anything, since they grant nothing.
    Free,
    /// They would grant something, and the operator named no directory that they could lie in.
    Missing,
    /// In a directory of each of these bounds.
    Within(Vec<Bound>),
}

/// One bound: the directories of one setting.
pub(super) struct Bound {
    setting: &'static str,
    directories: Vec<Placed>,
}

/// A directory, and the directories that it lies in.
#[derive(Clone)]
struct Placed {
    held: Arc<Held>,
    ancestry: Arc<Ancestry>,
}

impl Placed {
    fn new(held: Arc<Held>) -> Self {
        let ancestry = Arc::new(Ancestry::of(&held));
        Self { held, ancestry }
    }
}

impl Bound {
    pub fn new<'a>(setting: &'static str, directories: impl IntoIterator<Item = &'a Arc<Held>>) -> Self {
        Self { setting, directories: directories.into_iter().cloned().map(Placed::new).collect() }
    }
}

impl ClientRoots {
    /// Reads the URIs, opens what they lead to, and cuts it to the operator's bounds.
    ///
    /// A root inside a bound is kept. A root around a bound is replaced by the bound. Any other root is dropped, as is
    /// anything that is not a `file://` URI, does not exist, or is not a directory. Handles in `before` are reused.
    pub(super) fn new(uris: &[String], bounds: &Bounds, before: &[Arc<Held>]) -> Self {
        let mut roots = Self::default();
        if uris.len() > MOST_ROOTS {
            roots.dropped.push(format!("the client names more than {MOST_ROOTS} roots, so none of them is used"));
            return roots;
        }
        for uri in uris {
            let cut = open(uri, before).and_then(|held| match bounds {
                Bounds::Free => Ok(vec![held]),
                Bounds::Missing => {
                    add(&mut roots.unbounded, [held]);
                    Err(format!(
                        "with `--sandbox` a client's roots count only inside directories that the operator named, and \
                         none is named; {ADVICE}"
                    ))
                }
                Bounds::Within(bounds) => cut(held, bounds),
            });
            match cut {
                Ok(directories) => add(&mut roots.directories, directories),
                Err(why) => {
                    roots.dropped.push(format!("the client's root {} is not used: {why}", quoted(uri)));
                }
            }
        }
        roots
    }
}

/// How the operator gives a client's roots something to lie in.
pub(super) const ADVICE: &str = "name one with `--workspace-dir`, `--project-dir` or `--cwd-root`";

fn open(uri: &str, before: &[Arc<Held>]) -> Result<Arc<Held>, String> {
    if uri.len() > LONGEST_URI {
        return Err(format!("its URI has {} bytes, more than {LONGEST_URI}", uri.len()));
    }
    let path = parse_file_uri(uri).map_err(|error| error.to_string())?;
    let held = Held::open_directory(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotADirectory => "it is not a directory".to_owned(),
        _ => error.to_string(),
    })?;
    if is_too_deep(held.path()) {
        return Err(format!("it lies in more than {DEEPEST_ROOT} directories"));
    }
    let known = before.iter().find(|known| known.identity() == held.identity());
    Ok(known.cloned().unwrap_or_else(|| Arc::new(held)))
}

/// This only bounds the time that the comparison takes, so going by the name is enough.
fn is_too_deep(path: &Path) -> bool {
    path.components().nth(DEEPEST_ROOT + 1).is_some()
}

fn add(all: &mut Vec<Arc<Held>>, directories: impl IntoIterator<Item = Arc<Held>>) {
    for directory in directories {
        if !all.iter().any(|known| known.identity() == directory.identity()) {
            all.push(directory);
        }
    }
}

fn cut(directory: Arc<Held>, bounds: &[Bound]) -> Result<Vec<Arc<Held>>, String> {
    let mut left = vec![Placed::new(directory)];
    for bound in bounds {
        left = left.iter().flat_map(|directory| common(directory, &bound.directories)).collect();
        if left.is_empty() {
            return Err(format!("it lies outside of what {} allows", bound.setting));
        }
    }
    Ok(left.into_iter().map(|placed| placed.held).collect())
}

/// Returns the intersection of a directory and a bound: the directory itself if the bound holds it, else the part of
/// the bound that it holds.
fn common(directory: &Placed, bound: &[Placed]) -> Vec<Placed> {
    if bound.iter().any(|outer| directory.ancestry.lies_in(&outer.held)) {
        return vec![directory.clone()];
    }
    bound.iter().filter(|inner| inner.ancestry.lies_in(&directory.held)).cloned().collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::policy::{Directories, DirectorySettings, Roots};
    use std::fs;
    use std::path::PathBuf;

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
            let found: Vec<&Path> =
                client.directories.iter().map(|held| held.path().strip_prefix(&base).unwrap()).collect();
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
            client.directories.iter().map(|held| held.path().strip_prefix(&base).unwrap().to_owned()).collect()
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
        // Nothing is named, so nothing counts, and all that a call can be told is what to name.
        let free = DirectorySettings { is_confined: true, ..Default::default() };
        assert_eq!(found(&free, &["dev/one", "dev"]), [] as [PathBuf; 0]);
        let (directories, client) = narrowed(&base, free, &["dev/one", "missing"]);
        assert!(client.dropped[0].contains("name one with `--workspace-dir`"), "{:?}", client.dropped);
        let one = base.join("dev/one/src");
        for cwd in [None, Some("dev"), one.to_str()] {
            let refused = directories.resolve(cwd).unwrap_err().to_string();
            assert!(refused.contains("name one with `--workspace-dir`, `--project-dir` or `--cwd-root`"), "{refused}");
        }
        // Elsewhere calls run as those of clients without roots.
        assert!(directories.resolve(base.join("elsewhere").to_str()).is_ok());
        assert!(directories.granted().is_empty());
    }

    #[test]
    fn a_project_that_only_the_client_named_has_commands_inside_the_operators_directories_alone() {
        let (_dir, base) = tree();
        let project = |settings: DirectorySettings| {
            let settings = DirectorySettings { project_commands: true, ..settings };
            let (directories, _) = narrowed(&base, settings, &["dev/one"]);
            assert_eq!(directories.base().path, base.join("dev/one"));
            directories.project_for_commands().map(|held| held.path().to_owned())
        };
        assert_eq!(project(DirectorySettings::default()), None);
        let one = Some(base.join("dev/one"));
        assert_eq!(project(DirectorySettings { workspace: Some("dev".into()), ..Default::default() }), one);
        assert_eq!(project(DirectorySettings { project: Some("dev/one".into()), ..Default::default() }), one);
        let within = Roots::Within(vec![base.join("dev")]);
        assert_eq!(project(DirectorySettings { roots: within, ..Default::default() }), one);
    }

    #[test]
    fn what_a_client_can_make_the_server_look_at_is_bounded() {
        let (_dir, base) = tree();
        let uri = format!("file://{}/dev/one", base.display());
        let free = Directories::new(DirectorySettings { server: base.clone(), ..Default::default() });
        let (_, most) = free.with_client_roots(&vec![uri.clone(); MOST_ROOTS]);
        assert_eq!((most.directories.len(), most.dropped.len()), (1, 0));
        let (_, more) = free.with_client_roots(&vec![uri.clone(); MOST_ROOTS + 1]);
        let sentence = "the client names more than 256 roots, so none of them is used";
        assert_eq!((more.directories.len(), more.dropped), (0, vec![sentence.to_owned()]));
        let deep = base.join("d/".repeat(DEEPEST_ROOT));
        fs::create_dir_all(&deep).unwrap();
        for (uri, why) in [
            (format!("{uri}/{}", "../one/".repeat(2000)), "more than 12304"),
            (format!("file://{}", deep.display()), "it lies in more than 256 directories"),
        ] {
            let (_, client) = free.with_client_roots(&[uri]);
            assert!(client.directories.is_empty() && client.dropped[0].contains(why), "{:?}", client.dropped);
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
