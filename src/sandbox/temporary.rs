//! The temporary directory of the commands. The server makes it, accessible only to its user, holds it by a handle, and
//! removes it at its end.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::SandboxError;
use super::platform::{Lock, make, remove, remove_left_behind};
use crate::files::{Held, Places, Walked, remove_within};

/// How many names are tried. A second one is needed only if another server takes the directory for one that was left behind, before it
/// is locked.
const ATTEMPTS: usize = 100;

/// The prefix of its name.
pub(super) const PREFIX: &str = "allowexec-tmp-";

/// How much is removed at the end of the server, as `remove_within` counts: about half a second's work. A client does not wait longer
/// for the end.
const AT_THE_END: usize = 10_000;

/// A directory that is removed, with everything in it, when this value is dropped.
///
/// A server that is killed leaves its directory behind. On Linux the next server that makes one in the same place
/// removes it.
#[derive(Debug)]
pub struct TemporaryDirectory {
    parent: Arc<Held>,
    name: OsString,
    held: Arc<Held>,
    /// Whether it was removed, or given up.
    is_over: AtomicBool,
    /// Shows other servers that this one is running; `None` if the file system has no locks.
    _lock: Lock,
}

impl TemporaryDirectory {
    /// Makes one, with a name that can't be guessed, accessible only to its owner (mode 700). It is made in the first of
    /// `parents` in which commands can't write, so that no command can replace what the path in `TMPDIR` leads to. If
    /// they can write in all of them, it is made in the first one. Then the path may come to lead elsewhere, but that
    /// grants nothing.
    ///
    /// # Errors
    /// [`SandboxError::Temporary`] for the first parent, with the system's error.
    pub fn new(parents: &[&Path], writable: &Places) -> Result<Self, SandboxError> {
        let is_safe = |walked: &Walked| writable.first_link(walked).is_none() && !writable.hold(walked.directory());
        for (place, parent) in parents.iter().enumerate() {
            match Walked::to(parent)
                .and_then(|walked| if is_safe(&walked) { Self::make(&walked).map(Some) } else { Ok(None) })
            {
                Ok(Some(made)) => return Ok(made),
                // The directory that the operator named is not silently replaced by another one.
                Err(source) if place == 0 => return Err(failed(parent, source)),
                Ok(None) | Err(_) => {}
            }
        }
        let parent = parents.first().copied().unwrap_or(Path::new("/tmp"));
        Walked::to(parent).and_then(|walked| Self::make(&walked)).map_err(|source| failed(parent, source))
    }

    pub(super) fn make(parent: &Walked) -> io::Result<Self> {
        let mut made = Err(io::ErrorKind::AlreadyExists.into());
        for _ in 0..ATTEMPTS {
            made = Self::make_as(parent, name()?);
            if !made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
                break;
            }
        }
        if made.is_ok() {
            remove_left_behind(parent.held());
        }
        made
    }

    fn make_as(parent: &Walked, name: OsString) -> io::Result<Self> {
        let (held, lock) = make(parent.held(), &name)?;
        let (parent, held, is_over) = (Arc::clone(parent.held()), Arc::new(held), AtomicBool::new(false));
        Ok(Self { parent, name, held, is_over, _lock: lock })
    }

    /// Where it was made.
    pub fn path(&self) -> &Path {
        self.held.path()
    }

    /// The directory itself.
    pub fn held(&self) -> &Arc<Held> {
        &self.held
    }
}

impl TemporaryDirectory {
    /// Removes it, as dropping it does. Nothing happens the second time.
    ///
    /// # Errors
    /// Why something is left: files that a command made unremovable, or more than is removed at the end (`TimedOut`). The next
    /// server that starts removes what it can.
    pub fn remove(&self) -> io::Result<()> {
        if self.is_over.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        remove_within(&self.held, AT_THE_END)?;
        // Another directory that has its name by now is left alone.
        let _ = remove(&self.parent, &self.name, &self.held);
        Ok(())
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // Whoever wants to know why something is left has asked before.
        let _ = self.remove();
    }
}

fn failed(parent: &Path, source: io::Error) -> SandboxError {
    SandboxError::Temporary { parent: parent.to_owned(), source }
}

fn name() -> io::Result<OsString> {
    let mut random = [0; 16];
    crate::random::fill(&mut random)?;
    Ok(format!("{PREFIX}{:032x}", u128::from_ne_bytes(random)).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn it_is_for_its_owner_alone_and_goes_with_what_is_in_it() {
        let parent = tempfile::tempdir().unwrap();
        let make = || TemporaryDirectory::new(&[parent.path()], &Places::default()).unwrap();
        let (one, other) = (make(), make());
        assert_ne!(one.path(), other.path());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(one.path()).unwrap().permissions().mode() & 0o7777, 0o700);
        }
        fs::create_dir_all(one.path().join("a/b")).unwrap();
        fs::write(one.path().join("a/b/c"), "x").unwrap();
        drop((one, other));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
        let missing = parent.path().join("missing");
        let missing = TemporaryDirectory::new(&[&missing, parent.path()], &Places::default()).unwrap_err().to_string();
        assert!(missing.starts_with("no temporary directory could be made"), "{missing}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn it_is_made_where_commands_cannot_replace_it_and_only_itself_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        for place in ["project/tmp", "kept", "other"] {
            fs::create_dir_all(base.join(place)).unwrap();
        }
        fs::write(base.join("kept/file"), "").unwrap();
        std::os::unix::fs::symlink(base.join("kept"), base.join("project/link")).unwrap();
        let writable: Places = [Arc::new(Held::open(&base.join("project")).unwrap())].into_iter().collect();
        let parents = ["project/tmp", "project/link", "missing", "other"].map(|name| base.join(name));
        let made = TemporaryDirectory::new(&parents.each_ref().map(|path| path.as_path()), &writable).unwrap();
        assert_eq!(made.path().parent(), Some(&*base.join("other")));
        drop(made);
        // There is no other parent: a command can put something under its name, but gains nothing.
        let made = TemporaryDirectory::new(&[&parents[0]], &writable).unwrap();
        assert_eq!(made.path().parent(), Some(&*parents[0]));
        fs::write(made.path().join("file"), "").unwrap();
        fs::rename(made.path(), base.join("project/moved")).unwrap();
        std::os::unix::fs::symlink(base.join("kept"), made.path()).unwrap();
        drop(made);
        assert!(base.join("kept/file").exists());
        assert_eq!(fs::read_dir(base.join("project/moved")).unwrap().count(), 0);
        assert_eq!(fs::read_dir(base.join("other")).unwrap().count(), 0);
    }
}
