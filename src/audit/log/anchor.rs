//! Heads of a log that were kept elsewhere. They show if the end of the log was cut off, or if all of it was rewritten.

use std::collections::HashMap;

use thiserror::Error;

use super::verify::LinePlace;
use crate::files::Sha256;

/// A head that was kept: the hash of the last line at that time, and the number of records, if it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub sha256: Sha256,
    pub count: Option<u64>,
}

impl Anchor {
    /// Reads a head and nothing else: what `audit head` prints, or only the hash.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            [hash] => Some(Self { sha256: Sha256::from_hex(hash)?, count: None }),
            [count, hash] => Some(Self { sha256: Sha256::from_hex(hash)?, count: Some(count.parse().ok()?) }),
            _ => None,
        }
    }
}

/// Why a text holds no heads.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum NoAnchor {
    #[error("line {line} holds no head; expected what `allowexec audit head` prints: a number and a SHA-256")]
    InLine { line: usize },
    #[error("no line holds a head; expected at least one, as `allowexec audit head` prints it: a number and a SHA-256")]
    InAny,
}

/// The anchors to look for, in the order in which they were kept, and where they were found.
#[derive(Debug, Default)]
pub(crate) struct Anchors {
    all: Vec<Anchor>,
    found: HashMap<Sha256, Option<(LinePlace, u64)>>,
}

/// The result of looking for the anchors in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchored {
    /// There are none.
    No,
    /// All are there. The last one is at this place, and this many lines follow it.
    Until { place: LinePlace, lines_after: u64 },
    /// This one is missing.
    Lacks(Anchor),
}

impl Anchors {
    pub(crate) fn add(&mut self, anchor: Anchor) {
        // The zero hash is the head of an empty log, so there is no line to find.
        if anchor.sha256 != Sha256::ZERO {
            self.found.insert(anchor.sha256, None);
        }
        self.all.push(anchor);
    }

    /// Reads lines that each hold a head, perhaps with other words such as the time. Empty lines are skipped.
    ///
    /// # Errors
    /// If a line holds no head, or if all lines are empty.
    pub(crate) fn add_lines(&mut self, text: &str) -> Result<(), NoAnchor> {
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let mut before = None;
            let found = line.split_whitespace().find_map(|word| {
                let anchor = Sha256::from_hex(word).map(|sha256| Anchor { sha256, count: before });
                before = word.parse().ok();
                anchor
            });
            self.add(found.ok_or(NoAnchor::InLine { line: index + 1 })?);
        }
        if text.trim().is_empty() { Err(NoAnchor::InAny) } else { Ok(()) }
    }

    /// Takes note of a line of the log; `number` counts the lines of all files.
    pub(super) fn see(&mut self, sha256: Sha256, place: LinePlace, number: u64) {
        if self.all.is_empty() {
            return;
        }
        if let Some(found) = self.found.get_mut(&sha256) {
            found.get_or_insert((place, number));
        }
    }

    /// Judges a log with this many lines. If it `continues` files that were not given, anchors before the first one that was
    /// found may be in those files.
    pub(super) fn judge(&self, lines: u64, continues: bool) -> Anchored {
        let found = |anchor: &&Anchor| self.found.get(&anchor.sha256).copied().flatten();
        let is_there = |anchor: &&Anchor| anchor.sha256 == Sha256::ZERO || found(anchor).is_some();
        let skipped = self.all.iter().take_while(|anchor| continues && !is_there(anchor)).count();
        // The newest anchor must be in the files that were given.
        let skipped = skipped.min(self.all.len().saturating_sub(1));
        let lacks = self.all.iter().skip(skipped).find(|anchor| !is_there(anchor));
        match (lacks, self.all.iter().filter_map(|anchor| found(&anchor)).max_by_key(|(_, number)| *number)) {
            (Some(anchor), _) => Anchored::Lacks(*anchor),
            (None, Some((place, number))) => Anchored::Until { place, lines_after: lines.saturating_sub(number) },
            (None, None) => Anchored::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_found_among_other_words() {
        let hash = Sha256::of("x");
        let mut anchors = Anchors::default();
        anchors.add_lines(&format!("7 {hash}\n\n{hash}\r\nNov 23 05:48:36 host audit[9]: 12 {hash} ok\n")).unwrap();
        assert_eq!(anchors.all.iter().map(|anchor| anchor.count).collect::<Vec<_>>(), [Some(7), None, Some(12)]);
        assert_eq!(anchors.add_lines(&format!("7 {hash}\n\n7\n")), Err(NoAnchor::InLine { line: 3 }));
        assert_eq!(anchors.add_lines(&"a".repeat(65)), Err(NoAnchor::InLine { line: 1 }));
        assert_eq!(["", " \n\r\n"].map(|text| anchors.add_lines(text)), [Err(NoAnchor::InAny), Err(NoAnchor::InAny)]);
    }

    #[test]
    fn every_anchor_must_be_there_but_those_that_older_files_may_hold() {
        let hash = |text: &str| Sha256::of(text);
        let place = |line| LinePlace { file: 0, line };
        let judged = |wanted: &[&str], continues| {
            let mut anchors = Anchors::default();
            wanted.iter().for_each(|text| anchors.add(Anchor { sha256: hash(text), count: None }));
            (1_u64..).zip(["a", "b", "c"]).for_each(|(line, text)| anchors.see(hash(text), place(line), line));
            anchors.judge(3, continues)
        };
        let lacks = |text| Anchored::Lacks(Anchor { sha256: hash(text), count: None });
        assert_eq!(judged(&[], false), Anchored::No);
        assert_eq!(judged(&["a", "b"], false), Anchored::Until { place: place(2), lines_after: 1 });
        assert_eq!(judged(&["a", "x"], false), lacks("x"));
        assert_eq!(judged(&["x", "c"], false), lacks("x"));
        assert_eq!(judged(&["x", "c"], true), Anchored::Until { place: place(3), lines_after: 0 });
        assert_eq!(judged(&["x", "c", "y"], true), lacks("y"));
        assert_eq!(judged(&["x", "y"], true), lacks("y"));
        let mut empty = Anchors::default();
        empty.add(Anchor { sha256: Sha256::ZERO, count: Some(0) });
        assert_eq!(empty.judge(0, false), Anchored::No);
    }
}
