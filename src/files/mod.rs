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
//! - `Sha256` is the digest of a file, or of anything else.
//! - [`FileState`] tells later whether a file is still the same.
//! - `NewFile` is an empty file that somebody else may write, and that is removed if nobody does (Linux).
//! - `handles` is what only Linux can do, and what other platforms do instead; `system` is what Unix and Windows do differently.
//! - [`Place`] is a name in a held directory, for a new private file that takes the name in one step.

mod ancestry;
mod anonymous;
pub(crate) mod appended;
mod beneath;
mod digest;
#[cfg_attr(target_os = "linux", path = "linux/mod.rs")]
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod handles;
mod held;
mod place;
mod places;
mod reach;
mod regular;
mod state;
#[cfg_attr(unix, path = "unix/mod.rs")]
#[cfg_attr(windows, path = "windows/mod.rs")]
mod system;
mod unprepared;
mod walk;

use std::io;
use std::path::Path;

pub use ancestry::Ancestry;
pub use anonymous::AnonymousFile;
pub use appended::open_to_append;
pub(crate) use appended::{OpenFor, could_append};
pub use beneath::Beneath;
pub(crate) use digest::{Sha256, Summing};
pub use handles::remove_within;
pub(crate) use handles::*;
pub use held::{Held, Identity, are_same};
pub use place::{Existing, Place, PlaceError, Replacement};
pub use places::Places;
pub use reach::{NotReached, Reached, Steps};
pub use regular::{ReadError, kind_in_words, read_regular};
pub(crate) use regular::{into_text, open_regular, open_without_waiting};
pub use state::FileState;
pub(crate) use system::{canonicalize, is_executable};
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
