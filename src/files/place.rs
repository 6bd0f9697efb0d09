//! A name in a held directory, for a new file that takes the name in one step, replacing what had it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Component, Path};

use thiserror::Error;

use super::Beneath;
use super::system::Naming;

/// The place where a file is to be written: a name in a held directory that is free, or that belongs to a regular file
/// which is replaced.
#[derive(Debug)]
pub struct Place {
    pub(super) directory: Beneath,
    pub(super) name: OsString,
}

/// Why a file can't be written somewhere. The caller adds the name of the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// The system refuses it.
    #[error(transparent)]
    System {
        /// The system's error.
        source: io::Error,
    },
    /// A file has the name, and must keep it.
    #[error("it exists already")]
    Exists,
    /// Something has the name that is neither replaced nor written through.
    #[error("it is {found}; expected a regular file or none")]
    Taken {
        /// The kind of the file, in words.
        found: &'static str,
    },
}

impl From<io::Error> for PlaceError {
    fn from(source: io::Error) -> Self {
        Self::System { source }
    }
}

impl Place {
    /// The directory.
    pub(crate) fn directory(&self) -> &Beneath {
        &self.directory
    }

    /// The name in it.
    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Another name in the same directory; `None` if it is none, or leads elsewhere.
    pub(crate) fn beside(&self, name: &OsStr) -> Option<Self> {
        let directory = self.directory.open_directory(Path::new("")).ok()?;
        (Path::new(name).file_name() == Some(name)).then(|| Self { directory, name: name.into() })
    }

    /// Opens the directory of the name at the end of `path`. If that directory lies in one of `changeable`, judged by
    /// the path's text, links below that are not followed, because others than the operator may have made them.
    ///
    /// # Errors
    /// If the directory can't be opened in this way, or the path has no name at its end.
    pub fn open(path: &Path, changeable: &[&Path]) -> io::Result<Self> {
        let no_name = || io::Error::from(io::ErrorKind::IsADirectory);
        let name = path.file_name().ok_or_else(no_name)?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut changeable = changeable.to_vec();
        changeable.sort_by_key(|outer| std::cmp::Reverse(outer.components().count()));
        let below = changeable.into_iter().find_map(|outer| {
            let rest = parent.strip_prefix(outer).ok()?;
            let goes_up = rest.components().any(|part| part == Component::ParentDir);
            (!goes_up).then(|| Some((Beneath::open(outer).ok()?, rest)))?
        });
        let directory = match below {
            Some((outer, rest)) => outer.open_directory(rest)?,
            None => Beneath::open(parent)?,
        };
        Ok(Self { directory, name })
    }

    /// Whether [`Self::replace`] would succeed, as far as that can be told without doing it.
    ///
    /// # Errors
    /// As it.
    pub fn could_replace(&self) -> Result<(), PlaceError> {
        self.could_create(Existing::IsReplaced)
    }

    /// The same for [`Self::create`].
    ///
    /// # Errors
    /// As it.
    pub fn could_create(&self, existing: Existing) -> Result<(), PlaceError> {
        self.is_taken(existing)?;
        Ok(self.may_make()?)
    }

    /// Makes a new file, on Unix readable only by its owner, to replace what has the name.
    ///
    /// # Errors
    /// [`PlaceError::Taken`] for a link, a FIFO, a device and anything else that is not a regular file.
    pub fn replace(&self) -> Result<Replacement, PlaceError> {
        self.create(Existing::IsReplaced)
    }

    /// Makes a new file, on Unix readable only by its owner, to get the name.
    ///
    /// # Errors
    /// As [`Self::replace`], and [`PlaceError::Exists`] for a regular file that must be kept.
    pub fn create(&self, existing: Existing) -> Result<Replacement, PlaceError> {
        self.make(self.is_taken(existing)?)
    }

    /// Whether a regular file has the name that may be replaced.
    fn is_taken(&self, existing: Existing) -> Result<bool, PlaceError> {
        match (self.look()?, existing) {
            (Some(_), Existing::IsKept) => Err(PlaceError::Exists),
            (found, Existing::IsKept | Existing::IsReplaced) => Ok(found.is_some()),
        }
    }
}

/// The handling of a regular file that has the name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It keeps the name, and the new file gets none.
    IsKept,
    /// The new file takes the name from it.
    IsReplaced,
}

/// A new file that does not have its name yet. If it is dropped before, it is gone. On Windows, where an open file
/// can't take over a name, it has the name from the beginning.
#[derive(Debug)]
pub struct Replacement {
    pub(super) file: File,
    pub(super) naming: Naming,
}

impl Replacement {
    /// The file, to be written.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_takes_its_name_at_once_and_only_when_it_is_told_to() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        fs::write(&path, "earlier").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let place = Place::open(&path, &[]).unwrap();
        place.could_replace().unwrap();
        drop(place.replace().unwrap());
        assert_eq!((names(directory.path()), fs::read_to_string(&path).unwrap()), (vec!["s".into()], "earlier".into()));
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        for (replace, expected) in [(Place::replace_alike as fn(&Place) -> _, 0o640), (Place::replace, 0o600)] {
            let replacement: Replacement = replace(&place).unwrap();
            let mut file = replacement.file().unwrap();
            replacement.take_the_name().unwrap();
            file.write_all(b"new").unwrap();
            assert_eq!((names(directory.path()), mode()), (vec!["s".into()], expected));
            assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        }
    }

    #[test]
    fn nothing_is_written_through_a_link_whenever_it_is_put_there() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path();
        fs::create_dir_all(base.join("project/logs")).unwrap();
        fs::create_dir(base.join("elsewhere")).unwrap();
        fs::write(base.join("elsewhere/s"), "theirs").unwrap();
        let project = base.join("project");
        symlink(base.join("elsewhere/s"), project.join("s")).unwrap();
        let error = Place::open(&project.join("s"), &[]).unwrap().replace().unwrap_err().to_string();
        assert_eq!(error, "it is a link; expected a regular file or none");
        // A file that appears between the check and the end is replaced too.
        let replacement = Place::open(&project.join("late"), &[]).unwrap().replace().unwrap();
        symlink(base.join("elsewhere/s"), project.join("late")).unwrap();
        replacement.file().unwrap().write_all(b"ours").unwrap();
        replacement.take_the_name().unwrap();
        assert!(fs::symlink_metadata(project.join("late")).unwrap().is_file());
        // A directory on the way that others may change must not be a link; the operator's own may be one.
        symlink(base.join("elsewhere"), project.join("link")).unwrap();
        let error = Place::open(&project.join("link/s"), &[base, &project]).unwrap_err().to_string();
        assert_eq!(error, "`link` is a link, and no link is followed here");
        Place::open(&project.join("link/s"), &[&base.join("other")]).unwrap();
        Place::open(&project.join("logs/s"), &[&project]).unwrap();
        Place::open(&project.join("logs/../../s"), &[&project]).unwrap();
        // The directory that was opened stays the same.
        let place = Place::open(&project.join("logs/s"), &[&project]).unwrap();
        fs::rename(project.join("logs"), project.join("moved")).unwrap();
        symlink(base.join("elsewhere"), project.join("logs")).unwrap();
        place.replace().unwrap().take_the_name().unwrap();
        assert_eq!(names(&project.join("moved")), ["s"]);
        assert_eq!(fs::read_to_string(base.join("elsewhere/s")).unwrap(), "theirs");
    }
}
