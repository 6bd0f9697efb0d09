//! Streams as text, cut so that the result fits into a message.

use std::borrow::Cow;

use serde_json::Value;

use crate::exec::Captured;
use crate::mcp::CallToolResult;
use crate::text::{Cleaned, clean, counted, json_string_length};

/// The longest encoded result: clients close the connection if a message, including its envelope, reaches 10 MiB.
pub(super) const MOST: usize = 10 * 1024 * 1024 - 64 * 1024;

/// A stream as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text<'a> {
    pub text: Cow<'a, str>,
    pub left_out: u64,
    pub lossy: bool,
    /// Whether terminal sequences and overwritten text were left out.
    pub cleaned: bool,
    /// Whether lines ended with CR LF.
    pub crlf: bool,
}

/// Makes a result from the kept output, and cuts it further until the encoded result is at most `most` bytes long.
pub(super) fn fit(
    most: usize,
    mut stdout: Captured,
    mut stderr: Captured,
    make: impl Fn(&Captured, &Captured) -> CallToolResult,
) -> CallToolResult {
    loop {
        let result = make(&stdout, &stderr);
        let kept = stdout.len() + stderr.len();
        // Without structured content there is only the text, and each of its bytes takes at most six.
        let surely_fits = result.structured_content.is_none() && result.text.len() <= most / 6;
        if surely_fits || kept == 0 {
            return result;
        }
        let size = json_string_length(&result.text) + result.structured_content.as_ref().map_or(0, value_size);
        if size <= most {
            return result;
        }
        // What fits if everything grows equally by its encoding, with a sixteenth to spare; each round cuts more.
        let goal = u128::try_from(kept).unwrap_or(u128::MAX) * most as u128 / size as u128 * 15 / 16;
        let goal = usize::try_from(goal).unwrap_or(kept);
        let (large, small) = match stdout.len() >= stderr.len() {
            true => (&mut stdout, stderr.len()),
            false => (&mut stderr, stdout.len()),
        };
        large.shrink(goal.saturating_sub(small).max(large.len() / 4).min(large.len() * 15 / 16));
    }
}

impl<'a> Text<'a> {
    /// Bytes that are not UTF-8 become U+FFFD, and what only a terminal needs is left out. A line that was cut is left out whole if that keeps half of what was
    /// kept on its side; a character that was cut is always left out.
    pub fn new(captured: &'a Captured) -> Self {
        if captured.left_out == 0 {
            return Self::decode(&captured.head);
        }
        let whole_characters = captured.head.len() - unfinished(&captured.head);
        let head_end = last_line_end(&captured.head).unwrap_or(whole_characters);
        let within_character = captured.tail.iter().take(3).take_while(|&&byte| byte & 0xc0 == 0x80).count();
        let tail_start = first_line_end(&captured.tail).unwrap_or(within_character);
        let (head, cut_from_head) = captured.head.split_at(head_end);
        let (cut_from_tail, tail) = captured.tail.split_at(tail_start);
        let left_out = captured.left_out + (cut_from_head.len() + cut_from_tail.len()) as u64;
        let (head, tail) = (Self::decode(head), Self::decode(tail));
        let line_end = if head.text.ends_with('\n') { "" } else { "\n" };
        let mark = format!("[... {} left out ...]\n", counted(left_out, "byte"));
        Self {
            text: [&head.text, line_end, &mark, &tail.text].concat().into(),
            left_out,
            lossy: head.lossy || tail.lossy,
            cleaned: head.cleaned || tail.cleaned,
            crlf: head.crlf || tail.crlf,
        }
    }

    fn decode(bytes: &'a [u8]) -> Self {
        match String::from_utf8_lossy(bytes) {
            Cow::Borrowed(text) => {
                let Cleaned { text, cleaned, crlf } = clean(text);
                Self { text, left_out: 0, lossy: false, cleaned, crlf }
            }
            Cow::Owned(text) => {
                let Cleaned { text, cleaned, crlf } = clean(&text);
                Self { text: text.into_owned().into(), left_out: 0, lossy: true, cleaned, crlf }
            }
        }
    }
}

/// The end of the last line, if it is in the second half.
fn last_line_end(head: &[u8]) -> Option<usize> {
    let half = head.len() / 2;
    let end = head.iter().rposition(|byte| *byte == b'\n')? + 1;
    Some(end).filter(|end| *end > half)
}

/// The end of the first line, if it is in the first half. A cut at a line end stays there.
fn first_line_end(tail: &[u8]) -> Option<usize> {
    let half = tail.len() / 2;
    let end = tail.iter().position(|byte| *byte == b'\n')? + 1;
    Some(end).filter(|end| *end < half)
}

/// How many bytes at the end are the beginning of a character that was cut.
fn unfinished(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes.get(bytes.len().saturating_sub(4)..).unwrap_or_default()) {
        // No error length means that the input ended too early; the window itself may begin within a character.
        Err(error) if error.error_len().is_none() => bytes.len().min(4) - error.valid_up_to(),
        Err(_) => (1..=3.min(bytes.len()))
            .find(|&back| {
                let end = bytes.get(bytes.len() - back..).unwrap_or_default();
                std::str::from_utf8(end).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
            })
            .unwrap_or(0),
        Ok(_) => 0,
    }
}

fn value_size(value: &Value) -> usize {
    match value {
        Value::String(text) => json_string_length(text),
        Value::Object(members) => members.values().map(value_size).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_leaves_whole_lines_where_that_costs_no_more_than_half_of_what_is_kept() {
        let text = |head: &str, tail: &str| {
            let captured = Captured { head: head.into(), tail: tail.into(), left_out: 10, sha256: None };
            let Text { text, left_out, .. } = Text::new(&captured);
            (text.into_owned(), left_out)
        };
        let cut = |text: &str, left_out: u64| {
            (text.replace("[...]", &format!("[... {left_out} bytes left out ...]")), left_out)
        };
        assert_eq!(text("one\ntw", "ur\nfive\n"), cut("one\n[...]\nfive\n", 15));
        assert_eq!(text("one\n", "four\nfive"), cut("one\n[...]\nfour\nfive", 10));
        assert_eq!(text("a\nbcdefg", "hijklmn\no"), cut("a\nbcdefg\n[...]\nhijklmn\no", 10));
        assert_eq!(text("abc", "def"), cut("abc\n[...]\ndef", 10));
    }

    #[test]
    fn a_cut_leaves_whole_characters_and_counts_what_is_missing() {
        let cut = Captured {
            head: "aé".as_bytes()[..2].to_vec(),
            tail: "éz".as_bytes()[1..].to_vec(),
            left_out: 5,
            sha256: None,
        };
        let expected = Text { text: "a\n[... 7 bytes left out ...]\nz".into(), left_out: 7, ..Text::decode(b"") };
        assert_eq!(Text::new(&cut), expected);
        for (bytes, expected) in
            [("aé😀".as_bytes(), 0), (b"\xff", 0), (b"", 0), (&"😀".as_bytes()[..3], 3), (&"x漢".as_bytes()[..3], 2)]
        {
            assert_eq!(unfinished(bytes), expected, "{bytes:?}");
        }
        assert_eq!(unfinished(&"漢漢".as_bytes()[..5]), 2);
    }
}
