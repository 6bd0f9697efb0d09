//! `era: both`: one text for two sessions, one in each era of the protocol.
//!
//! The text is a legacy session, which begins with the handshake. A modern client leaves that out, and says with each message what
//! the handshake says. A line that only one of them has is marked. Each session is a transcript with as many lines as the text:
//! a line that it does not have is blank.

use std::fmt;

use serde_json::{Map, Value};

use super::unheld::unheld;
use super::{Entry, Header, Identity, LineEnd, Problem, Sent, Transcript};

/// The method that opens a legacy session.
const INITIALIZE: &str = "initialize";
const INITIALIZED: &str = "notifications/initialized";
/// The revision of a modern client, and the keys under which it says with each message what it is.
const REVISION: &str = "2026-07-28";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
/// How many bytes a modern session may have on top of its text, since each message repeats what the handshake says.
const MOST_ADDED: usize = 64 * 1024 * 1024;
const INFO_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// How a client opens a session; see the glossary in `spec/architecture.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// With `initialize`.
    Legacy,
    /// Not at all: each request has what the server must know in `_meta`.
    Modern,
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        })
    }
}

/// A line of the body, and the era that alone has it.
pub(super) struct Marked {
    only: Option<Era>,
    entry: Entry,
}

impl Marked {
    /// Parses a line of a text with `era: both`.
    pub(super) fn parse(line: &str) -> Result<Self, Problem> {
        let Some((era, rest)) = mark(line) else { return Ok(Self { only: None, entry: Entry::parse(line)? }) };
        match Entry::parse(rest)? {
            Entry::Comment(_) | Entry::Blank => Err(Problem::UnknownPrefix { found: line.to_owned() }),
            entry => Ok(Self { only: Some(era), entry }),
        }
    }

    pub(super) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Whether the line does anything.
    fn counts(&self) -> bool {
        !matches!(self.entry, Entry::Comment(_) | Entry::Blank)
    }

    /// The message that both clients send, if it is one.
    fn shared_message(&self) -> Option<Map<String, Value>> {
        match (&self.only, &self.entry) {
            (None, Entry::Send(sent)) => message(sent),
            (_, _) => None,
        }
    }
}

/// The era before the arrow of a line, and the line without it.
pub(super) fn mark(line: &str) -> Option<(Era, &str)> {
    let (word, rest) = line.split_once(' ')?;
    match word {
        "legacy" => Some((Era::Legacy, rest)),
        "modern" => Some((Era::Modern, rest)),
        _ => None,
    }
}

/// The sessions of a text with `era: both`. The error has the index of its line.
pub(super) fn sessions(header: &Header, lines: Vec<Marked>) -> Result<[(Era, Transcript); 2], (usize, Problem)> {
    let Handshake { places, meta } = Handshake::of(&lines)?;
    let (mut legacy, mut modern) = (Vec::new(), Vec::new());
    let size = Value::Object(meta.clone()).to_string().len();
    let mut added = 0;
    for (index, Marked { only, entry }) in lines.into_iter().enumerate() {
        let (in_legacy, in_modern) = match only {
            Some(Era::Legacy) => (entry, Entry::Blank),
            Some(Era::Modern) => (Entry::Blank, entry),
            None if places.contains(&index) => (entry, Entry::Blank),
            None => {
                added += if matches!(entry, Entry::Send(_)) { size } else { 0 };
                if added > MOST_ADDED {
                    return Err((index, Problem::LargeInModern { found: size }));
                }
                (entry.clone(), with_meta(entry, &meta))
            }
        };
        legacy.push(in_legacy);
        modern.push(in_modern);
    }
    Ok([
        (Era::Legacy, Transcript { header: header.clone(), entries: legacy }),
        (Era::Modern, Transcript { header: header.clone(), entries: modern }),
    ])
}

/// The three lines that open the legacy session.
struct Handshake {
    places: [usize; 3],
    /// The metadata that a modern client sends with each message in their stead.
    meta: Map<String, Value>,
}

impl Handshake {
    fn of(lines: &[Marked]) -> Result<Self, (usize, Problem)> {
        let mut said = lines.iter().enumerate().filter(|(_, line)| line.counts());
        let mut next = |is_it: &dyn Fn(&Marked) -> bool| match said.next() {
            Some((index, line)) if is_it(line) => Ok(index),
            Some((index, line)) => Err((index, Problem::NoHandshake { found: line.entry.to_string() })),
            None => Err((lines.len(), Problem::NoHandshake { found: "the end of the file".to_owned() })),
        };
        let says = |line: &Marked, method: &str| {
            line.shared_message().filter(|message| message.get("method").is_some_and(|found| found == method))
        };
        let initialize = next(&|line| says(line, INITIALIZE).is_some_and(|message| message.contains_key("id")))?;
        let message = lines.get(initialize).and_then(|line| says(line, INITIALIZE)).unwrap_or_default();
        let id = Identity::of(&serde_json::json!({"id": message.get("id")}));
        let answer = next(&|line| line.only.is_none() && line.entry.identity() == id)?;
        let initialized = next(&|line| says(line, INITIALIZED).is_some())?;
        let mut params = match message.get("params") {
            Some(Value::Object(params)) => params.clone(),
            Some(_) | None => Map::new(),
        };
        let mut meta = Map::new();
        meta.insert(VERSION_KEY.to_owned(), REVISION.into());
        meta.insert(CAPABILITIES_KEY.to_owned(), params.remove("capabilities").unwrap_or_else(|| Map::new().into()));
        meta.extend(params.remove("clientInfo").map(|info| (INFO_KEY.to_owned(), info)));
        Ok(Self { places: [initialize, answer, initialized], meta })
    }
}

/// The line as a modern client sends it. What is not a request or a notification in one piece, or could not be printed as
/// it was read, stays.
fn with_meta(entry: Entry, meta: &Map<String, Value>) -> Entry {
    let Entry::Send(sent) = &entry else { return entry };
    let Some(mut message) = message(sent).filter(|message| message.get("method").is_some_and(Value::is_string)) else {
        return entry;
    };
    let params = message.entry("params").or_insert_with(|| Map::new().into());
    let own = params.as_object_mut().map(|params| params.entry("_meta").or_insert_with(|| Map::new().into()));
    let Some(Value::Object(own)) = own else { return entry };
    for (key, value) in meta {
        // What the line says itself counts.
        own.entry(key).or_insert_with(|| value.clone());
    }
    Entry::Send(Sent { bytes: Value::from(message).to_string().into_bytes(), end: LineEnd::Newline })
}

/// A line of the client that is one object of JSON, and the same when it is printed.
fn message(sent: &Sent) -> Option<Map<String, Value>> {
    let text = sent.text().filter(|_| sent.end == LineEnd::Newline)?;
    match serde_json::from_str(text) {
        Ok(Value::Object(message)) if unheld(text).is_empty() => Some(message),
        Ok(_) | Err(_) => None,
    }
}
