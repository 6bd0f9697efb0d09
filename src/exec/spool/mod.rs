//! The spool: the whole output of calls, kept so that it can be read later and while a command still prints.
//!
//! The beginning of each stream is kept in memory. The rest goes to one anonymous file that all calls share, in chunks: so
//! a short call costs no file, and any number of calls costs one descriptor. What has been printed never changes, so a
//! reader takes a [`Part`] under the lock and reads it without.
//!
//! - [`Keeper`] bounds what is kept of one call and of all together; the output of the oldest ended call goes first.
//! - [`Spool`] is the output of one call.
//! - [`Part`] is what a stream held at one moment.

mod keeper;
mod part;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::StreamName;
pub use keeper::Keeper;
use keeper::{CHUNK, Chunk, Pool};
pub use part::Part;

/// Whether this build has the room.
pub(crate) const IS_BUILT: bool = true;

/// The part of each stream that is kept in memory, in bytes; the rest is in the file.
const IN_MEMORY: usize = 32 * 1024;

/// Chooses what is kept of a stream.
fn of(name: StreamName, [stdout, stderr]: &mut [Kept; 2]) -> &mut Kept {
    match name {
        StreamName::Stdout => stdout,
        StreamName::Stderr => stderr,
    }
}

/// The output of one call, written by the thread that watches the command and read by others.
pub struct Spool {
    pool: Arc<Pool>,
    streams: Mutex<[Kept; 2]>,
    /// Whether somebody waits for more.
    is_wanted: AtomicBool,
    tell: Box<dyn Fn() + Send + Sync>,
}

/// The kept output of one stream.
#[derive(Debug, Default)]
struct Kept {
    head: Vec<u8>,
    chunks: Vec<Arc<Chunk>>,
    /// The line ends before each chunk.
    lines: Vec<u64>,
    /// All of the line ends so far.
    line_ends: u64,
    length: u64,
    /// The number of bytes that were dropped after the quota was reached.
    not_kept: u64,
    /// Whether all of it was given up for newer output.
    is_gone: bool,
}

impl Spool {
    /// Takes the next piece of a stream; what there is no room for is only counted.
    pub fn push(&self, stream: StreamName, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        // Before the lock, since making room locks the spools of other calls.
        let is_full = of(stream, &mut self.lock()).not_kept > 0;
        let room = if is_full { 0 } else { self.pool.reserve(piece.len(), self.held()) };
        let (kept, rest) = piece.split_at(room.min(piece.len()));
        {
            let mut streams = self.lock();
            let stream = of(stream, &mut streams);
            let stored = stream.store(kept, &self.pool);
            stream.not_kept += (kept.len() - stored + rest.len()) as u64;
            self.pool.release(kept.len() - stored);
        }
        self.news();
    }

    /// Whether anything is kept.
    pub fn keeps(&self) -> bool {
        self.pool.keeps()
    }

    /// Returns the part of the stream that is kept at this moment.
    pub fn part(&self, stream: StreamName) -> Part {
        let mut streams = self.lock();
        let Kept { head, chunks, lines, length, not_kept, is_gone, .. } = of(stream, &mut streams);
        Part {
            head: head.clone(),
            chunks: chunks.clone(),
            lines: lines.clone(),
            length: *length,
            not_kept: *not_kept,
            is_gone: *is_gone,
        }
    }

    /// How many bytes are kept of the stream.
    pub fn length(&self, stream: StreamName) -> u64 {
        of(stream, &mut self.lock()).length
    }

    /// Requests one notification about the next piece.
    pub fn want(&self) {
        self.is_wanted.store(true, Ordering::SeqCst);
    }

    /// The call has ended: what is kept of it makes room for others from now on.
    pub fn finish(self: &Arc<Self>) {
        self.pool.ended(self);
    }

    /// Gives up all that is kept.
    pub fn clear(&self) {
        let dropped = self.lock().each_mut().map(|stream| {
            stream.is_gone |= stream.length > 0;
            (std::mem::take(&mut stream.head), std::mem::take(&mut stream.chunks), std::mem::take(&mut stream.length))
        });
        let bytes: u64 = dropped.iter().map(|(_, _, length)| length).sum();
        self.pool.release(usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    /// How many bytes are kept of both streams.
    fn held(&self) -> u64 {
        self.lock().iter().map(|stream| stream.length).sum()
    }

    fn news(&self) {
        if self.is_wanted.swap(false, Ordering::SeqCst) {
            (self.tell)();
        }
    }

    fn lock(&self) -> MutexGuard<'_, [Kept; 2]> {
        // Nothing in between can panic that would leave a stream half changed.
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.clear();
    }
}

impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool").finish_non_exhaustive()
    }
}

impl Kept {
    /// Keeps as much as can be written; returns how much that was.
    fn store(&mut self, piece: &[u8], pool: &Arc<Pool>) -> usize {
        let (for_head, mut rest) = piece.split_at(piece.len().min(IN_MEMORY - self.head.len().min(IN_MEMORY)));
        self.head.extend_from_slice(for_head);
        self.grow(for_head);
        while !rest.is_empty() {
            let used = (self.length - IN_MEMORY as u64) % CHUNK as u64;
            if used == 0 {
                match pool.chunk() {
                    Ok(chunk) => self.chunks.push(Arc::new(chunk)),
                    Err(_) => break,
                }
                self.lines.push(self.line_ends);
            }
            let (now, later) = rest.split_at(rest.len().min(CHUNK - usize::try_from(used).unwrap_or(0)));
            // A disk that is full, for instance: what was kept before stays readable.
            if self.chunks.last().is_none_or(|chunk| chunk.write(now, used).is_err()) {
                if used == 0 {
                    self.chunks.pop();
                    self.lines.pop();
                }
                break;
            }
            self.grow(now);
            rest = later;
        }
        piece.len() - rest.len()
    }

    fn grow(&mut self, piece: &[u8]) {
        self.line_ends += part::count_line_ends(piece);
        self.length += piece.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn keeper(per_call: u64) -> Keeper {
        Keeper::new(vec![std::env::temp_dir()], per_call)
    }

    fn all(spool: &Spool, stream: StreamName) -> Vec<u8> {
        let part = spool.part(stream);
        part.read(0, usize::try_from(part.length()).unwrap()).unwrap()
    }

    #[test]
    fn both_streams_are_kept_apart_in_memory_and_in_the_file() {
        let keeper = keeper(1 << 20);
        let spool = keeper.spool(|| ());
        let line = |number: usize| format!("line {number}\n").into_bytes();
        for number in 0..20_000 {
            spool.push(StreamName::Stdout, &line(number));
            spool.push(StreamName::Stderr, if number % 2 == 0 { b"x" } else { b"" });
        }
        let expected: Vec<u8> = (0..20_000).flat_map(line).collect();
        assert!(expected.len() > 2 * CHUNK);
        assert!(all(&spool, StreamName::Stdout) == expected && all(&spool, StreamName::Stderr) == vec![b'x'; 10_000]);
        let part = spool.part(StreamName::Stdout);
        for number in [0, 1, 100, 9_999, 19_999] {
            let start = (0..number).map(|number| line(number).len() as u64).sum::<u64>();
            assert_eq!(part.start_of_line(number as u64).unwrap(), Some(start), "{number}");
            assert_eq!(part.line_ends_before(start).unwrap(), number as u64);
            assert_eq!(part.find(&line(number), start.saturating_sub(50), part.length()).unwrap(), Some(start));
        }
        assert_eq!(part.start_of_line(20_000).unwrap(), Some(part.length()));
        assert_eq!(part.start_of_line(20_001).unwrap(), None);
        assert_eq!(part.find(b"line 20000", 0, part.length()).unwrap(), None);
        assert_eq!(part.not_kept(), 0);
    }

    #[test]
    fn a_call_keeps_no_more_than_its_bound_and_says_what_it_left_out() {
        let keeper = keeper(100_000);
        let spool = keeper.spool(|| ());
        spool.push(StreamName::Stderr, &[b'e'; 40_000]);
        spool.push(StreamName::Stdout, &[b'o'; 80_000]);
        spool.push(StreamName::Stdout, b"more");
        assert_eq!(all(&spool, StreamName::Stdout), vec![b'o'; 60_000]);
        assert_eq!(spool.part(StreamName::Stdout).not_kept(), 20_004);
        assert_eq!(spool.part(StreamName::Stderr).not_kept(), 0);
        let nothing = Keeper::new(Vec::new(), 0).spool(|| ());
        nothing.push(StreamName::Stdout, b"x");
        assert_eq!((nothing.length(StreamName::Stdout), nothing.part(StreamName::Stdout).not_kept()), (0, 1));
    }

    #[test]
    fn the_oldest_ended_call_makes_room_and_a_reader_of_it_still_reads_what_it_took() {
        let keeper = keeper(200_000);
        let spools: Vec<Arc<Spool>> = (0..5_u8)
            .map(|number| {
                let spool = keeper.spool(|| ());
                spool.push(StreamName::Stdout, &[number; 199_000]);
                if number == 0 {
                    spool.finish();
                }
                spool
            })
            .collect();
        // Four calls and a bit fit; the ended one went, and nothing of a running one.
        assert!(spools[0].part(StreamName::Stdout).is_gone() && all(&spools[0], StreamName::Stdout).is_empty());
        for number in 1..5_u8 {
            assert!(all(&spools[usize::from(number)], StreamName::Stdout) == vec![number; 199_000]);
        }
        // Where none has ended, the newest goes without.
        let last = keeper.spool(|| ());
        last.push(StreamName::Stdout, &[9; 100_000]);
        assert_eq!(last.part(StreamName::Stdout).length(), 0);
        let taken = spools[1].part(StreamName::Stdout);
        spools[1].finish();
        let last = keeper.spool(|| ());
        last.push(StreamName::Stdout, &[9; 150_000]);
        assert!(all(&last, StreamName::Stdout) == vec![9; 150_000]);
        assert!(spools[1].part(StreamName::Stdout).is_gone());
        assert!(taken.read(0, 199_000).unwrap() == vec![1; 199_000]);
        drop((spools, last, taken));
        assert_eq!(keeper.chunks_in_use(), 0);
    }

    #[test]
    fn a_piece_that_is_waited_for_is_told_of_once() {
        let told = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&told);
        let spool = keeper(1000).spool(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        spool.push(StreamName::Stdout, b"a");
        spool.want();
        spool.push(StreamName::Stdout, b"b");
        spool.push(StreamName::Stdout, b"c");
        assert_eq!(told.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn where_no_file_can_be_made_the_beginning_is_kept() {
        let spool = Keeper::new(vec![PathBuf::from("/missing")], 1 << 20).spool(|| ());
        spool.push(StreamName::Stdout, &[b'x'; 100_000]);
        assert_eq!(all(&spool, StreamName::Stdout).len(), IN_MEMORY);
        assert_eq!(spool.part(StreamName::Stdout).not_kept(), 100_000 - IN_MEMORY as u64);
    }
}
