//! Output as a terminal would leave it: without the sequences that control one, and without what was overwritten.
//!
//! Programs write for terminals even where they are told that there is none. To a model colours are noise, and of a
//! progress bar only the last frame says something.

use std::borrow::Cow;

/// Text after [`clean`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleaned<'a> {
    /// The text that is left.
    pub text: Cow<'a, str>,
    /// Whether terminal sequences, or text that was overwritten, were left out.
    pub cleaned: bool,
    /// Whether lines ended with CR LF.
    pub crlf: bool,
}

/// Leaves out terminal sequences (<https://ecma-international.org/publications-and-standards/standards/ecma-48/>), and
/// the text of a line that a carriage return or a backspace had overwritten. CR LF becomes LF.
///
/// What only looks like a sequence stays: one that breaks off before the end of the text, or a string of the terminal
/// that no terminator ends on its line.
pub fn clean(text: &str) -> Cleaned<'_> {
    let is_special = |byte: u8| matches!(byte, BELL | BACKSPACE | b'\r' | ESCAPE | C1_LEAD);
    let Some(first) = text.bytes().position(is_special) else {
        return Cleaned { text: text.into(), cleaned: false, crlf: false };
    };
    let (plain, mut rest) = text.split_at(first);
    let mut kept = String::with_capacity(text.len());
    kept.push_str(plain);
    let mut line = kept.rfind('\n').map_or(0, |end| end + 1);
    let (mut cleaned, mut crlf) = (false, false);
    while let Some(character) = rest.chars().next() {
        let after = rest.get(character.len_utf8()..).unwrap_or_default();
        match character {
            '\r' => {
                let behind = after.trim_start_matches('\r');
                rest = behind;
                if behind.starts_with('\n') {
                    crlf = true;
                } else if !line_rest_is_blank(behind) {
                    cleaned = true;
                    kept.truncate(line);
                } else {
                    cleaned = true;
                }
                continue;
            }
            '\u{8}' => {
                cleaned = true;
                if kept.len() > line {
                    kept.pop();
                }
            }
            '\u{7}' => cleaned = true,
            '\u{1b}' | '\u{9b}' => {
                if let Some(length) = sequence(rest) {
                    cleaned = true;
                    rest = rest.get(length..).unwrap_or_default();
                    continue;
                }
                kept.push(character);
            }
            '\n' => {
                kept.push('\n');
                line = kept.len();
            }
            other => kept.push(other),
        }
        rest = after;
    }
    Cleaned { text: kept.into(), cleaned, crlf }
}

const BELL: u8 = 7;
const BACKSPACE: u8 = 8;
const ESCAPE: u8 = 0x1b;
/// The first byte of U+009B, the control sequence introducer of one character.
const C1_LEAD: u8 = 0xc2;

/// Whether nothing visible follows on the line, so that a carriage return overwrites nothing.
fn line_rest_is_blank(rest: &str) -> bool {
    let mut rest = rest;
    loop {
        match rest.chars().next() {
            None | Some('\n') => return true,
            Some('\r' | '\u{7}' | '\u{8}') => rest = rest.get(1..).unwrap_or_default(),
            Some('\u{1b}' | '\u{9b}') => match sequence(rest) {
                Some(length) => rest = rest.get(length..).unwrap_or_default(),
                None => return false,
            },
            Some(_) => return false,
        }
    }
}

/// The length of the sequence that the text begins with.
fn sequence(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let until = |start: usize, is_part: fn(u8) -> bool, is_last: fn(u8) -> bool| {
        let parts = bytes.get(start..)?.iter().take_while(|&&byte| is_part(byte)).count();
        bytes.get(start + parts).filter(|&&byte| is_last(byte)).map(|_| start + parts + 1)
    };
    let control = |start| until(start, |byte| matches!(byte, 0x20..=0x3f), |byte| matches!(byte, 0x40..=0x7e));
    match (*bytes.first()?, *bytes.get(1)?) {
        (C1_LEAD, _) => control(2),
        (_, b'[') => control(2),
        // Strings for the terminal: a title, a link, a picture.
        (_, b']' | b'P' | b'X' | b'^' | b'_') => {
            let line = text.split('\n').next().unwrap_or_default();
            let bell = line.find('\u{7}').map(|at| at + 1);
            let terminator = line.find("\u{1b}\\").map(|at| at + 2);
            bell.into_iter().chain(terminator).min()
        }
        _ => until(1, |byte| matches!(byte, 0x20..=0x2f), |byte| matches!(byte, 0x30..=0x7e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &str, marks: &str) {
        let Cleaned { text: left, cleaned, crlf } = clean(text);
        let said = match (cleaned, crlf) {
            (true, true) => "cleaned crlf",
            (true, false) => "cleaned",
            (false, true) => "crlf",
            (false, false) => "",
        };
        assert_eq!((&*left, said), (expected, marks), "{text:?}");
    }

    #[test]
    fn sequences_of_every_kind_are_left_out() {
        check("\x1b[1;31merror\x1b[0m: no\n", "error: no\n", "cleaned");
        check("\x1b]8;;file:///a\x1b\\a\x1b]8;;\x07\n", "a\n", "cleaned");
        check("\x1b]0;title\x07a\x1b(B\x1b[m\x1b[?25h\x1b=\x1bM\n", "a\n", "cleaned");
        check("\x1bPq#0;2\x1b\\a\x07\u{9b}2Kb", "ab", "cleaned");
        check("a\tü\u{ab}\0\n", "a\tü\u{ab}\0\n", "");
    }

    #[test]
    fn what_only_looks_like_a_sequence_stays() {
        for text in ["\x1b", "a\x1b[3", "\x1b]0;no end\nnext\x07line", "\x1b\n", "\x1b[é", "\u{9b}"] {
            let kept = text.replace('\x07', "");
            check(text, &kept, if kept == text { "" } else { "cleaned" });
        }
    }

    #[test]
    fn of_a_line_that_was_overwritten_the_last_frame_is_left() {
        check("  1%\r 50%\r100%\ndone\n", "100%\ndone\n", "cleaned");
        check("one\n 50%\r100%\r\n", "one\n100%\n", "cleaned crlf");
        check("50%\r100%\r", "100%", "cleaned");
        check("50%\r\x1b[2K100%\x1b[K\r\x1b[0m\nx", "100%\nx", "cleaned");
        check("N\x08NA\x08A _\x08x\x08\x08\x08\x08\x08\x08z", "z", "cleaned");
        check("a\n\x08b", "a\nb", "cleaned");
    }

    #[test]
    fn a_carriage_return_before_a_line_feed_is_part_of_the_line_end() {
        check("a\r\nb\r\n\r\n", "a\nb\n\n", "crlf");
        check("a\r\r\nb\n", "a\nb\n", "crlf");
        check("a\n", "a\n", "");
    }

    proptest! {
        #[test]
        fn clean_text_stays_and_nothing_is_made_up(text in "[a\u{9b}\u{e9}\n\r\u{7}\u{8}\u{1b}\\[\\]()P;0-9mK\\\\]{0,24}") {
            let once = clean(&text).text.into_owned();
            let is_clean = !once.contains(['\r', '\u{7}', '\u{8}']);
            prop_assert!(is_clean, "{:?}", once);
            let mut from = text.chars();
            prop_assert!(once.chars().all(|kept| from.any(|character| character == kept)), "{:?}", once);
        }
    }
}
