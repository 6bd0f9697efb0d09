//! Facts from the bytes of a file: how it is executed, what it needs, and its SHA-256. As long as the state of a file
//! stays the same, its bytes are read only once.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::needed::{Head, Needed, read};
use crate::files::{FileState, Held, Sha256, open_without_waiting};

/// How many files are remembered. If everything is allowed, a client can name many.
const MOST: usize = 8192;

/// How long a file must have been unchanged before what was read from it is remembered. The times of files are as coarse as the
/// kernel's clock, or as whole seconds on some file systems: if a file is written twice within one tick, its state looks the
/// same after both writes.
const SETTLED: Duration = Duration::from_secs(3);

/// Facts from the bytes of a file.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Whether the kernel executes the file itself, instead of giving its path to another program.
    pub is_native: bool,
    /// The other files that are executed with it.
    pub needed: Vec<Needed>,
    /// Computed when it is first asked for.
    sha256: Mutex<Option<Sha256>>,
}

/// A file that was opened, and what is known about it.
#[derive(Debug)]
pub(super) struct Seen {
    pub held: Arc<Held>,
    pub state: FileState,
    pub contents: Arc<Contents>,
}

/// Remembers what was read from files, for as long as they don't change.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<HashMap<PathBuf, Entry>>);

/// A file as it was when it was read.
#[derive(Debug, Clone)]
struct Entry {
    state: FileState,
    contents: Arc<Contents>,
    real_path: Arc<Path>,
}

impl Known {
    /// Opens the file at a path, and reads it if it was not read before. `now` is the time since 1970. If the server may
    /// execute the file but not read it, nothing is known from its contents.
    ///
    /// # Errors
    /// The system's, and `InvalidInput` if it is not a regular file.
    pub fn open(&self, path: &Path, now: Duration) -> io::Result<Seen> {
        if let Some(seen) = self.open_known(path)? {
            return Ok(seen);
        }
        let held = Arc::new(Held::open(path)?);
        let state = held.state()?;
        if !state.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let is_settled = state.changed_at().is_some_and(|changed| changed.saturating_add(SETTLED) < now);
        // This must come before anything is read, so that no change goes unnoticed.
        let is_kept = is_settled && held.notes_changes();
        let Some(contents) = Contents::of(&held)?.map(Arc::new) else {
            // This is not remembered, since another thread may be able to read the file. As a script the file would not run: its
            // interpreter can't read it either.
            return Ok(Seen { held, state, contents: Arc::default() });
        };
        if held.state()? != state {
            return Err(io::Error::other("it is being changed"));
        }
        if is_kept {
            // A panic of another thread leaves the map as it was: entries are added whole.
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= MOST {
                known.clear();
            }
            let (state, contents, real_path) = (state.clone(), Arc::clone(&contents), held.path().into());
            known.insert(path.to_owned(), Entry { state, contents, real_path });
        }
        Ok(Seen { held, state, contents })
    }

    /// Opens the file at a path, if it was read before and has not changed since.
    ///
    /// # Errors
    /// The system's.
    pub fn open_known(&self, path: &Path) -> io::Result<Option<Seen>> {
        let Some(Entry { state, contents, real_path }) = self.get(path) else { return Ok(None) };
        let held = Held::open_again(path, &real_path)?;
        Ok((held.state()? == state).then(|| Seen { held: Arc::new(held), state, contents }))
    }

    /// Whether a file is known to have this SHA-256, and has not changed since it was computed.
    pub fn is_still(&self, path: &Path, sha256: Sha256) -> bool {
        let Some(Entry { state, contents, .. }) = self.get(path) else { return false };
        contents.known_sha256() == Some(sha256) && state.is_still_at(path)
    }

    fn get(&self, path: &Path) -> Option<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }
}

impl Seen {
    /// The SHA-256 of the file, computed now if it is not known yet. Other threads that ask meanwhile wait.
    ///
    /// # Errors
    /// If the file can't be read, or is changed meanwhile.
    pub fn sha256(&self) -> io::Result<Sha256> {
        let mut known = self.contents.sha256.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sha256) = *known {
            return Ok(sha256);
        }
        let sha256 = Sha256::of_stream(open_without_waiting(&self.held.spawn_path())?)?;
        if self.held.state()? != self.state {
            return Err(io::Error::other("it is being changed"));
        }
        *known = Some(sha256);
        Ok(sha256)
    }

    /// The SHA-256, if it is known already; `None` also while another thread computes it.
    pub fn known_sha256(&self) -> Option<Sha256> {
        self.contents.known_sha256()
    }
}

impl Contents {
    /// The SHA-256, if it is known already; `None` also while another thread computes it.
    pub fn known_sha256(&self) -> Option<Sha256> {
        self.sha256.try_lock().ok().and_then(|known| *known)
    }

    /// Reads the beginning of a file; `None` if the server may not read it.
    fn of(held: &Held) -> io::Result<Option<Self>> {
        match read(held) {
            Ok(Head { needed, is_native }) => Ok(Some(Self { is_native, needed, sha256: Mutex::default() })),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
            Err(error) => Err(error),
        }
    }
}
