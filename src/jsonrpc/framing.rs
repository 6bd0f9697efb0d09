//! Lines of a stream: one message each, of bounded length.

use std::io::{self, BufRead};

/// The longest line that is taken, in bytes without its end: 16 MiB.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// One line of the client's.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// The bytes of a line that is not blank, without its end (`\n` or `\r\n`).
    Text(Vec<u8>),
    /// A line of more than [`MAX_LINE`] bytes; all of it was read and dropped.
    TooLong,
}

/// Reads lines; holds no more than one of them in memory.
#[derive(Debug)]
pub struct LineReader<R> {
    input: R,
    limit: usize,
}

impl<R: BufRead> LineReader<R> {
    /// Reads from `input`, with the limit of [`MAX_LINE`].
    pub fn new(input: R) -> Self {
        Self { input, limit: MAX_LINE }
    }

    /// Reads the next line that is not blank; `None` at the end of the stream.
    ///
    /// A last line without a line end is a line. Blank lines are skipped.
    ///
    /// # Errors
    /// What reading the stream fails with; an interrupted read is tried again.
    pub fn next_line(&mut self) -> io::Result<Option<Line>> {
        loop {
            let mut line = Vec::new();
            let mut too_long = false;
            let mut ended = false;
            while !ended {
                let available = match self.input.fill_buf() {
                    Ok(available) => available,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                };
                if available.is_empty() {
                    if line.is_empty() && !too_long {
                        return Ok(None);
                    }
                    break;
                }
                let newline = available.iter().position(|&byte| byte == b'\n');
                ended = newline.is_some();
                let (taken, _) = available.split_at(newline.unwrap_or(available.len()));
                // One byte more than the limit is kept for a carriage return.
                if too_long || line.len() + taken.len() > self.limit + 1 {
                    too_long = true;
                    line = Vec::new();
                } else {
                    line.extend_from_slice(taken);
                }
                let used = taken.len() + usize::from(ended);
                self.input.consume(used);
            }
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if too_long || line.len() > self.limit {
                return Ok(Some(Line::TooLong));
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(Line::Text(line)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn lines(input: &[u8], limit: usize) -> Vec<Line> {
        // A buffer of three bytes, so that every line crosses its edge.
        let mut reader = LineReader { input: BufReader::with_capacity(3, input), limit };
        std::iter::from_fn(|| reader.next_line().unwrap()).collect()
    }

    fn text(line: &str) -> Line {
        Line::Text(line.as_bytes().to_vec())
    }

    #[test]
    fn lines_are_cut_at_either_line_end_and_blank_ones_are_nothing() {
        assert_eq!(lines(b"one\r\n\n  \t\r\ntwo\nlast", 10), [text("one"), text("two"), text("last")]);
        assert_eq!(lines(b"", 10), []);
        assert_eq!(lines(b"\n\n", 10), []);
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_whole_and_the_next_one_is_served() {
        assert_eq!(lines(b"12345\n123456\nok\n", 5), [text("12345"), Line::TooLong, text("ok")]);
        assert_eq!(lines(b"12345\r\n123456\r\n", 5), [text("12345"), Line::TooLong]);
        assert_eq!(lines(b"12345678901234567890", 5), [Line::TooLong]);
    }
}
