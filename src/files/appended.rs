//! A file that grows over many runs, such as a log: opened for appending, and created if it does not exist.

use std::fs::File;
use std::path::Path;

pub(crate) use super::handles::{give_name, unnamed};
use super::place::{Existing, Place, PlaceError};
pub(crate) use super::system::appended::*;

/// Opens the regular file at `path` for appending, or creates it, readable only by its owner. If the last part of the
/// path is a link, it is never followed, and neither is a link below `changeable` (see [`Place::open`]).
///
/// # Errors
/// [`PlaceError::Taken`] for a link, a FIFO or a device, and for a file with a second name, since somebody may have
/// linked another file here to have it written to; otherwise the system's error.
pub fn open_to_append(path: &Path, changeable: &[&Path]) -> Result<File, PlaceError> {
    let place = Place::open(path, changeable)?;
    open_regular(&place, OpenFor::Appending, true)
}

/// Whether [`open_to_append`] would succeed, as far as that can be told without making the file. Gives the file if there is
/// one, open for reading as well if `opened` says so.
///
/// # Errors
/// As that.
pub(crate) fn could_append(path: &Path, changeable: &[&Path], opened: OpenFor) -> Result<Option<File>, PlaceError> {
    let place = Place::open(path, changeable)?;
    match open_regular(&place, opened, false) {
        Ok(file) => Ok(Some(file)),
        Err(PlaceError::System { source }) if source.kind() == std::io::ErrorKind::NotFound => {
            place.could_create(Existing::IsKept).map(|()| None)
        }
        Err(error) => Err(error),
    }
}

/// The access with which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenFor {
    Appending,
    /// To append, and to read what is there.
    Both,
    Reading,
}

/// Opens a regular file with one name, or creates it if `may_create`.
pub(crate) fn open_regular(place: &Place, opened: OpenFor, may_create: bool) -> Result<File, PlaceError> {
    let file = open(place, opened, may_create)?;
    let metadata = file.metadata()?;
    if !metadata.file_type().is_file() {
        return Err(PlaceError::Taken { found: super::kind_in_words(metadata.file_type()) });
    }
    if has_other_names(&metadata) {
        return Err(PlaceError::Taken { found: "a file with a second name" });
    }
    Ok(file)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_is_made_for_its_owner_and_appended_to() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        for _ in 0..2 {
            open_to_append(&path, &[]).unwrap().write_all(b"line\n").unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "line\nline\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn asking_whether_a_file_could_be_appended_to_makes_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        assert!(could_append(&path, &[], OpenFor::Appending).unwrap().is_none() && !path.exists());
        fs::write(&path, "line\n").unwrap();
        assert!(could_append(&path, &[], OpenFor::Both).unwrap().is_some());
        for wrong in [path.join("in_a_file"), directory.path().join("no/log"), directory.path().to_owned()] {
            assert!(could_append(&wrong, &[], OpenFor::Appending).is_err(), "{}", wrong.display());
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "line\n");
    }

    #[test]
    fn nothing_but_a_file_of_its_own_is_written_to() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path();
        let work = base.join("work");
        fs::create_dir(&work).unwrap();
        fs::write(base.join("victim"), "").unwrap();
        symlink(base.join("victim"), work.join("link")).unwrap();
        symlink(base, work.join("inner")).unwrap();
        fs::hard_link(base.join("victim"), work.join("second")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(work.join("fifo")).status().unwrap().success());
        for name in ["link", "second", "fifo", "inner/victim", "inner"] {
            assert!(open_to_append(&work.join(name), &[&work]).is_err(), "{name}");
        }
        assert!(open_to_append(&work.join("inner/victim"), &[]).is_err(), "it has a second name");
        assert_eq!(fs::read_to_string(base.join("victim")).unwrap(), "");
    }
}
