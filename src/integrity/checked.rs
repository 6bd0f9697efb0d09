//! A program that was checked, and is held open until it is executed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::contents::{Contents, Known, Seen};
use crate::files::{FileState, Held, Sha256};

/// A program as it was when it was checked.
#[derive(Debug, Clone)]
pub struct Checked {
    path: PathBuf,
    held: Arc<Held>,
    state: FileState,
    contents: Arc<Contents>,
}

impl Checked {
    /// Opens a program without checking it.
    ///
    /// # Errors
    /// If it can't be opened or read, or is not a regular file.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::of(path, Known::default().open(path, Duration::ZERO)?))
    }

    pub(super) fn of(path: &Path, seen: Seen) -> Self {
        let Seen { held, state, contents } = seen;
        Self { path: path.to_owned(), held, state, contents }
    }

    /// The path of the handle, which leads to the file that was checked, whatever its own path leads to now (Linux).
    pub(crate) fn handle_path(&self) -> PathBuf {
        self.held.spawn_path()
    }

    /// The path to execute: that of the handle if the kernel executes the file itself (Linux), so that what was checked is what
    /// runs, whatever its own path leads to by then. A script keeps its own path, because its interpreter opens that again.
    pub fn spawn_path(&self) -> PathBuf {
        if self.contents.is_native { self.held.spawn_path() } else { self.path.clone() }
    }

    /// The program, to execute it by its handle in another process; `None` if it has to be executed by its path.
    pub fn executable(&self) -> Option<&Held> {
        self.contents.is_native.then_some(&*self.held)
    }

    /// The SHA-256 of the program, if the check has read it.
    pub(crate) fn known_sha256(&self) -> Option<[u8; 32]> {
        self.contents.known_sha256().map(Sha256::to_bytes)
    }

    /// Whether what will be executed is still what was checked; to be asked right before the start.
    pub fn is_unchanged(&self) -> bool {
        if self.contents.is_native {
            return self.held.state().is_ok_and(|now| now == self.state);
        }
        self.state.is_still_at(&self.path)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_program_stays_the_one_that_was_checked_and_a_script_keeps_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let (program, script) = (dir.path().join("program"), dir.path().join("script"));
        fs::copy("/proc/self/exe", &program).unwrap();
        fs::write(&script, "#!/bin/sh\n").unwrap();
        let [program_before, script_before] = [&program, &script].map(|path| Checked::open(path).unwrap());
        assert_eq!(script_before.spawn_path(), script);
        assert_ne!(program_before.spawn_path(), program);
        for path in [&program, &script] {
            fs::write(dir.path().join("new"), "#!/bin/sh\n").unwrap();
            fs::rename(dir.path().join("new"), path).unwrap();
        }
        assert!(!script_before.is_unchanged());
        // Its inode lost its name, which counts as a change; its bytes are the old ones.
        assert_eq!(fs::read(program_before.spawn_path()).unwrap(), fs::read("/proc/self/exe").unwrap());
        assert!(Checked::open(dir.path()).is_err() && Checked::open(Path::new("/nowhere/at/all")).is_err());
    }
}
