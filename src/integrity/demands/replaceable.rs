//! Finds who can replace the file that a path leads to: the file itself, or a directory or link on the way to it.
//!
//! The path is walked by names, starting at the root. This is safe without handles: as long as nobody else can replace what
//! was passed, nobody else can make the next name mean another file.

#[cfg_attr(not(unix), path = "replaceable/no_walk.rs")]
mod walk;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file, directory or link that others than root and the server's user can replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaceable {
    /// Its path.
    pub path: PathBuf,
    /// Its kind: `file`, `directory` or `link`.
    pub kind: &'static str,
    /// The users who can replace it.
    pub by: By,
}

/// The users who can replace something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Its owner, by user ID.
    Owner(u32),
    /// Its group, by group ID, or whoever an access control list names: the list's mask is shown as the rights of the group.
    Group(u32),
    /// Everybody.
    All,
}

impl fmt::Display for Replaceable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, kind, by } = self;
        let path = path.display();
        match by {
            By::Owner(user) => {
                write!(f, "the {kind} `{path}` belongs to the user {user}, who can replace it or what lies in it")
            }
            By::Group(group) => write!(f, "the {kind} `{path}` can be written by the group {group}"),
            By::All => write!(f, "the {kind} `{path}` can be written by everybody"),
        }
    }
}

impl Replaceable {
    /// How to fix it, as the rest of a sentence.
    pub fn help(&self) -> String {
        let path = self.path.display();
        match (self.by, self.kind) {
            (By::Owner(_), "link") => format!("make root or the server's user its owner: `chown -h root {path}`"),
            (By::Owner(_), _) => format!("make root or the server's user its owner: `chown root {path}`"),
            (By::Group(_), _) => format!("remove that permission: `chmod g-w {path}`"),
            (By::All, _) => format!("remove that permission: `chmod go-w {path}`"),
        }
    }

    /// The first replaceable file, directory or link on the way to a file; `None` if there is none, and on platforms without
    /// Unix modes.
    ///
    /// Root and the server's user are trusted. A directory that others can write counts, unless it has the sticky bit: then
    /// only the owner of an entry can replace it.
    ///
    /// # Errors
    /// If the way can't be followed, and `InvalidInput` for a relative path.
    pub fn on_the_way_to(path: &Path) -> io::Result<Option<Self>> {
        if !path.is_absolute() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        walk::walk(path)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// A tree below a directory with the sticky bit, which is how `/tmp` is.
    fn tree() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        for place in ["bin", "links", "bin/inner", "shared"] {
            fs::create_dir(base.join(place)).unwrap();
            mode(&base.join(place), 0o755);
        }
        mode(&base.join("shared"), 0o1777);
        fs::write(base.join("bin/tool"), "").unwrap();
        mode(&base.join("bin/tool"), 0o755);
        symlink("../bin/tool", base.join("links/tool")).unwrap();
        symlink("../bin/inner/../tool", base.join("links/around")).unwrap();
        symlink("../links/tool", base.join("shared/tool")).unwrap();
        (dir, base)
    }

    #[test]
    fn a_file_that_only_root_and_its_user_can_replace_is_not_replaceable() {
        let (_dir, base) = tree();
        for path in ["bin/tool", "links/tool", "links/around", "shared/tool", "bin/../links/tool"] {
            assert_eq!(Replaceable::on_the_way_to(&base.join(path)).unwrap(), None, "{path}");
        }
        let error = |path: &Path| Replaceable::on_the_way_to(path).unwrap_err().kind();
        assert_eq!(error(Path::new("bin/tool")), io::ErrorKind::InvalidInput);
        assert_eq!(error(&base.join("bin/none")), io::ErrorKind::NotFound);
        assert_eq!(error(&base.join("bin/tool/x")), io::ErrorKind::NotADirectory);
        symlink("loop", base.join("loop")).unwrap();
        let looped = Replaceable::on_the_way_to(&base.join("loop")).unwrap_err();
        assert_eq!(looped.raw_os_error(), Some(rustix::io::Errno::LOOP.raw_os_error()));
    }

    #[test]
    fn what_is_writable_on_the_way_is_named_with_who_can_write_it() {
        let (_dir, base) = tree();
        let check = |path: &str, changed: &str, bits: u32, expected: Option<(&'static str, &str)>| {
            let before = fs::metadata(base.join(changed)).unwrap().permissions().mode() & 0o7777;
            mode(&base.join(changed), bits);
            let found = Replaceable::on_the_way_to(&base.join(path)).unwrap();
            mode(&base.join(changed), before);
            let shown = found.as_ref().map(|found| {
                assert_eq!(found.path, base.join(changed), "{path}");
                let by = match found.by {
                    By::Owner(_) => "owner",
                    By::Group(_) => "group",
                    By::All => "all",
                };
                (found.kind, by)
            });
            assert_eq!(shown, expected, "{path} with {changed} {bits:o}");
        };
        check("bin/tool", "bin/tool", 0o775, Some(("file", "group")));
        check("bin/tool", "bin/tool", 0o757, Some(("file", "all")));
        check("bin/tool", "bin", 0o775, Some(("directory", "group")));
        check("bin/tool", "bin", 0o1777, None);
        check("links/tool", "links", 0o777, Some(("directory", "all")));
        check("links/tool", "bin", 0o777, Some(("directory", "all")));
        // Through `bin/inner/..`: who can put a link in its place decides where that leads.
        check("links/around", "bin/inner", 0o777, Some(("directory", "all")));
        check("bin/tool", "links", 0o777, None);
        check("bin/tool", "bin", 0o555, None);
    }

    #[test]
    fn what_belongs_to_somebody_else_is_replaceable_by_its_owner() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("only root can give files away, so nothing is shown of owners");
            return;
        }
        let (_dir, base) = tree();
        let give = |path: &str, user| std::os::unix::fs::lchown(base.join(path), Some(user), Some(0)).unwrap();
        for (path, given, kind) in [
            ("bin/tool", "bin/tool", Some("file")),
            ("bin/tool", "bin", Some("directory")),
            ("links/tool", "bin", Some("directory")),
            ("shared/tool", "shared/tool", Some("link")),
            // Nobody but who can write `links` can change the link, whoever owns it.
            ("links/tool", "links/tool", None),
        ] {
            give(given, 65534);
            let found = Replaceable::on_the_way_to(&base.join(path)).unwrap();
            give(given, 0);
            assert_eq!(found.as_ref().map(|found| found.kind), kind, "{path}");
            assert!(found.is_none_or(|found| found.by == By::Owner(65534) && found.path == base.join(given)));
        }
    }
}
