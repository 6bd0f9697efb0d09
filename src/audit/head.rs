//! The head of a log: how many lines it has, and the digest of the last one.

use std::io::{self, BufRead};

use crate::files::{Sha256, Summing};

/// Reads a log and gives its head: the number of lines, a blank, and the digest of the last one in hexadecimal digits; what
/// stands behind the last line end does not count.
///
/// # Errors
/// Where it can't be read.
pub(crate) fn head(mut log: impl BufRead) -> io::Result<String> {
    let (mut count, mut last, mut sum) = (0_u64, Sha256::ZERO, Summing::default());
    loop {
        let piece = log.fill_buf()?;
        if piece.is_empty() {
            return Ok(format!("{count} {last}"));
        }
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, behind) = rest.split_at(end);
            sum.add(line);
            (count, last, rest) = (count + 1, std::mem::take(&mut sum).finish(), behind.get(1..).unwrap_or_default());
        }
        sum.add(rest);
        let read = piece.len();
        log.consume(read);
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
            let read = head(BufReader::with_capacity(2, text.as_bytes())).unwrap();
            assert_eq!(read, format!("{count} {last}"), "{text:?}");
        }
    }
}
