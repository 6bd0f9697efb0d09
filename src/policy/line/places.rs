//! `cd`, and the directories in which patterns find names: both stay within the directories that calls may run in.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::lines::{self, Outside};
use crate::policy::{Directories, DirectoryError, WorkingDirectory, quoted};

/// The outcome of a `cd`.
pub(super) enum Changed {
    /// The directory that follows.
    To(WorkingDirectory),
    /// There is no such directory: status 1, and what a shell says.
    Failed(String),
    /// It is refused.
    Refused(String),
}

/// Changes the directory as `cd -L` does. A path whose text leads elsewhere than the file system is refused.
pub(super) fn change(directories: &Directories, from: &WorkingDirectory, path: &str) -> Changed {
    let failed = |why: &str| Changed::Failed(format!("cd: {path}: {why}"));
    match directories.resolve_from(from, path) {
        Ok(to) if to.path() == logical(from.path(), path) => Changed::To(to),
        Ok(_) => Changed::Refused(format!(
            "`cd` to {} leads through a link; name the directory that it leads to",
            quoted(path)
        )),
        Err(DirectoryError::NotFound { .. }) => failed("No such file or directory"),
        Err(DirectoryError::NotADirectory { .. }) => failed("Not a directory"),
        Err(DirectoryError::Unusable { .. }) => failed("Permission denied"),
        Err(error) => Changed::Refused(error.to_string().replacen("`cwd`", "the directory", 1)),
    }
}

/// The path without `.` and `..`, by its text alone.
pub(super) fn logical(from: &Path, path: &str) -> PathBuf {
    let mut whole = PathBuf::new();
    for component in from.join(path).components() {
        match component {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => whole.push(component),
        }
    }
    whole
}

/// The directories in which the patterns of a command find names.
pub(super) struct Names<'a> {
    pub directories: &'a Directories,
    /// The directory of the command.
    pub here: &'a WorkingDirectory,
}

impl Names<'_> {
    /// The directory of this path; `None` if there is none.
    fn directory(&self, path: &str) -> Result<Option<WorkingDirectory>, Outside> {
        if path.is_empty() {
            return Ok(Some(self.here.clone()));
        }
        match self.directories.resolve_from(self.here, path) {
            Ok(directory) => Ok(Some(directory)),
            Err(
                DirectoryError::NotFound { .. }
                | DirectoryError::NotADirectory { .. }
                | DirectoryError::Unusable { .. },
            ) => Ok(None),
            Err(_) => Err(Outside),
        }
    }
}

impl lines::Directories for Names<'_> {
    fn names(&mut self, path: &str) -> Result<Option<Vec<OsString>>, Outside> {
        let Some(directory) = self.directory(path)? else { return Ok(None) };
        let Ok(entries) = fs::read_dir(directory.spawn_path()) else { return Ok(None) };
        Ok(Some(entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect()))
    }

    fn exists(&mut self, path: &str) -> Result<bool, Outside> {
        if path.ends_with('/') {
            return Ok(self.directory(path)?.is_some());
        }
        let (directory, name) = path.rsplit_once('/').map_or(("", path), |(before, name)| (before, name));
        let directory = if directory.is_empty() && path.starts_with('/') { "/" } else { directory };
        let Some(directory) = self.directory(directory)? else { return Ok(false) };
        Ok(directory.spawn_path().join(name).symlink_metadata().is_ok())
    }
}
