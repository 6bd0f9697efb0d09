//! The bounds of the kept output of all calls together, and the one file that it is in.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::Spool;
use crate::files::AnonymousFile;

/// The size of a piece of the file, which belongs to one stream at a time.
pub(super) const CHUNK: usize = 64 * 1024;

/// How many ended calls are listed before those that are gone are taken off.
const MOST_LISTED: usize = 512;

/// How many times the bound of one call is kept of all together.
const CALLS: u64 = 4;

/// Bounds what is kept, and makes the spools.
#[derive(Debug, Clone)]
pub struct Keeper(Arc<Pool>);

/// The parts that spools share.
#[derive(Debug)]
pub(super) struct Pool {
    directories: Vec<PathBuf>,
    per_call: u64,
    /// Made when the first output does not fit into memory; `None` if it can't be made.
    file: OnceLock<Option<AnonymousFile>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes that are kept, or are about to be.
    held: u64,
    /// The ended calls, the oldest first.
    ended: VecDeque<Weak<Spool>>,
    /// Chunks of the file that belong to nobody.
    free: Vec<u64>,
    /// How many chunks the file has.
    chunks: u64,
}

/// A piece of the file, given back when this is dropped.
#[derive(Debug)]
pub(super) struct Chunk {
    pool: Arc<Pool>,
    place: u64,
}

impl Keeper {
    /// Keeps so many bytes of each call, and four times that of all; zero keeps nothing. The file is made in the first of
    /// the directories where that is possible.
    pub fn new(directories: Vec<PathBuf>, per_call: u64) -> Self {
        Self(Arc::new(Pool { directories, per_call, file: OnceLock::new(), state: Mutex::default() }))
    }

    /// The same, for a build that may have none.
    #[expect(clippy::unnecessary_wraps, reason = "a build without the feature keeps nothing")]
    pub fn of(directories: Vec<PathBuf>, per_call: u64) -> Option<Self> {
        Some(Self::new(directories, per_call))
    }

    /// Whether anything is kept.
    pub fn keeps(&self) -> bool {
        self.0.keeps()
    }

    /// The spool of a new call; it calls `tell` when a piece comes that is waited for.
    pub fn spool(&self, tell: impl Fn() + Send + Sync + 'static) -> Arc<Spool> {
        Arc::new(Spool {
            pool: Arc::clone(&self.0),
            streams: Mutex::default(),
            is_wanted: AtomicBool::new(false),
            tell: Box::new(tell),
        })
    }

    /// Makes the file now, for output that comes on a thread that can't open one: the sandbox confines threads too.
    pub fn prepare(&self) {
        if self.keeps() {
            self.0.file();
        }
    }

    #[cfg(test)]
    pub(super) fn chunks_in_use(&self) -> u64 {
        let state = self.0.lock();
        state.chunks - state.free.len() as u64
    }
}

impl Pool {
    /// Whether anything is kept.
    pub(super) fn keeps(&self) -> bool {
        self.per_call > 0
    }

    /// Takes room for up to so many bytes of a call that holds `held` already; makes it by giving up the output of calls
    /// that have ended. Returns how much there is.
    pub(super) fn reserve(&self, wanted: usize, held: u64) -> usize {
        let wanted = usize::try_from(self.per_call.saturating_sub(held)).unwrap_or(usize::MAX).min(wanted);
        loop {
            let oldest = {
                let mut state = self.lock();
                let after = state.held + wanted as u64;
                if after <= self.per_call.saturating_mul(CALLS) {
                    state.held = after;
                    return wanted;
                }
                state.ended.pop_front()
            };
            match oldest {
                // Without the lock, which its chunks take when they are dropped.
                Some(oldest) => drop(oldest.upgrade().map(|oldest| oldest.clear())),
                None => return 0,
            }
        }
    }

    /// Gives room back.
    pub(super) fn release(&self, bytes: usize) {
        let mut state = self.lock();
        state.held = state.held.saturating_sub(bytes as u64);
    }

    /// The output of this call may be given up from now on.
    pub(super) fn ended(&self, spool: &Arc<Spool>) {
        let mut state = self.lock();
        // Those that are gone by another way are not kept in the list; to look at all of them each time takes longer than
        // a short call of the shell has.
        if state.ended.len() >= MOST_LISTED {
            state.ended.retain(|ended| ended.strong_count() > 0);
        }
        state.ended.push_back(Arc::downgrade(spool));
    }

    /// A chunk that belongs to nobody.
    pub(super) fn chunk(self: &Arc<Self>) -> io::Result<Chunk> {
        if self.file().is_none() {
            return Err(io::Error::other("no temporary file can be made"));
        }
        let mut state = self.lock();
        let place = state.free.pop().unwrap_or(state.chunks);
        state.chunks = state.chunks.max(place + 1);
        Ok(Chunk { pool: Arc::clone(self), place })
    }

    fn file(&self) -> Option<&AnonymousFile> {
        let make = || self.directories.iter().find_map(|directory| AnonymousFile::new(directory).ok());
        self.file.get_or_init(make).as_ref()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is complete before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Chunk {
    /// Writes at this place of it.
    pub(super) fn write(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.file()?.write_at(bytes, self.place * CHUNK as u64 + at)
    }

    /// Reads what was written at this place of it.
    pub(super) fn read(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        self.file()?.read_at(buffer, self.place * CHUNK as u64 + at)
    }

    fn file(&self) -> io::Result<&AnonymousFile> {
        self.pool.file().ok_or_else(|| io::Error::other("there is no temporary file"))
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.free.push(self.place);
        if state.free.len() as u64 == state.chunks {
            // Nothing is in it any more, so the disk gets it back. If that fails, the chunks are used again.
            if self.pool.file().is_some_and(|file| file.empty().is_ok()) {
                (state.chunks, state.free) = (0, Vec::new());
            }
        }
    }
}
