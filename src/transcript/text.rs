//! A whole transcript, parsed and printed.

use std::fmt;

use super::{Entry, Header, Problem, TranscriptError};

/// A session as text: how the server was started, and what went each way.
///
/// Displaying it gives the canonical text; parsing that gives the same transcript again.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// How the server is started, and where.
    pub header: Header,
    /// The lines of the body.
    pub entries: Vec<Entry>,
}

impl Transcript {
    /// Parses a transcript; `file` is only the name for errors. Lines end with `\n` or `\r\n`.
    ///
    /// # Errors
    /// The first [`Problem`] with its line.
    pub fn parse(file: &str, text: impl AsRef<[u8]>) -> Result<Self, TranscriptError> {
        let text = text.as_ref();
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let mut lines = text.split(|byte| *byte == b'\n').enumerate().map(|(index, line)| {
            let at = move |problem| TranscriptError { file: file.to_owned(), line: index + 1, problem };
            match std::str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line)) {
                Ok(line) => Ok((line, at)),
                Err(_) => Err(at(Problem::NotUtf8)),
            }
        });

        let mut header = Header::default();
        let mut first = true;
        for line in lines.by_ref() {
            let (line, at) = line?;
            if std::mem::take(&mut first) {
                Header::parse_first_line(line).map_err(at)?;
            } else if line.trim_matches([' ', '\t']).is_empty() {
                break;
            } else {
                header.parse_line(line).map_err(at)?;
            }
        }
        let entries =
            lines.map(|line| line.and_then(|(line, at)| Entry::parse(line).map_err(at))).collect::<Result<_, _>>()?;
        Ok(Self { header, entries })
    }

    /// The number of the first line of the body in the text of a transcript, counted from 1.
    #[must_use]
    pub fn first_line_of_body(text: &[u8]) -> usize {
        let is_blank = |line: &[u8]| line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        let lines = text.split(|byte| *byte == b'\n');
        lines.take_while(|line| !is_blank(line)).count() + 2
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.header)?;
        self.entries.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}
