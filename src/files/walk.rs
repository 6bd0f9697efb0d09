//! Walks the path to a file or directory part by part, so that the links on the way are known.
//!
//! Anyone who may write in the directory of a link decides where the link leads. So a path that a program opens
//! repeatedly (for example at each start) is only as safe as the directories of its links.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Held;

/// A link that a path led through.
#[derive(Debug)]
pub struct Link {
    /// Its path: the real path of its directory, and its name.
    pub path: PathBuf,
    /// The directory that it lies in.
    pub directory: Held,
}

/// The end of a path, and the links that led there. On systems other than Linux the links are not known, and the list
/// is empty.
#[derive(Debug)]
pub struct Walked {
    pub(super) held: Arc<Held>,
    /// The directory that the file lies in; for a directory, the directory itself.
    pub(super) directory: Arc<Held>,
    pub(super) is_file: bool,
    pub(super) links: Vec<Link>,
}

impl Walked {
    /// Walks to what an absolute path leads to, and opens each part of it once.
    ///
    /// # Errors
    /// The error of opening a part, `ELOOP` after 40 links, and `InvalidInput` for a relative path.
    pub fn to(path: &Path) -> io::Result<Self> {
        if !path.is_absolute() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Self::go(path)
    }

    /// Returns the file or directory that the path led to.
    pub fn held(&self) -> &Arc<Held> {
        &self.held
    }

    /// The directory that it lies in; for a directory, the directory itself.
    pub fn directory(&self) -> &Held {
        &self.directory
    }

    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        Arc::ptr_eq(&self.held, &self.directory)
    }

    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.is_file
    }

    /// The links, in the order in which they were followed.
    pub fn links(&self) -> &[Link] {
        &self.links
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn each_link_on_the_way_is_known_with_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("real/inner")).unwrap();
        fs::create_dir(base.join("links")).unwrap();
        fs::write(base.join("real/inner/file"), "").unwrap();
        symlink("../real", base.join("links/relative")).unwrap();
        symlink(base.join("links/relative/inner"), base.join("links/absolute")).unwrap();
        symlink("file", base.join("real/inner/beside")).unwrap();
        let check = |path: &str, expected: &str, links: &[&str]| {
            let walked = Walked::to(&base.join(path)).unwrap();
            assert_eq!(walked.held().path(), base.join(expected), "{path}");
            assert_eq!(*walked.held().identity(), *Held::open(&base.join(path)).unwrap().identity(), "{path}");
            let found: Vec<_> = walked.links().iter().map(|link| link.path.strip_prefix(&base).unwrap()).collect();
            assert_eq!(found, links.iter().map(Path::new).collect::<Vec<_>>(), "{path}");
            for link in walked.links() {
                assert_eq!(link.directory.path(), link.path.parent().unwrap());
            }
            assert_eq!(walked.is_file(), expected.ends_with("file"));
            let directory =
                if walked.is_file() { walked.held().path().parent().unwrap() } else { walked.held().path() };
            assert_eq!(walked.directory().path(), directory);
        };
        check("real/inner", "real/inner", &[]);
        check("real/./inner//file", "real/inner/file", &[]);
        check("links/../real/inner/..", "real", &[]);
        check("links/relative/inner", "real/inner", &["links/relative"]);
        // The parent of the link's target, not of the link.
        check("links/relative/inner/..", "real", &["links/relative"]);
        check("links/absolute/../inner", "real/inner", &["links/absolute", "links/relative"]);
        check("links/absolute/beside", "real/inner/file", &["links/absolute", "links/relative", "real/inner/beside"]);
        assert_eq!(Walked::to(Path::new("/..")).unwrap().held().path(), Path::new("/"));
    }

    #[test]
    fn a_way_that_leads_nowhere_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::write(base.join("file"), "").unwrap();
        symlink("loop", base.join("loop")).unwrap();
        symlink("missing", base.join("dangling")).unwrap();
        for number in 0..41 {
            symlink(format!("chain-{}", number + 1), base.join(format!("chain-{number}"))).unwrap();
        }
        fs::create_dir(base.join("chain-41")).unwrap();
        let kind = |path: &str| Walked::to(&base.join(path)).map(|_| ()).map_err(|error| error.kind());
        assert_eq!(kind("chain-1"), Ok(()));
        for path in ["loop", "chain-0"] {
            let error = Walked::to(&base.join(path)).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::LOOP.raw_os_error()), "{path}");
        }
        for path in ["missing", "dangling", "missing/.."] {
            assert_eq!(kind(path), Err(io::ErrorKind::NotFound), "{path}");
        }
        for path in ["file/x", "file/.."] {
            assert_eq!(kind(path), Err(io::ErrorKind::NotADirectory), "{path}");
        }
        assert_eq!(Walked::to(Path::new("relative")).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
