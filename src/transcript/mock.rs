//! The answers of a transcript: a server that runs nothing, for testing clients.
//!
//! Each line that the recorded client sent is an *exchange* with what followed from it: the response with its id, and
//! the messages that came with it. A live line plays the first exchange with the same content that was not played yet.
//! Content is everything except what a client makes up each time (its ids, its progress tokens, and metadata that is
//! not the protocol's own) and its name for itself.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, Write};

use serde_json::{Map, Value, json};

use super::nearest::{differences, distance};
use super::{Entry, LineEnd, Message, Placeholders, Problem, Transcript, TranscriptError};
use crate::jsonrpc::{
    self, ErrorObject, INVALID_PARAMS, INVALID_REQUEST, Incoming, Line, LineReader, MAX_LINE, METHOD_NOT_FOUND, encode,
};

/// The prefix of the metadata that the protocol defines.
const OWN_META: &str = "io.modelcontextprotocol/";
/// The client's name for itself: in the metadata of each request, or in the handshake.
const CLIENT_INFO: [&str; 2] = ["io.modelcontextprotocol/clientInfo", "clientInfo"];
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

/// What follows from a live line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The lines for the client, without their ends.
    pub lines: Vec<String>,
    /// What was wrong with the client's line, for people; if the client waits for an answer, an error is among the
    /// lines.
    pub complaint: Option<String>,
}

/// One line of the recorded client, with what followed from it.
#[derive(Debug)]
struct Exchange {
    line: usize,
    text: String,
    content: Content,
    answers: Vec<Message>,
    is_played: bool,
}

/// A line of a client, without what changes from session to session.
#[derive(Debug)]
struct Content {
    /// Whether the line is not a message.
    malformed: bool,
    key: Value,
    /// The ids of its requests, in their order.
    ids: Vec<Value>,
    /// Their progress tokens; null where one has none.
    tokens: Vec<Value>,
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
        let version = transcript.header.version().unwrap_or(env!("CARGO_PKG_VERSION"));
        let fill =
            |text: &str| placeholders.fill_json(text).replace("\"[version]\"", &Value::from(version).to_string());
        let mut mock =
            Self { opening: Vec::new(), exchanges: Vec::new(), placeholders: placeholders.clone(), repeats: false };
        let mut index_of = Index::default();
        let mut pieces = Vec::new();
        for (index, entry) in transcript.entries.iter().enumerate() {
            let at = |problem| TranscriptError { file: file.to_owned(), line: first_line + index, problem };
            match entry {
                Entry::Send(sent) => {
                    pieces.extend_from_slice(&sent.bytes);
                    if sent.end == LineEnd::Newline {
                        mock.add_line(first_line + index, &std::mem::take(&mut pieces), &mut index_of);
                    }
                }
                Entry::Receive(message) if message.is_bare() => {
                    return Err(at(Problem::BareAnswer { found: message.text().to_owned() }));
                }
                Entry::Receive(message) => {
                    mock.add_answer(Message::parse(&fill(message.text())).map_err(at)?, &mut index_of);
                }
                Entry::CloseInput if !pieces.is_empty() => {
                    mock.add_line(first_line + index, &std::mem::take(&mut pieces), &mut index_of);
                }
                // A client has no use for it.
                Entry::Noise(_) => {}
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
        let unplayed = self.exchanges.iter().filter(|exchange| !exchange.is_played);
        unplayed.map(|exchange| (exchange.line, exchange.text.as_str()))
    }

    /// What the server sends before the client sends anything.
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
        let next = self.exchanges.iter().position(|exchange| !exchange.is_played && like(exchange));
        let again = || self.exchanges.iter().rposition(like).filter(|_| self.repeats);
        if let Some(exchange) = next.or_else(again).and_then(|at| self.exchanges.get_mut(at)) {
            exchange.is_played = true;
            let recorded = &exchange.content;
            let lines = exchange.answers.iter().filter_map(|answer| recorded.translate(answer, &live)).collect();
            return Answer { lines, complaint: None };
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

    /// Takes a line that was too long to be read. It plays the first recorded line that was too long, too.
    fn receive_too_long(&mut self) -> Answer {
        let too_long = |exchange: &&mut Exchange| !exchange.is_played && exchange.text.len() > MAX_LINE;
        if let Some(exchange) = self.exchanges.iter_mut().find(too_long) {
            exchange.is_played = true;
            let lines = exchange.answers.iter().map(|answer| answer.text().to_owned()).collect();
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

    fn add_line(&mut self, line: usize, bytes: &[u8], index: &mut Index) {
        let bytes = match std::str::from_utf8(bytes) {
            Ok(text) => self.placeholders.fill_json(text).into_bytes(),
            Err(_) => bytes.to_vec(),
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let content = Content::of(&bytes);
        index.add(self.exchanges.len(), &content);
        self.exchanges.push(Exchange { line, text, content, answers: Vec::new(), is_played: false });
    }

    /// Assigns a message to the line that it belongs to: by its ids, by its token, else to the last line before it.
    fn add_answer(&mut self, message: Message, index: &mut Index) {
        let last_of = |known: &BTreeMap<String, usize>, value: &Value| known.get(&value.to_string()).copied();
        let owner = match owners(message.value()) {
            Owner::Requests(ids) => ids.iter().filter_map(|id| last_of(&index.ids, id)).max(),
            Owner::Token(token) => last_of(&index.tokens, &token),
            // The first error without an id belongs to the first malformed line.
            Owner::Malformed => {
                let answered = |at: &usize| self.exchanges.get(*at).is_none_or(|exchange| !exchange.answers.is_empty());
                while index.malformed.front().is_some_and(answered) {
                    index.malformed.pop_front();
                }
                index.malformed.front().copied()
            }
            Owner::Last => None,
        };
        let at = owner.or_else(|| self.exchanges.len().checked_sub(1));
        match at.and_then(|at| self.exchanges.get_mut(at)) {
            Some(exchange) => exchange.answers.push(message),
            None => self.opening.push(message.text().to_owned()),
        }
    }
}

/// The index for finding the line of an answer: the last line with an id or a token as JSON, and all malformed lines.
#[derive(Default)]
struct Index {
    ids: BTreeMap<String, usize>,
    tokens: BTreeMap<String, usize>,
    malformed: VecDeque<usize>,
}

impl Index {
    fn add(&mut self, at: usize, content: &Content) {
        self.ids.extend(content.ids.iter().map(|id| (id.to_string(), at)));
        self.tokens.extend(content.tokens.iter().map(|token| (token.to_string(), at)));
        if content.malformed {
            self.malformed.push_back(at);
        }
    }
}

impl Answer {
    fn error(why: &str, responses: [Vec<u8>; 1]) -> Self {
        let line = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end().to_owned();
        Self { lines: responses.map(line).into(), complaint: Some(why.to_owned()) }
    }
}

/// The line that a message of the server belongs to.
enum Owner {
    /// The requests with these ids.
    Requests(Vec<Value>),
    /// The request with this progress token.
    Token(Value),
    /// A malformed line.
    Malformed,
    /// The message names none: the last line.
    Last,
}

fn owners(message: &Value) -> Owner {
    if let Value::Array(members) = message {
        return Owner::Requests(members.iter().filter_map(|member| member.get("id")).cloned().collect());
    }
    if message.get("method").is_some() {
        let subscription = message.pointer("/params/_meta").and_then(|meta| meta.get(SUBSCRIPTION));
        return match (message.pointer("/params/progressToken"), subscription) {
            (Some(token), _) => Owner::Token(token.clone()),
            (None, Some(id)) => Owner::Requests(vec![id.clone()]),
            (None, None) => Owner::Last,
        };
    }
    message.get("id").map_or(Owner::Malformed, |id| Owner::Requests(vec![id.clone()]))
}

/// Names the request that a notification belongs to.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

impl Content {
    fn of(line: &[u8]) -> Self {
        let (mut ids, mut tokens) = (Vec::new(), Vec::new());
        let value: Option<Value> = serde_json::from_slice(line).ok();
        let malformed = Incoming::parse(line).is_err();
        let key = match value {
            Some(Value::Array(members)) => {
                members.into_iter().map(|member| strip(member, &mut ids, &mut tokens)).collect()
            }
            Some(message) => strip(message, &mut ids, &mut tokens),
            None => Value::from(String::from_utf8_lossy(line)),
        };
        Self { malformed, key, ids, tokens }
    }

    fn is_like(&self, other: &Self) -> bool {
        self.malformed == other.malformed && self.key == other.key && self.ids.len() == other.ids.len()
    }

    /// A recorded answer for the live client; `None` for progress that it did not ask for.
    fn translate(&self, answer: &Message, live: &Self) -> Option<String> {
        let translation = Translation { recorded: self, live };
        let mut value = answer.value().clone();
        let kept = match &mut value {
            Value::Array(members) => members.iter_mut().all(|member| translation.apply(member)),
            message => translation.apply(message),
        };
        if !kept {
            return None;
        }
        // The text is kept if nothing changed, because printing would sort the keys.
        Some(if value == *answer.value() { answer.text().to_owned() } else { value.to_string() })
    }
}

struct Translation<'a> {
    recorded: &'a Content,
    live: &'a Content,
}

impl Translation<'_> {
    fn apply(&self, message: &mut Value) -> bool {
        if message.get("method").is_none() {
            if let Some(id) = message.get_mut("id") {
                self.replace(&self.recorded.ids, &self.live.ids, id);
            }
            return true;
        }
        if let Some(id) = message.pointer_mut("/params/_meta").and_then(|meta| meta.get_mut(SUBSCRIPTION)) {
            self.replace(&self.recorded.ids, &self.live.ids, id);
        }
        match message.pointer_mut("/params/progressToken") {
            Some(token) => {
                self.replace(&self.recorded.tokens, &self.live.tokens, token);
                !token.is_null()
            }
            None => true,
        }
    }

    fn replace(&self, recorded: &[Value], live: &[Value], value: &mut Value) {
        let index = recorded.iter().position(|recorded| recorded == value);
        if let Some(replacement) = index.and_then(|index| live.get(index)) {
            *value = replacement.clone();
        }
    }
}

/// Removes from a message what a client makes up each time and its name for itself, and keeps a request's id and token.
fn strip(message: Value, ids: &mut Vec<Value>, tokens: &mut Vec<Value>) -> Value {
    let Value::Object(mut members) = message else { return message };
    let is_request = members.contains_key("method") && members.contains_key("id");
    let meta = members.get_mut("params").and_then(|params| params.get_mut("_meta")).and_then(Value::as_object_mut);
    let token = meta.as_ref().and_then(|meta| meta.get("progressToken")).cloned().unwrap_or_default();
    if let Some(meta) = meta {
        meta.retain(|key, _| key.starts_with(OWN_META) && !CLIENT_INFO.contains(&key.as_str()));
    }
    if members.get("method").is_some_and(|method| method == "initialize") {
        if let Some(params) = members.get_mut("params").and_then(Value::as_object_mut) {
            params.retain(|key, _| !CLIENT_INFO.contains(&key.as_str()));
        }
    }
    drop_empty_params(&mut members);
    if members.get("method").and_then(Value::as_str) == Some("notifications/cancelled") {
        return json!({"method": "notifications/cancelled"});
    }
    if is_request {
        ids.extend(members.remove("id"));
        tokens.push(token);
    }
    Value::Object(members)
}

/// Empty `params` and empty metadata do not count as content.
fn drop_empty_params(members: &mut Map<String, Value>) {
    let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    let Some(params) = members.get_mut("params").and_then(Value::as_object_mut) else { return };
    if params.get("_meta").is_some_and(is_empty) {
        params.remove("_meta");
    }
    if params.is_empty() {
        members.remove("params");
    }
}

fn quoted(text: &str) -> String {
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(QUOTED).collect();
    if chars.next().is_some() { format!("{start}…") } else { start }
}
