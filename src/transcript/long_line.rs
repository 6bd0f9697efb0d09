//! A line of a server that is too long to be held in memory: it is classified and copied through a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};

use serde::Deserialize;
use serde::de::IgnoredAny;

/// How the line in the spool is written in a transcript.
#[derive(Clone, Copy)]
pub(super) enum LongLine {
    Message,
    Text,
    Bytes,
}

impl LongLine {
    /// Copies the line in the spool as a line of a transcript.
    pub(super) fn copy(spool: &mut File, to: &mut impl Write) -> io::Result<()> {
        let kind = Self::read(spool)?;
        spool.rewind()?;
        to.write_all(kind.prefix().as_bytes())?;
        match kind {
            Self::Message | Self::Text => drop(io::copy(spool, to)?),
            Self::Bytes => {
                let mut input = BufReader::new(&*spool);
                loop {
                    let bytes = input.fill_buf()?;
                    let count = bytes.len();
                    if count == 0 {
                        break;
                    }
                    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                    to.write_all(hex.as_bytes())?;
                    input.consume(count);
                }
            }
        }
        to.write_all(b"\n")
    }

    /// Reads the spool from its beginning, without holding it.
    fn read(spool: &mut File) -> io::Result<Self> {
        /// The members that give a message its identity; a batch is an array of them.
        #[derive(Deserialize)]
        struct Envelope {
            method: Option<IgnoredAny>,
            id: Option<IgnoredAny>,
            error: Option<IgnoredAny>,
        }
        spool.rewind()?;
        let mut decoder = Utf8Check::default();
        let mut chunk = vec![0; 64 * 1024];
        let mut first = None;
        loop {
            let count = spool.read(&mut chunk)?;
            let Some(read) = chunk.get(..count).filter(|read| !read.is_empty()) else { break };
            first = first.or_else(|| read.iter().find(|byte| !byte.is_ascii_whitespace()).copied());
            decoder.take(read);
        }
        if !decoder.is_printable() {
            return Ok(Self::Bytes);
        }
        spool.rewind()?;
        let has_identity = |one: &Envelope| one.method.is_some() || one.id.is_some() || one.error.is_some();
        let input = BufReader::new(&*spool);
        let is_message = match first {
            Some(b'[') => serde_json::from_reader::<_, Vec<Envelope>>(input)
                .is_ok_and(|batch| !batch.is_empty() && batch.iter().all(has_identity)),
            _ => serde_json::from_reader::<_, Envelope>(input).is_ok_and(|one| has_identity(&one)),
        };
        Ok(if is_message { Self::Message } else { Self::Text })
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Message => "<-- ",
            Self::Text => "<--! ",
            Self::Bytes => "<--x ",
        }
    }
}

/// Checks whether bytes that come in chunks are UTF-8 that a line of a transcript can contain unchanged.
#[derive(Default)]
struct Utf8Check {
    /// The beginning of a character that continues in the next chunk.
    begun: Vec<u8>,
    broken: bool,
    ends_with_blank: bool,
}

impl Utf8Check {
    fn take(&mut self, chunk: &[u8]) {
        let bytes = [std::mem::take(&mut self.begun).as_slice(), chunk].concat();
        let valid = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                self.broken |= error.error_len().is_some();
                self.begun = rest.to_vec();
                // The error says that it is.
                std::str::from_utf8(valid).unwrap_or_default()
            }
        };
        self.broken |= valid.chars().any(|c| c != '\t' && c.is_control());
        if self.broken {
            self.begun.clear();
        }
        if !valid.is_empty() {
            self.ends_with_blank = valid.ends_with(char::is_whitespace);
        }
    }

    fn is_printable(&self) -> bool {
        !self.broken && self.begun.is_empty() && !self.ends_with_blank
    }
}
