//! The directories of the persistent shell, and the target of a directory change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::dialect::{Change, current as dialect};
use crate::files::{Held, are_same};
use crate::policy::{Directories, Refusal};

/// The directory that the shell is in.
#[derive(Debug, Clone)]
pub struct ShellDirectory {
    /// Its path, which is empty before the first shell.
    pub path: Arc<Path>,
    /// The same directory, held open, if the kernel reports it.
    pub held: Option<Arc<Held>>,
}

impl ShellDirectory {
    /// Whether it is the same directory with the same name.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.path == other.path && are_same(self.held.as_slice(), other.held.as_slice())
    }
}

/// The directories that a change can be relative to.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShellDirectories<'a> {
    /// The current directory; `None` means the one that the shell starts in.
    pub current: Option<&'a Path>,
    /// The previous directory.
    pub previous: Option<&'a Path>,
    /// The home directory of the shell.
    pub home: Option<&'a Path>,
}

impl ShellDirectories<'_> {
    /// Resolves the target of a directory change.
    ///
    /// # Errors
    /// [`Refusal`] if the target is not allowed, or there is no such directory.
    pub fn target(&self, change: &Change, directories: &Directories) -> Result<PathBuf, Refusal> {
        let refused = |reason: &str| Refusal::InShell { reason: reason.to_owned() };
        let current = match self.current {
            Some(current) => current.to_owned(),
            None => directories.resolve(None)?.path().to_owned(),
        };
        let target = match change {
            Change::Show => return Ok(current),
            Change::Home => {
                self.home.ok_or_else(|| refused("there is no home directory; name one to change to"))?.to_owned()
            }
            Change::Back => self
                .previous
                .ok_or_else(|| refused("the shell has stood nowhere else yet; name a directory"))?
                .to_owned(),
            Change::To(target) if target.is_empty() => {
                return Err(refused("the directory to change to is empty; name an existing one"));
            }
            Change::To(target) => current.join(target),
        };
        let target = target.to_str().ok_or_else(|| refused("the path isn't valid UTF-8; name another directory"))?;
        let stays = |why: &dyn std::fmt::Display| refused(&format!("the directory stays as it is: {why}"));
        let resolved = directories.resolve(Some(target)).map_err(|error| {
            // These tools have no argument `cwd`.
            let why = error.to_string();
            stays(&why.strip_prefix("`cwd` ").unwrap_or(&why))
        })?;
        let path = resolved.path();
        // The shell's own thread also refuses paths that the shell would read differently; here the client learns it
        // before its turn.
        if let Some(Err(refused)) = path.to_str().map(dialect::change_to) {
            return Err(stays(&refused));
        }
        Ok(path.to_owned())
    }
}
