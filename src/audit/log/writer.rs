//! Writes the records of one session.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::io::Write as _;
use std::path::Path;
use std::time::SystemTime;

use serde::Serialize;
use serde_json::json;

use super::chain::{AuditError, Chain, Damage, Turn};
use super::secrets::Secrets;
use super::settings::{AuditSettings, Clock};
use super::shared::{SharedFileError, SharedReader};
use crate::audit::record::{AuditedClient, DecidedRecord, Event, SessionFacts};
use crate::text::{time, write_json_string};

/// The audit log, as one session writes it.
///
/// The first record is about the session. It is written with the first event, or before that by [`AuditLog::begin`]. The last
/// record says how many records could not be written.
pub(crate) struct AuditLog {
    chain: Chain,
    session: String,
    secrets: Secrets,
    clock: Clock,
    /// Makes the content of the first record; `None` once it is written.
    facts: Option<Box<dyn FnOnce() -> SessionFacts + Send>>,
    client: Option<AuditedClient>,
    next: u64,
    calls: Calls,
    lost: u64,
}

/// The most calls that may be decided on before one with a lower number is.
const MOST_OUT_OF_ORDER: u64 = 1 << 14;

/// Counts the calls that have decisions on record. A line has one for each part, and a call that a person is asked about has two.
#[derive(Default)]
struct Calls {
    count: u64,
    /// The highest number of a call.
    last: u64,
    /// The numbers below it that are not counted yet.
    others: BTreeSet<u64>,
}

impl Calls {
    fn add(&mut self, call: u64) {
        let is_new = call > self.last || self.others.remove(&call);
        if call > self.last {
            // Decisions are recorded nearly in the order of the calls; those that are lost leave a gap for good.
            let first = call.saturating_sub(MOST_OUT_OF_ORDER);
            self.others = self.others.split_off(&first);
            self.others.extend(first.max(self.last + 1)..call);
            self.last = call;
        }
        self.count += u64::from(is_new);
    }
}

impl AuditLog {
    /// Opens the file, or creates it. `facts` is called when the first record is written.
    ///
    /// # Errors
    /// If it can't be opened, or is not an audit log.
    pub(crate) fn open(
        settings: AuditSettings<'_>,
        facts: impl FnOnce() -> SessionFacts + Send + 'static,
    ) -> Result<Self, AuditError> {
        let AuditSettings { path, changeable, max_size, sync, session, salt, secrets, clock } = settings;
        let mut chain = Chain::open(path, changeable, max_size, sync).map_err(SharedFileError::from)?;
        // Look at the file now, so that the server does not start if it is something else.
        drop(chain.turn()?);
        chain.forget();
        let secrets = Secrets::new(salt, secrets);
        let facts: Box<dyn FnOnce() -> SessionFacts + Send> = Box::new(facts);
        Ok(Self {
            chain,
            session,
            secrets,
            clock,
            facts: Some(facts),
            client: None,
            next: 0,
            calls: Calls::default(),
            lost: 0,
        })
    }

    /// Checks whether [`Self::open`] would succeed, as far as possible without creating the file.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub(crate) fn check(path: &Path, changeable: &[&Path]) -> Result<(), AuditError> {
        Chain::check(path, changeable)
    }

    /// Writes the session's first record, if it is not written yet. A `client` that is not known now will not be in it.
    ///
    /// # Errors
    /// [`AuditError`]; the next write tries it again.
    pub(crate) fn begin(&mut self, client: Option<AuditedClient>) -> Result<(), AuditError> {
        let Some(facts) = self.facts.take() else { return Ok(()) };
        let named = client.as_ref().map(|client| self.client_without_secrets(client));
        let facts = SessionFacts { client: named, salt: self.secrets.salt(), ..facts() };
        let written = self.append(&[("session_started", to_json(&facts))]);
        if written.is_err() {
            self.facts = Some(Box::new(move || facts));
        } else {
            self.client = client;
        }
        written
    }

    /// A reader of the log for another thread.
    pub(crate) fn reader(&self) -> SharedReader {
        self.chain.reader()
    }

    /// Whether the session's first record is not written yet.
    pub(crate) fn is_to_begin(&self) -> bool {
        self.facts.is_some()
    }

    /// Writes several records at once. They are in the file when this returns `Ok`.
    ///
    /// # Errors
    /// [`AuditError`]; records that are not in the file are lost.
    pub(crate) fn record(&mut self, events: &[Event], client: Option<&AuditedClient>) -> Result<(), AuditError> {
        if self.is_to_begin() {
            if let Err(error) = self.begin(client.cloned()) {
                self.lost += events.len() as u64;
                return Err(error);
            }
        }
        let records: Vec<_> = events.iter().map(|event| (event.name(), self.members(event, client))).collect();
        let lost = self.lost;
        let appended = self.append(&records);
        let written = events.len().saturating_sub(usize::try_from(self.lost - lost).unwrap_or(usize::MAX));
        for event in events.iter().take(written) {
            if let Event::Decided(decided) = event {
                self.calls.add(decided.call);
            }
        }
        appended
    }

    /// The fields of a record, as a JSON object, without secrets in what a client or a command has chosen.
    fn members(&self, event: &Event, client: Option<&AuditedClient>) -> Vec<u8> {
        if let Event::Decided(decided) = event {
            let client = client.filter(|client| self.client.as_ref() != Some(client));
            if client.is_none() && decided.secrets.is_empty() && self.secrets.are_none() {
                return to_json(decided);
            }
            return to_json(&self.without_secrets(decided, client.cloned()));
        }
        if self.secrets.are_none() {
            return event_json(event);
        }
        let mut event = event.clone();
        let hide = |text: &mut String| self.hide_in(text);
        match &mut event {
            Event::Decided(_) | Event::Answered(_) => {}
            Event::Asked(asked) => hide(&mut asked.text),
            Event::Started(started) => started.program.iter_mut().for_each(hide),
            Event::Ended(ended) => ended.error.iter_mut().for_each(hide),
            Event::Roots(roots) => {
                roots.roots.iter_mut().for_each(hide);
                roots.refused.iter_mut().for_each(|refused| hide(&mut refused.reason));
            }
            Event::Received(received) => {
                self.secrets.hide_value(&mut received.id);
                [&mut received.method, &mut received.tool].into_iter().flatten().for_each(hide);
            }
            Event::RefusedRequest(refused) => {
                self.secrets.hide_value(&mut refused.id);
                [&mut refused.method, &mut refused.tool].into_iter().flatten().for_each(hide);
                hide(&mut refused.reason);
            }
        }
        event_json(&event)
    }

    fn hide_in(&self, text: &mut String) {
        if let Cow::Owned(replaced) = self.secrets.hide(text) {
            *text = replaced;
        }
    }

    fn client_without_secrets(&self, client: &AuditedClient) -> AuditedClient {
        let AuditedClient { mut name, mut version } = client.clone();
        [&mut name, &mut version].into_iter().for_each(|text| self.hide_in(text));
        AuditedClient { name, version }
    }

    /// Writes the session's last record.
    ///
    /// # Errors
    /// [`AuditError`].
    pub(crate) fn end(&mut self) -> Result<(), AuditError> {
        self.begin(None)?;
        let mut record = json!({"calls": self.calls.count});
        if self.lost > 0 {
            record = json!({"calls": self.calls.count, "lost": self.lost});
        }
        self.append(&[("session_ended", to_json(&record))])
    }

    fn without_secrets(&self, decided: &DecidedRecord, client: Option<AuditedClient>) -> DecidedRecord {
        let client = client.map(|client| self.client_without_secrets(&client));
        let mut hidden = DecidedRecord { client, ..decided.clone() };
        let mut values = Vec::new();
        for (place, from) in &decided.secrets {
            let Some(word) = hidden.argv.get_mut(*place) else { continue };
            // If the byte is not between two characters, the whole word is hidden.
            let from = if word.is_char_boundary(*from) { *from } else { 0 };
            let value = word.split_off(from);
            word.push_str(&self.secrets.digest(&value));
            values.push(value);
        }
        let values = Secrets::of_call(values);
        let hide = |text: &mut String| {
            if let Cow::Owned(replaced) = self.secrets.hide_these(text, &values) {
                *text = replaced;
            }
            self.hide_in(text);
        };
        let places: HashSet<usize> = decided.secrets.iter().map(|(place, _)| *place).collect();
        for (place, word) in hidden.argv.iter_mut().enumerate() {
            if !places.contains(&place) {
                hide(word);
            }
        }
        hidden.env = std::mem::take(&mut hidden.env)
            .into_iter()
            .map(|(mut name, mut value)| {
                [&mut name, &mut value].into_iter().for_each(hide);
                (name, value)
            })
            .collect();
        self.secrets.hide_value(&mut hidden.id);
        hide(&mut hidden.tool);
        [&mut hidden.cwd, &mut hidden.reason].into_iter().flatten().for_each(hide);
        hidden
    }

    /// Appends records, each given as its event's name and its fields (a JSON object). Those that can't be written are lost.
    fn append(&mut self, records: &[(&str, Vec<u8>)]) -> Result<(), AuditError> {
        let mut left = records.len();
        let appended = self.append_in_turn(records, &mut left);
        self.lost += left as u64;
        appended
    }

    /// The same. On return, `left` says how many were not written.
    fn append_in_turn(&mut self, records: &[(&str, Vec<u8>)], left: &mut usize) -> Result<(), AuditError> {
        let Self { chain, session, clock, next, .. } = self;
        let mut turn = chain.turn()?;
        if let Some(damage) = turn.damage() {
            let members = match damage {
                Damage::Torn { bytes, sha256 } => json!({"torn_bytes": bytes, "torn_sha256": sha256.to_string()}),
                Damage::Cut { bytes, last } => json!({"cut_bytes": bytes, "cut_last": last.to_string()}),
                Damage::Emptied { last } => json!({"emptied_last": last.to_string()}),
                Damage::Replaced { last } => json!({"replaced_last": last.to_string()}),
            };
            let line = encode(&turn, *next, clock(), session, "recovered", members.to_string().as_bytes());
            turn.add(&line);
            turn.write().map_err(|(_, error)| error)?;
            turn.forget_damage();
            *next += 1;
        }
        let mut write = |turn: &mut Turn<'_>, next: &mut u64| {
            let added = turn.added();
            let written = turn.write();
            let whole = written.as_ref().map_or_else(|(whole, _)| *whole, |()| added);
            *next += whole as u64;
            *left -= whole;
            written.map_err(|(_, error)| error)
        };
        for (name, members) in records {
            let time = clock();
            let mut line = encode(&turn, *next + turn.added() as u64, time, session, name, members);
            if turn.is_full_for(line.len() + 1) {
                write(&mut turn, next)?;
                turn.begin_anew()?;
                line = encode(&turn, *next, time, session, name, members);
            }
            turn.add(&line);
        }
        write(&mut turn, next)?;
        turn.sync()
    }
}

fn event_json(event: &Event) -> Vec<u8> {
    match event {
        Event::Decided(decided) => to_json(decided),
        Event::Asked(asked) => to_json(asked),
        Event::Answered(answered) => to_json(answered),
        Event::Started(started) => to_json(started),
        Event::Ended(ended) => to_json(ended),
        Event::Roots(roots) => to_json(roots),
        Event::Received(received) => to_json(received),
        Event::RefusedRequest(refused) => to_json(refused),
    }
}

/// Encodes the fields of a record as a JSON object.
fn to_json(fields: &impl Serialize) -> Vec<u8> {
    let mut members = Vec::with_capacity(512);
    // Writing to memory fails only for keys that are not strings, and there are none.
    serde_json::to_writer(&mut members, fields).ok();
    members
}

/// A record without its line feed: first its place in the chain, then what it says.
fn encode(turn: &Turn<'_>, seq: u64, time: SystemTime, session: &str, name: &str, members: &[u8]) -> Vec<u8> {
    let (time, prev) = (time::extended(time), turn.prev());
    let mut line = Vec::with_capacity(256 + members.len());
    // Writing to memory can't fail.
    write!(line, r#"{{"seq":{seq},"time":"{time}","session":"{session}","prev":"{prev}","#).ok();
    if let Some(file) = turn.continues() {
        line.extend_from_slice(br#""continues":"#);
        write_json_string(&mut line, file);
        line.push(b',');
    }
    write!(line, r#""event":"{name}""#).ok();
    // Continue the object with the members of the other one.
    if let Some(members) = members.strip_prefix(b"{").filter(|members| *members != b"}") {
        line.push(b',');
        line.extend_from_slice(members);
    } else {
        line.push(b'}');
    }
    line
}

impl std::fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuditLog").field("chain", &self.chain).field("next", &self.next).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_counts_once_in_whatever_order_its_decisions_come() {
        let mut calls = Calls::default();
        [2, 1, 2, 4, 4, 1, 3, 9].into_iter().for_each(|call| calls.add(call));
        assert_eq!((calls.count, calls.others.len()), (5, 4));
        calls.add(1_000_000);
        assert_eq!((calls.count, calls.others.len() as u64), (6, MOST_OUT_OF_ORDER));
    }
}
