//! Files and directories, held open from the moment they are checked.
//!
//! A path is only a name: the file that it leads to can be replaced at any time. This layer opens a file once and passes
//! on the handle, so what was checked is what is used. It knows nothing of policies, sandboxes or servers.
//!
//! - [`Held`] is a file or directory that stays the same one, whatever happens to its name.
//! - [`Ancestry`] tells which directories one lies in.
//! - [`Walked`] is what a path leads to, with each [`Link`] on the way.
//! - [`Reached`] is what a path leads to from a held directory, even if its end does not exist.
//! - [`Places`] tells whether something lies in one of several files and directories.
//! - `remove_within` empties a directory through its handle.
//! - [`read_regular`] reads a regular file of bounded size, and nothing that could block or never end.
//! - [`Beneath`] is a directory in which files are made and read without ever following a link.
//! - [`AnonymousFile`] is a file without a name, which is gone with its last handle.
//! - [`open_to_append`] opens a file that grows over many runs.
//! - `file_systems` is what is known about file systems (Linux).
//! - `Sha256` is the digest of a file, or of anything else.
//! - [`FileState`] tells later whether a file is still the same.
//! - `NewFile` is an empty file that somebody else may write, and that is removed if nobody does (Linux).
//! - [`Place`] is a name in a held directory, for a new private file that takes the name in one step.

mod ancestry;
mod anonymous;
pub(crate) mod appended;
mod beneath;
mod digest;
#[cfg(target_os = "linux")]
mod file_systems;
mod held;
#[cfg(target_os = "linux")]
mod new_file;
mod place;
mod places;
mod reach;
mod regular;
mod remove;
mod state;
mod unprepared;
mod walk;

use std::io;
use std::path::{Path, PathBuf};

pub use ancestry::Ancestry;
pub use anonymous::AnonymousFile;
pub use appended::open_to_append;
pub(crate) use appended::{OpenFor, could_append};
pub use beneath::Beneath;
pub(crate) use digest::{Sha256, Summing};
pub use held::{Held, Identity, are_same};
#[cfg(target_os = "linux")]
pub(crate) use new_file::NewFile;
pub use place::{Existing, Place, PlaceError, Replacement};
pub use places::Places;
pub use reach::{NotReached, Reached, Steps};
pub use regular::{ReadError, kind_in_words, read_regular};
pub(crate) use regular::{into_text, open_regular, open_without_waiting};
pub use remove::remove_within;
pub use state::FileState;
pub use walk::{Link, Walked};

/// Makes the directory, and the directories on the way; each may exist already.
///
/// # Errors
/// The system's error; in words if something else has the name.
pub(crate) fn create_directories(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path).map_err(|error| match path.metadata() {
        Ok(found) if !found.is_dir() => {
            let found = kind_in_words(found.file_type());
            io::Error::new(io::ErrorKind::NotADirectory, format!("it is {found}; expected a directory or none"))
        }
        Ok(_) | Err(_) => error,
    })
}

/// Whether the path leads to a file that this user may execute.
pub(crate) fn is_executable(path: &Path) -> bool {
    #[cfg(unix)]
    return path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    #[cfg(not(unix))]
    path.is_file()
}

/// The path without links, `.` and `..`; on Windows in the form that programs take, without `\\?\` where it needs none.
pub(crate) fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    #[cfg(windows)]
    return dunce::canonicalize(path);
    #[cfg(not(windows))]
    std::fs::canonicalize(path)
}
