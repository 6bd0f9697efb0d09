//! The content of a report, as the page's script reads it.

use std::collections::HashMap;

use serde::Serialize;

use crate::files::Sha256;
use crate::text::{counted, escape, escape_block};

/// The most entries of a page. A browser copes with ten times as many, but nobody reads them.
const MOST_ROWS: usize = 50_000;
/// The most sessions of a page; the calls of further sessions are added to the last one.
const MOST_SESSIONS: usize = 10_000;
/// The longest text, in characters; of a longer one only the beginning is in the page.
const LONGEST: usize = 4096;
/// Once an entry or a session has this many facts, it gets no more.
const MOST_FACTS: usize = 60;
/// The most bytes of text in a page, all texts together; most entries have less than a thousand.
const MOST_TEXT: usize = 64 * 1024 * 1024;
/// Beyond these bounds the end of a call is still added, in texts of at most this many bytes. A digest is shorter.
const SHORT: usize = 128;

/// The content of the page.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    sources: Vec<String>,
    chain: Option<Chain>,
    pub(super) sessions: Vec<Session>,
    pub(super) rows: Vec<Row>,
    note: String,
    /// The index of each session, by the digest of its name, which may be as long as a line.
    #[serde(skip)]
    known: HashMap<Sha256, usize>,
    /// The index of the entry of each call that has not ended, by its session and its number or id.
    #[serde(skip)]
    pub(super) open: HashMap<(usize, String), usize>,
    /// The bytes of text so far.
    #[serde(skip)]
    text: usize,
    #[serde(skip)]
    left_out: u64,
    #[serde(skip)]
    facts_left_out: usize,
    #[serde(skip)]
    unreadable: u64,
}

/// Whether the chain of the audit logs is intact.
#[derive(Debug, Serialize)]
pub(crate) struct Chain {
    pub intact: bool,
    pub text: String,
}

/// A session.
#[derive(Debug, Default, Serialize)]
pub(super) struct Session {
    pub name: String,
    /// The client, the user and the time, on one line.
    pub title: String,
    pub facts: Vec<Fact>,
}

/// A name and a text.
pub(super) type Fact = (&'static str, String);

/// How an entry is coloured and counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Allowed,
    /// Allowed, but its command failed or was ended.
    Failed,
    Refused,
    #[default]
    Other,
}

/// An entry: a call, or something else that happened.
#[derive(Debug, Default, Serialize)]
pub(super) struct Row {
    pub session: usize,
    pub kind: Kind,
    /// A word or two.
    pub outcome: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
    pub command: String,
    /// The rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether a person was asked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
}

impl Row {
    /// The bytes of its texts.
    fn text(&self) -> usize {
        let Self { outcome, time, command, rule, why, facts, .. } = self;
        let texts = [time, rule, why].into_iter().flatten().chain([outcome, command]);
        texts.chain(facts.iter().map(|(_, text)| text)).map(String::len).sum()
    }

    /// Adds a fact, unless it is missing or empty.
    pub(super) fn fact(&mut self, name: &'static str, text: Option<String>) {
        self.facts.extend(text.filter(|text| !text.is_empty()).map(|text| (name, text)));
    }
}

impl Report {
    /// Adds one of the files that the page is made from.
    pub(crate) fn add_source(&mut self, name: &str, what: &str) {
        self.sources.push(format!("{} ({what})", shown(name)));
    }

    pub(crate) fn set_chain(&mut self, chain: Chain) {
        self.chain = Some(chain);
    }

    /// Counts a line of an audit log that is not a record, or that is too long.
    pub(crate) fn add_unreadable(&mut self) {
        self.unreadable += 1;
    }

    /// Writes the last line of the page, once everything is added.
    pub(crate) fn finish(&mut self) {
        let mut note = format!("Made by allowexec {} from {}.", env!("CARGO_PKG_VERSION"), self.sources.join(", "));
        if self.left_out > 0 {
            note.push_str(&format!(
                " It shows the first {} entries; {} more are left out, so name fewer files.",
                self.rows.len(),
                self.left_out
            ));
        }
        if self.facts_left_out > 0 {
            note.push_str(&format!(" It leaves out {}.", counted(self.facts_left_out as u64, "fact")));
        }
        if self.unreadable > 0 {
            note.push_str(&format!(" Lines that are not records, or are too long to be shown: {}.", self.unreadable));
        }
        note.push_str(" Invisible characters are shown by their numbers.");
        self.note = note;
    }

    /// The index of the session with this name, which is made if it is new.
    pub(super) fn session(&mut self, name: &str) -> usize {
        let digest = Sha256::of(name);
        if let Some(index) = self.known.get(&digest) {
            return *index;
        }
        // Beyond the bounds, further sessions count as the last one.
        let last = self.sessions.len().saturating_sub(1);
        if self.sessions.len() >= MOST_SESSIONS || !self.sessions.is_empty() && !self.has_room() {
            return last;
        }
        let index = self.sessions.len();
        self.known.insert(digest, index);
        let session = Session { name: shown(name), ..Session::default() };
        self.text += session.name.len();
        self.sessions.push(session);
        index
    }

    /// Adds an entry, and returns its index; `None` if there is no room for it.
    pub(super) fn add(&mut self, row: Row) -> Option<usize> {
        if self.rows.len() >= MOST_ROWS || !self.has_room() {
            self.left_out += 1;
            return None;
        }
        self.text += row.text();
        self.rows.push(row);
        Some(self.rows.len() - 1)
    }

    /// Changes the entry of a call that has not ended.
    pub(super) fn change_open_call(&mut self, session: usize, call: &str, change: impl FnOnce(&mut Row)) {
        self.change(session, call, false, change);
    }

    /// Changes the entry of a call for the last time, when the call has ended.
    pub(super) fn end_open_call(&mut self, session: usize, call: &str, change: impl FnOnce(&mut Row)) {
        self.change(session, call, true, change);
        self.open.remove(&(session, call.to_owned()));
    }

    fn change(&mut self, session: usize, call: &str, is_end: bool, change: impl FnOnce(&mut Row)) {
        let has_room = self.has_room();
        let index = self.open.get(&(session, call.to_owned()));
        let Some(row) = index.and_then(|index| self.rows.get_mut(*index)) else { return };
        let (before, kept) = (row.text(), row.facts.len());
        change(row);
        // A hostile log may repeat a record any number of times, with texts of any length.
        if !has_room || kept >= MOST_FACTS {
            let all = row.facts.len();
            let new = row.facts.split_off(kept);
            row.facts.extend(new.into_iter().filter(|(_, text)| is_end && text.len() <= SHORT));
            self.facts_left_out += all - row.facts.len();
            for text in [Some(&mut row.outcome), row.why.as_mut()].into_iter().flatten() {
                shorten(text);
            }
        }
        self.text = self.text.saturating_sub(before).saturating_add(row.text());
    }

    /// Adds facts to a session.
    pub(super) fn add_facts<const N: usize>(&mut self, session: usize, facts: [(&'static str, Option<String>); N]) {
        let has_room = self.has_room();
        let Some(session) = self.sessions.get_mut(session) else { return };
        let facts = facts.into_iter().filter_map(|(name, text)| Some((name, text?)));
        if !has_room || session.facts.len() >= MOST_FACTS {
            self.facts_left_out += facts.count();
            return;
        }
        for fact in facts {
            self.text += fact.1.len();
            session.facts.push(fact);
        }
    }

    fn has_room(&self) -> bool {
        self.text < MOST_TEXT
    }
}

/// Cuts a text if there is no room for a longer one.
fn shorten(text: &mut String) {
    if text.len() > SHORT {
        text.truncate((0..=SHORT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default());
        text.push('…');
    }
}

fn cut(text: &str) -> (&str, bool) {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => (text.get(..end).unwrap_or_default(), true),
        None => (text, false),
    }
}

/// A text from outside on one line, with invisible characters by their numbers, and cut to the longest that the page shows.
pub(super) fn shown(text: &str) -> String {
    let (text, is_cut) = cut(text);
    format!("{}{}", escape(text), if is_cut { "…" } else { "" })
}

/// The same on several lines.
pub(super) fn shown_block(text: &str) -> String {
    let (text, is_cut) = cut(text);
    format!("{}{}", escape_block(text), if is_cut { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_holds_a_bounded_amount_of_text() {
        let mut report = Report::default();
        // Of each character eight are shown.
        let long = "\u{202e}".repeat(5000);
        for call in 0..300 {
            let session = format!("{long}{call}");
            report.add_record(&json!({"event": "session_started", "session": session, "version": long, "user": long}));
            report.add_record(
                &json!({"event": "decided", "session": session, "call": call, "argv": [long], "tool": long}),
            );
            for _ in 0..10 {
                report.add_record(&json!({"event": "asked", "session": session, "call": call, "text": long}));
            }
        }
        report.finish();
        let page = serde_json::to_string(&report).unwrap();
        assert!(page.len() > MOST_TEXT && page.len() < 2 * MOST_TEXT, "{}", page.len());
        let left =
            format!("It shows the first {} entries; {} more are left out", report.rows.len(), 300 - report.rows.len());
        assert!(report.note.contains(&left) && report.rows.len() < 300, "{}", report.note);
    }

    #[test]
    fn a_call_has_its_end_even_beyond_the_bounds() {
        let long = "x".repeat(4000);
        let end = json!({"event": "ended", "session": "s", "call": 1, "exit_code": 3, "duration_ms": 7,
            "time": "2026-01-02T03:04:05Z", "limit": long, "stdout": {"bytes": 9}});
        let started = json!({"event": "started", "session": "s", "call": 1, "program": "/bin/true"});
        let mut report = Report::default();
        report
            .add_record(&json!({"event": "decided", "decision": "allowed", "session": "s", "call": 1, "argv": ["a"]}));
        report.text = MOST_TEXT;
        report.add_record(&started);
        assert_eq!(report.rows[0].outcome, "running");
        report.add_record(&end);
        let row = &report.rows[0];
        assert_eq!((row.kind, row.exit, row.ms, row.stdout), (Kind::Failed, Some(3), Some(7), Some(9)));
        assert!(row.outcome.starts_with("limit: xxx") && row.outcome.len() < 200, "{}", row.outcome);
        let facts = row.facts.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert!(facts.ends_with(&["Ended", "Standard output"]), "{facts:?}");
        assert!(!facts.contains(&"Program") && !facts.contains(&"Limit"), "{facts:?}");
        report.finish();
        assert!(report.note.contains(" It leaves out 2 facts."), "{}", report.note);

        // The same for a call that already has many facts.
        let mut report = Report::default();
        report
            .add_record(&json!({"event": "decided", "decision": "allowed", "session": "s", "call": 1, "argv": ["a"]}));
        (0..2 * MOST_FACTS).for_each(|_| report.add_record(&started));
        report.add_record(&end);
        assert_eq!((report.rows[0].kind, report.rows[0].exit), (Kind::Failed, Some(3)));
        assert!(report.rows[0].facts.len() < MOST_FACTS + 10);
    }
}
