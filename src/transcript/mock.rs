//! The answers of a transcript: a server that runs nothing, for testing clients.
//!
//! Each line that the recorded client sent is an *exchange* with what followed from it: the response with its id, and
//! the messages that came with it. A live line plays the first exchange with the same content that was not played yet.
//! Content is everything except what a client makes up each time (its ids, its progress tokens, and metadata that is
//! not the protocol's own) and its name for itself.

mod content;
mod placing;

use std::io::{self, BufRead, Write};

use serde_json::Value;

use self::content::Content;
use self::placing::{Place, Placing};
use super::nearest::{differences, distance};
use super::{Entry, LineEnd, Message, Placeholders, Problem, Transcript, TranscriptError};
use crate::jsonrpc::{
    self, ErrorObject, INVALID_PARAMS, INVALID_REQUEST, Incoming, Line, LineReader, MAX_LINE, METHOD_NOT_FOUND, encode,
};

/// The key of the metadata that names the request that a notification belongs to.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// The most of a request that is quoted in an error.
const QUOTED: usize = 600;

/// A transcript that answers.
///
/// ```
/// use allowexec::transcript::{Mock, Placeholders};
///
/// let text = r#"transcript: 1
///
/// --> {"jsonrpc":"2.0","id":1,"method":"ping"}
/// <-- {"jsonrpc":"2.0","id":1,"result":{}}
/// "#;
/// let mut mock = Mock::parse("ping.transcript", text, Placeholders::version_only())?;
/// let answer = mock.receive(br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#);
/// assert_eq!(answer.lines, [r#"{"id":"a","jsonrpc":"2.0","result":{}}"#]);
/// # Ok::<(), allowexec::transcript::TranscriptError>(())
/// ```
#[derive(Debug)]
pub struct Mock {
    opening: Vec<String>,
    exchanges: Vec<Exchange>,
    placeholders: Placeholders,
    repeats: bool,
}

/// The reaction to a line of the live client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The lines for the client, without their ends.
    pub lines: Vec<String>,
    /// The error in the client's line, for people; if the client waits for an answer, an error is among the lines.
    pub complaint: Option<String>,
}

/// One line of the recorded client, with what followed from it.
#[derive(Debug)]
struct Exchange {
    line: usize,
    text: String,
    content: Content,
    /// The messages that are sent after it, each with the number of the exchange whose ids it carries.
    answers: Vec<(usize, Message)>,
    /// The live line that has played it last.
    live: Option<Content>,
}

impl Exchange {
    fn is_played(&self) -> bool {
        self.live.is_some()
    }
}

impl Mock {
    /// Reads a transcript; `file` is the name that errors carry.
    ///
    /// # Errors
    /// What [`Transcript::parse`] finds, and [`Problem::BareAnswer`] for a wait that is not a whole message.
    pub fn parse(file: &str, text: impl AsRef<[u8]>, placeholders: Placeholders) -> Result<Self, TranscriptError> {
        let text = text.as_ref();
        let transcript = Transcript::parse(file, text)?;
        let first_line = Transcript::first_line_of_body(text);
        // That of another program is only known if the transcript says it.
        let own = transcript.header.server().is_empty().then_some(env!("CARGO_PKG_VERSION"));
        let version = transcript.header.version().or(own).map(|version| Value::from(version).to_string());
        let fill = |text: &str| {
            let text = placeholders.fill_json(text);
            version.iter().fold(text, |text, version| text.replace("\"[version]\"", version))
        };
        let mut mock =
            Self { opening: Vec::new(), exchanges: Vec::new(), placeholders: placeholders.clone(), repeats: false };
        let mut placing = Placing::default();
        let mut pieces = Vec::new();
        for (index, entry) in transcript.entries.iter().enumerate() {
            let at = |problem| TranscriptError { file: file.to_owned(), line: first_line + index, problem };
            match entry {
                Entry::Send(sent) => {
                    pieces.extend_from_slice(&sent.bytes);
                    if sent.end == LineEnd::Newline {
                        mock.add_line(first_line + index, &std::mem::take(&mut pieces), &mut placing);
                    }
                }
                Entry::Receive(message) if message.is_bare() => {
                    return Err(at(Problem::BareAnswer { found: message.text().to_owned() }));
                }
                Entry::Receive(message) => {
                    mock.add_answer(Message::parse(&fill(message.text())).map_err(at)?, &mut placing);
                }
                Entry::CloseInput if !pieces.is_empty() => {
                    mock.add_line(first_line + index, &std::mem::take(&mut pieces), &mut placing);
                }
                // A client has no use for it.
                Entry::Noise(_) | Entry::NoLineEnd => {}
                Entry::CloseInput | Entry::Exit(_) | Entry::Comment(_) | Entry::Blank | Entry::Failure(_) => {}
            }
        }
        Ok(mock)
    }

    /// If a line comes more often than it was recorded, it is answered like the last time.
    #[must_use]
    pub fn repeating(self) -> Self {
        Self { repeats: true, ..self }
    }

    /// The recorded lines of the client that no live line has played: the line number in the file, and its text.
    pub fn unplayed(&self) -> impl Iterator<Item = (usize, &str)> {
        let unplayed = self.exchanges.iter().filter(|exchange| !exchange.is_played());
        unplayed.map(|exchange| (exchange.line, exchange.text.as_str()))
    }

    /// Returns the lines that the server sends before the client sends anything.
    #[must_use]
    pub fn opening(&self) -> &[String] {
        &self.opening
    }

    /// Answers a client until its stream ends, and passes complaints about its lines to `complain`.
    ///
    /// # Errors
    /// The error of reading or writing.
    pub fn serve(
        &mut self,
        input: impl BufRead,
        mut output: impl Write,
        mut complain: impl FnMut(&str),
    ) -> io::Result<()> {
        let mut send = |lines: &[String]| {
            lines.iter().try_for_each(|line| output.write_all(format!("{line}\n").as_bytes()))?;
            output.flush()
        };
        send(&self.opening)?;
        let mut lines = LineReader::new(input);
        while let Some(line) = lines.next_line()? {
            let answer = match &line {
                Line::Text(text) => self.receive(text),
                // The recorded server did not see more of it either.
                Line::TooLong(_) => self.receive_too_long(),
            };
            answer.complaint.iter().for_each(|complaint| complain(complaint));
            send(&answer.lines)?;
        }
        Ok(())
    }

    /// Takes a line of the client, without its end.
    pub fn receive(&mut self, line: &[u8]) -> Answer {
        let live = Content::of(line);
        let like = |exchange: &Exchange| exchange.content.is_like(&live);
        let next = self.exchanges.iter().position(|exchange| !exchange.is_played() && like(exchange));
        let again = || self.exchanges.iter().rposition(like).filter(|_| self.repeats);
        if let Some(at) = next.or_else(again) {
            return Answer { lines: self.play(at, live), complaint: None };
        }
        match Incoming::parse(line) {
            Err(malformed) => {
                Answer::error(&malformed.error.message, [encode::error(malformed.id.as_ref(), &malformed.error)])
            }
            Ok(Incoming::Single(jsonrpc::Message::Request(request))) => {
                let error = self.refusal(&live, &request.method);
                Answer::error(&error.message, [encode::error(Some(&request.id), &error)])
            }
            Ok(Incoming::Single(jsonrpc::Message::Notification(notification))) => Answer {
                lines: Vec::new(),
                // Nobody waits for the end of a call that was mocked.
                complaint: (notification.method != "notifications/cancelled").then(|| {
                    format!("the transcript does not hold the notification `{}`", notification.method.escape_debug())
                }),
            },
            Ok(Incoming::Single(jsonrpc::Message::Response(_))) => Answer {
                lines: Vec::new(),
                complaint: Some(format!("the transcript does not hold the response {}", quoted(&live.key.to_string()))),
            },
            Ok(Incoming::Batch(members)) => {
                let error = self.refusal(&live, "a batch");
                let ids = members.iter().filter_map(|member| match member {
                    Ok(jsonrpc::Message::Request(request)) => Some(&request.id),
                    Ok(_) | Err(_) => None,
                });
                let responses: Vec<Vec<u8>> = ids.map(|id| encode::error(Some(id), &error)).collect();
                match responses.is_empty() {
                    true => Answer { lines: Vec::new(), complaint: Some(error.message) },
                    false => Answer::error(&error.message, [encode::batch(&responses)]),
                }
            }
        }
    }

    /// Answers a live line like a recorded one.
    fn play(&mut self, at: usize, live: Content) -> Vec<String> {
        if let Some(exchange) = self.exchanges.get_mut(at) {
            exchange.live = Some(live);
        }
        let answers = self.exchanges.get(at).map(|exchange| exchange.answers.as_slice()).unwrap_or_default();
        let translated = answers.iter().filter_map(|(owner, answer)| {
            // Nobody waits for the answer to a request that was not made.
            let owner = self.exchanges.get(*owner)?;
            owner.content.translate(answer, owner.live.as_ref()?)
        });
        translated.collect()
    }

    /// Takes a line that was too long to be read. It plays the first recorded line that was too long, too.
    fn receive_too_long(&mut self) -> Answer {
        let too_long = |exchange: &&mut Exchange| !exchange.is_played() && exchange.text.len() > MAX_LINE;
        if let Some(exchange) = self.exchanges.iter_mut().find(too_long) {
            exchange.live = Some(Content::of(b""));
            let lines = exchange.answers.iter().map(|(_, answer)| answer.text().to_owned()).collect();
            return Answer { lines, complaint: None };
        }
        let why = format!("the line is longer than {MAX_LINE} bytes, and the transcript holds no such line");
        Answer::error(&why, [encode::error(None, &ErrorObject::new(INVALID_REQUEST, &*why))])
    }

    /// Why a request has no answer, with the nearest recorded one.
    fn refusal(&self, live: &Content, method: &str) -> ErrorObject {
        let method = method.escape_debug();
        let requests = || self.exchanges.iter().filter(|exchange| !exchange.content.ids.is_empty());
        let same = requests().filter(|exchange| exchange.content.is_like(live)).count();
        if same > 0 {
            let message = format!("the transcript holds this `{method}` {same} times, and each was answered already");
            return ErrorObject::new(INVALID_PARAMS, message);
        }
        let live_method = live.key.get("method");
        let nearest = requests().min_by_key(|exchange| {
            let other = exchange.content.key.get("method") != live_method;
            (other, distance(&differences(&exchange.content.key, &live.key)))
        });
        let Some(nearest) = nearest else {
            return ErrorObject::new(METHOD_NOT_FOUND, "the transcript holds no request at all");
        };
        let shown =
            |value: Option<Value>| value.map_or_else(|| "nothing".to_owned(), |value| quoted(&value.to_string()));
        let differs =
            differences(&nearest.content.key, &live.key).into_iter().next().map_or_else(String::new, |place| {
                let (expected, found) = (shown(place.expected), shown(place.found));
                format!(" (at `{}` it has {expected}, and this request {found})", place.pointer)
            });
        let known = nearest.content.key.get("method") == live_method;
        ErrorObject::new(
            if known { INVALID_PARAMS } else { METHOD_NOT_FOUND },
            format!(
                "the transcript does not contain this `{method}`; the nearest recorded one is on line {}{differs}: {}",
                nearest.line,
                quoted(&nearest.text)
            ),
        )
    }

    fn add_line(&mut self, line: usize, bytes: &[u8], placing: &mut Placing) {
        let bytes = match std::str::from_utf8(bytes) {
            Ok(text) => self.placeholders.fill_json(text).into_bytes(),
            Err(_) => bytes.to_vec(),
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let content = Content::of(&bytes);
        placing.line(&content);
        self.exchanges.push(Exchange { line, text, content, answers: Vec::new(), live: None });
    }

    /// Assigns a message to the line that it is sent after.
    fn add_answer(&mut self, message: Message, placing: &mut Placing) {
        let place = placing.message(message.value());
        match place.and_then(|Place { owner, after }| Some((owner, self.exchanges.get_mut(after)?))) {
            Some((owner, exchange)) => exchange.answers.push((owner, message)),
            None => self.opening.push(message.text().to_owned()),
        }
    }
}

impl Answer {
    fn error(why: &str, responses: [Vec<u8>; 1]) -> Self {
        let line = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end().to_owned();
        Self { lines: responses.map(line).into(), complaint: Some(why.to_owned()) }
    }
}

fn quoted(text: &str) -> String {
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(QUOTED).collect();
    if chars.next().is_some() { format!("{start}…") } else { start }
}
