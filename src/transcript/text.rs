//! A whole transcript, parsed and printed.

use std::fmt;

use super::eras::{Era, Marked, mark, sessions};
use super::{Entry, Header, LineEnd, Problem, TranscriptError};
use crate::jsonrpc::weight::{self, Quotes};

/// The most memory that the lines of a transcript may take: a byte of JSON can take eighty.
const MOST_WEIGHT: usize = 384 * 1024 * 1024;
/// The longest header in bytes: one of its words can take fifty times its length in memory.
const LONGEST_HEADER: usize = 4 * 1024 * 1024;
/// The weight of a line in addition to its text and its values.
const LINE: usize = 256;

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
    /// The first [`Problem`] with its line; [`Problem::BothEras`] for a text of two sessions.
    pub fn parse(file: &str, text: impl AsRef<[u8]>) -> Result<Self, TranscriptError> {
        let at = |(line, problem)| TranscriptError { file: file.to_owned(), line, problem };
        let mut lines = lines(text.as_ref());
        match header(&mut lines).map_err(at)? {
            (header, None) => Ok(Self { header, entries: body(lines, of_one_session, |entry| entry).map_err(at)? }),
            (_, Some(line)) => Err(at((line, Problem::BothEras))),
        }
    }

    /// Parses a transcript that may say `era: both`: then it is two sessions, the legacy one first, and otherwise one without an
    /// era. Each has as many lines as the text.
    ///
    /// # Errors
    /// The first [`Problem`] with its line.
    pub fn parse_sessions(file: &str, text: impl AsRef<[u8]>) -> Result<Vec<(Option<Era>, Self)>, TranscriptError> {
        let at = |(line, problem)| TranscriptError { file: file.to_owned(), line, problem };
        let mut lines = lines(text.as_ref());
        let (header, both_eras) = header(&mut lines).map_err(at)?;
        if both_eras.is_none() {
            return Ok(vec![(None, Self { header, entries: body(lines, of_one_session, |entry| entry).map_err(at)? })]);
        }
        let first = Self::first_line_of_body(text.as_ref());
        let lines = body(lines, Marked::parse, Marked::entry).map_err(at)?;
        let sessions = sessions(&header, lines).map_err(|(index, problem)| at((first + index, problem)))?;
        Ok(sessions.into_iter().map(|(era, session)| (Some(era), session)).collect())
    }

    /// The number of the first line of the body in the text of a transcript, counted from 1.
    #[must_use]
    pub fn first_line_of_body(text: &[u8]) -> usize {
        let is_blank = |line: &[u8]| line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        let lines = text.split(|byte| *byte == b'\n');
        lines.take_while(|line| !is_blank(line)).count() + 2
    }
}

/// A line without its end, with its number.
type Line<'a> = (usize, Result<&'a str, Problem>);

fn lines(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|byte| *byte == b'\n').enumerate().map(|(index, line)| {
        let line = std::str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line));
        (index + 1, line.map_err(|_| Problem::NotUtf8))
    })
}

/// The header, and the number of the line that says `era: both`.
fn header<'a>(lines: &mut impl Iterator<Item = Line<'a>>) -> Result<(Header, Option<usize>), (usize, Problem)> {
    let (mut header, mut both_eras, mut length) = (Header::default(), None, 0);
    for (number, line) in lines {
        let at = |problem| (number, problem);
        let line = line.map_err(at)?;
        length += line.len() + 1;
        if number == 1 {
            Header::parse_first_line(line).map_err(at)?;
        } else if line.trim_matches([' ', '\t']).is_empty() {
            break;
        } else if length > LONGEST_HEADER {
            return Err(at(Problem::LongHeader { most: LONGEST_HEADER >> 20 }));
        } else if let Some(era) = line.strip_prefix("era:") {
            match era.trim_matches([' ', '\t']) {
                "both" if both_eras.is_none() => both_eras = Some(number),
                "both" => return Err(at(Problem::RepeatedKey { key: "era".to_owned() })),
                found => return Err(at(Problem::NoEra { found: found.to_owned() })),
            }
        } else {
            header.parse_line(line).map_err(at)?;
        }
    }
    Ok((header, both_eras))
}

fn body<'a, T>(
    lines: impl Iterator<Item = Line<'a>>,
    parse: impl Fn(&str) -> Result<T, Problem>,
    entry: impl Fn(&T) -> &Entry,
) -> Result<Vec<T>, (usize, Problem)> {
    let (mut weight, mut is_within_line) = (0, false);
    let weighed = |(number, line): Line<'a>| {
        let parsed = line.and_then(&parse).map_err(|problem| (number, problem))?;
        weight += LINE + weight_of(entry(&parsed), &mut is_within_line);
        if weight > MOST_WEIGHT { Err((number, Problem::Heavy { most: MOST_WEIGHT >> 20 })) } else { Ok(parsed) }
    };
    lines.map(weighed).collect()
}

/// An upper estimate of the memory for what a line is read into. `is_within_line` is whether the client has begun a line before it.
fn weight_of(entry: &Entry, is_within_line: &mut bool) -> usize {
    match entry {
        Entry::Send(sent) => {
            let was_within_line = std::mem::replace(is_within_line, sent.end == LineEnd::Missing);
            let quotes = if was_within_line || *is_within_line { Quotes::AreUnknown } else { Quotes::Hold };
            weight::of_text_of_values(&sent.bytes, quotes)
        }
        Entry::Receive(message) => {
            message.text().len() + weight::of_text_of_values(message.text().as_bytes(), Quotes::Hold)
        }
        // It may be JSON all the same.
        Entry::Noise(bytes) => weight::of_text_of_values(bytes, Quotes::Hold),
        Entry::Comment(text) => text.len(),
        Entry::NoLineEnd | Entry::CloseInput | Entry::Exit(_) | Entry::Blank | Entry::Failure(_) => 0,
    }
}

/// A line of the body of a transcript that is one session.
fn of_one_session(line: &str) -> Result<Entry, Problem> {
    match mark(line) {
        Some(_) => Err(Problem::MarkedLine { found: line.to_owned() }),
        None => Entry::parse(line),
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.header)?;
        self.entries.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}
