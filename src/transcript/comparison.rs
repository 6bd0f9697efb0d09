//! What differs between a transcript and what was played.

use super::diff::{Change, diff, unified};
use super::{Entry, Placeholders, Transcript};

/// A transcript beside what happened when it was played.
///
/// Two messages are the same where they are the same JSON, both normalised. A wait that says nothing but its identity
/// (it has no `jsonrpc`) is content with any message of it.
#[derive(Debug, Clone)]
pub struct Comparison {
    changes: Vec<Change>,
    expected: Vec<String>,
    played: Vec<String>,
    file: String,
    /// The lines of the file before the body, as they stand there.
    header: String,
    can_be_expected: bool,
}

impl Comparison {
    /// Compares. `text` is what `expected` was parsed from, and `file` its name for people; `placeholders` are those
    /// that were played with.
    #[must_use]
    pub fn new(
        file: &str,
        text: &str,
        expected: &Transcript,
        played: &Transcript,
        placeholders: &Placeholders,
    ) -> Self {
        let expected: Vec<Entry> = expected.entries.iter().map(|entry| entry.normalised(placeholders)).collect();
        let lines = |entries: &[Entry]| entries.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (left, right) = (lines(&expected), lines(&played.entries));
        let agree = |l: usize, r: usize| {
            let same_text = left.get(l) == right.get(r);
            same_text || expected.get(l).zip(played.entries.get(r)).is_some_and(|(l, r)| l.is_met_by(r))
        };
        Self {
            changes: diff(left.len(), right.len(), agree),
            expected: left,
            can_be_expected: !played.entries.iter().any(|entry| matches!(entry, Entry::Failure(_))),
            played: right,
            file: file.to_owned(),
            header: header_of(text).to_owned(),
        }
    }

    /// Whether nothing differs.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.first_difference().is_none()
    }

    /// The line of the file where the first difference stands, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        let first = self.first_difference()?;
        let before = self.changes.iter().take(first).filter(|change| !matches!(change, Change::Added { .. }));
        Some(self.first_line() + before.count())
    }

    /// The difference as a unified diff with the file's lines; empty where there is none.
    #[must_use]
    pub fn unified(&self) -> String {
        let hunks = unified(&self.changes, self.first_line(), &self.expected, &self.played);
        if hunks.is_empty() { hunks } else { format!("--- {}\n+++ played\n{hunks}", self.file) }
    }

    /// The file's new text: its header as it stands, and what happened. `None` where that is the text already, or where a
    /// wait was not met: a failure can't become what is expected.
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
            // What was a message is one without the directory and the version too.
            Self::Receive(message) => {
                super::Message::parse(&placeholders.hide(message.text())).map_or_else(|_| self.clone(), Self::Receive)
            }
            other => other.clone(),
        }
    }

    fn is_met_by(&self, played: &Self) -> bool {
        match (self, played) {
            (Self::Receive(wanted), Self::Receive(came)) => {
                wanted.value() == came.value() || wanted.is_bare() && wanted.identity() == came.identity()
            }
            _ => false,
        }
    }
}
