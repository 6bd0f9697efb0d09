//! Opens a path that commands may have prepared: links count only if no command can have made them.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Held, Places, Walked};

impl Held {
    /// Opens the directory that an absolute `path` leads to. A link counts only outside the `writable` directories,
    /// because inside them an earlier command may have made it lead to something that the command could not reach.
    ///
    /// On platforms other than Linux every link counts.
    ///
    /// # Errors
    /// As [`Self::open_directory`]; and if a link does not count, an error that names it.
    pub fn open_unprepared_directory(path: &Path, writable: &[Arc<Self>]) -> io::Result<Arc<Self>> {
        if writable.is_empty() {
            return Self::open_directory(path).map(Arc::new);
        }
        let walked = Walked::to(path)?;
        let writable: Places = writable.iter().cloned().collect();
        if let Some(link) = writable.first_link(&walked) {
            return Err(io::Error::other(format!(
                "it leads through the link `{}`, which lies where commands may write; name the directory itself",
                link.path.display()
            )));
        }
        if walked.is_directory() { Ok(Arc::clone(walked.held())) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_counts_only_where_no_command_can_have_put_it() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for place in ["site/project/src", "secret/deep"] {
            fs::create_dir_all(base.join(place)).unwrap();
        }
        symlink("site", base.join("w")).unwrap();
        symlink(base.join("secret"), base.join("site/out")).unwrap();
        symlink("project/src", base.join("site/in")).unwrap();
        symlink("site/out", base.join("through")).unwrap();
        symlink("loop", base.join("loop")).unwrap();
        fs::write(base.join("site/file"), "").unwrap();
        let writable = [Arc::new(Held::open_directory(&base.join("site")).unwrap())];
        let open = |path: &str| match Held::open_unprepared_directory(&base.join(path), &writable) {
            Ok(held) => held.path().strip_prefix(&base).unwrap_or(held.path()).display().to_string(),
            Err(error) => error.to_string().replace(&base.display().to_string(), "[base]"),
        };
        for (path, expected) in [
            ("site", "site"),
            ("w", "site"),
            ("w/project/src/..", "site/project"),
            ("site/../secret", "secret"),
            ("w/../w/project//./src/", "site/project/src"),
            ("", ""),
            ("/", "/"),
            ("loop", "Too many levels of symbolic links (os error 40)"),
            ("site/file", "not a directory"),
            ("site/none", "No such file or directory (os error 2)"),
        ] {
            assert_eq!(open(path), expected, "{path}");
        }
        for path in ["site/out", "site/in", "w/out/deep", "through", "site/project/../out", "secret/../through/deep"] {
            let said = open(path);
            assert!(said.starts_with("it leads through the link `[base]/site/"), "{path}: {said}");
        }
        // If nothing is writable, a link counts.
        let held = Held::open_unprepared_directory(&base.join("through"), &[]).unwrap();
        assert_eq!(held.path(), base.join("secret"));
    }
}
