//! Where a path leads from a held directory, walked part by part, even if its end does not exist yet.
//!
//! `/proc`, `/dev` and `/sys` are never entered, not by name, not by a link, and not if such a file system is mounted
//! elsewhere: they contain links to files that a process has open, whatever the text of the link says.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::{Ancestry, Held};

/// The end of a path.
#[derive(Debug, Clone)]
pub enum Reached {
    /// Something that exists.
    There {
        /// The file or directory.
        held: Arc<Held>,
        /// The directory that it was found in; for a directory that was named as `.` or `..`, that directory itself.
        directory: Arc<Held>,
        /// Whether it is a directory.
        is_directory: bool,
    },
    /// Nothing, in an existing directory.
    Missing {
        /// The directory.
        directory: Arc<Held>,
        /// The missing name, and the names beneath it.
        names: Vec<OsString>,
    },
}

/// Why it can't be determined where a path leads.
#[derive(Debug)]
pub enum NotReached {
    /// It leads into `/proc`, `/dev` or `/sys`.
    Special,
    /// It has more parts than may still be walked.
    TooLong,
    /// The system refused a step.
    Failed {
        /// The last directory that was reached.
        directory: Arc<Held>,
        /// The system's error.
        source: io::Error,
    },
}

/// The directories whose contents the kernel makes.
const SPECIAL: [&str; 3] = ["/proc", "/dev", "/sys"];

/// How many parts of paths may still be walked. Each costs several system calls, and both clients and links that commands
/// make can have a great many.
#[derive(Debug)]
pub struct Steps {
    left: usize,
}

impl Steps {
    /// Allows `most` steps.
    pub fn new(most: usize) -> Self {
        Self { left: most }
    }

    pub(super) fn take(&mut self, path: &Path) -> Result<(), NotReached> {
        // An empty path is a look-up too.
        self.take_count(path.components().count().max(1))
    }

    /// A step in a deep directory costs more, since the system is asked for its path.
    pub(super) fn take_from(&mut self, here: &Held) -> Result<(), NotReached> {
        self.take_count(here.path().as_os_str().len() / 100)
    }

    /// Takes as many as there are levels around a directory that was reached. If that is too much, the next path is refused.
    pub fn take_levels(&mut self, ancestry: &Ancestry) {
        self.left = self.left.saturating_sub(ancestry.levels());
    }

    fn take_count(&mut self, count: usize) -> Result<(), NotReached> {
        self.left = self.left.checked_sub(count).ok_or(NotReached::TooLong)?;
        Ok(())
    }
}

impl Reached {
    /// Walks to what a path leads to from `directory`, following links, and opens each part of it once.
    ///
    /// # Errors
    /// `NotReached`.
    pub fn from(directory: &Arc<Held>, path: &Path, steps: &mut Steps) -> Result<Self, NotReached> {
        steps.take(path)?;
        if is_special(&lexical(&directory.path_now(), path)) {
            return Err(NotReached::Special);
        }
        Self::go(directory, path, steps)
    }

    /// The directories that a path names and leaves again by `..`, up to the first that is not there: of that one the directory that
    /// was reached. A caller that hides what exists must look at them, too.
    ///
    /// # Errors
    /// `NotReached`, except `NotReached::Failed`.
    pub fn left_again(start: &Arc<Held>, path: &Path, steps: &mut Steps) -> Result<Vec<Arc<Held>>, NotReached> {
        // Each part is walked once: on from the directory that was left last.
        let (mut left, mut here, mut before, mut is_behind_name) =
            (Vec::new(), Arc::clone(start), PathBuf::new(), false);
        for component in path.components() {
            if component == Component::ParentDir && is_behind_name {
                match Self::from(&here, &before, steps) {
                    Ok(Self::There { held, is_directory: true, .. }) => here = held,
                    Ok(Self::There { directory, .. } | Self::Missing { directory, .. })
                    | Err(NotReached::Failed { directory, .. }) => {
                        left.push(directory);
                        break;
                    }
                    Err(error @ (NotReached::Special | NotReached::TooLong)) => return Err(error),
                }
                left.push(Arc::clone(&here));
                before = PathBuf::new();
            }
            // What lies around a directory is always there.
            is_behind_name = match component {
                Component::Normal(_) => true,
                Component::CurDir => is_behind_name,
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => false,
            };
            before.push(component);
        }
        Ok(left)
    }

    /// Whether `path` is where the text of `given` leads to from `start`, so that no link is on the way.
    pub fn is_literal(start: &Path, given: &Path, path: &Path) -> bool {
        lexical(start, given) == path && !given.components().any(|part| part == Component::ParentDir)
    }

    /// Whether another path led to the same: the same file or directory under the same path, or the same missing names.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::There { held, .. }, Self::There { held: other, .. }) => {
                held.identity() == other.identity() && held.path() == other.path()
            }
            (Self::Missing { directory, names }, Self::Missing { directory: other, names: other_names }) => {
                directory.identity() == other.identity() && names == other_names
            }
            (Self::There { .. }, Self::Missing { .. }) | (Self::Missing { .. }, Self::There { .. }) => false,
        }
    }

    /// The path at which it is now, or would be made.
    pub fn path(&self) -> PathBuf {
        match self {
            Self::There { held, .. } => held.path_now(),
            Self::Missing { directory, names } => directory.path_now().join(names.iter().collect::<PathBuf>()),
        }
    }
}

pub(super) fn is_special(path: &Path) -> bool {
    cfg!(unix) && SPECIAL.iter().any(|special| path.starts_with(special))
}

/// The path without its `.` and `..`, from the text alone.
fn lexical(directory: &Path, path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in directory.join(path).components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(component),
        }
    }
    plain
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_leads_where_its_links_lead_and_nowhere_special() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("work/deep")).unwrap();
        fs::write(base.join("work/file"), "").unwrap();
        fs::write(base.join("secret"), "").unwrap();
        let work = base.join("work");
        symlink("../secret", work.join("out")).unwrap();
        symlink("new", work.join("dangling")).unwrap();
        symlink("/proc/self/root", work.join("magic")).unwrap();
        symlink("/dev/stdin", work.join("device")).unwrap();
        symlink("loop", work.join("loop")).unwrap();
        let start = Arc::new(Held::open_directory(&work).unwrap());
        let reach = |path: &str| Reached::from(&start, Path::new(path), &mut Steps::new(100));
        for (path, expected) in [
            (".", "work"),
            ("file", "work/file"),
            ("file/.", "work/file"),
            ("deep/../file", "work/file"),
            ("out", "secret"),
            ("..", ""),
            ("deep", "work/deep"),
        ] {
            let Ok(Reached::There { held, .. }) = reach(path) else { panic!("{path}") };
            assert_eq!(held.path(), base.join(expected).components().as_path(), "{path}");
        }
        for (path, expected) in
            [("none", "work/none"), ("dangling", "work/new"), ("a/b", "work/a/b"), ("deep/x", "work/deep/x")]
        {
            let reached = reach(path).unwrap();
            assert!(matches!(reached, Reached::Missing { .. }), "{path}");
            assert_eq!(reached.path(), base.join(expected), "{path}");
        }
        for path in
            ["/proc/self/cmdline", "magic/etc/passwd", "device", "/dev/null", "/sys", "../../../../../../../proc"]
        {
            assert!(matches!(reach(path), Err(NotReached::Special)), "{path}");
        }
        for path in ["file/x", "loop", "none/../file"] {
            assert!(matches!(reach(path), Err(NotReached::Failed { .. })), "{path}");
        }
        // A step counts for more the longer the path of its directory is.
        let deep = "d".repeat(200) + "/" + &"e".repeat(200);
        fs::create_dir_all(work.join(&deep)).unwrap();
        let at = Arc::new(Held::open_directory(&work.join(&deep)).unwrap());
        let within = |most| Reached::from(&at, Path::new("x"), &mut Steps::new(most));
        assert!(matches!(within(4), Err(NotReached::TooLong)) && within(10).is_ok());
        // A link counts with what it leads to, and what is missing with all of its parts.
        assert!(matches!(reach(&("none/".repeat(101))), Err(NotReached::TooLong)));
        symlink("./deep/../".repeat(30) + "file", work.join("long")).unwrap();
        assert!(reach("long").is_ok());
        assert!(matches!(reach("./deep/../".repeat(50).as_str()), Err(NotReached::TooLong)));
        assert!(matches!(reach(&("deep/../".repeat(20) + "long")), Err(NotReached::TooLong)));
    }

    #[test]
    fn directories_that_are_left_again_are_each_walked_once() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("near/deep")).unwrap();
        fs::create_dir_all(base.join("far/in")).unwrap();
        symlink("../far/in", base.join("near/link")).unwrap();
        fs::write(base.join("near/file"), "").unwrap();
        let start = Arc::new(Held::open_directory(&base.join("near")).unwrap());
        let left = |path: &str, most| {
            let mut steps = Steps::new(most);
            let left = Reached::left_again(&start, Path::new(path), &mut steps).map_err(|_| ())?;
            let names = left.iter().map(|held| held.path().strip_prefix(&base).unwrap().to_str().unwrap().to_owned());
            Ok::<_, ()>((names.collect::<Vec<_>>(), most - steps.left))
        };
        for (path, expected) in [
            ("deep/../file", &["near/deep"][..]),
            ("link/../x/../y", &["far/in", "far"]),
            ("link/../../near/deep/../x", &["far/in", "near/deep"]),
            ("none/../deep/../x", &["near"]),
            ("file/../deep/../x", &["near"]),
            ("../far/./../x", &["far"]),
            ("..", &[]),
        ] {
            assert_eq!(left(path, 1_000).unwrap().0, expected, "{path}");
        }
        // Twice the parts cost twice as much, not four times.
        let cost = |times: usize| left(&"deep/../".repeat(times), 1_000_000).unwrap().1;
        assert!(cost(400) <= 2 * cost(200) + 8, "{} and {}", cost(200), cost(400));
        assert!(left(&"deep/../".repeat(400), 1_000).is_ok());
    }
}
