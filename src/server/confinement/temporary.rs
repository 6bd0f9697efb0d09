//! The temporary directory of confined commands.

use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::sandbox::{OpenedPlaces, SandboxError, TemporaryDirectory};

/// Where temporary files go if `TMPDIR` is not set, or names a directory in which commands can write.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Makes the directory where commands can't have prepared it.
pub(super) fn temporary(config: &Config, opened: &OpenedPlaces) -> Result<TemporaryDirectory, SandboxError> {
    // Joined, since on Windows these are relative to a drive.
    let usual = TEMPORARY.map(|place| config.surroundings.directory.join(place));
    let parents: Vec<&Path> = own_temporary(config).into_iter().chain(usual.iter().map(PathBuf::as_path)).collect();
    TemporaryDirectory::new(&parents, &opened.writable)
}

/// The server's own `TMPDIR`, if it is set.
fn own_temporary(config: &Config) -> Option<&Path> {
    config.surroundings.variable("TMPDIR").map(Path::new).filter(|parent| parent.is_absolute())
}

/// Says where the commands' temporary directory is, if it is not in the server's `TMPDIR`.
pub(super) fn moved(config: &Config, temporary: &TemporaryDirectory) -> Option<String> {
    let own = own_temporary(config)?;
    let real = crate::files::canonicalize(own).ok()?;
    let parent = temporary.path().parent().filter(|parent| *parent != real)?;
    Some(format!(
        "commands can write in `{}` of `TMPDIR`, so their temporary directory is made in `{}`",
        own.display(),
        parent.display()
    ))
}
