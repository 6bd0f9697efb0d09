//! Lines of a stream: one message each, of bounded length.

use std::io::{self, BufRead, ErrorKind};

use super::long_line::{IdSearch, LongLine};

/// The longest line that is accepted, in bytes without its end: 16 MiB.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// U+FEFF, which some programs write before text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The most bytes that a line has around its text: a byte order mark, a carriage return and a line feed.
const AROUND: usize = BYTE_ORDER_MARK.len() + 2;

/// One line of the client.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// The bytes of a line that is not blank, without its end (`\n` or `\r\n`) and without a U+FEFF in front.
    Text(Vec<u8>),
    /// A line of more than `MAX_LINE` bytes. It was read to its end, and only what is needed to answer it was kept.
    TooLong(LongLine),
}

/// Reads lines; holds at most one of them in memory.
#[derive(Debug)]
pub struct LineReader<R> {
    input: R,
    limit: usize,
    /// The beginning of a line that has not ended.
    line: Vec<u8>,
    /// Searches the line for its id, once it is too long.
    too_long: Option<IdSearch>,
}

impl<R: BufRead> LineReader<R> {
    /// Reads from `input`, with the limit of `MAX_LINE`.
    pub fn new(input: R) -> Self {
        Self { input, limit: MAX_LINE, line: Vec::new(), too_long: None }
    }

    /// Reads the next line that is not blank; `None` at the end of the stream.
    ///
    /// A last line without a line end is a line. Blank lines are skipped, and so is one U+FEFF at the start of a line.
    ///
    /// # Errors
    /// The error of reading the stream; an interrupted read is tried again. After an error the next call continues
    /// where this one stopped, so that a non-blocking stream can be read again.
    pub fn next_line(&mut self) -> io::Result<Option<Line>> {
        while self.read_to_line_end()? {
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
            let mut line = std::mem::take(&mut self.line);
            if let Some(search) = self.too_long.take() {
                return Ok(Some(Line::TooLong(search.finish())));
            }
            if line.starts_with(BYTE_ORDER_MARK) {
                line.drain(..BYTE_ORDER_MARK.len());
            }
            if line.len() > self.limit {
                let mut search = IdSearch::default();
                search.push(&line);
                return Ok(Some(Line::TooLong(search.finish())));
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(Line::Text(line)));
            }
        }
        Ok(None)
    }

    /// Reads the rest of a line, without its end; returns whether there is one, even a blank one.
    fn read_to_line_end(&mut self) -> io::Result<bool> {
        if self.too_long.is_none() {
            let most = self.limit + AROUND;
            let room = most.saturating_sub(self.line.len());
            io::Read::take(&mut self.input, room as u64).read_until(b'\n', &mut self.line)?;
            if self.line.last() == Some(&b'\n') {
                self.line.pop();
                return Ok(true);
            }
            if self.line.len() < most {
                return Ok(!self.line.is_empty());
            }
            let start = std::mem::take(&mut self.line);
            let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&start);
            self.too_long.get_or_insert_default().push(start);
        }
        self.pass_to_line_end()?;
        Ok(true)
    }

    /// Reads the rest of a line that is too long, and keeps nothing of it.
    fn pass_to_line_end(&mut self) -> io::Result<()> {
        let search = self.too_long.get_or_insert_default();
        loop {
            let piece = match self.input.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = memchr::memchr(b'\n', piece);
            let passed = end.unwrap_or(piece.len());
            search.push(piece.get(..passed).unwrap_or_default());
            let is_over = end.is_some() || piece.is_empty();
            self.input.consume(passed + usize::from(end.is_some()));
            if is_over {
                return Ok(());
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
        let mut reader = LineReader { limit, ..LineReader::new(BufReader::with_capacity(3, input)) };
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
    fn one_byte_order_mark_in_front_of_a_line_is_nothing() {
        let two = lines("\u{feff}one\r\n\u{feff}two\n\u{feff}\n\u{feff} \r\n".as_bytes(), 10);
        assert_eq!(two, [text("one"), text("two")]);
        assert_eq!(lines("\u{feff}\u{feff}\n".as_bytes(), 10), [text("\u{feff}")]);
        assert_eq!(
            lines("\u{feff}12345\r\n\u{feff}123456\r\nok\n".as_bytes(), 5),
            [text("12345"), Line::TooLong(LongLine::Other), text("ok")]
        );
        for limit in [5, 20] {
            let line = "\u{feff}{\"method\":\"ping\",\"id\":7}";
            let Line::TooLong(LongLine::Request(id)) = &lines(line.as_bytes(), limit)[0] else { panic!("{limit}") };
            assert_eq!(id.to_string(), "7");
        }
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_whole_and_the_next_one_is_served() {
        assert_eq!(lines(b"12345\n123456\nok\n", 5), [text("12345"), Line::TooLong(LongLine::Other), text("ok")]);
        assert_eq!(lines(b"12345\r\n123456\r\n", 5), [text("12345"), Line::TooLong(LongLine::Other)]);
        assert_eq!(lines(b"12345678901234567890", 5), [Line::TooLong(LongLine::Other)]);
    }

    #[test]
    fn a_request_over_the_limit_keeps_its_id() {
        let line = br#"{"method":"ping","params":{"a":"bcdefghijklmnop"},"id":"seven"}"#;
        for limit in [5, line.len() - 1] {
            let Line::TooLong(LongLine::Request(id)) = &lines(line, limit)[0] else { panic!("{limit}") };
            assert_eq!(id.to_string(), r#""seven""#);
        }
    }

    /// Fails before each of its bytes, as a stream that does not block.
    struct Hesitant<'a> {
        bytes: &'a [u8],
        is_ready: bool,
    }

    impl io::Read for Hesitant<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.is_ready = !self.is_ready;
            match self.is_ready {
                true => Err(ErrorKind::WouldBlock.into()),
                false => self.bytes.read(buffer.get_mut(..1).unwrap_or_default()),
            }
        }
    }

    #[test]
    fn a_stream_that_would_block_loses_nothing() {
        let mut reader = LineReader::new(BufReader::new(Hesitant { bytes: b"one\r\n\ntwo", is_ready: false }));
        let (mut read, mut waits) = (Vec::new(), 0);
        loop {
            match reader.next_line() {
                Ok(Some(line)) => read.push(line),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    waits += 1;
                }
            }
        }
        assert_eq!((read, waits), (vec![text("one"), text("two")], 11));
    }
}
