//! The walk of a path through handles.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, fstat, fstatfs, openat, readlinkat};
use rustix::io::Errno;

use super::MOST_LINKS;
use crate::files::reach::is_special;
use crate::files::{Held, NotReached, Reached, Steps};

/// The magic numbers of sysfs, devpts and debugfs, see statfs(2).
const SPECIAL_SYSTEMS: [u32; 3] = [0x6265_6572, 0x1cd1, 0x6462_6720];

impl Reached {
    /// Walks on from handle to handle.
    pub(in crate::files) fn go(start: &Arc<Held>, path: &Path, steps: &mut Steps) -> Result<Self, NotReached> {
        let (directory, entry) = (OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, OFlags::PATH | OFlags::CLOEXEC);
        let mut here = Arc::clone(start);
        let mut around = Arc::clone(start);
        let failed =
            |here: &Arc<Held>, error: io::Error| NotReached::Failed { directory: Arc::clone(here), source: error };
        not_special(&here)?;
        let parts = |path: &Path| -> VecDeque<OsString> {
            path.components().map(|component| component.as_os_str().to_owned()).collect()
        };
        let mut left = parts(path);
        let mut links = 0;
        while let Some(name) = left.pop_front() {
            steps.take_from(&here)?;
            let opened = match name.as_bytes() {
                b"." => continue,
                b"/" => openat(CWD, "/", directory, Mode::empty()),
                // Opened as a directory first, so that a directory that is mounted on demand gets mounted.
                _ => openat(&*here, &name, directory | OFlags::NOFOLLOW, Mode::empty()),
            };
            let step_in = match opened {
                Ok(inner) => Some(inner),
                Err(Errno::NOTDIR | Errno::LOOP) => None,
                Err(Errno::NOENT) => {
                    let names: Vec<OsString> = std::iter::once(name).chain(left).filter(|name| *name != *".").collect();
                    if names.iter().any(|name| name == "..") {
                        return Err(failed(&here, io::ErrorKind::NotFound.into()));
                    }
                    return Ok(Self::Missing { directory: here, names });
                }
                Err(error) => return Err(failed(&here, error.into())),
            };
            if let Some(inner) = step_in {
                let asked = here.path().join(&name);
                let inner = Held::from_handle(inner, &asked).map_err(|error| failed(&here, error))?;
                let inner = Arc::new(inner);
                not_special(&inner)?;
                around = if matches!(name.as_bytes(), b".." | b"/") { Arc::clone(&inner) } else { here };
                here = inner;
                continue;
            }
            let found = openat(&*here, &name, entry | OFlags::NOFOLLOW, Mode::empty())
                .map_err(|error| failed(&here, error.into()))?;
            let kind = fstat(&found).map_err(|error| failed(&here, error.into()))?.st_mode;
            match FileType::from_raw_mode(kind) {
                FileType::Symlink => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(failed(&here, Errno::LOOP.into()));
                    }
                    // Read from the link that was opened, whatever its name leads to by now.
                    let target = readlinkat(&found, "", Vec::new()).map_err(|error| failed(&here, error.into()))?;
                    let target = Path::new(OsStr::from_bytes(target.as_bytes()));
                    steps.take(target)?;
                    left = parts(target).into_iter().chain(left).collect();
                }
                FileType::Directory => return Err(failed(&here, Errno::NOTDIR.into())),
                _ if left.iter().any(|name| *name != *".") => return Err(failed(&here, Errno::NOTDIR.into())),
                _ => {
                    let asked = here.path().join(&name);
                    let held = Held::from_handle(found, &asked).map_err(|error| failed(&here, error))?;
                    return Ok(Self::There { held: Arc::new(held), directory: here, is_directory: false });
                }
            }
        }
        Ok(Self::There { held: here, directory: around, is_directory: true })
    }
}

/// Judged by its name, and by the file system that it is on.
fn not_special(directory: &Arc<Held>) -> Result<(), NotReached> {
    if is_special(directory.path()) {
        return Err(NotReached::Special);
    }
    match fstatfs(directory) {
        Ok(system) => {
            let number = u32::try_from(system.f_type).unwrap_or_default();
            let is_proc = system.f_type == PROC_SUPER_MAGIC;
            if is_proc || SPECIAL_SYSTEMS.contains(&number) { Err(NotReached::Special) } else { Ok(()) }
        }
        Err(error) => Err(NotReached::Failed { directory: Arc::clone(directory), source: error.into() }),
    }
}
