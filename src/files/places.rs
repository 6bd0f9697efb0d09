//! A set of files and directories, asked whether another one lies in it.

use std::sync::Arc;

use super::{Held, Link, Walked};

/// Files, and directories with everything beneath them. They are compared by identity, not by name.
#[derive(Debug, Clone, Default)]
pub struct Places(Vec<Arc<Held>>);

impl Places {
    /// Adds a file or a directory.
    pub fn add(&mut self, held: Arc<Held>) {
        self.0.push(held);
    }

    /// Whether a directory is one of these or lies in one. If that can't be determined, it counts as a yes.
    pub fn hold(&self, directory: &Held) -> bool {
        !self.0.is_empty() && directory.lies_in_any(&self.0).unwrap_or(true)
    }

    /// Whether the file or directory that a path led to is one of these or lies in one, judged by the directory in
    /// which it was found.
    pub fn hold_walked(&self, walked: &Walked) -> bool {
        self.0.iter().any(|held| held.identity() == walked.held().identity()) || self.hold(walked.directory())
    }

    /// The first link on the way that lies in one of these.
    pub fn first_link<'a>(&self, walked: &'a Walked) -> Option<&'a Link> {
        walked.links().iter().find(|link| self.hold(&link.directory))
    }
}

impl FromIterator<Arc<Held>> for Places {
    fn from_iter<I: IntoIterator<Item = Arc<Held>>>(held: I) -> Self {
        Self(held.into_iter().collect())
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    #[test]
    fn what_lies_in_them_is_told_by_identity() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for place in ["work/deep", "workshop", "other"] {
            fs::create_dir_all(base.join(place)).unwrap();
        }
        fs::write(base.join("other/file"), "").unwrap();
        fs::write(base.join("work/deep/file"), "").unwrap();
        symlink(base.join("other"), base.join("work/deep/out")).unwrap();
        symlink(base.join("work"), base.join("other/in")).unwrap();
        let walk = |path: &str| Walked::to(&base.join(path)).unwrap();
        let places: Places = [walk("work").held().clone(), walk("other/file").held().clone()].into_iter().collect();
        for (path, lies_within, link) in [
            ("work", true, None),
            ("work/deep/file", true, None),
            ("workshop", false, None),
            ("other", false, None),
            ("other/file", true, None),
            ("other/in/deep", true, None),
            ("work/deep/out", false, Some("work/deep/out")),
            ("other/in/deep/out/file", true, Some("work/deep/out")),
        ] {
            let walked = walk(path);
            assert_eq!(places.hold_walked(&walked), lies_within, "{path}");
            let found = places.first_link(&walked).map(|link| link.path.strip_prefix(&base).unwrap());
            assert_eq!(found, link.map(Path::new), "{path}");
        }
        assert!(!Places::default().hold_walked(&walk("work")));
    }
}
