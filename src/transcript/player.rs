//! Plays a transcript against a peer and returns the transcript of what happened.
//!
//! The result has each line of the transcript in its place, `<--` lines with the message that really came. A message
//! that came early is kept for its wait. A message that no later wait is for is put where it was noticed: before the
//! answer to the wait during which it came.
//!
//! A `requestState` is new in each session, and the client sends back what it got. So where a recorded result holds one, the
//! one that really came is sent in its place, and the recorded one stands in the result.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use serde_json::Value;

use super::{Entry, Failure, Identity, LineEnd, Peer, Placeholders, Sent, Transcript};

/// This many messages that no line waits for end a wait: if they keep coming, the deadline alone would never end it.
const MOST_OTHERS: usize = 1000;
/// After a wait for which nothing came, the next ones are this much shorter, until something comes or the input is closed. Otherwise a
/// server that is silent for good would be waited for once a line.
const SHORTER: u32 = 20;
/// So many bytes of them do too.
const MOST_BYTES: usize = 48 * 1024 * 1024;

/// How transcripts are played.
#[derive(Debug, Clone)]
pub struct Player {
    deadline: Duration,
    placeholders: Placeholders,
    in_order: bool,
}

impl Default for Player {
    /// Ten seconds for each wait, no temporary directory, and any order.
    fn default() -> Self {
        Self { deadline: Duration::from_secs(10), placeholders: Placeholders::version_only(), in_order: false }
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

    /// A message that comes earlier than in the transcript stands in the result where it came, so that it differs. Otherwise it
    /// stands where the transcript has it: a server may answer requests in any order.
    #[must_use]
    pub fn in_order(self, in_order: bool) -> Self {
        Self { in_order, ..self }
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
            states: Vec::new(),
        };
        for identity in transcript.entries.iter().filter_map(Entry::identity) {
            *play.waits.entry(identity).or_default() += 1;
        }
        transcript.entries.iter().for_each(|entry| play.step(entry));
        play.leave();
        Transcript { header: transcript.header.clone(), entries: play.happened }
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
    /// Each `requestState` of the transcript, with the one that really came.
    states: Vec<(String, String)>,
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
            Entry::Exit(_) => {
                self.drain();
                let within = self.player.deadline;
                let ended = (self.peer.end)(within).map(Entry::Exit);
                ended.unwrap_or(Entry::Failure(Failure::StillRunning { within }))
            }
            Entry::Receive(_) | Entry::Noise(_) | Entry::Comment(_) | Entry::Blank | Entry::Failure(_) => {
                match entry.identity() {
                    Some(identity) => {
                        if let Some(at) = self.came_early(&identity) {
                            return self.know_early(entry, at);
                        }
                        let happened = self.wait(&identity);
                        self.with_recorded_state(entry, happened)
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
        }
        let mut held: Vec<(usize, Entry)> = std::mem::take(&mut self.held).into_values().flatten().collect();
        held.sort_by_key(|(number, _)| *number);
        self.happened.extend(held.into_iter().map(|(_, entry)| entry));
    }

    fn send(&self, sent: &Sent) {
        let mut bytes = match sent.text() {
            Some(text) => self.with_real_states(self.player.placeholders.fill_json(text)).into_bytes(),
            None => sent.bytes.clone(),
        };
        match sent.end {
            LineEnd::Newline => bytes.push(b'\n'),
            LineEnd::Missing => {}
        }
        if let Some(input) = &self.peer.input {
            // If the peer is gone, the waits that follow show it.
            input.send(bytes).ok();
        }
    }

    /// What came for a recorded message, with the recorded state in place of its own.
    fn with_recorded_state(&mut self, recorded: &Entry, happened: Entry) -> Entry {
        let (Some(recorded), Some(real)) = (state_of(recorded), state_of(&happened)) else { return happened };
        let Entry::Receive(message) = &happened else { return happened };
        let text = message.text().replace(&in_quotes(&real), &in_quotes(&recorded));
        self.states.push((recorded, real));
        Entry::of_server(text.as_bytes())
    }

    /// A line of the client with the states that really came.
    fn with_real_states(&self, line: String) -> String {
        let put_in =
            |line: String, (recorded, real): &(String, String)| line.replace(&in_quotes(recorded), &in_quotes(real));
        self.states.iter().fold(line, put_in)
    }

    /// Where the message for this wait stands already.
    fn came_early(&mut self, identity: &Identity) -> Option<usize> {
        if let Some(waits) = self.waits.get_mut(identity) {
            *waits = waits.saturating_sub(1);
        }
        self.early.get_mut(identity)?.pop_front()
    }

    /// Takes note of the state in a message that came early.
    fn know_early(&mut self, recorded: &Entry, at: usize) {
        let Some(came) = self.happened.get(at).cloned() else { return };
        let came = self.with_recorded_state(recorded, came);
        self.happened.get_mut(at).into_iter().for_each(|entry| entry.clone_from(&came));
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
        let line = self.peer.output.recv_timeout(self.next_deadline())?;
        self.is_silent = false;
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

/// The state that a result gives the client to send back.
fn state_of(entry: &Entry) -> Option<String> {
    let Entry::Receive(message) = entry else { return None };
    message.value().pointer("/result/requestState")?.as_str().map(str::to_owned)
}

/// A text as it stands in JSON.
fn in_quotes(text: &str) -> String {
    Value::from(text).to_string()
}
