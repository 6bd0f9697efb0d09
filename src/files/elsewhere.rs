//! Files and directories by their canonical paths, where there are no handles for them.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::reach::is_special;
use super::{FileState, Held, Identity, NotReached, Place, Reached, Steps, Walked};

/// The canonical path.
pub(super) type Identifier = PathBuf;
/// Nothing is held.
pub(super) type Handle = ();

impl Held {
    /// Remembers what `path` leads to, following links.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = super::canonicalize(path)?;
        Ok(Self { identity: Identity(path.clone()), path, handle: () })
    }

    /// Remembers the directory that `path` leads to, following links.
    ///
    /// # Errors
    /// As [`Self::open`]; `NotADirectory` for anything else.
    pub fn open_directory(path: &Path) -> io::Result<Self> {
        let held = Self::open(path)?;
        if held.path.is_dir() { Ok(held) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    /// The same as [`Self::open`].
    ///
    /// # Errors
    /// As it.
    pub(crate) fn open_again(path: &Path, _known: &Path) -> io::Result<Self> {
        Self::open(path)
    }

    /// Returns the present state of the file at the path.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn state(&self) -> io::Result<FileState> {
        FileState::of(&self.path)
    }

    /// Taken for granted.
    pub(crate) fn notes_changes(&self) -> bool {
        true
    }

    /// The path.
    pub fn path_now(&self) -> PathBuf {
        self.path.clone()
    }

    /// Whether nothing has its path any more.
    pub fn is_removed(&self) -> bool {
        !self.path.exists()
    }

    /// Not determined.
    pub(crate) fn has_other_names(&self) -> bool {
        false
    }

    /// Remembers the directory that `path` leads to from this one, following links.
    ///
    /// # Errors
    /// As [`Self::open_directory`].
    pub fn open_directory_from(&self, path: &Path) -> io::Result<Self> {
        Self::open_directory(&self.path.join(path))
    }

    /// The path.
    pub fn spawn_path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Adds the parts of the canonical path.
    ///
    /// # Errors
    /// None here.
    pub(super) fn climb(&self, identities: &mut Vec<Identity>) -> io::Result<()> {
        identities.extend(self.path.ancestors().map(|path| Identity(path.to_owned())));
        Ok(())
    }
}

impl Walked {
    /// Follows the links without knowing them.
    pub(super) fn go(path: &Path) -> io::Result<Self> {
        let held = Arc::new(Held::open(path)?);
        let is_directory = held.path().is_dir();
        let directory = match held.path().parent().filter(|_| !is_directory) {
            Some(parent) => Arc::new(Held::open(parent)?),
            None => Arc::clone(&held),
        };
        Ok(Self { is_file: held.path().is_file(), held, directory, links: Vec::new() })
    }
}

impl Reached {
    /// By canonical paths: that of the whole path, or of the nearest existing directory.
    pub(super) fn go(start: &Arc<Held>, path: &Path, _steps: &mut Steps) -> Result<Self, NotReached> {
        let failed = |source: io::Error| NotReached::Failed { directory: Arc::clone(start), source };
        let whole = start.path().join(path);
        let open = |path: &Path| Held::open(path).map(Arc::new).map_err(failed);
        let special = |held: Arc<Held>| if is_special(held.path()) { Err(NotReached::Special) } else { Ok(held) };
        match Held::open(&whole) {
            Ok(held) => {
                let held = special(Arc::new(held))?;
                let is_directory = held.path().is_dir();
                let directory = match held.path().parent() {
                    Some(parent) => open(parent)?,
                    None => Arc::clone(&held),
                };
                Ok(Self::There { held, directory, is_directory })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing(&whole, 0)
                .map_err(failed)
                .and_then(|(directory, names)| Ok(Self::Missing { directory: special(directory)?, names })),
            Err(error) => Err(failed(error)),
        }
    }
}

/// The most dangling links and missing directories that are followed.
const DEEPEST: usize = 40;

fn missing(path: &Path, depth: usize) -> io::Result<(Arc<Held>, Vec<OsString>)> {
    let not_found = || io::Error::from(io::ErrorKind::NotFound);
    if depth > DEEPEST {
        return Err(not_found());
    }
    let name = path.file_name().ok_or_else(not_found)?.to_owned();
    let parent = path.parent().ok_or_else(not_found)?;
    let (directory, mut names) = match Held::open_directory(parent) {
        Ok(directory) => {
            // A dangling link leads on.
            if let Ok(target) = fs::read_link(directory.path().join(&name)) {
                return missing(&directory.path().join(target), depth + 1);
            }
            (Arc::new(directory), Vec::new())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => missing(parent, depth + 1)?,
        Err(error) => return Err(error),
    };
    names.push(name);
    Ok((directory, names))
}

/// Removes everything in a directory, but not the directory itself.
///
/// # Errors
/// The error of the first file that can't be removed.
pub fn remove_within(directory: &Held, _work: usize) -> io::Result<()> {
    for entry in fs::read_dir(directory.path())? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// There are none.
pub(super) fn nameless(_directory: &Path) -> Option<File> {
    None
}

/// There are none.
pub(crate) fn unnamed(_place: &Place) -> Option<File> {
    None
}

/// There are none.
pub(crate) fn give_name(_unnamed: &File, _place: &Place) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
