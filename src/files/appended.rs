//! A file that grows over many runs, such as a log: opened to append to, and made where there is none.

use std::fs::File;
use std::path::Path;

use super::place::{Place, PlaceError};

/// Opens the regular file at `path` to append to it, or makes it, readable by its owner alone. The last part of the path is
/// never followed where it is a link, nor is any below `changeable` (see [`Place::open`]).
///
/// # Errors
/// [`PlaceError::Taken`] for a link, a FIFO, a device, and for a file that has a second name, which somebody may have given
/// it to have something else written to; else what the system says.
pub fn open_to_append(path: &Path, changeable: &[&Path]) -> Result<File, PlaceError> {
    let place = Place::open(path, changeable)?;
    let file = open(&place)?;
    let metadata = file.metadata()?;
    if !metadata.file_type().is_file() {
        return Err(PlaceError::Taken { found: super::kind_in_words(metadata.file_type()) });
    }
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&metadata) > 1 {
        return Err(PlaceError::Taken { found: "a file with a second name" });
    }
    Ok(file)
}

#[cfg(unix)]
fn open(place: &Place) -> Result<File, PlaceError> {
    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;
    // A FIFO that nobody reads is an error with `NONBLOCK`, and does not make the start wait.
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = flags | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::openat(&place.directory, &place.name, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(File::from(file)),
        Err(Errno::LOOP) => Err(PlaceError::Taken { found: "a link" }),
        Err(Errno::NXIO) => Err(PlaceError::Taken { found: "a FIFO or a socket" }),
        Err(error) => Err(std::io::Error::from(error).into()),
    }
}

#[cfg(not(unix))]
fn open(place: &Place) -> Result<File, PlaceError> {
    let path = place.directory.path().join(&place.name);
    if std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.file_type().is_symlink()) {
        return Err(PlaceError::Taken { found: "a link" });
    }
    Ok(std::fs::OpenOptions::new().append(true).create(true).open(path)?)
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
