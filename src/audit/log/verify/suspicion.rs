//! Where a chain breaks first: what is suspected at a line, and what the lines after it tell about it.

use std::fmt;

use super::LinePlace;
use crate::files::Sha256;

/// The kind of a break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Changed,
    Removed,
    Inserted,
    Reordered,
    Cut,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Inserted => "inserted",
            Self::Reordered => "reordered",
            Self::Cut => "cut",
        })
    }
}

/// The first break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Break {
    pub kind: Kind,
    /// The line that was changed or inserted, or that is out of order; the line after removed ones; the last line if the end was cut
    /// off.
    pub place: LinePlace,
    /// Describes the break, as a clause.
    pub what: String,
}

/// A line at which the chain is broken, and what the lines after it have shown so far.
pub(super) struct Suspicion {
    pub place: LinePlace,
    /// The hash that it holds for the line before; `None` if it is not a record.
    pub prev: Option<Sha256>,
    /// Its own hash.
    pub sha256: Sha256,
    /// The line before; `None` if it is no longer remembered.
    pub before: Option<LinePlace>,
    pub before_sha256: Sha256,
    /// The break, if it is known without looking at later lines.
    pub certain: Option<(Kind, LinePlace)>,
    /// The first of the lines before it that it skips, which therefore were inserted.
    pub inserted_from: Option<LinePlace>,
    /// A later line that continues from before the break.
    pub continued_by: Option<LinePlace>,
    /// Whether the line whose hash it holds comes later.
    pub is_early: bool,
    /// Whether numbers of its session are missing.
    pub has_gap: bool,
    /// Whether the next record holds another hash for it; `None` until there is one.
    pub is_denied: Option<bool>,
}

/// The description of a line that is not a record.
pub(super) const NO_RECORD: &str = "this line is not a record: it was damaged, or something else wrote it";
/// The description of a first line that holds the hash of another line.
const FIRST_CONTINUES: &str = "this is the first line, but it holds the hash of a line before it";

pub(super) fn out_of_number(kind: Kind) -> String {
    match kind {
        Kind::Removed => "numbers (`seq`) of its session are missing before this line, although the hashes match: lines were removed and the rest was rewritten",
        Kind::Changed => "its number (`seq`) is not the next one of its session, and the next line holds another hash for this line",
        Kind::Inserted | Kind::Reordered | Kind::Cut => {
            "its session had this number (`seq`) before, although the hashes match: lines were inserted and the rest was rewritten"
        }
    }
    .to_owned()
}

impl Suspicion {
    /// The break, once everything was read.
    pub fn judged(self) -> Break {
        let Self { place, before, .. } = self;
        match self.certain {
            Some((Kind::Cut, place)) => {
                let what = "a server recorded here that the file was shorter than it had left it, or that another file had taken its place";
                return Break { kind: Kind::Cut, place, what: what.to_owned() };
            }
            Some((kind, place)) => return Break { kind, place, what: out_of_number(kind) },
            None => {}
        }
        let is_of_other_file = before.is_some_and(|before| before.file != place.file);
        if let Some(later) = self.continued_by {
            // Files given in the wrong order are more common than moved lines.
            let or = if is_of_other_file { "; or the files are not in their order (oldest first)" } else { "" };
            if self.is_early {
                let what = format!("this line holds the hash of a line that comes after it{or}");
                return Break { kind: Kind::Reordered, place, what };
            }
            let what = format!("line {} continues from the line before this one{or}", later.line);
            return Break { kind: Kind::Inserted, place, what };
        }
        if let Some(from) = self.inserted_from {
            let what = format!("line {} continues from the line before this one", place.line);
            return Break { kind: Kind::Inserted, place: from, what };
        }
        if self.prev.is_none() {
            return Break { kind: Kind::Changed, place, what: NO_RECORD.to_owned() };
        }
        if self.has_gap || is_of_other_file {
            let what = match before {
                Some(_) if is_of_other_file => {
                    "this line does not continue the file before: a file is missing, the files are not in their order (oldest first), or the end of the file before was changed or removed"
                }
                Some(_) => "this line holds the hash of a line before it, which is missing",
                None => FIRST_CONTINUES,
            };
            return Break { kind: Kind::Removed, place, what: what.to_owned() };
        }
        match before.filter(|_| self.is_denied != Some(true)) {
            Some(before) => {
                let what = format!(
                    "line {} holds another hash for this line, or the last records of a session were removed after it",
                    place.line
                );
                Break { kind: Kind::Changed, place: before, what }
            }
            None => {
                let what = match before {
                    Some(_) => {
                        "this line does not hold the hash of the line before it, and the next line holds another hash for this one"
                    }
                    None => FIRST_CONTINUES,
                };
                Break { kind: Kind::Changed, place, what: what.to_owned() }
            }
        }
    }
}
