//! Keeps a stream up to a bound: all of it if it fits, else its head and its tail.

use std::collections::VecDeque;

use crate::files::Summing;

/// The most that is kept of one stream, whatever the bound: no message can carry more.
pub(super) const MOST: u64 = 10 * 1024 * 1024;

/// Takes a stream piece by piece, and holds no more of it than its bound.
#[derive(Debug)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_bound: usize,
    tail_bound: usize,
    dropped: u64,
    has_digest: bool,
    /// The digest of all of it so far, once something was left out.
    sum: Option<Summing>,
}

/// The part of a stream that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The first bytes: all of them if nothing was left out.
    pub head: Vec<u8>,
    /// The last bytes; empty if nothing was left out.
    pub tail: Vec<u8>,
    /// The number of bytes between head and tail that were left out.
    pub left_out: u64,
    /// The SHA-256 of the whole stream, where something was left out and the digest was asked for.
    pub sha256: Option<Box<[u8; 32]>>,
}

impl Capture {
    /// Keeps at most `bound` bytes, half of them from the start and half from the end; 0 keeps as much as one message
    /// could carry, 10 MiB.
    pub fn new(bound: u64) -> Self {
        let bound = if bound == 0 { MOST } else { bound.min(MOST) };
        // The bound is at most 10 MiB, which every `usize` holds.
        let bound = usize::try_from(bound).unwrap_or(usize::MAX);
        let tail_bound = bound / 2;
        let (head, tail) = (Vec::new(), VecDeque::new());
        Self { head, tail, head_bound: bound - tail_bound, tail_bound, dropped: 0, has_digest: false, sum: None }
    }

    /// Computes the digest of the whole stream where not all of it can be kept, if `has_digest`.
    #[must_use]
    pub fn with_digest(self, has_digest: bool) -> Self {
        Self { has_digest, ..self }
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        if self.has_digest && (self.sum.is_some() || self.head.len() + self.tail.len() + piece.len() > self.bound()) {
            let sum = self.sum.get_or_insert_with(|| {
                let mut sum = Summing::default();
                let (front, back) = self.tail.as_slices();
                [&self.head, front, back].into_iter().for_each(|part| sum.add(part));
                sum
            });
            sum.add(piece);
        }
        let room = self.head_bound - self.head.len();
        let (for_head, rest) = piece.split_at(room.min(piece.len()));
        self.head.extend_from_slice(for_head);
        // If the piece is longer than the tail, only its end can stay.
        let (skipped, rest) = rest.split_at(rest.len().saturating_sub(self.tail_bound));
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.tail_bound);
        self.tail.drain(..excess.min(self.tail.len()));
        self.tail.extend(rest);
        self.dropped += (skipped.len() + excess) as u64;
    }

    fn bound(&self) -> usize {
        self.head_bound + self.tail_bound
    }

    /// Returns the last line so far that is not blank, without its line end: at most `longest` bytes of it, and of a line
    /// that was overwritten only its last frame. If the middle was left out, only the tail counts.
    pub fn last_line(&self, longest: usize) -> Vec<u8> {
        let head = if self.dropped == 0 { self.head.as_slice() } else { &[] };
        let backwards = self.tail.iter().rev().chain(head.iter().rev());
        let mut line: Vec<u8> = backwards
            .skip_while(|byte| byte.is_ascii_whitespace())
            .take_while(|&&byte| byte != b'\n' && byte != b'\r')
            .take(longest)
            .copied()
            .collect();
        line.reverse();
        line
    }

    /// Ends the stream.
    pub fn finish(self) -> Captured {
        let (mut head, tail) = (self.head, Vec::from(self.tail));
        if self.dropped == 0 {
            head.extend_from_slice(&tail);
            return Captured { head, tail: Vec::new(), left_out: 0, sha256: None };
        }
        let sha256 = self.sum.map(|sum| Box::new(sum.finish().to_bytes()));
        Captured { head, tail, left_out: self.dropped, sha256 }
    }
}

impl Captured {
    /// Leaves out more from the middle, so that at most `bound` bytes stay.
    pub fn shrink(&mut self, bound: usize) {
        let mut kept = Capture::new(bound.max(1) as u64);
        let (between, sha256) = (self.left_out, self.sha256.take());
        kept.push(&self.head);
        kept.push(&self.tail);
        *self = kept.finish();
        self.left_out += between;
        self.sha256 = sha256;
    }

    /// The number of bytes that were kept.
    pub fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Whether nothing was kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn capture(bound: u64, pieces: &[&[u8]]) -> (String, String, u64) {
        let mut capture = Capture::new(bound);
        pieces.iter().for_each(|piece| capture.push(piece));
        let Captured { head, tail, left_out, .. } = capture.finish();
        (String::from_utf8(head).unwrap(), String::from_utf8(tail).unwrap(), left_out)
    }

    #[test]
    fn all_is_kept_up_to_the_bound_and_head_and_tail_beyond() {
        assert_eq!(capture(8, &[b"1234", b"5678"]), ("12345678".into(), String::new(), 0));
        assert_eq!(capture(8, &[b"1234", b"5678", b"9"]), ("1234".into(), "6789".into(), 1));
        assert_eq!(capture(8, &[b"123456789abcdef"]), ("1234".into(), "cdef".into(), 7));
        assert_eq!(capture(1, &[b"12345"]), ("1".into(), String::new(), 4));
        assert_eq!(capture(0, &[b"12345"]), ("12345".into(), String::new(), 0));
    }

    #[test]
    fn the_last_line_is_found_across_head_and_tail() {
        let mut capture = Capture::new(8);
        capture.push(b"ab\ncdefgh\n \n");
        assert_eq!(capture.last_line(100), b"h");
        let mut capture = Capture::new(100);
        assert_eq!(capture.last_line(100), b"");
        capture.push(b"one\ntwo three\n\n");
        assert_eq!(capture.last_line(100), b"two three");
        assert_eq!(capture.last_line(5), b"three");
        for (frames, last) in [(&b"1%\r2%\r3%"[..], b"3%"), (b"4%\r5%\r", b"5%"), (b"6%\r7%\r\n\r", b"7%")] {
            capture.push(frames);
            assert_eq!(capture.last_line(100), last);
        }
    }

    #[test]
    fn the_digest_is_that_of_the_whole_stream() {
        let digest = |bound: u64, pieces: &[&[u8]]| {
            let mut capture = Capture::new(bound).with_digest(true);
            pieces.iter().for_each(|piece| capture.push(piece));
            capture.finish().sha256
        };
        assert_eq!(digest(8, &[b"1234", b"5678"]), None, "all of it is kept");
        let whole = Some(Box::new(crate::files::Sha256::of("123456789abc").to_bytes()));
        for pieces in [&[&b"1234"[..], b"5678", b"9abc"][..], &[b"123456789abc"], &[b"123456", b"", b"789abc"]] {
            assert_eq!(digest(8, pieces), whole, "{pieces:?}");
        }
        let mut capture = Capture::new(8);
        capture.push(b"123456789abc");
        assert_eq!(capture.finish().sha256, None);
    }

    proptest! {
        #[test]
        fn head_tail_and_count_add_up(bound in 1u64..20, pieces in proptest::collection::vec("[a-z]{0,12}", 0..6)) {
            let whole = pieces.concat();
            let pieces: Vec<&[u8]> = pieces.iter().map(String::as_bytes).collect();
            let (head, tail, left_out) = capture(bound, &pieces);
            prop_assert!(whole.starts_with(&head) && whole.ends_with(&tail));
            prop_assert_eq!(head.len() + tail.len() + usize::try_from(left_out).unwrap(), whole.len());
            prop_assert_eq!(left_out == 0, whole.len() as u64 <= bound);
            if left_out > 0 {
                prop_assert_eq!((head.len() + tail.len()) as u64, bound);
            }
        }
    }
}
