//! The head of a log: how many records it has, and the hash of the last one.

use std::fmt;
use std::io::{self, BufRead, Seek, SeekFrom};

use super::read::Line;
use crate::files::Sha256;

/// The head of a log. Its text, which `verify` takes, is the number, a blank, and the hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub records: u64,
    pub last: Sha256,
}

impl Head {
    /// Reads a log. What follows the last line feed does not count, since a server may be writing it.
    ///
    /// # Errors
    /// If it can't be read.
    pub(crate) fn of(mut log: impl BufRead) -> io::Result<Self> {
        let (mut head, mut line) = (Self { records: 0, last: Sha256::ZERO }, Line::new());
        while line.read(&mut log)? && line.has_end {
            head = Self { records: head.records + 1, last: line.sha256 };
        }
        Ok(head)
    }
}

/// Follows the head of a log that grows, and reads only what was appended since the last time.
#[derive(Debug, Default)]
pub(crate) struct HeadFollower {
    /// How much was read, up to the end of a line.
    at: u64,
    /// The length of that line, with its line feed.
    last_line: u64,
    head: Option<Head>,
}

impl HeadFollower {
    /// Continues reading the log. If the last line that was read is not where it was, this is another log, and it is read from
    /// the beginning.
    ///
    /// # Errors
    /// If it can't be read. The next call continues from there.
    pub(crate) fn follow(&mut self, mut log: impl BufRead + Seek) -> io::Result<Head> {
        if !self.is_at_its_place(&mut log)? {
            *self = Self::default();
            log.seek(SeekFrom::Start(0))?;
        }
        let mut line = Line::after(self.head.map_or(0, |head| head.records));
        while line.read(&mut log)? && line.has_end {
            let records = self.head.map_or(0, |head| head.records) + 1;
            self.head = Some(Head { records, last: line.sha256 });
            self.last_line = line.length + 1;
            self.at += self.last_line;
        }
        Ok(self.head.unwrap_or(Head { records: 0, last: Sha256::ZERO }))
    }

    /// Whether the last line that was read is where it was. Leaves the log at the end of that line.
    fn is_at_its_place(&self, log: &mut (impl BufRead + Seek)) -> io::Result<bool> {
        let Some(head) = self.head else { return Ok(false) };
        log.seek(SeekFrom::Start(self.at - self.last_line))?;
        let mut line = Line::new();
        Ok(line.read(log)? && line.has_end && line.length + 1 == self.last_line && line.sha256 == head.last)
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.records, self.last)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use super::*;

    #[test]
    fn a_log_that_grows_is_read_on_and_another_one_from_its_beginning() {
        let mut follower = HeadFollower::default();
        for (text, count, last) in [
            ("", 0, None),
            ("a\nbc", 1, Some("a")),
            ("a\nbcd\n", 2, Some("bcd")),
            // What was read is not read again.
            ("x\nbcd\ne\n", 3, Some("e")),
            ("x\nbcd\nf\ng\n", 4, Some("g")),
            ("new\n", 1, Some("new")),
            ("", 0, None),
        ] {
            let last = last.map_or(Sha256::ZERO, Sha256::of);
            let read = follower.follow(Cursor::new(text)).unwrap();
            assert_eq!(read.to_string(), format!("{count} {last}"), "{text:?}");
        }
    }

    #[test]
    fn the_head_is_that_of_the_last_whole_line() {
        for (text, count, last) in [("", 0, None), ("a\nbcd\n", 2, Some("bcd")), ("a\nb", 1, Some("a"))] {
            let last = last.map_or(Sha256::ZERO, Sha256::of);
            let read = Head::of(BufReader::with_capacity(2, text.as_bytes())).unwrap();
            assert_eq!(read.to_string(), format!("{count} {last}"), "{text:?}");
        }
    }
}
