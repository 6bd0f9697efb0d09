//! The head of a log: how many records it has, and the hash of the last one.

use std::fmt;
use std::io::{self, BufRead};

use super::read::Line;
use crate::files::Sha256;

/// The head of a log; as text it is what `verify` finds again: the number, a blank, and the hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub records: u64,
    pub last: Sha256,
}

impl Head {
    /// Reads a log. What stands behind the last line end does not count: a server may be writing it.
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

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.records, self.last)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn the_head_is_that_of_the_last_whole_line() {
        for (text, count, last) in [("", 0, None), ("a\nbcd\n", 2, Some("bcd")), ("a\nb", 1, Some("a"))] {
            let last = last.map_or(Sha256::ZERO, Sha256::of);
            let read = Head::of(BufReader::with_capacity(2, text.as_bytes())).unwrap();
            assert_eq!(read.to_string(), format!("{count} {last}"), "{text:?}");
        }
    }
}
