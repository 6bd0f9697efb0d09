//! Follows the chain through the lines of a log, in one pass and in bounded memory, and says where it breaks first.
//!
//! A broken chain shows at a line that does not hold the hash of the line before. The lines after it show what happened: whether
//! one of them continues from before the break, and whether numbers are missing in a session.

mod suspicion;

use std::collections::{HashMap, VecDeque};

use thiserror::Error;

use super::anchor::{Anchored, Anchors};
use super::read::{Head, Line, Link};
use crate::files::Sha256;
use suspicion::{Break, Kind, NO_RECORD, Suspicion, out_of_number};

/// How many of the last lines are remembered, to recognize inserted lines.
const RECENT: usize = 1024;
/// How many sessions may be open at once.
const MOST_SESSIONS: usize = 1 << 20;
/// How many torn lines are listed one by one.
const MOST_TORN: usize = 1000;

/// A line: the index of its file among those given, and its number in the file, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LinePlace {
    pub file: usize,
    pub line: u64,
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verification {
    /// How many lines of each file end with a line feed.
    pub lines: Vec<u64>,
    /// How many sessions begin in them.
    pub sessions: u64,
    /// The hash of the last line that ends with a line feed.
    pub head: Sha256,
    /// The first lines that were cut off by a crash or a full disk, as the record after them says.
    pub torn: Vec<LinePlace>,
    /// How many such lines there are.
    pub torn_lines: u64,
    /// The last line, if it does not end with a line feed.
    pub unfinished: Option<LinePlace>,
    /// The file that the first one continues.
    pub continues: Option<String>,
    /// The last anchor that was found, and how many lines follow it.
    pub anchored: Option<(LinePlace, u64)>,
    pub broken: Option<Break>,
}

/// Too many sessions are open.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("more than {MOST_SESSIONS} sessions have not ended, and no more are followed")]
pub(crate) struct TooMany;

/// Follows the chain.
#[derive(Default)]
pub(crate) struct Verifier {
    lines: Vec<u64>,
    count: u64,
    last: Option<Sha256>,
    /// The hash of the last line that ends with a line feed, in any file.
    head: Option<Sha256>,
    unfinished: Option<LinePlace>,
    continues: Option<String>,
    /// The hashes of the last lines, the newest at the end.
    recent: VecDeque<(Sha256, LinePlace)>,
    /// The number of each session's next record.
    sessions: HashMap<String, u64>,
    /// The session and the number of the last record.
    last_record: (String, u64),
    begun: u64,
    /// Lines that are not records, until a record says that they were torn.
    pending: Option<Pending>,
    torn: Vec<LinePlace>,
    torn_lines: u64,
    /// Numbers that torn records may have had.
    lost_numbers: u64,
    /// The line before, if its hash fits but its number does not, and how the number differs.
    odd: Option<(Kind, LinePlace)>,
    suspicion: Option<Suspicion>,
    anchors: Anchors,
}

struct Pending {
    places: Vec<LinePlace>,
    /// The hash of the line before them.
    before: Sha256,
}

impl Verifier {
    pub(crate) fn new(anchors: Anchors) -> Self {
        Self { anchors, ..Self::default() }
    }

    /// Begins the next file. Files come in the order in which they were written.
    pub(crate) fn begin_file(&mut self) {
        self.lines.push(0);
    }

    /// Takes the next line of the file.
    ///
    /// # Errors
    /// [`TooMany`].
    pub(crate) fn take(&mut self, line: &Line) -> Result<Link, TooMany> {
        let link = Link::of(line);
        let file = self.lines.len().saturating_sub(1);
        let number = self.lines.last_mut().map_or(1, |lines| {
            *lines += 1;
            *lines
        });
        let place = LinePlace { file, line: number };
        self.count += 1;
        self.anchors.see(line.sha256, place, self.count);
        self.unfinished = (!line.has_end).then_some(place);
        if self.suspicion.is_none() {
            self.follow(&link, place, line)?;
        } else {
            self.learn(&link, place, line.sha256);
        }
        self.last = Some(line.sha256);
        if line.has_end {
            self.head = self.last;
        }
        if self.suspicion.is_none() {
            if self.recent.len() == RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back((line.sha256, place));
        }
        Ok(link)
    }

    /// Ends the last file, and returns the result.
    pub(crate) fn finish(mut self) -> Verification {
        // A line without an end does not count, as a server may be writing it; `head` does not count it either.
        let counted = self.count - u64::from(self.unfinished.is_some());
        let anchored = self.anchors.judge(counted, self.continues.is_some());
        let broken = self.broken().or_else(|| match anchored {
            Anchored::Lacks(anchor) => {
                let lines = self.lines.last().copied().unwrap_or_default();
                let place = LinePlace { file: self.lines.len().saturating_sub(1), line: lines };
                let is_rewritten = anchor.count.is_some_and(|count| count <= lines);
                Some(match (is_rewritten, anchor.count) {
                    (true, Some(count)) => Break {
                        kind: Kind::Changed,
                        place: LinePlace { line: count, ..place },
                        what: format!("the anchor of {}, `{}`, is not in the log: all of the log was rewritten, or this is another log", crate::text::counted(count, "record"), anchor.sha256),
                    },
                    _ => Break {
                        kind: Kind::Cut,
                        place,
                        what: format!("the anchor `{}` is not in the log: the end of the log was cut off or rewritten", anchor.sha256),
                    },
                })
            }
            Anchored::No | Anchored::Until { .. } => None,
        });
        let anchored = match anchored {
            Anchored::Until { place, lines_after } if broken.is_none() => Some((place, lines_after)),
            Anchored::Until { .. } | Anchored::No | Anchored::Lacks(_) => None,
        };
        // It was counted, but is not whole yet. Its file need not be the last one: empty files may follow.
        if let Some(lines) = self.unfinished.and_then(|place| self.lines.get_mut(place.file)) {
            *lines -= 1;
        }
        Verification {
            lines: self.lines,
            sessions: self.begun,
            head: self.head.unwrap_or(Sha256::ZERO),
            torn: self.torn,
            torn_lines: self.torn_lines,
            unfinished: self.unfinished,
            continues: self.continues,
            anchored,
            broken,
        }
    }

    fn follow(&mut self, link: &Link, place: LinePlace, line: &Line) -> Result<(), TooMany> {
        let before = self.last.unwrap_or(Sha256::ZERO);
        let head = match link {
            Link::Unreadable { prev, continues } => {
                // The line may have been cut off before the name of the file that it continues.
                if self.last.is_none() && prev.is_some_and(|prev| prev != Sha256::ZERO) {
                    self.continues = Some(continues.clone().unwrap_or_default());
                }
                let follows = prev.is_none_or(|prev| prev == before) || self.continues.is_some() && self.last.is_none();
                let pending = self.pending.get_or_insert_with(|| Pending { places: Vec::new(), before });
                if !follows || pending.places.len() >= MOST_TORN {
                    match pending.places.first().copied() {
                        Some(first) => self.suspect(first, None, line.sha256),
                        None => self.suspect(place, *prev, line.sha256),
                    }
                } else {
                    pending.places.push(place);
                }
                return Ok(());
            }
            Link::Record(head) => head,
        };
        let follows = head.prev == Some(before) || self.last.is_none() && head.continues.is_some();
        if let Some((kind, odd)) = self.odd.take() {
            // If this line does not follow, only the number was changed. If it does, all lines from there on were rewritten.
            let kind = if follows { kind } else { Kind::Changed };
            self.certainly((kind, odd), place, line.sha256);
            return Ok(());
        }
        let is_recovered = head.event == "recovered";
        if is_recovered && follows && head.torn_sha256.is_none() {
            // The server noticed that the file had become shorter, or that it is another one.
            self.certainly((Kind::Cut, place), place, line.sha256);
            return Ok(());
        }
        if let Some(pending) = &self.pending {
            if !follows || !is_recovered || head.torn_sha256 != Some(before) {
                let first = pending.places.first().copied().unwrap_or(place);
                self.suspect(first, None, line.sha256);
                self.learn(link, place, line.sha256);
                return Ok(());
            }
        }
        if !follows {
            self.suspect(place, head.prev, line.sha256);
            self.check_number(head, true)?;
            return Ok(());
        }
        if is_recovered {
            match self.pending.take() {
                Some(pending) => pending.places.into_iter().for_each(|place| self.add_torn(place)),
                // Only the line feed was missing, so the line was read as a record.
                None if head.torn_sha256 == Some(before) => self.add_last_torn(),
                // The torn line is the last one of the file before, which was not given.
                None if self.last.is_none() => {}
                None => {
                    self.certainly((Kind::Changed, place), place, line.sha256);
                    return Ok(());
                }
            }
        }
        if self.last.is_none() {
            self.continues.clone_from(&head.continues);
        }
        self.odd = self.check_number(head, false)?.map(|kind| (kind, place));
        Ok(())
    }

    /// Compares a record's number with the one that its session should have next; returns what a difference looks like.
    fn check_number(&mut self, head: &Head, is_broken: bool) -> Result<Option<Kind>, TooMany> {
        let known = self.sessions.get(&head.session).copied();
        self.begun += u64::from(known.is_none() && head.seq == 0);
        if known.is_none() && self.sessions.len() >= MOST_SESSIONS {
            return Err(TooMany);
        }
        // The session may have begun in an earlier file.
        let is_older = known.is_none() && self.continues.is_some();
        let expected = if is_older { head.seq } else { known.unwrap_or(0) };
        self.last_record.0.clone_from(&head.session);
        self.last_record.1 = head.seq;
        if head.event == "session_ended" {
            self.sessions.remove(&head.session);
        } else {
            self.sessions.insert(head.session.clone(), head.seq.saturating_add(1));
        }
        if head.seq < expected {
            return Ok(Some(Kind::Inserted));
        }
        let missing = head.seq - expected;
        if missing > self.lost_numbers {
            if let Some(suspicion) = self.suspicion.as_mut().filter(|_| is_broken) {
                suspicion.has_gap = true;
            }
            return Ok(Some(Kind::Removed));
        }
        self.lost_numbers -= missing;
        Ok(None)
    }

    fn add_torn(&mut self, place: LinePlace) {
        self.lost_numbers += 1;
        self.torn_lines += 1;
        if self.torn.len() < MOST_TORN {
            self.torn.push(place);
        }
    }

    fn add_last_torn(&mut self) {
        if let Some((_, place)) = self.recent.back().copied() {
            self.add_torn(place);
        }
        // The server did not count the record, so its number comes again.
        let (session, seq) = &self.last_record;
        self.sessions.insert(session.clone(), *seq);
    }

    fn certainly(&mut self, certain: (Kind, LinePlace), place: LinePlace, sha256: Sha256) {
        self.suspect(place, None, sha256);
        if let Some(suspicion) = &mut self.suspicion {
            suspicion.certain = Some(certain);
        }
    }

    fn suspect(&mut self, place: LinePlace, prev: Option<Sha256>, sha256: Sha256) {
        let pending = self.pending.take();
        let before_sha256 = pending.map_or(self.last.unwrap_or(Sha256::ZERO), |pending| pending.before);
        let known = |hash: Sha256| self.recent.iter().rposition(|(known, _)| *known == hash);
        let before = known(before_sha256).and_then(|index| self.recent.get(index)).map(|(_, place)| *place);
        // This line continues from an earlier line, so the lines between them were inserted.
        let inserted_from = prev.and_then(known).and_then(|index| self.recent.get(index + 1)).map(|(_, place)| *place);
        self.suspicion = Some(Suspicion {
            place,
            prev,
            sha256,
            before,
            before_sha256,
            certain: None,
            inserted_from,
            continued_by: None,
            is_early: false,
            has_gap: false,
            is_denied: None,
        });
    }

    /// Learns from a line after the break.
    fn learn(&mut self, link: &Link, place: LinePlace, sha256: Sha256) {
        let Some(suspicion) = &mut self.suspicion else { return };
        if suspicion.certain.is_some() {
            return;
        }
        suspicion.is_early |= suspicion.prev == Some(sha256);
        let Link::Record(head) = link else { return };
        if head.prev == Some(suspicion.before_sha256) {
            suspicion.continued_by.get_or_insert(place);
        }
        suspicion.is_denied.get_or_insert(head.prev != Some(suspicion.sha256));
        // The numbers are compared only to find out what happened, so too many sessions are not an error here.
        let _: Result<_, TooMany> = self.check_number(head, true);
    }

    /// The first break, once everything was read.
    fn broken(&mut self) -> Option<Break> {
        if let Some(pending) = &self.pending {
            // The last line may lack its line feed: the server was killed, or is still writing it.
            let first = pending.places.first().copied()?;
            if self.unfinished.is_some() && pending.places.last().copied() == self.unfinished {
                return None;
            }
            let what = NO_RECORD.to_owned();
            return Some(Break { kind: Kind::Changed, place: first, what });
        }
        if let Some((kind, place)) = self.odd {
            return Some(Break { kind, place, what: out_of_number(kind) });
        }
        self.suspicion.take().map(Suspicion::judged)
    }
}

#[cfg(test)]
mod tests;
