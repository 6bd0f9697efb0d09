//! The walk of an absolute path part by part, with the links on the way.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;

use super::MOST_LINKS;
use crate::files::{Held, Link, Walked};

impl Walked {
    /// Walks from handle to handle.
    pub(in crate::files) fn go(path: &Path) -> io::Result<Self> {
        let (directory, entry) = (OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, OFlags::PATH | OFlags::CLOEXEC);
        let open_root = || openat(CWD, "/", directory, Mode::empty());
        let mut here = open_root()?;
        // The real path of `here`.
        let mut gone = PathBuf::from("/");
        let mut left = Vec::new();
        put_parts(&mut left, path);
        let mut links = Vec::new();
        while let Some(part) = left.pop() {
            let name = match part {
                Part::Root => {
                    (here, gone) = (open_root()?, PathBuf::from("/"));
                    continue;
                }
                Part::Parent => {
                    here = openat(&here, "..", directory, Mode::empty())?;
                    gone.pop();
                    continue;
                }
                Part::Name(name) => name,
            };
            // Opened as a directory first, so that a directory that is mounted on demand gets mounted.
            match openat(&here, &name, directory | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(inner) => {
                    here = inner;
                    gone.push(&name);
                    continue;
                }
                Err(Errno::NOTDIR | Errno::LOOP) => {}
                Err(error) => return Err(error.into()),
            }
            let found = openat(&here, &name, entry | OFlags::NOFOLLOW, Mode::empty())?;
            let kind = FileType::from_raw_mode(fstat(&found)?.st_mode);
            if kind == FileType::Symlink {
                if links.len() == MOST_LINKS {
                    return Err(Errno::LOOP.into());
                }
                // Read from the link that was opened, whatever its name leads to by now.
                let target = readlinkat(&found, "", Vec::new())?;
                let directory = Held::from_handle(here.try_clone()?, &gone)?;
                links.push(Link { path: directory.path().join(&name), directory });
                put_parts(&mut left, as_path(target.as_bytes()));
            } else if !left.is_empty() || kind == FileType::Directory {
                return Err(Errno::NOTDIR.into());
            } else {
                let file = Held::from_handle(found, &gone.join(&name))?;
                let directory = Arc::new(Held::from_handle(here, &gone)?);
                return Ok(Self { held: Arc::new(file), directory, is_file: kind == FileType::RegularFile, links });
            }
        }
        let held = Arc::new(Held::from_handle(here, &gone)?);
        Ok(Self { directory: Arc::clone(&held), held, is_file: false, links })
    }
}

/// One step of a path.
enum Part {
    Root,
    Parent,
    Name(OsString),
}

/// Puts the parts of a path in front of those that are left, the next one last.
fn put_parts(left: &mut Vec<Part>, path: &Path) {
    left.extend(path.components().rev().filter_map(|component| match component {
        Component::RootDir => Some(Part::Root),
        Component::ParentDir => Some(Part::Parent),
        Component::Normal(name) => Some(Part::Name(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    }));
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
