//! The file that holds the chain: whose turn it is to append, where it ends, a line that was cut off, and the next file when it
//! is full.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use thiserror::Error;

use super::numbers::{number_in, number_of, numbered};
use super::read::{LONGEST_LINE, Line, Link};
use super::shared::{Locked, SharedFile, SharedFileError, SharedReader};
use crate::files::{OpenFor, PlaceError, Sha256, Summing, could_append};

/// How each record begins.
pub(super) const RECORD: &[u8] = br#"{"seq":"#;
/// How much is read at once.
const PIECE: usize = 64 * 1024;
/// How many files are read to find out whether a new file continues the one before.
const MOST_CONTINUED: usize = 1000;
/// How many bytes of them are read. Whoever can write in the log's directory can put anything there, and every call waits for this.
const MOST_READ: u64 = 64 * 1024 * 1024;
/// The most names that are tried for a full file.
const MOST_NAMES: u64 = 1000;

/// Why a record can't be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum AuditError {
    /// The file can't be opened or locked.
    #[error(transparent)]
    File {
        /// Why.
        #[from]
        source: SharedFileError,
    },
    /// The file can't be read or written.
    #[error(transparent)]
    Io {
        /// The system's error.
        #[from]
        source: io::Error,
    },
    /// The file is something else.
    #[error("it is not an audit log; expected an audit log, an empty file, or no file")]
    NoLog,
}

/// The file, and what is known of it.
#[derive(Debug)]
pub(super) struct Chain {
    file: SharedFile,
    state: State,
}

/// The state of the file that is remembered from one turn to the next.
#[derive(Debug)]
struct State {
    name: OsString,
    max_size: Option<u64>,
    sync: bool,
    /// Where the file ended when it was last looked at.
    seen: End,
    /// The new name of the file before, until the first record of this one is written.
    continues: Option<String>,
    /// Damage to the file that no record tells of yet.
    damage: Option<Damage>,
}

/// The end of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    at: u64,
    /// The digest of the last line, without its line feed.
    last: Sha256,
    /// Whether the line feed of that line is missing.
    is_torn: bool,
}

impl End {
    const OF_NOTHING: Self = Self { at: 0, last: Sha256::ZERO, is_torn: false };
}

/// A change to the file from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Damage {
    /// The last line has no line feed: a crash or a full disk has cut it off.
    Torn { bytes: u64, sha256: Sha256 },
    /// The file has become shorter since the last append.
    Cut { bytes: u64, last: Sha256 },
    /// The file was not empty before, and is now.
    Emptied { last: Sha256 },
    /// The file lacks the last line that was seen, or it is another file that does not continue the one before.
    Replaced { last: Sha256 },
}

/// The file, while nobody else may append to it.
pub(super) struct Turn<'a> {
    locked: Locked<'a>,
    state: &'a mut State,
    added: Added,
}

/// Lines that were added but are not written yet.
#[derive(Debug, Default)]
struct Added {
    /// Where the file ended before them; `None` if there are none.
    after: Option<End>,
    bytes: Vec<u8>,
    /// Where each line ends in `bytes`.
    ends: Vec<usize>,
}

impl Chain {
    /// Opens the file, or creates it.
    ///
    /// # Errors
    /// [`PlaceError`].
    pub(super) fn open(
        path: &Path,
        changeable: &[&Path],
        max_size: Option<u64>,
        sync: bool,
    ) -> Result<Self, PlaceError> {
        let file = SharedFile::open(path, changeable)?;
        let name = path.file_name().unwrap_or_default().to_owned();
        let state = State { name, max_size, sync, seen: End::OF_NOTHING, continues: None, damage: None };
        Ok(Self { file, state })
    }

    /// Checks whether [`Self::open`] would succeed and find an audit log, as far as possible without creating the file.
    ///
    /// # Errors
    /// [`AuditError`].
    pub(super) fn check(path: &Path, changeable: &[&Path]) -> Result<(), AuditError> {
        match could_append(path, changeable, OpenFor::Both).map_err(SharedFileError::from)? {
            Some(file) => last_line(&file, file.metadata()?.len()).map(drop),
            None => Ok(()),
        }
    }

    /// A reader of the file for another thread.
    pub(super) fn reader(&self) -> SharedReader {
        self.file.reader()
    }

    /// Forgets what was seen, so that the next turn finds a torn line.
    pub(super) fn forget(&mut self) {
        (self.state.seen, self.state.damage, self.state.continues) = (End::OF_NOTHING, None, None);
    }

    /// Waits until nobody else appends, and finds out what others have appended.
    ///
    /// # Errors
    /// [`AuditError`].
    pub(super) fn turn(&mut self) -> Result<Turn<'_>, AuditError> {
        let Self { file, state } = self;
        let locked = file.lock()?;
        let size = locked.size;
        let before = state.seen;
        if size == 0 {
            // If the file before is known, nothing has changed since it was moved away.
            if state.continues.is_none() {
                let found =
                    newest(&locked, &state.name).filter(|(_, file)| before.at == 0 || holds(file, &locked, before));
                let end =
                    found.and_then(|(name, file)| Some((name, last_line(&file, file.metadata().ok()?.len()).ok()?)));
                let (last, damage) = match &end {
                    Some((_, (end, length))) if end.is_torn => {
                        (end.last, Some(Damage::Torn { bytes: *length, sha256: end.last }))
                    }
                    Some((_, (end, _))) => (end.last, None),
                    None if before.at > 0 => (Sha256::ZERO, Some(Damage::Emptied { last: before.last })),
                    None => (Sha256::ZERO, None),
                };
                state.seen = End { last, ..End::OF_NOTHING };
                state.damage = damage.or(state.damage);
                state.continues = end.map(|(name, _)| name);
            }
        } else if size != before.at || locked.is_another {
            state.continues = None;
            let (end, length) = last_line(locked.file(), size)?;
            let damage = if size < before.at && !locked.is_another {
                Some(Damage::Cut { bytes: before.at - size, last: before.last })
            } else if before.at > 0 && !continues_from(&locked, before) {
                Some(Damage::Replaced { last: before.last })
            } else if end.is_torn {
                Some(Damage::Torn { bytes: length, sha256: end.last })
            } else {
                None
            };
            (state.seen, state.damage) = (end, damage.or(state.damage));
        }
        Ok(Turn { locked, state, added: Added::default() })
    }
}

impl Turn<'_> {
    /// The digest of the line before the next one.
    pub(super) fn prev(&self) -> Sha256 {
        self.state.seen.last
    }

    /// Returns the damage to the file that is not recorded yet.
    pub(super) fn damage(&self) -> Option<Damage> {
        self.state.damage
    }

    /// Forgets the damage, which is recorded in the file now.
    pub(super) fn forget_damage(&mut self) {
        self.state.damage = None;
    }

    /// The new name of the file before, if the next line is the first one of this file.
    pub(super) fn continues(&self) -> Option<&str> {
        self.state.continues.as_deref().filter(|_| self.added.ends.is_empty())
    }

    /// How many lines were added but are not written yet.
    pub(super) fn added(&self) -> usize {
        self.added.ends.len()
    }

    /// Whether this many more bytes would make the file too large.
    pub(super) fn is_full_for(&self, length: usize) -> bool {
        let seen = self.state.seen;
        let is_full = |max: u64| seen.at > 0 && seen.at + length as u64 > max;
        !seen.is_torn && self.state.max_size.is_some_and(is_full)
    }

    /// Begins a new file. All added lines must have been written.
    ///
    /// # Errors
    /// [`AuditError`].
    pub(super) fn begin_anew(&mut self) -> Result<(), AuditError> {
        // The number is above all that were given, also if those files are archived elsewhere by now: the first line of this file
        // names the one before.
        let names = self.locked.names();
        let beside = names.iter().filter_map(|name| number_of(&self.state.name, name));
        let before = first_line(self.locked.file(), &mut MOST_READ.clone()).and_then(|(_, continues)| continues);
        let before = before.and_then(|name| number_in(&name));
        let last = beside.chain(before).max().unwrap_or(0);
        for number in last + 1..=last + MOST_NAMES {
            let name = numbered(&self.state.name, number);
            match self.locked.begin_anew(&name) {
                Ok(()) => {
                    self.state.continues = Some(name.to_string_lossy().into_owned());
                    self.state.seen.at = 0;
                    return Ok(());
                }
                Err(SharedFileError::System { source }) if source.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists).into())
    }

    /// Adds one line, given without its line feed.
    pub(super) fn add(&mut self, line: &[u8]) {
        let (Added { after, bytes, ends }, seen) = (&mut self.added, &mut self.state.seen);
        after.get_or_insert(*seen);
        let before = bytes.len();
        bytes.extend(seen.is_torn.then_some(b'\n'));
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
        ends.push(bytes.len());
        let at = seen.at + (bytes.len() - before) as u64;
        *seen = End { at, last: Sha256::of(line), is_torn: false };
    }

    /// Writes all added lines in one write.
    ///
    /// # Errors
    /// [`AuditError`], and how many of the lines are in the file. Part of the next line may be there too; the next turn finds
    /// it.
    pub(super) fn write(&mut self) -> Result<(), (usize, AuditError)> {
        let Added { after, bytes, ends } = std::mem::take(&mut self.added);
        let Some(after) = after else { return Ok(()) };
        let before = self.locked.size;
        let written = self.locked.append(&bytes);
        let length = self.locked.size.saturating_sub(before);
        let whole = ends.iter().filter(|end| **end as u64 <= length).count();
        if whole > 0 {
            self.state.continues = None;
        }
        written.map_err(|source| {
            // The next turn finds out where the file ends now.
            self.state.seen = after;
            (whole, source.into())
        })
    }

    /// Waits until what was appended is on the disk, if the operator wants that.
    ///
    /// # Errors
    /// [`AuditError`].
    pub(super) fn sync(&mut self) -> Result<(), AuditError> {
        if self.state.sync {
            self.locked.file().sync_data()?;
        }
        Ok(())
    }
}

/// Whether a file that is not empty continues from the end that was seen: that line is still there, or the file continues the one
/// that holds it.
fn continues_from(locked: &Locked<'_>, seen: End) -> bool {
    let Some(before) = locked.before() else {
        return last_line(locked.file(), seen.at).is_ok_and(|(end, _)| end.last == seen.last);
    };
    // Others may have appended to the file before until it was full.
    let size = before.metadata().map_or(0, |metadata| metadata.len());
    let Ok((last, _)) = last_line(before, size) else { return false };
    leads_to(locked.file(), last.last, MOST_READ, |name| locked.beside(name.as_ref()))
}

/// Whether a file that was moved away holds the end that was seen, or continues the file that holds it.
fn holds(moved: &File, locked: &Locked<'_>, seen: End) -> bool {
    let Some(before) = locked.before() else {
        return last_line(moved, seen.at).is_ok_and(|(end, _)| end.last == seen.last);
    };
    let last_of = |file: &File| Some(last_line(file, file.metadata().ok()?.len()).ok()?.0.last);
    let Some(last) = last_of(before) else { return false };
    last_of(moved) == Some(last) || leads_to(moved, last, MOST_READ, |name| locked.beside(name.as_ref()))
}

/// The file that was moved away last, with its name: that with the highest number. If the file in its place is empty, the server was killed
/// before it wrote the first record there.
fn newest(locked: &Locked<'_>, own: &OsStr) -> Option<(String, File)> {
    let number = locked.names().iter().filter_map(|name| number_of(own, name)).max()?;
    let name = numbered(own, number);
    Some((name.to_string_lossy().into_owned(), locked.beside(&name)?))
}

/// Whether a file continues the one with this last line, perhaps through other files. At most `left` bytes are read.
fn leads_to(file: &File, last: Sha256, mut left: u64, beside: impl Fn(&str) -> Option<File>) -> bool {
    let mut names = HashSet::new();
    let mut first = first_line(file, &mut left);
    loop {
        match first {
            Some((prev, Some(_))) if prev == last => return true,
            Some((_, Some(name))) if names.len() < MOST_CONTINUED && !names.contains(&name) => {
                first = beside(&name).and_then(|file| first_line(&file, &mut left));
                names.insert(name);
            }
            Some(_) | None => return false,
        }
    }
}

/// Reads from the first line of a file the hash of the line before, and the name of the file that holds it. Reads at
/// most `left` bytes, and subtracts what it has read.
fn first_line(mut file: &File, left: &mut u64) -> Option<(Sha256, Option<String>)> {
    file.seek(SeekFrom::Start(0)).ok()?;
    let (mut line, mut input) = (Line::new(), BufReader::new(file.take(*left)));
    let read = line.read(&mut input);
    *left = input.get_ref().limit();
    read.ok()?;
    match Link::of(&line) {
        Link::Record(head) => Some((head.prev?, head.continues)),
        Link::Unreadable { .. } => None,
    }
}

/// The end of the file, and the length of its last line.
fn last_line(mut file: &File, size: u64) -> Result<(End, u64), AuditError> {
    if size == 0 {
        return Ok((End::OF_NOTHING, 0));
    }
    let mut piece = vec![0; PIECE];
    let mut read = |from: u64, to: u64| -> io::Result<Vec<u8>> {
        let length = usize::try_from(to - from).unwrap_or(PIECE).min(PIECE);
        let piece = piece.get_mut(..length).unwrap_or_default();
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(piece)?;
        Ok(piece.to_vec())
    };
    // The first line shows whether this is a log; a log of one line may have been cut off anywhere.
    if !RECORD.starts_with(&read(0, size.min(RECORD.len() as u64))?) {
        return Err(AuditError::NoLog);
    }
    let has_end = read(size - 1, size)? == b"\n";
    let end = if has_end { size - 1 } else { size };
    let (mut start, mut to) = (0, end);
    while to > 0 {
        let from = to.saturating_sub(PIECE as u64);
        if let Some(found) = memchr::memrchr(b'\n', &read(from, to)?) {
            start = from + found as u64 + 1;
            break;
        }
        if end - from > LONGEST_LINE {
            return Err(AuditError::NoLog);
        }
        to = from;
    }
    let (mut sum, mut from) = (Summing::default(), start);
    while from < end {
        let bytes = read(from, end.min(from + PIECE as u64))?;
        sum.add(&bytes);
        from += bytes.len() as u64;
    }
    Ok((End { at: size, last: sum.finish(), is_torn: !has_end }, end - start))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn files_that_go_round_or_are_many_and_long_are_read_only_so_far() {
        let directory = tempfile::tempdir().unwrap();
        let zeros = "0".repeat(64);
        let put = |name: &str, continues: &str, prev: &str| {
            let path = directory.path().join(name);
            let rest = "x".repeat(100_000);
            let head = format!("{{\"seq\":0,\"time\":\"\",\"session\":\"s\",\"prev\":\"{prev}\"");
            let line = format!("{head},\"continues\":\"{continues}\",\"event\":\"roots\",\"rest\":\"{rest}\"}}\n");
            std::fs::write(&path, line).unwrap();
            File::open(path).unwrap()
        };
        let last = Sha256::of(b"last");
        let walk = |file: &File, left| {
            let opened = Cell::new(0);
            let beside = |name: &str| {
                opened.set(opened.get() + 1);
                File::open(directory.path().join(name)).ok()
            };
            (leads_to(file, last, left, beside), opened.get())
        };
        let own = put("own", "own", &zeros);
        assert_eq!(walk(&own, MOST_READ), (false, 1));
        let there = put("there", "back", &zeros);
        put("back", "there", &zeros);
        assert_eq!(walk(&there, MOST_READ), (false, 2));
        for number in 0..20 {
            put(&number.to_string(), &(number + 1).to_string(), &zeros);
        }
        put("20", "older", &last.to_string());
        let first = File::open(directory.path().join("0")).unwrap();
        assert_eq!(walk(&first, MOST_READ), (true, 20));
        assert_eq!(walk(&first, 1_000_000), (false, 9));
    }
}
