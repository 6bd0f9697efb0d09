//! The marker: new for every command, printed by the shell after the command's output on both streams.

use std::fmt;
use std::sync::Arc;

use crate::exec::{Capture, Spool, StreamName};
use crate::random;

/// The most bytes between a marker and its second half: an exit code and a path.
const LONGEST_NOTE: usize = 64 * 1024;

/// A text that nobody can know before the shell prints it: `Marker_` and a random UUID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker(String);

impl Marker {
    /// Makes one that was never used before.
    pub fn fresh() -> Self {
        Self::of(&random::uuid())
    }

    fn of(uuid: &str) -> Self {
        Self(["Marker_", uuid].concat())
    }

    /// Its text, which contains nothing that any shell reads as syntax.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How many markers get their random bytes from one system call.
const AT_ONCE: usize = 16;

/// Makes one new marker after another. It gets the system's random bytes for several of them together: getting them for
/// each would cost as much as sending its line.
#[derive(Default)]
pub(super) struct Markers {
    /// Each is used once.
    drawn: Vec<[u8; 16]>,
}

impl Markers {
    pub(super) fn fresh(&mut self) -> Marker {
        if self.drawn.is_empty() {
            let mut drawn = [[0; 16]; AT_ONCE];
            if random::fill(drawn.as_flattened_mut()).is_ok() {
                self.drawn.extend(drawn);
            }
        }
        self.drawn.pop().map_or_else(Marker::fresh, |random| Marker::of(&random::uuid_of(random)))
    }
}

impl fmt::Debug for Markers {
    /// Unused markers must stay secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Markers").finish_non_exhaustive()
    }
}

/// Reads a stream up to a marker. What comes before is kept in a [`Capture`], and in a [`Spool`] if there is one. Then
/// come a note and the marker again.
///
/// The marker is found anywhere, so that output without a line end, or with any bytes, arrives unchanged.
#[derive(Debug)]
pub(super) struct Until {
    marker: Marker,
    /// The line end that the shell prints after the second marker, which would otherwise appear in the next answer.
    line_end: &'static str,
    output: Output,
    /// Bytes that may be the beginning of a marker; then the note.
    held: Vec<u8>,
    state: State,
}

/// Where the output before the marker goes.
#[derive(Debug)]
struct Output {
    capture: Capture,
    spool: Option<(Arc<Spool>, StreamName)>,
}

impl Output {
    fn push(&mut self, piece: &[u8]) {
        self.capture.push(piece);
        if let Some((spool, name)) = &self.spool {
            spool.push(*name, piece);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Output,
    Note,
    Complete,
    Broken,
}

impl Until {
    pub(super) fn new(marker: Marker, line_end: &'static str, capture: Capture) -> Self {
        let output = Output { capture, spool: None };
        Self { marker, line_end, output, held: Vec::new(), state: State::Output }
    }

    /// Keeps the output in the spool, too, as what came on this stream.
    pub(super) fn kept_in(self, spool: Option<Arc<Spool>>, name: StreamName) -> Self {
        let spool = spool.map(|spool| (spool, name));
        Self { output: Output { spool, ..self.output }, ..self }
    }

    /// Takes the next piece of the stream. Anything after the second marker does not belong to this command's output.
    pub(super) fn push(&mut self, piece: &[u8]) {
        match self.state {
            State::Complete | State::Broken => return,
            // A marker can only span the end of what was held and the beginning of the piece.
            State::Output | State::Note => self.held.extend_from_slice(piece),
        }
        let marker = self.marker.as_str().as_bytes();
        if self.state == State::Output {
            match find(&self.held, marker, b"") {
                Some(at) => {
                    self.output.push(self.held.get(..at).unwrap_or_default());
                    self.held.drain(..at + marker.len());
                    self.state = State::Note;
                }
                None => {
                    let keep = longest_prefix_at_end(&self.held, marker);
                    let out = self.held.len() - keep;
                    self.output.push(self.held.get(..out).unwrap_or_default());
                    self.held.drain(..out);
                }
            }
        }
        if self.state == State::Note {
            match find(&self.held, marker, self.line_end.as_bytes()) {
                Some(at) => {
                    self.held.truncate(at);
                    self.state = State::Complete;
                }
                None if self.held.len() > LONGEST_NOTE => self.state = State::Broken,
                None => {}
            }
        }
    }

    /// The last line of the output so far, cut to `longest` bytes.
    pub(super) fn last_line(&self, longest: usize) -> Vec<u8> {
        self.output.capture.last_line(longest)
    }

    /// Whether the second marker has come, with its line end.
    pub(super) fn is_complete(&self) -> bool {
        self.state == State::Complete
    }

    /// Returns what was kept of the output, and the note if the stream is complete.
    pub(super) fn finish(mut self) -> (Capture, Option<Vec<u8>>) {
        match self.state {
            State::Complete => (self.output.capture, Some(self.held)),
            State::Output => {
                self.output.push(&self.held);
                (self.output.capture, None)
            }
            State::Note | State::Broken => (self.output.capture, None),
        }
    }
}

/// The position of the first marker that these bytes follow directly.
fn find(bytes: &[u8], marker: &[u8], behind: &[u8]) -> Option<usize> {
    let first = *marker.first()?;
    let mut from = 0;
    loop {
        let rest = bytes.get(from..)?;
        let at = from + rest.iter().position(|&byte| byte == first)?;
        if bytes.get(at..)?.strip_prefix(marker).is_some_and(|rest| rest.starts_with(behind)) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// The length of the longest end of `bytes` that is a proper prefix of `marker`.
fn longest_prefix_at_end(bytes: &[u8], marker: &[u8]) -> usize {
    let most = bytes.len().min(marker.len().saturating_sub(1));
    (1..=most)
        .rev()
        .find(|&length| {
            let end = bytes.get(bytes.len() - length..).unwrap_or_default();
            marker.starts_with(end)
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn read(pieces: &[&[u8]], marker: &str) -> (String, Option<String>) {
        let mut until = Until::new(Marker(marker.to_owned()), "\n", Capture::new(0));
        pieces.iter().for_each(|piece| until.push(piece));
        let (capture, note) = until.finish();
        let captured = capture.finish();
        (String::from_utf8(captured.head).unwrap(), note.map(|note| String::from_utf8(note).unwrap()))
    }

    #[test]
    fn a_marker_is_fresh_every_time() {
        let mut markers = Markers::default();
        let drawn = (0..3 * AT_ONCE).map(|_| markers.fresh()).chain([Marker::fresh()]);
        let drawn: HashSet<String> = drawn.map(|marker| marker.as_str().to_owned()).collect();
        assert_eq!(drawn.len(), 3 * AT_ONCE + 1);
        for marker in drawn {
            assert_eq!(marker.strip_prefix("Marker_").map(str::len), Some(36), "{marker}");
        }
    }

    #[test]
    fn output_ends_where_the_marker_begins_and_nothing_behind_it_counts() {
        let said = |output: &str, note: Option<&str>| (output.to_owned(), note.map(str::to_owned));
        assert_eq!(read(&[b"hello\nMM:0:/:MM\nlate"], "MM"), said("hello\n", Some(":0:/:")));
        assert_eq!(
            read(&[b"no line endMarker_", b"x:0:Marker_x", b"\n"], "Marker_x"),
            said("no line end", Some(":0:"))
        );
        assert_eq!(read(&[b"Marker_Marker_y Marker_", b"M"], "Marker_x"), said("Marker_Marker_y Marker_M", None));
        assert_eq!(read(&[b"Marker_xMarker_x\n"], "Marker_x"), said("", Some("")));
        assert_eq!(read(&[b"Marker_xMarker_x"], "Marker_x"), said("", None));
        assert_eq!(read(&[b"out", b"Marker_x:0:", b"late"], "Marker_x"), said("out", None));
    }

    proptest! {
        #[test]
        fn however_a_stream_is_cut_its_parts_are_the_same(
            output in "[ab\n]{0,40}", note in "[cd:]{0,9}", cuts in proptest::collection::vec(0usize..60, 0..6)
        ) {
            let marker = "abaab_x";
            prop_assume!(!output.contains(marker));
            let stream = format!("{output}{marker}{note}{marker}\nlate");
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|ends| &stream.as_bytes()[ends[0]..ends[1]]).collect();
            let at = stream.find(marker).unwrap();
            let (got, got_note) = read(&pieces, marker);
            prop_assert_eq!(&got, &stream[..at]);
            prop_assert!(got_note.is_some());
        }
    }
}
