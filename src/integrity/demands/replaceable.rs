//! Finds who can replace the file that a path leads to: the file itself, or a directory or link on the way to it.
//!
//! The path is walked by names, starting at the root. This is safe without handles: as long as nobody else can replace what
//! was passed, nobody else can make the next name mean another file.

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
        #[cfg(unix)]
        return unix::walk(path);
        #[cfg(not(unix))]
        Ok(None)
    }
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsString;
    use std::fs::{Metadata, read_link, symlink_metadata};
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Component, Path, PathBuf};

    use super::{By, Replaceable};

    /// How many links are followed, as many as the kernel follows.
    const MOST_LINKS: usize = 40;
    const STICKY: u32 = 0o1000;

    enum Part {
        Root,
        Parent,
        Name(OsString),
    }

    /// The parts of a path, the next one last.
    fn parts(path: &Path) -> impl Iterator<Item = Part> + '_ {
        path.components().rev().filter_map(|component| match component {
            Component::RootDir => Some(Part::Root),
            Component::ParentDir => Some(Part::Parent),
            Component::Normal(name) => Some(Part::Name(name.to_owned())),
            Component::CurDir | Component::Prefix(_) => None,
        })
    }

    pub(super) fn walk(path: &Path) -> io::Result<Option<Replaceable>> {
        let me = rustix::process::geteuid().as_raw();
        let root = symlink_metadata("/")?;
        if let Some(found) = of_directory(Path::new("/"), &root, me) {
            return Ok(Some(found));
        }
        let (mut here, mut links) = (PathBuf::from("/"), 0);
        let mut left: Vec<Part> = parts(path).collect();
        while let Some(part) = left.pop() {
            let name = match part {
                Part::Root => {
                    here = PathBuf::from("/");
                    continue;
                }
                Part::Parent => {
                    here.pop();
                    continue;
                }
                Part::Name(name) => name,
            };
            let entry = here.join(name);
            let found = symlink_metadata(&entry)?;
            if found.is_symlink() {
                links += 1;
                if links > MOST_LINKS {
                    return Err(rustix::io::Errno::LOOP.into());
                }
                // Others can write here only if the directory has the sticky bit, and then the owner of a link can replace it.
                let is_shared = symlink_metadata(&here)?.mode() & (STICKY | 0o022) > STICKY;
                if is_shared && is_other(found.uid(), me) {
                    return Ok(Some(Replaceable { path: entry, kind: "link", by: By::Owner(found.uid()) }));
                }
                left.extend(parts(&read_link(&entry)?));
            } else if found.is_dir() {
                if let Some(found) = of_directory(&entry, &found, me) {
                    return Ok(Some(found));
                }
                here = entry;
            } else if left.is_empty() {
                let by = by_owner(&found, me).or_else(|| by_mode(&found));
                return Ok(by.map(|by| Replaceable { path: entry, kind: "file", by }));
            } else {
                return Err(io::ErrorKind::NotADirectory.into());
            }
        }
        Ok(None)
    }

    fn of_directory(path: &Path, found: &Metadata, me: u32) -> Option<Replaceable> {
        let by_mode = || by_mode(found).filter(|_| found.mode() & STICKY == 0);
        let by = by_owner(found, me).or_else(by_mode)?;
        Some(Replaceable { path: path.to_owned(), kind: "directory", by })
    }

    fn is_other(user: u32, me: u32) -> bool {
        user != 0 && user != me
    }

    fn by_owner(found: &Metadata, me: u32) -> Option<By> {
        is_other(found.uid(), me).then(|| By::Owner(found.uid()))
    }

    /// The rights of a named user or group in an access control list lie within its mask, which the mode shows as the
    /// rights of the group; see acl(5).
    fn by_mode(found: &Metadata) -> Option<By> {
        match found.mode() & 0o022 {
            0 => None,
            0o020 => Some(By::Group(found.gid())),
            _ => Some(By::All),
        }
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
