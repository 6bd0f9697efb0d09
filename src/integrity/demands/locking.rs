//! Makes a lock file from programs as they are now.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::libraries::Libraries;
use super::lock::{Lock, LockError, LockedFile};
use crate::integrity::CommandPaths;
use crate::integrity::contents::{Known, Seen};
use crate::integrity::needed::Interpreters;
use crate::integrity::needed::Needed;

/// A lock file that was made, and notes about it.
#[derive(Debug)]
pub(crate) struct Locked {
    pub lock: Lock,
    /// Files that programs need and the lock file does not hold, one sentence each.
    pub notes: BTreeSet<String>,
}

/// Locks the programs of these commands, and everything that is executed with them. With `libraries` (Linux) it also locks
/// their loaders and the libraries that they are linked with.
///
/// # Errors
/// [`LockError`], if a program can't be read, or if it is unclear what would be executed with it.
pub(crate) fn lock(
    commands: BTreeMap<String, PathBuf>,
    paths: &CommandPaths,
    libraries: bool,
) -> Result<Locked, LockError> {
    let mut making = Making {
        paths,
        known: Known::default(),
        libraries: libraries.then(Libraries::of_this_system),
        files: BTreeMap::new(),
        left: commands.values().map(|path| (path.clone(), Role::Executed)).collect(),
        notes: BTreeSet::new(),
    };
    while let Some((path, role)) = making.left.pop() {
        if !making.files.contains_key(&path) {
            let file = making.lock(&path, role)?;
            making.files.insert(path, file);
        }
    }
    let Making { files, notes, .. } = making;
    Ok(Locked { lock: Lock { libraries, commands, files }, notes })
}

/// Why a file is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The kernel executes it.
    Executed,
    /// A program loads it. What it needs itself is listed with that program.
    Loaded,
}

struct Making<'a> {
    paths: &'a CommandPaths,
    known: Known,
    libraries: Option<Libraries>,
    files: BTreeMap<PathBuf, LockedFile>,
    left: Vec<(PathBuf, Role)>,
    notes: BTreeSet<String>,
}

impl Making<'_> {
    fn lock(&mut self, path: &Path, role: Role) -> Result<LockedFile, LockError> {
        let unlockable = |source| LockError::Unlockable { file: path.to_owned(), source };
        let seen = self.known.open(path, Duration::ZERO).map_err(unlockable)?;
        let mut file = LockedFile::of(&seen, seen.sha256().map_err(unlockable)?);
        match role {
            Role::Executed => self.add_needs(path, &seen, &mut file).map_err(unlockable)?,
            Role::Loaded => {}
        }
        Ok(file)
    }

    fn add_needs(&mut self, path: &Path, seen: &Seen, file: &mut LockedFile) -> io::Result<()> {
        let Interpreters { files, broken, not_found } =
            Interpreters::of(&seen.contents.needed, self.paths).map_err(io::Error::other)?;
        if let Some(named) = broken {
            let note = format!(
                "`{}` needs `{}`, which does not exist or can't be executed, so it does not run",
                path.display(),
                named.display()
            );
            self.notes.insert(note);
        }
        if let Some(name) = not_found {
            self.notes.insert(format!(
                "`{}` starts `{}`, which is not in PATH",
                path.display(),
                name.to_string_lossy()
            ));
        }
        self.left.extend(files.iter().map(|interpreter| (interpreter.clone(), Role::Executed)));
        file.interpreters = files;
        self.add_libraries(path, seen, file)?;
        Ok(())
    }

    fn add_libraries(&mut self, path: &Path, seen: &Seen, file: &mut LockedFile) -> io::Result<()> {
        let Some(libraries) = &self.libraries else { return Ok(()) };
        for needed in &seen.contents.needed {
            match needed {
                Needed::Loader(loader) if loader.is_absolute() && loader.exists() => {
                    file.loader = Some(loader.clone());
                    self.left.push((loader.clone(), Role::Loaded));
                }
                Needed::Loader(_) => {}
                Needed::Interpreter(..) | Needed::Shell => {}
            }
        }
        let found = libraries.of(&file.real_path)?;
        self.left.extend(found.libraries.iter().map(|library| (library.clone(), Role::Loaded)));
        file.libraries = found.libraries;
        let missing = found.missing.into_iter();
        self.notes.extend(missing.map(|name| format!("the library `{name}` of `{}` is not found", path.display())));
        Ok(())
    }
}
