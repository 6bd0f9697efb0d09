//! Plays a transcript against a peer and returns the transcript of what happened.
//!
//! The result has each line of the transcript in its place, `<--` lines with the message that really came. A message
//! that came early is kept for its wait. A message that no later wait is for is put where it was noticed: before the
//! answer to the wait during which it came.
//!
//! What a server makes up in each session the client sends back as it came, and the recorded one stands in the result; see
//! [`Fresh`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::fresh::Fresh;
use super::{Entry, Failure, Identity, LineEnd, Peer, Placeholders, Rule, Sent, Transcript};

/// This many messages that no line waits for end a wait: if they keep coming, the deadline alone would never end it.
const MOST_OTHERS: usize = 1000;
/// After a wait for which nothing came, the next ones are this much shorter, until something comes or the input is closed. Otherwise a
/// server that is silent for good would be waited for once a line.
const SHORTER: u32 = 20;
/// The most bytes that are read of a server; more of them end a wait, too.
const MOST_BYTES: usize = 48 * 1024 * 1024;

/// The method that asks about the state of a task, in both eras, and the state of one that has not ended.
const TASKS_GET: &str = "tasks/get";
const WORKING: &str = "working";
/// The time after which a task that is still working is asked about again.
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(20);

/// How transcripts are played.
#[derive(Debug, Clone)]
pub struct Player {
    deadline: Duration,
    placeholders: Placeholders,
    in_order: bool,
    rules: Vec<Rule>,
}

impl Default for Player {
    /// Ten seconds for each wait, no temporary directory, any order, and no rules but those of the transcript.
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(10),
            placeholders: Placeholders::version_only(),
            in_order: false,
            rules: Vec::new(),
        }
    }
}

impl Player {
    /// How long each wait lasts at most while nothing comes; 10 s by default.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// The placeholders for sent and received lines. The caller fills in arguments and variables when it starts the
    /// peer.
    #[must_use]
    pub fn placeholders(self, placeholders: Placeholders) -> Self {
        Self { placeholders, ..self }
    }

    /// A message that comes earlier than in the transcript is in the result where it came, so it differs. Otherwise it
    /// is where the transcript has it: a server may answer requests in any order.
    #[must_use]
    pub fn in_order(self, in_order: bool) -> Self {
        Self { in_order, ..self }
    }

    /// Rules beside those of the header; of them only what is made up in each session matters here.
    #[must_use]
    pub fn rules(self, rules: Vec<Rule>) -> Self {
        Self { rules, ..self }
    }

    /// Plays the whole transcript. This always ends: what did not happen in time is a [`Failure`] in the result. At the
    /// end the peer's input is closed, if it is not closed already.
    #[must_use]
    pub fn play(&self, transcript: &Transcript, peer: Peer) -> Transcript {
        let mut play = Play {
            player: self,
            peer,
            waits: BTreeMap::new(),
            held: BTreeMap::new(),
            early: BTreeMap::new(),
            kept: 0,
            read: 0,
            is_silent: false,
            happened: Vec::new(),
            fresh: Fresh::new(transcript, &self.rules),
            questions: BTreeMap::new(),
            asked_again: 0,
            has_line_end: true,
            says_no_line_end: false,
        };
        for identity in transcript.entries.iter().filter_map(Entry::identity) {
            *play.waits.entry(identity).or_default() += 1;
        }
        transcript.entries.iter().for_each(|entry| play.step(entry));
        play.leave();
        let Play { happened, fresh, .. } = play;
        let entries = happened.into_iter().map(|entry| fresh.came(entry)).collect();
        Transcript { header: transcript.header.clone(), entries }
    }
}

struct Play<'a> {
    player: &'a Player,
    peer: Peer,
    /// How many waits for an identity are still to come.
    waits: BTreeMap<Identity, usize>,
    /// The lines that came early, with their number.
    held: BTreeMap<Identity, VecDeque<(usize, Entry)>>,
    /// If the order counts: the lines that came early, by their places in what happened.
    early: BTreeMap<Identity, VecDeque<usize>>,
    /// How many lines were ever kept.
    kept: usize,
    /// How many bytes have come.
    read: usize,
    /// Whether nothing came for the last wait, and nothing has come since.
    is_silent: bool,
    happened: Vec<Entry>,
    /// The strings that the server has made up.
    fresh: Fresh,
    /// The requests about the state of a task, by their ids.
    questions: BTreeMap<String, Map<String, Value>>,
    /// How many of them were sent again.
    asked_again: usize,
    /// Whether the last line that came had its end.
    has_line_end: bool,
    /// Whether the result says that it had none.
    says_no_line_end: bool,
}

impl Play<'_> {
    fn step(&mut self, entry: &Entry) {
        let happened = match entry {
            Entry::Send(sent) => {
                self.send(sent);
                entry.clone()
            }
            Entry::CloseInput => {
                self.peer.input = None;
                self.is_silent = false;
                Entry::CloseInput
            }
            Entry::NoLineEnd => {
                self.drain();
                return self.say_no_line_end();
            }
            Entry::Exit(_) => {
                self.drain();
                self.say_no_line_end();
                let within = self.player.deadline;
                let ended = (self.peer.end)(within).map(Entry::Exit);
                ended.unwrap_or(Entry::Failure(Failure::StillRunning { within }))
            }
            Entry::Receive(_) | Entry::Noise(_) | Entry::Comment(_) | Entry::Blank | Entry::Failure(_) => {
                match entry.identity() {
                    Some(identity) => {
                        if let Some(at) = self.came_early(&identity) {
                            let came = self.happened.get(at).cloned();
                            return came.iter().for_each(|came| self.learn(entry, came));
                        }
                        let happened = self.wait(&identity);
                        let happened = self.ask_again(entry, happened);
                        self.learn(entry, &happened);
                        happened
                    }
                    None => entry.clone(),
                }
            }
        };
        self.happened.push(happened);
    }

    /// The end of the transcript: if it closed the input, everything that still comes is noticed.
    fn leave(&mut self) {
        let closed = self.peer.input.take().is_none();
        let exited = self.happened.iter().any(|entry| matches!(entry, Entry::Exit(_)));
        if closed && !exited {
            self.drain();
            self.say_no_line_end();
        }
        let mut held: Vec<(usize, Entry)> = std::mem::take(&mut self.held).into_values().flatten().collect();
        held.sort_by_key(|(number, _)| *number);
        self.happened.extend(held.into_iter().map(|(_, entry)| entry));
    }

    fn send(&mut self, sent: &Sent) {
        let mut bytes = match sent.text() {
            Some(text) => self.fresh.sent(self.player.placeholders.fill_json(text)).into_bytes(),
            None => sent.bytes.clone(),
        };
        if let Ok(Value::Object(message)) = serde_json::from_slice(&bytes) {
            if message.get("method").is_some_and(|method| method == TASKS_GET) {
                self.questions.extend(message.get("id").map(|id| (id.to_string(), message.clone())));
            }
        }
        match sent.end {
            LineEnd::Newline => bytes.push(b'\n'),
            LineEnd::Missing => {}
        }
        if let Some(input) = &self.peer.input {
            // If the peer is gone, the waits that follow show it.
            input.send(bytes).ok();
        }
    }

    /// Asks once more about a task that still works, as long as the recorded answer says that it does not any more: a replay is
    /// faster than the session was, and clients ask until they see that. Where the order counts nothing is asked twice.
    fn ask_again(&mut self, recorded: &Entry, happened: Entry) -> Entry {
        let Some((id, request)) = self.question(recorded).filter(|_| !self.player.in_order) else { return happened };
        let began = Instant::now();
        let mut last = happened;
        while status(&last) == Some(WORKING)
            && status(recorded) != Some(WORKING)
            && began.elapsed() < self.player.deadline
            && self.peer.input.is_some()
        {
            std::thread::sleep(BETWEEN_QUESTIONS);
            self.asked_again += 1;
            let other = Value::from(format!("asked again {}", self.asked_again));
            let mut again = request.clone();
            again.insert("id".to_owned(), other.clone());
            if let Some(input) = &self.peer.input {
                input.send(format!("{}\n", Value::from(again)).into_bytes()).ok();
            }
            let Entry::Receive(message) = self.wait(&Identity::Response(other.to_string())) else { return last };
            let text = message.text().replacen(&other.to_string(), &id.to_string(), 1);
            last = Entry::of_server(text.as_bytes());
        }
        last
    }

    /// The request about the state of a task that a recorded message answers, with its id.
    fn question(&self, recorded: &Entry) -> Option<(Value, Map<String, Value>)> {
        status(recorded)?;
        let Entry::Receive(message) = recorded else { return None };
        let id = message.value().get("id")?;
        Some((id.clone(), self.questions.get(&id.to_string())?.clone()))
    }

    /// Takes note of what the server has made up.
    fn learn(&mut self, recorded: &Entry, happened: &Entry) {
        if let (Entry::Receive(recorded), Entry::Receive(came)) = (recorded, happened) {
            self.fresh.learn(recorded, came);
        }
    }

    /// Once the output has ended: shows it if that was within a line.
    fn say_no_line_end(&mut self) {
        if !self.has_line_end && !self.says_no_line_end {
            self.says_no_line_end = true;
            self.happened.push(Entry::NoLineEnd);
        }
    }

    /// Where the message for this wait stands already.
    fn came_early(&mut self, identity: &Identity) -> Option<usize> {
        if let Some(waits) = self.waits.get_mut(identity) {
            *waits = waits.saturating_sub(1);
        }
        self.early.get_mut(identity)?.pop_front()
    }

    fn wait(&mut self, identity: &Identity) -> Entry {
        if let Some((_, entry)) = self.held.get_mut(identity).and_then(VecDeque::pop_front) {
            return entry;
        }
        let mut count = 0;
        while count < MOST_OTHERS {
            if self.read > MOST_BYTES {
                return Entry::Failure(Failure::TooManyOthers { count });
            }
            match self.next() {
                Ok((found, entry)) if found == *identity => return entry,
                Ok((found, entry)) => count += usize::from(!self.notice(found, entry)),
                Err(RecvTimeoutError::Timeout) => {
                    let within = self.next_deadline();
                    self.is_silent = true;
                    return Entry::Failure(Failure::Nothing { within });
                }
                Err(RecvTimeoutError::Disconnected) => return Entry::Failure(Failure::EndOfOutput),
            }
        }
        Entry::Failure(Failure::TooManyOthers { count: MOST_OTHERS })
    }

    /// Reads the output to its end, before the peer's own end.
    fn drain(&mut self) {
        let mut count = 0;
        while count < MOST_OTHERS {
            if self.read > MOST_BYTES {
                return self.happened.push(Entry::Failure(Failure::TooManyOthers { count }));
            }
            match self.next() {
                Ok((found, entry)) => count += usize::from(!self.notice(found, entry)),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    let within = self.player.deadline;
                    return self.happened.push(Entry::Failure(Failure::OutputStillOpen { within }));
                }
            }
        }
        self.happened.push(Entry::Failure(Failure::TooManyOthers { count: MOST_OTHERS }));
    }

    /// The next line. It is normalised first: its identity is that of the text in the transcript.
    fn next(&mut self) -> Result<(Identity, Entry), RecvTimeoutError> {
        let mut line = self.peer.output.recv_timeout(self.next_deadline())?;
        self.is_silent = false;
        self.has_line_end = line.last() == Some(&b'\n');
        if self.has_line_end {
            line.pop();
        }
        self.read += line.len();
        let entry = match std::str::from_utf8(&line) {
            Ok(text) => Entry::of_server(self.player.placeholders.hide(text).as_bytes()),
            Err(_) => Entry::Noise(line),
        };
        Ok((entry.identity().unwrap_or(Identity::NoMessage), entry))
    }

    /// How long the next line is waited for.
    fn next_deadline(&self) -> Duration {
        if self.is_silent { self.player.deadline / SHORTER } else { self.player.deadline }
    }

    /// Keeps a line that a later wait is for, one for each such wait; shows any other here. Returns whether a wait is for it.
    fn notice(&mut self, identity: Identity, entry: Entry) -> bool {
        let wanted = self.waits.get(&identity).copied().unwrap_or_default();
        if self.player.in_order {
            let early = self.early.entry(identity).or_default();
            let is_wanted = early.len() < wanted;
            if is_wanted {
                early.push_back(self.happened.len());
            }
            self.happened.push(entry);
            return is_wanted;
        }
        let held = self.held.entry(identity).or_default();
        let is_wanted = held.len() < wanted;
        if is_wanted {
            held.push_back((self.kept, entry));
            self.kept += 1;
        } else {
            self.happened.push(entry);
        }
        is_wanted
    }
}

/// The status in an answer about a task.
fn status(answer: &Entry) -> Option<&str> {
    let Entry::Receive(message) = answer else { return None };
    message.value().pointer("/result/status")?.as_str()
}
