//! What the bytes of a file tell: how it is executed, what it needs, and its SHA-256. Each is read once for a state of the
//! file, by which it is found again.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[cfg(unix)]
use super::needed::{Head, Needed, read};
use crate::files::{FileState, Held, Sha256, open_without_waiting};

/// How many files are remembered. A client can name many, where everything is allowed.
const MOST: usize = 8192;

/// How long a file must not have been changed before what was read of it is kept. The times of files are as coarse as the
/// kernel's clock, or on some file systems as seconds: a file that is written twice within one of its ticks looks the same
/// after the second time.
const SETTLED: Duration = Duration::from_secs(3);

/// What the bytes of one file tell.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Whether the kernel itself executes it, without another program that would be given its path.
    pub is_native: bool,
    /// What it names to be executed with it.
    #[cfg(unix)]
    pub needed: Vec<Needed>,
    /// Made when somebody asks for it.
    sha256: Mutex<Option<Sha256>>,
}

/// A file that was opened, and what is known of it.
#[derive(Debug)]
pub(super) struct Seen {
    pub held: Arc<Held>,
    pub state: FileState,
    pub contents: Arc<Contents>,
}

/// What was read of files that have not changed since.
#[derive(Default)]
pub(super) struct Known(Mutex<HashMap<PathBuf, Entry>>);

/// A file as it was when it was read.
#[derive(Clone)]
struct Entry {
    state: FileState,
    contents: Arc<Contents>,
    real_path: Arc<Path>,
}

impl Known {
    /// Opens what the path leads to, and reads it where that was not done before. `now` is the time since 1970.
    ///
    /// # Errors
    /// The system's, and `InvalidInput` for what is no regular file. A file that must not be read, but may be executed, has
    /// contents that tell nothing.
    pub fn open(&self, path: &Path, now: Duration) -> io::Result<Seen> {
        if let Some(seen) = self.open_known(path)? {
            return Ok(seen);
        }
        let held = Arc::new(Held::open(path)?);
        let state = held.state()?;
        if !state.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
        }
        let is_settled = state.changed_at().is_some_and(|changed| changed.saturating_add(SETTLED) < now);
        // Before anything is read of it.
        let is_kept = is_settled && held.notes_changes();
        let Some(contents) = Contents::of(&held)?.map(Arc::new) else {
            // A script that can't be read can't be read by its interpreter either. Another thread may be able to.
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

    /// Opens what the path leads to, if it was read before and has not changed since.
    ///
    /// # Errors
    /// The system's.
    pub fn open_known(&self, path: &Path) -> io::Result<Option<Seen>> {
        let Some(Entry { state, contents, real_path }) = self.get(path) else { return Ok(None) };
        let held = Held::open_again(path, &real_path)?;
        Ok((held.state()? == state).then(|| Seen { held: Arc::new(held), state, contents }))
    }

    /// Whether a file is known to have this SHA-256, and has not changed since that was found out.
    pub fn is_still(&self, path: &Path, sha256: Sha256) -> bool {
        let Some(Entry { state, contents, .. }) = self.get(path) else { return false };
        contents.known_sha256() == Some(sha256) && state.is_still_at(path)
    }

    fn get(&self, path: &Path) -> Option<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }
}

impl Seen {
    /// The SHA-256 of the file, read now where nobody has read it before. Who asks meanwhile waits.
    ///
    /// # Errors
    /// Where it can't be read, or is changed meanwhile.
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

    /// The same, where that is known already and nobody is reading it.
    pub fn known_sha256(&self) -> Option<Sha256> {
        self.contents.known_sha256()
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known").finish_non_exhaustive()
    }
}

impl Contents {
    /// The SHA-256, if it was computed before. `None` also while somebody is computing it.
    pub fn known_sha256(&self) -> Option<Sha256> {
        self.sha256.try_lock().ok().and_then(|known| *known)
    }

    /// `None` where it must not be read.
    #[cfg(unix)]
    fn of(held: &Held) -> io::Result<Option<Self>> {
        match read(held) {
            Ok(Head { needed, is_native }) => Ok(Some(Self { is_native, needed, sha256: Mutex::default() })),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
            Err(error) => Err(error),
        }
    }

    #[cfg(not(unix))]
    fn of(_held: &Held) -> io::Result<Option<Self>> {
        Ok(Some(Self::default()))
    }
}
