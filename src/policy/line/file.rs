//! The file of a redirection: decided by a handle, and opened by it.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::files::{Held, Reached};
use crate::lines::Mode;

/// The permissions of new files: 0666 less the umask 022, whatever that of the server is.
const NEW: u32 = 0o644;

/// A file that a redirection may open.
#[cfg_attr(not(unix), expect(dead_code, reason = "no lines are run there, so that no file is opened"))]
#[derive(Debug)]
pub struct DecidedFile {
    /// As the line has it.
    name: String,
    place: Place,
    /// Whether its contents are replaced or kept; `None` if it is read.
    mode: Option<Mode>,
}

#[cfg_attr(not(unix), expect(dead_code, reason = "no lines are run there, so that no file is opened"))]
#[derive(Debug)]
enum Place {
    There(Arc<Held>),
    Missing { directory: Arc<Held>, name: OsString },
}

impl DecidedFile {
    /// Makes it of the place that was reached. `None` if nothing can be opened there.
    pub(super) fn new(name: &str, reached: Reached, mode: Option<Mode>) -> Option<Self> {
        let place = match reached {
            Reached::There { held, is_directory: false, .. } => Place::There(held),
            Reached::Missing { directory, names } => match <[OsString; 1]>::try_from(names) {
                Ok([name]) => Place::Missing { directory, name },
                Err(_) => return None,
            },
            Reached::There { .. } => return None,
        };
        Some(Self { name: name.to_owned(), place, mode })
    }

    /// The file as the line names it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it lies, or would lie.
    pub fn path(&self) -> PathBuf {
        match &self.place {
            Place::There(held) => held.path().to_owned(),
            Place::Missing { directory, name } => directory.path().join(name),
        }
    }

    /// Opens it. Only a regular file is opened, and never anything that has taken the place of what was decided on. A file that
    /// was missing may be one of those that were `created` for the same pipeline.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(&self, created: &mut CreatedFiles) -> io::Result<OwnedFd> {
        // The bits of these flags fit in every C int.
        let flags = |flags: OFlags| i32::try_from(flags.bits()).unwrap_or_default();
        let mut options = OpenOptions::new();
        options.custom_flags(flags(OFlags::NONBLOCK | OFlags::NOCTTY));
        match self.mode {
            None => options.read(true),
            Some(Mode::Replace) => options.write(true),
            Some(Mode::Append) => options.append(true),
        };
        let file = match &self.place {
            Place::There(held) => {
                // Opening a device can do something by itself, so that its kind is asked for first.
                regular(std::fs::metadata(held.spawn_path())?.is_file())?;
                options.open(held.spawn_path())?
            }
            Place::Missing { directory, name } if self.mode.is_none() => {
                // Only a redirection in front of it can have made it.
                let path = directory.spawn_path().join(name);
                let found = std::fs::symlink_metadata(&path)?;
                let is_created =
                    |identity| if created.0.contains(&identity) { Ok(()) } else { Err(io::ErrorKind::NotFound) };
                is_created((found.dev(), found.ino()))?;
                let file = options.open(&path)?;
                is_created(identity(&file)?)?;
                file
            }
            Place::Missing { directory, name } => {
                options.write(true).create_new(true).mode(NEW);
                options.custom_flags(flags(OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW));
                let path = directory.spawn_path().join(name);
                match options.open(&path) {
                    Ok(file) => {
                        file.set_permissions(Permissions::from_mode(NEW))?;
                        created.0.push(identity(&file)?);
                        file
                    }
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !created.0.is_empty() => {
                        let file = options.create_new(false).open(&path)?;
                        if !created.0.contains(&identity(&file)?) {
                            return Err(error);
                        }
                        file
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        regular(File::metadata(&file)?.is_file())?;
        if self.mode == Some(Mode::Replace) {
            file.set_len(0)?;
        }
        Ok(file.into())
    }
}

/// The files that were created for one pipeline.
#[derive(Debug, Default)]
pub struct CreatedFiles(Vec<(u64, u64)>);

fn identity(file: &File) -> io::Result<(u64, u64)> {
    let metadata = file.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

fn regular(is_regular: bool) -> io::Result<()> {
    if is_regular { Ok(()) } else { Err(io::Error::other("it is not a regular file")) }
}
