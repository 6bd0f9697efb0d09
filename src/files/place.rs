//! A name in a held directory, for a new file that takes the name in one step, replacing what had it.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Component, Path};

use thiserror::Error;

use super::Beneath;

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
        /// What the system says.
        source: io::Error,
    },
    /// A file has the name, and must keep it.
    #[error("it exists already")]
    Exists,
    /// Something has the name that is neither replaced nor written through.
    #[error("it is {found}; expected a regular file or none")]
    Taken {
        /// What it is, in words.
        found: &'static str,
    },
}

impl From<io::Error> for PlaceError {
    fn from(source: io::Error) -> Self {
        Self::System { source }
    }
}

impl Place {
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
}

/// What happens to a regular file that has the name already.
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
    file: File,
    #[cfg(unix)]
    unnamed: Option<unix::Unnamed>,
    #[cfg(not(unix))]
    path: std::path::PathBuf,
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

#[cfg(unix)]
mod unix {
    use std::ffi::{OsStr, OsString};
    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags};
    use rustix::io::Errno;

    use super::{Existing, Place, PlaceError, Replacement};

    /// What only the owner of a file may read and write.
    const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

    /// The temporary name of a new file.
    #[derive(Debug)]
    pub(super) struct Unnamed {
        directory: OwnedFd,
        meanwhile: OsString,
        name: OsString,
    }

    impl Place {
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
            self.look_for(existing)?;
            let asked = Access::WRITE_OK | Access::EXEC_OK;
            rustix::fs::accessat(&self.directory, ".", asked, AtFlags::empty()).map_err(io::Error::from)?;
            Ok(())
        }

        /// Makes a new file, readable only by its owner, to replace what has the name.
        ///
        /// # Errors
        /// [`PlaceError::Taken`] for a link, a FIFO, a device and anything else that is not a regular file.
        pub fn replace(&self) -> Result<Replacement, PlaceError> {
            self.create(Existing::IsReplaced)
        }

        /// Makes a new file, readable only by its owner, to get the name.
        ///
        /// # Errors
        /// As [`Self::replace`], and [`PlaceError::Exists`] for a regular file that must be kept.
        pub fn create(&self, existing: Existing) -> Result<Replacement, PlaceError> {
            self.look_for(existing)?;
            self.create_unnamed(PRIVATE)
        }

        fn look_for(&self, existing: Existing) -> Result<(), PlaceError> {
            match (self.look()?, existing) {
                (Some(_), Existing::IsKept) => Err(PlaceError::Exists),
                (None, _) | (_, Existing::IsReplaced) => Ok(()),
            }
        }

        /// The same with the permissions of the file that has the name.
        ///
        /// # Errors
        /// As [`Self::replace`].
        pub fn replace_alike(&self) -> Result<Replacement, PlaceError> {
            let mode = self.look()?.unwrap_or(PRIVATE);
            let replacement = self.create_unnamed(PRIVATE)?;
            rustix::fs::fchmod(&replacement.file, mode).map_err(io::Error::from)?;
            Ok(replacement)
        }

        /// The same with the permissions that other programs would give it: those of the file that has the name, or else
        /// those that the umask leaves.
        ///
        /// # Errors
        /// As [`Self::replace`].
        pub fn replace_as_usual(&self) -> Result<Replacement, PlaceError> {
            match self.look()? {
                Some(_) => self.replace_alike(),
                None => self.create_unnamed(Mode::from_raw_mode(0o666)),
            }
        }

        /// The permissions of the regular file that has the name, if there is one.
        fn look(&self) -> Result<Option<Mode>, PlaceError> {
            let stat = match rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(io::Error::from(error).into()),
            };
            let found = match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => return Ok(Some(Mode::from_raw_mode(stat.st_mode))),
                FileType::Symlink => "a link",
                FileType::Directory => "a directory",
                FileType::Fifo => "a FIFO or a pipe",
                FileType::Socket => "a socket",
                FileType::CharacterDevice | FileType::BlockDevice => "a device",
                FileType::Unknown => "something else",
            };
            Err(PlaceError::Taken { found })
        }

        fn create_unnamed(&self, mode: Mode) -> Result<Replacement, PlaceError> {
            let create = || -> io::Result<Replacement> {
                let directory = rustix::fs::openat(&self.directory, ".", super::HANDLE, Mode::empty())?;
                let meanwhile = OsString::from(format!(".allowexec-{}", crate::random::uuid()));
                let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = File::from(rustix::fs::openat(&directory, &meanwhile, flags, mode)?);
                Ok(Replacement { file, unnamed: Some(Unnamed { directory, meanwhile, name: self.name.clone() }) })
            };
            Ok(create()?)
        }
    }

    impl Replacement {
        /// Gives the file its name, replacing what had it. Whatever that is by now, nothing is written through it.
        ///
        /// # Errors
        /// The system's error; then the new file is gone.
        pub fn take_the_name(mut self) -> io::Result<()> {
            let Some(unnamed) = &self.unnamed else { return Ok(()) };
            let Unnamed { directory, meanwhile, name } = unnamed;
            rustix::fs::renameat(directory, meanwhile, directory, name)?;
            self.unnamed = None;
            Ok(())
        }

        /// The same with another name in the directory, for a name that is known late.
        ///
        /// # Errors
        /// As it, and [`PlaceError::Exists`] if the name is taken and must be kept.
        pub fn take_name(mut self, name: &OsStr, existing: Existing) -> Result<(), PlaceError> {
            let Some(unnamed) = &mut self.unnamed else { return Ok(()) };
            name.clone_into(&mut unnamed.name);
            if existing == Existing::IsReplaced {
                return Ok(self.take_the_name()?);
            }
            let Unnamed { directory, meanwhile, name } = unnamed;
            match take_free_name(directory, meanwhile, name) {
                Ok(()) => self.unnamed = None,
                Err(Errno::EXIST) => return Err(PlaceError::Exists),
                Err(error) => return Err(io::Error::from(error).into()),
            }
            Ok(())
        }
    }

    /// Renames a file if the new name is free, in one step.
    fn take_free_name(directory: &OwnedFd, from: &OsStr, to: &OsStr) -> rustix::io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{RenameFlags, renameat_with};
            match renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
                // Not every file system supports it; then making a link can tell as well.
                Err(Errno::INVAL | Errno::NOSYS) => {}
                renamed => return renamed,
            }
        }
        rustix::fs::linkat(directory, from, directory, to, AtFlags::empty())?;
        rustix::fs::unlinkat(directory, from, AtFlags::empty())
    }

    impl Drop for Replacement {
        fn drop(&mut self) {
            if let Some(Unnamed { directory, meanwhile, .. }) = &self.unnamed {
                // If it can't be removed it stays, under a name that says whose it is; nobody is left to handle the
                // error.
                let _ = rustix::fs::unlinkat(directory, meanwhile, AtFlags::empty());
            }
        }
    }
}

#[cfg(target_os = "linux")]
const HANDLE: rustix::fs::OFlags =
    rustix::fs::OFlags::PATH.union(rustix::fs::OFlags::DIRECTORY).union(rustix::fs::OFlags::CLOEXEC);
#[cfg(all(unix, not(target_os = "linux")))]
const HANDLE: rustix::fs::OFlags = rustix::fs::OFlags::DIRECTORY.union(rustix::fs::OFlags::CLOEXEC);

#[cfg(not(unix))]
mod elsewhere {
    use std::ffi::OsStr;
    use std::fs::{self, OpenOptions};
    use std::io;
    use std::path::{Path, PathBuf};

    use super::super::kind_in_words;
    use super::{Existing, Place, PlaceError, Replacement};

    impl Place {
        /// Whether [`Self::replace`] would succeed. Windows can't be asked about permissions.
        ///
        /// # Errors
        /// As it.
        pub fn could_replace(&self) -> Result<(), PlaceError> {
            self.look().map(|_| ())
        }

        /// Makes a new file in place of what has the name.
        ///
        /// # Errors
        /// [`PlaceError::Taken`] for a link, a directory and anything else that is not a regular file.
        pub fn replace(&self) -> Result<Replacement, PlaceError> {
            self.create(Existing::IsReplaced)
        }

        /// Whether [`Self::create`] would succeed.
        ///
        /// # Errors
        /// As it.
        pub fn could_create(&self, existing: Existing) -> Result<(), PlaceError> {
            match (self.look()?, existing) {
                (true, Existing::IsKept) => Err(PlaceError::Exists),
                (false, _) | (_, Existing::IsReplaced) => Ok(()),
            }
        }

        /// Makes a new file with the name.
        ///
        /// # Errors
        /// As [`Self::replace`], and [`PlaceError::Exists`] for a regular file that must be kept.
        pub fn create(&self, existing: Existing) -> Result<Replacement, PlaceError> {
            self.could_create(existing)?;
            if self.look()? {
                take_away(&self.path())?;
            }
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(self.path())?;
            Ok(Replacement { file, path: self.path() })
        }

        /// The same; the permissions are those of the directory.
        ///
        /// # Errors
        /// As [`Self::replace`].
        pub fn replace_alike(&self) -> Result<Replacement, PlaceError> {
            self.replace()
        }

        /// The same.
        ///
        /// # Errors
        /// As [`Self::replace`].
        pub fn replace_as_usual(&self) -> Result<Replacement, PlaceError> {
            self.replace()
        }

        fn path(&self) -> PathBuf {
            self.directory.path().join(&self.name)
        }

        /// Whether a regular file has the name.
        fn look(&self) -> Result<bool, PlaceError> {
            match fs::symlink_metadata(self.path()) {
                Ok(metadata) if metadata.is_file() => Ok(true),
                Ok(metadata) => Err(PlaceError::Taken { found: kind_in_words(metadata.file_type()) }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error.into()),
            }
        }
    }

    impl Replacement {
        /// It has its name already.
        ///
        /// # Errors
        /// None here.
        pub fn take_the_name(self) -> io::Result<()> {
            Ok(())
        }

        /// Gives it another name in its directory, for a name that is known late.
        ///
        /// # Errors
        /// The system's error, and [`PlaceError::Exists`] if the name is taken and must be kept.
        pub fn take_name(self, name: &OsStr, existing: Existing) -> Result<(), PlaceError> {
            let new = self.path.with_file_name(name);
            if new == self.path {
                return Ok(());
            }
            if existing == Existing::IsKept && fs::symlink_metadata(&new).is_ok() {
                return Err(PlaceError::Exists);
            }
            Ok(fs::rename(&self.path, new)?)
        }
    }

    /// On Windows a deleted file may keep its name as long as any process has it open, and then nothing else can have
    /// that name. So it is first renamed to another name next to the old one, which may stay until the other server
    /// ends.
    fn take_away(path: &Path) -> io::Result<()> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".replaced-{}", crate::random::uuid()));
        let aside = path.with_file_name(name);
        fs::rename(path, &aside)?;
        fs::remove_file(&aside).inspect_err(|_| {
            // It can't be deleted, so it gets its name back; the returned error says why.
            let _ = fs::rename(&aside, path);
        })
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
