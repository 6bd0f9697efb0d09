//! Reads the lines of an audit log that anybody may have written, in bounded memory whatever they hold.

use std::fmt;
use std::io::{self, BufRead, Read};

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use thiserror::Error;

use crate::files::{Sha256, Summing};

/// The longest line that is read: no message of a client makes a longer record.
pub(super) const LONGEST_LINE: u64 = 128 * 1024 * 1024;
/// The largest log that is read, about twenty million records. Without a bound, a sparse file could be of any size.
const LARGEST_LOG: u64 = 16 * 1024 * 1024 * 1024;

/// How much of a line is kept. The hash is always that of the whole line.
const LONGEST_KEPT: u64 = 1024 * 1024;
/// The longest name of a session: a UUID has 36 characters.
const LONGEST_SESSION: usize = 64;
/// The longest name of an event.
const LONGEST_EVENT: usize = 64;
/// The longest name of a file.
const LONGEST_NAME: usize = 1024;

/// Why a log is not read to the end.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum TooLong {
    #[error("line {number} is longer than {} MiB, the most that is read of one line", LONGEST_LINE >> 20)]
    Line { number: u64 },
    #[error(
        "it is larger than {} GiB, the most that is read of one log; split it at a line end, and name the parts in their order",
        LARGEST_LOG >> 30
    )]
    Log,
}

impl From<TooLong> for io::Error {
    fn from(source: TooLong) -> Self {
        Self::new(io::ErrorKind::InvalidData, source)
    }
}

/// A reader that fails when a log is larger than the limit.
pub(crate) struct Bounded<R> {
    log: R,
    left: u64,
}

impl<R> Bounded<R> {
    /// Reads a log; `length` is its length, if it is known.
    ///
    /// # Errors
    /// [`TooLong`], if the length is over the limit.
    pub(crate) fn new(log: R, length: Option<u64>) -> Result<Self, TooLong> {
        if length.is_some_and(|length| length > LARGEST_LOG) {
            Err(TooLong::Log)
        } else {
            Ok(Self::with(log, LARGEST_LOG))
        }
    }

    fn with(log: R, left: u64) -> Self {
        Self { log, left }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.log.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or(TooLong::Log)?;
        Ok(read)
    }
}

/// One line, or the beginning of a very long one.
pub(crate) struct Line {
    /// The number of the line, from 1.
    number: u64,
    /// The first bytes, without the line feed.
    pub bytes: Vec<u8>,
    /// The length of the whole line, without the line feed.
    pub length: u64,
    /// The hash of the whole line, without the line feed.
    pub sha256: Sha256,
    /// Whether it ends with a line feed.
    pub has_end: bool,
}

impl Line {
    /// An empty line, to be read into.
    pub(crate) fn new() -> Self {
        Self::after(0)
    }

    /// The same, after this many lines.
    pub(super) fn after(number: u64) -> Self {
        Self { number, bytes: Vec::new(), length: 0, sha256: Sha256::ZERO, has_end: false }
    }

    /// Whether all of it is in `bytes`.
    pub(crate) fn is_whole(&self) -> bool {
        self.length <= LONGEST_KEPT
    }

    /// Reads the next line, and says whether there was one.
    ///
    /// # Errors
    /// If it can't be read, and [`TooLong`].
    pub(crate) fn read(&mut self, input: &mut impl BufRead) -> io::Result<bool> {
        self.number += 1;
        self.bytes.clear();
        // One byte more than is kept, for the line feed of a line that just fits.
        let read = input.take(LONGEST_KEPT + 1).read_until(b'\n', &mut self.bytes)?;
        if read == 0 {
            return Ok(false);
        }
        self.has_end = self.bytes.last() == Some(&b'\n');
        if self.has_end {
            self.bytes.pop();
        }
        self.length = self.bytes.len() as u64;
        if self.has_end || self.is_whole() {
            self.sha256 = Sha256::of(&self.bytes);
            return Ok(true);
        }
        let mut sum = Summing::default();
        sum.add(&self.bytes);
        loop {
            let bytes = match input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            let end = memchr::memchr(b'\n', bytes);
            let (part, _) = bytes.split_at(end.unwrap_or(bytes.len()));
            sum.add(part);
            let (length, is_last) = (part.len(), bytes.is_empty() || end.is_some());
            self.length += length as u64;
            if self.length > LONGEST_LINE {
                return Err(TooLong::Line { number: self.number }.into());
            }
            input.consume(length + usize::from(end.is_some()));
            if is_last {
                self.has_end = end.is_some();
                self.sha256 = sum.finish();
                return Ok(true);
            }
        }
    }
}

/// The fields by which a record has its place in the chain.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub seq: u64,
    pub session: String,
    pub prev: Option<Sha256>,
    pub event: String,
    /// The new name of the file before, in the first record of a file.
    pub continues: Option<String>,
    /// The hash of the line before, if that line is torn.
    pub torn_sha256: Option<Sha256>,
}

/// A line, as a link of the chain.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Record(Head),
    /// It is not a record: it is torn, or not part of the log. It may still name the line before.
    Unreadable {
        prev: Option<Sha256>,
        continues: Option<String>,
    },
}

impl Link {
    pub(crate) fn of(line: &Line) -> Self {
        let mut found = RecordMembers::default();
        let whole = match std::str::from_utf8(&line.bytes) {
            Ok(text) => found.read(text) && line.is_whole(),
            Err(error) => {
                let valid = line.bytes.get(..error.valid_up_to()).unwrap_or_default();
                found.read(std::str::from_utf8(valid).unwrap_or_default());
                false
            }
        };
        let (prev, continues) = (found.prev, found.continues.clone());
        // For a line that is too long to be kept, the beginning is enough: it has all that counts.
        match found.into_head() {
            Some(head) if whole || !line.is_whole() => Self::Record(head),
            Some(_) | None => Self::Unreadable { prev, continues },
        }
    }
}

/// The fields that were found before the line ended or stopped being JSON.
#[derive(Default)]
struct RecordMembers {
    seq: Option<u64>,
    session: Option<String>,
    prev: Option<Sha256>,
    event: Option<String>,
    continues: Option<String>,
    torn_sha256: Option<Sha256>,
}

impl RecordMembers {
    /// Whether all of the text is one object.
    fn read(&mut self, text: &str) -> bool {
        let mut json = serde_json::Deserializer::from_str(text);
        json.deserialize_map(self).is_ok() && json.end().is_ok()
    }

    fn into_head(self) -> Option<Head> {
        let Self { seq, session, prev, event, continues, torn_sha256 } = self;
        Some(Head { seq: seq?, session: session?, prev: Some(prev?), event: event?, continues, torn_sha256 })
    }
}

impl<'de> Visitor<'de> for &mut RecordMembers {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        fn once<'de, T, A: MapAccess<'de>>(place: &mut Option<T>, map: &mut A) -> Result<(), A::Error>
        where
            T: Deserialize<'de>,
        {
            if place.is_some() {
                return Err(serde::de::Error::custom("twice"));
            }
            *place = Some(map.next_value()?);
            Ok(())
        }
        fn text<'de, A: MapAccess<'de>>(
            place: &mut Option<String>,
            longest: usize,
            map: &mut A,
        ) -> Result<(), A::Error> {
            once(place, map)?;
            match place {
                Some(text) if text.len() > longest => Err(serde::de::Error::custom("too long")),
                Some(_) | None => Ok(()),
            }
        }
        fn hash<'de, A: MapAccess<'de>>(place: &mut Option<Sha256>, map: &mut A) -> Result<(), A::Error> {
            let mut digits = None;
            text(&mut digits, 64, map)?;
            let found = digits.as_deref().and_then(Sha256::from_hex);
            if place.is_some() || found.is_none() {
                return Err(serde::de::Error::custom("no hash"));
            }
            *place = found;
            Ok(())
        }
        while let Some(key) = map.next_key()? {
            match key {
                Key::Seq => once(&mut self.seq, &mut map)?,
                Key::Session => text(&mut self.session, LONGEST_SESSION, &mut map)?,
                Key::Prev => hash(&mut self.prev, &mut map)?,
                Key::Event => text(&mut self.event, LONGEST_EVENT, &mut map)?,
                Key::Continues => text(&mut self.continues, LONGEST_NAME, &mut map)?,
                Key::TornSha256 => hash(&mut self.torn_sha256, &mut map)?,
                Key::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Seq,
    Session,
    Prev,
    Event,
    Continues,
    TornSha256,
    #[serde(other)]
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8]) -> Vec<(Vec<u8>, u64, Sha256, bool)> {
        // A small buffer, so that lines lie across its ends.
        let mut input = io::BufReader::with_capacity(7, input);
        let (mut line, mut found) = (Line::new(), Vec::new());
        while line.read(&mut input).unwrap() {
            found.push((line.bytes.clone(), line.length, line.sha256, line.has_end));
        }
        found
    }

    fn link(text: impl AsRef<[u8]>) -> Link {
        let mut line = Line::new();
        assert!(line.read(&mut text.as_ref()).unwrap());
        Link::of(&line)
    }

    #[test]
    fn lines_are_read_whole_and_their_length_is_bounded() {
        let plain = |bytes: &[u8], has_end| (bytes.to_vec(), bytes.len() as u64, Sha256::of(bytes), has_end);
        assert_eq!(lines(b""), []);
        assert_eq!(lines(b"a\n\n\0\xff"), [plain(b"a", true), plain(b"", true), plain(b"\0\xff", false)]);
        let most = usize::try_from(LONGEST_KEPT).unwrap();
        for (length, end) in [(most, "\n"), (most, ""), (most + 1, "\n"), (most + 1, ""), (3 * most, "\n")] {
            let text = "x".repeat(length);
            let found = lines(format!("{text}{end}").as_bytes());
            let [(bytes, whole, sha256, has_end)] = found.as_slice() else { panic!("{}", found.len()) };
            assert_eq!((*whole, *sha256, *has_end), (length as u64, Sha256::of(&text), end == "\n"));
            assert!(bytes.len() <= most + 1);
        }
        assert_eq!(lines(format!("{}\nb\n", "x".repeat(2 * most)).as_bytes())[1], plain(b"b", true));
    }

    #[test]
    fn a_log_is_read_as_far_as_its_bounds() {
        for (most, expected) in [(4, Ok(4)), (3, Err(TooLong::Log.to_string()))] {
            let read = io::copy(&mut Bounded::with(&b"a\nb\n"[..], most), &mut io::sink());
            assert_eq!(read.map_err(|error| error.to_string()), expected);
        }
        assert!(Bounded::new(&b""[..], Some(LARGEST_LOG)).is_ok());
        assert_eq!(Bounded::new(&b""[..], Some(LARGEST_LOG + 1)).err(), Some(TooLong::Log));
        for (length, expected) in
            [(LONGEST_LINE, Ok(true)), (LONGEST_LINE + 1, Err(TooLong::Line { number: 2 }.to_string()))]
        {
            let mut log = io::BufReader::with_capacity(1 << 16, (&b"a\n"[..]).chain(io::repeat(0).take(length)));
            let mut line = Line::new();
            assert!(line.read(&mut log).unwrap());
            assert_eq!(line.read(&mut log).map_err(|error| error.to_string()), expected, "{length}");
        }
    }

    #[test]
    fn a_record_is_told_from_what_is_none() {
        let zeros = "0".repeat(64);
        let head = format!(r#"{{"seq":3,"time":"t","session":"s","prev":"{zeros}","event":"decided""#);
        let record = |continues: Option<&str>| {
            let continues = continues.map(str::to_owned);
            let (session, event) = ("s".to_owned(), "decided".to_owned());
            Link::Record(Head { seq: 3, session, prev: Some(Sha256::ZERO), event, continues, torn_sha256: None })
        };
        assert_eq!(link(format!("{head}}}")), record(None));
        assert_eq!(link(format!("{head},\"x\":[{{}},1e9,\"\\u2028\"]}}")), record(None));
        assert_eq!(link(format!("{head},\"continues\":\"f.1\"}} ")), record(Some("f.1")));
        // Deeper than any stack.
        let deep = format!("{head},\"x\":{}{}}}", "[".repeat(400_000), "]".repeat(400_000));
        assert_eq!(link(deep), record(None));
        // Longer than is kept: the beginning must do.
        assert_eq!(link(format!("{head},\"argv\":[\"{}\"]}}", "x".repeat(5_000_000))), record(None));
        let unreadable = |prev| Link::Unreadable { prev, continues: None };
        assert_eq!(link(&head), unreadable(Some(Sha256::ZERO)));
        assert_eq!(link(format!("{head}}}x")), unreadable(Some(Sha256::ZERO)));
        assert_eq!(link(format!("{head},\"event\":\"x\"}}")), unreadable(Some(Sha256::ZERO)));
        assert_eq!(link(&head[..20]), unreadable(None));
        assert_eq!(link([head.as_bytes(), b",\"x\":\"\xff\"}"].concat()), unreadable(Some(Sha256::ZERO)));
        for text in ["", "\n", "null", "[]", "\0", "{}", &"{\"a\":".repeat(300_000), &"x".repeat(5_000_000)] {
            assert_eq!(link(format!("{text}\n")), unreadable(None), "{}", &text[..text.len().min(20)]);
        }
        let long = format!("{{\"seq\":0,\"session\":\"{}\",\"prev\":\"{zeros}\",\"event\":\"e\"}}", "s".repeat(65));
        assert_eq!(link(long), unreadable(None));
        assert_eq!(link(head.replace(&zeros, "0") + "}"), unreadable(None));
        assert_eq!(link(head.replace(":3", ":-3") + "}"), unreadable(None));
    }
}
