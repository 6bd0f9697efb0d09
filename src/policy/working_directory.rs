//! A directory that was checked, and is held open so that it stays the one that was checked.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files::Held;

/// A directory to run in. On Linux it holds a handle to the directory that was checked, so renames and links after the check
/// don't change where a command runs.
#[derive(Debug, Clone)]
pub struct WorkingDirectory {
    held: Arc<Held>,
    path: PathBuf,
}

impl WorkingDirectory {
    /// Opens the directory at `path`, follows links, and finds out its canonical path.
    ///
    /// # Errors
    /// If it can't be resolved, opened or entered; `NotADirectory` if it is not a directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::new(Held::open_directory(path)?)
    }

    /// Takes a directory that was just opened.
    pub(super) fn new(held: Held) -> io::Result<Self> {
        may_be_entered(&held)?;
        Ok(Self { path: held.path().to_owned(), held: Arc::new(held) })
    }

    /// Takes a directory that was opened some time ago, under the path that it has now.
    pub(crate) fn of(held: Arc<Held>) -> io::Result<Self> {
        if held.is_removed() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it was removed since it was opened"));
        }
        may_be_entered(&held)?;
        Ok(Self { path: held.path_now(), held })
    }

    /// The canonical path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its handle.
    pub fn held(&self) -> &Arc<Held> {
        &self.held
    }

    /// The path to start a process in while this value lives: on Linux that of the handle, if `/proc` is there.
    pub fn spawn_path(&self) -> PathBuf {
        #[cfg(windows)]
        if let Some(path) = without_verbatim_share(&self.path) {
            return path;
        }
        self.held.spawn_path()
    }
}

#[cfg(target_os = "linux")]
fn may_be_entered(held: &Held) -> io::Result<()> {
    use rustix::fs::{Access, AtFlags};
    Ok(rustix::fs::accessat(held, ".", Access::EXEC_OK, AtFlags::EACCESS)?)
}

/// On other platforms, starting the command finds out.
#[cfg(not(target_os = "linux"))]
fn may_be_entered(_held: &Held) -> io::Result<()> {
    Ok(())
}

/// The plain form of `\\?\UNC\server\share`, which dunce leaves as it is, and which no process can start in.
#[cfg(windows)]
fn without_verbatim_share(path: &Path) -> Option<PathBuf> {
    use std::path::{Component, Prefix};
    let mut components = path.components();
    let Some(Component::Prefix(prefix)) = components.next() else { return None };
    let Prefix::VerbatimUNC(server, share) = prefix.kind() else { return None };
    let mut plain = std::ffi::OsString::from(r"\\");
    plain.push(server);
    plain.push(r"\");
    plain.push(share);
    plain.push(r"\");
    Some(PathBuf::from(plain).join(components.as_path().strip_prefix(r"\").ok()?))
}
