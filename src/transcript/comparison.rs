//! The differences between a transcript and what was played.

use std::collections::BTreeMap;

use serde_json::Value;

use super::diff::{Change, diff, marked, unified};
use super::nearest::differences;
use super::pairs::{Pair, pairs};
use super::{Entry, Identity, Placeholders, Rule, Strictness, Transcript};

/// Two messages are shown whole if neither is longer than this, and otherwise in part.
const SHOWN_WHOLE: usize = 240;
/// The longest line of a difference in characters.
const LONGEST_SHOWN: usize = 16 * 1024;
/// The most differences in one message that are shown.
const MOST_PLACES: usize = 50;

/// A transcript, together with what happened when it was played.
///
/// Two messages are the same if they are the same JSON, both normalised, except for what the rules allow. Any message
/// with the right identity satisfies a wait that contains only its identity (it has no `jsonrpc`).
#[derive(Debug, Clone)]
pub struct Comparison {
    changes: Vec<Change>,
    expected: Vec<String>,
    played: Vec<String>,
    /// By the index of an expected message that differs: the index of the message that came for it, and the parts that
    /// differ.
    parts: BTreeMap<usize, (usize, String)>,
    file: String,
    /// The lines of the file before the body, unchanged.
    header: String,
    can_be_expected: bool,
}

impl Comparison {
    /// Compares. `text` is the text that `expected` was parsed from, and `file` its name for people; `placeholders` are
    /// those used for playing; `rules` say what may differ.
    #[must_use]
    pub fn new(
        file: &str,
        text: &str,
        expected: &Transcript,
        played: &Transcript,
        placeholders: &Placeholders,
        rules: &[Rule],
        strictness: Strictness,
    ) -> Self {
        let header = header_of(text).to_owned();
        let can_be_expected = !played.entries.iter().any(|entry| matches!(entry, Entry::Failure(_)));
        let expected: Vec<Entry> = expected.entries.iter().map(|entry| entry.normalised(placeholders)).collect();
        let mut played = played.entries.clone();
        let first_line = header.lines().count() + 1;
        let mut parts = BTreeMap::new();
        for Pair { expected: at, played: place, came } in pairs(&expected, &played, rules, strictness, first_line) {
            let (Some(Entry::Receive(wanted)), Some(entry)) = (expected.get(at), played.get_mut(place)) else {
                continue;
            };
            let Entry::Receive(message) = entry else { continue };
            let holds_the_same = wanted.text() == message.text() || wanted.unheld() == message.unheld();
            if *wanted.value() == came {
                // The text is not changed for a difference that a rule allows; what a value does not hold no rule allows.
                if *message.value() != came && holds_the_same {
                    *entry = Entry::Receive(wanted.clone());
                }
            } else if entry.to_string().len().max(wanted.text().len()) > SHOWN_WHOLE || wanted.text().contains("\\n") {
                parts.insert(at, (place, in_part(wanted.value(), &came)));
            }
        }
        let lines = |entries: &[Entry]| entries.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (left, right) = (lines(&expected), lines(&played));
        let mut numbers = Numbers::default();
        let wanted: Vec<Line> = expected.iter().zip(&left).map(|(entry, text)| numbers.line(entry, text)).collect();
        let came: Vec<Line> = played.iter().zip(&right).map(|(entry, text)| numbers.line(entry, text)).collect();
        let agree = |l: usize, r: usize| wanted.get(l).zip(came.get(r)).is_some_and(|(l, r)| l.is_met_by(r));
        Self {
            changes: diff(left.len(), right.len(), &agree),
            expected: left,
            played: right,
            parts,
            file: file.to_owned(),
            header,
            can_be_expected,
        }
    }

    /// Whether nothing differs.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.first_difference().is_none()
    }

    /// The line of the file with the first difference, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        let first = self.first_difference()?;
        let before = self.changes.iter().take(first).filter(|change| !matches!(change, Change::Added { .. }));
        Some(self.first_line() + before.count())
    }

    /// The difference as a unified diff with the file's line numbers; empty if there is none. Of a long message, and of
    /// one with text of several lines, only the parts that differ are shown, with text as text.
    #[must_use]
    pub fn unified(&self) -> String {
        let in_parts: Vec<usize> = self.parts.values().map(|(played, _)| *played).collect();
        let hunks = unified(&self.changes, self.first_line(), &|change| match change {
            Change::Removed { left } if self.parts.contains_key(left) => {
                self.parts.get(left).map(|(_, text)| text.clone()).unwrap_or_default()
            }
            Change::Added { right } if in_parts.contains(right) => String::new(),
            Change::Same { .. } => shortened(&marked(change, &self.expected, &self.played), SHOWN_WHOLE),
            Change::Removed { .. } | Change::Added { .. } => {
                shortened(&marked(change, &self.expected, &self.played), LONGEST_SHOWN)
            }
        });
        if hunks.is_empty() { hunks } else { format!("--- {}\n+++ played\n{hunks}", self.file) }
    }

    /// Returns the changes of an update to a file that does not differ, as a unified diff: the waits that it fills in.
    #[must_use]
    pub fn rewritten(&self) -> String {
        let agree = |left: usize, right: usize| self.expected.get(left) == self.played.get(right);
        let changes = diff(self.expected.len(), self.played.len(), &agree);
        let shown = |change: &Change| shortened(&marked(change, &self.expected, &self.played), SHOWN_WHOLE);
        let hunks = unified(&changes, self.first_line(), &shown);
        if hunks.is_empty() { hunks } else { format!("--- {}\n+++ played\n{hunks}", self.file) }
    }

    /// The new text of the file: its header unchanged, and what happened. `None` if the text stays the same, or if a
    /// wait was not met: a failure must not become the expectation.
    #[must_use]
    pub fn updated(&self) -> Option<String> {
        let changed = self.expected != self.played;
        let body: String = self.played.iter().map(|line| format!("{line}\n")).collect();
        (changed && self.can_be_expected).then(|| format!("{}{body}", self.header))
    }

    fn first_difference(&self) -> Option<usize> {
        self.changes.iter().position(|change| !matches!(change, Change::Same { .. }))
    }

    fn first_line(&self) -> usize {
        self.header.lines().count() + 1
    }
}

/// The places where two messages differ, each with the expected and the actual value.
fn in_part(wanted: &Value, came: &Value) -> String {
    let identity = wanted.get("method").map(|method| ("method", method));
    let (key, value) = identity.or_else(|| Some(("id", wanted.get("id")?))).unwrap_or(("id", &Value::Null));
    let mut text = format!(" <-- {{\"{key}\":{value}}} differs:\n");
    let differences = differences(wanted, came);
    for place in differences.iter().take(MOST_PLACES) {
        text.push_str(&format!(" {}\n", place.pointer));
        let (mut left, mut right) = (lines(place.expected.as_ref()), lines(place.found.as_ref()));
        if left == right {
            // They differ only in their line ends.
            [left, right] = [&place.expected, &place.found].map(|value| value.iter().map(Value::to_string).collect());
        }
        let agree = |l: usize, r: usize| left.get(l) == right.get(r);
        let changes = diff(left.len(), right.len(), &agree);
        match left.len().max(right.len()) {
            0 | 1 => text.extend(changes.iter().map(|change| marked(change, &left, &right))),
            _ => text.push_str(&unified(&changes, 1, &|change| marked(change, &left, &right))),
        }
    }
    match differences.len().saturating_sub(MOST_PLACES) {
        0 => text,
        more => format!("{text} and at {more} more places\n"),
    }
}

/// A value as lines: text of several lines as it is, anything else as JSON.
fn lines(value: Option<&Value>) -> Vec<String> {
    match value {
        None => Vec::new(),
        Some(Value::String(text)) if text.contains('\n') => text.lines().map(str::to_owned).collect(),
        Some(other) => vec![other.to_string()],
    }
}

/// Cuts a line of a diff to `most` characters.
pub(super) fn shortened(line: &str, most: usize) -> String {
    let mut characters = line.chars();
    let start: String = characters.by_ref().take(most).collect();
    match characters.as_str() {
        "" => start,
        rest => format!("{start}…+{}\n", rest.chars().count()),
    }
}

/// The lines up to the first blank one, that one included.
fn header_of(text: &str) -> &str {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        if line.trim_matches([' ', '\t', '\r', '\n']).is_empty() {
            break;
        }
    }
    text.get(..end).unwrap_or(text)
}

impl Entry {
    fn normalised(&self, placeholders: &Placeholders) -> Self {
        match self {
            // A message stays a message without the directory and the version.
            Self::Receive(message) => {
                super::Message::parse(&placeholders.hide(message.text())).map_or_else(|_| self.clone(), Self::Receive)
            }
            other => other.clone(),
        }
    }
}

/// The part of a line that is compared, as numbers: there can be millions of lines, and each may be long.
struct Line {
    text: usize,
    /// The JSON and the identity of a message.
    message: Option<(usize, usize)>,
    is_bare: bool,
}

impl Line {
    fn is_met_by(&self, played: &Self) -> bool {
        let same_message = match (self.message, played.message) {
            (Some((json, identity)), Some((other, same))) => json == other || self.is_bare && identity == same,
            _ => false,
        };
        self.text == played.text || same_message
    }
}

/// Gives equal values the same number.
#[derive(Default)]
struct Numbers {
    texts: BTreeMap<String, usize>,
    json: BTreeMap<String, usize>,
    identities: BTreeMap<Identity, usize>,
}

impl Numbers {
    fn line(&mut self, entry: &Entry, text: &str) -> Line {
        let Entry::Receive(message) = entry else {
            return Line { text: number(&mut self.texts, text.to_owned()), message: None, is_bare: false };
        };
        let mut json = message.unheld().join(" ");
        spell(message.value(), &mut json);
        Line {
            text: number(&mut self.texts, text.to_owned()),
            message: Some((number(&mut self.json, json), number(&mut self.identities, message.identity().clone()))),
            is_bare: message.is_bare(),
        }
    }
}

fn number<T: Ord>(known: &mut BTreeMap<T, usize>, what: T) -> usize {
    let next = known.len();
    *known.entry(what).or_insert(next)
}

/// Writes equal JSON as equal text: members of objects are ordered by name.
fn spell(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<&String, &Value> = members.iter().collect();
            text.push('{');
            for (name, value) in members {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                spell(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                spell(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => text.push_str(&value.to_string()),
    }
}
