//! The contents of a stream at one moment: read by ranges, by lines, and searched, without holding up the command.

use std::io;
use std::sync::Arc;

use memchr::memchr_iter;
use memchr::memmem::Finder;

use super::IN_MEMORY;
use super::keeper::{CHUNK, Chunk};
use crate::exec::Captured;
use crate::exec::capture::MOST as MOST_CAPTURED;

/// How much is read of the file at once, in chunks.
const AT_ONCE: usize = 4;

/// A stream as it was at one moment. Chunks of it are used for nothing else as long as this exists.
#[derive(Debug, Clone)]
pub struct Part {
    pub(super) head: Vec<u8>,
    pub(super) chunks: Vec<Arc<Chunk>>,
    pub(super) lines: Vec<u64>,
    pub(super) length: u64,
    pub(super) not_kept: u64,
    pub(super) is_gone: bool,
}

impl Part {
    /// How many bytes it has.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The number of bytes that came after these and were not kept.
    pub fn not_kept(&self) -> u64 {
        self.not_kept
    }

    /// Whether all of it was given up for newer output.
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Reads up to `most` bytes from `start` on.
    ///
    /// # Errors
    /// The system's error, if the file can't be read.
    pub fn read(&self, start: u64, most: usize) -> io::Result<Vec<u8>> {
        let end = self.length.min(start.saturating_add(most as u64));
        let (mut bytes, mut buffer) = (Vec::new(), Vec::new());
        let mut at = start;
        while at < end {
            let piece = self.piece(at, end, &mut buffer)?;
            at += piece.len() as u64;
            bytes.extend_from_slice(piece);
        }
        Ok(bytes)
    }

    /// Returns the part of it that a result shows: all if it fits into the bound, else its head and its tail; 0 is as
    /// much as a message can carry.
    ///
    /// # Errors
    /// The system's error, if the file can't be read.
    pub fn captured(&self, bound: u64) -> io::Result<Captured> {
        let bound = if bound == 0 { MOST_CAPTURED } else { bound.min(MOST_CAPTURED) };
        let place = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        if self.length <= bound {
            return Ok(Captured {
                head: self.read(0, place(bound))?,
                tail: Vec::new(),
                left_out: self.not_kept,
                sha256: None,
            });
        }
        let head = self.read(0, place(bound - bound / 2))?;
        let tail = self.read(self.length - bound / 2, place(bound))?;
        Ok(Captured { head, tail, left_out: self.length - bound + self.not_kept, sha256: None })
    }

    /// Returns where the line begins that has this many lines before it; `None` if there are fewer. A line begins after
    /// the last line end, too, even if nothing is in it yet.
    ///
    /// # Errors
    /// The system's error, if the file can't be read.
    pub fn start_of_line(&self, lines: u64) -> io::Result<Option<u64>> {
        if lines == 0 {
            return Ok(Some(0));
        }
        // The last chunk that has fewer line ends before it.
        let chunk = self.lines.partition_point(|before| *before < lines).checked_sub(1);
        let (mut at, mut before) =
            chunk.map_or((0, 0), |chunk| (start_of(chunk), self.lines.get(chunk).copied().unwrap_or(0)));
        let mut buffer = Vec::new();
        while at < self.length {
            let piece = self.piece(at, self.length, &mut buffer)?;
            // At least one is missing.
            let missing = usize::try_from(lines - before - 1).unwrap_or(usize::MAX);
            let mut ends = memchr_iter(b'\n', piece);
            if let Some(end) = ends.nth(missing) {
                return Ok(Some(at + end as u64 + 1));
            }
            before += count_line_ends(piece);
            at += piece.len() as u64;
        }
        Ok(None)
    }

    /// How many line ends come before this byte.
    ///
    /// # Errors
    /// The system's error, if the file can't be read.
    pub fn line_ends_before(&self, end: u64) -> io::Result<u64> {
        let end = end.min(self.length);
        let chunk = end
            .checked_sub(IN_MEMORY as u64)
            .map(|behind| usize::try_from(behind / CHUNK as u64).unwrap_or(usize::MAX));
        // At the very end of a full chunk the next one does not exist yet.
        let chunk = chunk.filter(|_| !self.lines.is_empty()).map(|chunk| chunk.min(self.lines.len() - 1));
        let (mut at, mut before) =
            chunk.map_or((0, 0), |chunk| (start_of(chunk), self.lines.get(chunk).copied().unwrap_or(0)));
        let mut buffer = Vec::new();
        while at < end {
            let piece = self.piece(at, end, &mut buffer)?;
            before += count_line_ends(piece);
            at += piece.len() as u64;
        }
        Ok(before)
    }

    /// Where the text begins for the first time between these two bytes.
    ///
    /// # Errors
    /// The system's error, if the file can't be read.
    pub fn find(&self, text: &[u8], start: u64, end: u64) -> io::Result<Option<u64>> {
        let end = end.min(self.length);
        if text.is_empty() {
            return Ok(Some(start).filter(|start| *start <= end));
        }
        let finder = Finder::new(text);
        // The end of a piece, where a text may begin that goes on in the next.
        let (mut carried, mut buffer): (Vec<u8>, Vec<u8>) = Default::default();
        let mut at = start;
        while at < end {
            let piece = self.piece(at, end, &mut buffer)?;
            let begin = at - carried.len() as u64;
            at += piece.len() as u64;
            if !carried.is_empty() {
                let span = piece.get(..piece.len().min(text.len() - 1)).unwrap_or_default();
                let across = [carried.as_slice(), span].concat();
                if let Some(found) = finder.find(&across) {
                    return Ok(Some(begin + found as u64));
                }
            }
            if let Some(found) = finder.find(piece) {
                return Ok(Some(at - (piece.len() - found) as u64));
            }
            let tail = piece.get(piece.len().saturating_sub(text.len() - 1)..).unwrap_or_default();
            carried.extend_from_slice(tail);
            carried.drain(..carried.len().saturating_sub(text.len() - 1));
        }
        Ok(None)
    }

    /// Where the last line end before this byte is; `None` if the first line goes on to there. Looks back at most `most`
    /// bytes, and says that place then.
    ///
    /// # Errors
    /// The system's error, if the file can't be read.
    pub fn line_start_before(&self, place: u64, most: u64) -> io::Result<u64> {
        let from = place.saturating_sub(most);
        let bytes = self.read(from, usize::try_from(place - from).unwrap_or(usize::MAX))?;
        let behind = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        Ok(from + behind as u64)
    }

    /// Returns the bytes from `start` on: the rest of the memory, or some chunks, which are read into the buffer.
    fn piece<'a>(&'a self, start: u64, end: u64, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let in_memory = self.head.len() as u64;
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        if start < in_memory {
            return Ok(self.head.get(place(start)..place(end.min(in_memory))).unwrap_or_default());
        }
        let first = place((start - in_memory) / CHUNK as u64);
        let chunks = self.chunks.iter().enumerate().skip(first).take(AT_ONCE);
        let mut at = start;
        for (number, chunk) in chunks {
            if at >= end {
                break;
            }
            let until = end.min(start_of(number + 1));
            let (before, behind) = (place(at - start), place(until - start));
            // It is as large already, but for the first time.
            buffer.resize(buffer.len().max(behind), 0);
            chunk.read(buffer.get_mut(before..behind).unwrap_or_default(), at - start_of(number))?;
            at = until;
        }
        if at == start {
            return Err(io::Error::other("the output is not kept any more"));
        }
        Ok(buffer.get(..place(at - start)).unwrap_or_default())
    }
}

/// Where a chunk begins in its stream.
fn start_of(chunk: usize) -> u64 {
    (IN_MEMORY + chunk * CHUNK) as u64
}

/// Counts the line ends of a piece.
pub(super) fn count_line_ends(piece: &[u8]) -> u64 {
    memchr_iter(b'\n', piece).count() as u64
}
