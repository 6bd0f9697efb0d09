//! Plays a transcript against a peer and yields the transcript of what happened.
//!
//! Each line of the transcript stands in the result in its place, `<--` lines with the message that really came. A
//! message that came early is kept for its wait. A message that no wait is left for stands where it was noticed: before
//! the answer to the wait during which it came.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::{Entry, Failure, Identity, LineEnd, Message, Peer, Placeholders, Sent, Transcript};

/// So many messages that nobody waits for end a wait; without a clock, silence alone would never end it.
const MOST_OTHERS: usize = 1000;

/// How transcripts are played.
#[derive(Debug, Clone)]
pub struct Player {
    deadline: Duration,
    placeholders: Placeholders,
}

impl Default for Player {
    /// Ten seconds for each wait, no temporary directory.
    fn default() -> Self {
        Self { deadline: Duration::from_secs(10), placeholders: Placeholders::version_only() }
    }
}

impl Player {
    /// How long each wait lasts at most while nothing comes; 10 s by default.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// What is put in sent lines and taken out of received ones. Whoever starts the peer fills arguments and variables.
    #[must_use]
    pub fn placeholders(self, placeholders: Placeholders) -> Self {
        Self { placeholders, ..self }
    }

    /// Plays the whole transcript. It always comes to its end: what did not happen in time is a [`Failure`] in the
    /// result. The peer's input is closed at the end, if not before.
    #[must_use]
    pub fn play(&self, transcript: &Transcript, peer: Peer) -> Transcript {
        let mut play = Play { player: self, peer, held: Vec::new(), happened: Vec::new() };
        let mut rest = transcript.entries.as_slice();
        while let Some((entry, after)) = rest.split_first() {
            play.step(entry, after);
            rest = after;
        }
        play.leave();
        Transcript { header: transcript.header.clone(), entries: play.happened }
    }
}

struct Play<'a> {
    player: &'a Player,
    peer: Peer,
    held: Vec<Message>,
    happened: Vec<Entry>,
}

impl Play<'_> {
    fn step(&mut self, entry: &Entry, after: &[Entry]) {
        match entry {
            Entry::Send(sent) => {
                self.send(sent);
                self.happened.push(entry.clone());
            }
            Entry::Receive(awaited) => {
                let came = self.wait(awaited.identity(), after);
                self.happened.push(came);
            }
            Entry::CloseInput => {
                self.peer.input = None;
                self.happened.push(Entry::CloseInput);
            }
            Entry::Exit(_) => {
                self.drain(after);
                let within = self.player.deadline;
                let ended = (self.peer.end)(within).map(Entry::Exit);
                self.happened.push(ended.unwrap_or(Entry::Failure(Failure::StillRunning { within })));
            }
            Entry::Comment(_) | Entry::Blank | Entry::Failure(_) => self.happened.push(entry.clone()),
        }
    }

    /// The end of the transcript: where it closed the input, what still comes is noticed.
    fn leave(&mut self) {
        let closed = self.peer.input.take().is_none();
        let exited = self.happened.iter().any(|entry| matches!(entry, Entry::Exit(_)));
        if closed && !exited {
            self.drain(&[]);
        }
        let held = std::mem::take(&mut self.held);
        self.happened.extend(held.into_iter().map(Entry::Receive));
    }

    fn send(&self, sent: &Sent) {
        let mut bytes = match sent.text() {
            Some(text) => self.player.placeholders.fill_json(text).into_bytes(),
            None => sent.bytes.clone(),
        };
        match sent.end {
            LineEnd::Newline => bytes.push(b'\n'),
            LineEnd::Missing => {}
        }
        if let Some(input) = &self.peer.input {
            // A peer that has gone shows in the waits that follow.
            input.send(bytes).ok();
        }
    }

    fn wait(&mut self, identity: &Identity, after: &[Entry]) -> Entry {
        if let Some(index) = self.held.iter().position(|message| message.identity() == identity) {
            return Entry::Receive(self.held.remove(index));
        }
        for _ in 0..MOST_OTHERS {
            let within = self.player.deadline;
            let line = match self.peer.output.recv_timeout(within) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    return Entry::Failure(Failure::Nothing { within });
                }
                Err(RecvTimeoutError::Disconnected) => return Entry::Failure(Failure::EndOfOutput),
            };
            match self.read(&line) {
                Ok(message) if message.identity() == identity => return Entry::Receive(message),
                Ok(message) => self.notice(message, after),
                Err(failure) => self.happened.push(Entry::Failure(failure)),
            }
        }
        Entry::Failure(Failure::TooManyOthers { count: MOST_OTHERS })
    }

    /// Reads the output to its end, before the peer's own end.
    fn drain(&mut self, after: &[Entry]) {
        for _ in 0..MOST_OTHERS {
            let within = self.player.deadline;
            let line = match self.peer.output.recv_timeout(within) {
                Ok(line) => line,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    self.happened.push(Entry::Failure(Failure::OutputStillOpen { within }));
                    return;
                }
            };
            match self.read(&line) {
                Ok(message) => self.notice(message, after),
                Err(failure) => self.happened.push(Entry::Failure(failure)),
            }
        }
        self.happened.push(Entry::Failure(Failure::TooManyOthers { count: MOST_OTHERS }));
    }

    /// Normalises first: the identity of what is shown is the identity of what the transcript says.
    fn read(&self, line: &[u8]) -> Result<Message, Failure> {
        let text = self.player.placeholders.hide(&String::from_utf8_lossy(line));
        match std::str::from_utf8(line) {
            Ok(_) => Message::parse(&text).map_err(|_| Failure::NotAMessage { line: text }),
            Err(_) => Err(Failure::NotAMessage { line: text }),
        }
    }

    /// Keeps a message that a later wait is for, one for each such wait; shows any other here.
    fn notice(&mut self, message: Message, after: &[Entry]) {
        let waits = |entry: &&Entry| matches!(entry, Entry::Receive(m) if m.identity() == message.identity());
        let wanted = after.iter().filter(waits).count();
        let kept = self.held.iter().filter(|held| held.identity() == message.identity()).count();
        if kept < wanted {
            self.held.push(message);
        } else {
            self.happened.push(Entry::Receive(message));
        }
    }
}
