//! The walk of a path through everything that decides where it leads, with the owners and rights on the way.

use std::ffi::OsString;
use std::fs::{Metadata, read_link, symlink_metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::{By, Replaceable};

/// The most links that are followed; the kernel follows as many.
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
