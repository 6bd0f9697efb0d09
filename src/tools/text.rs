//! Streams as text, cut so that the result that they stand in fits into a message.

use serde_json::Value;

use crate::exec::Captured;
use crate::mcp::CallToolResult;

/// The longest result, encoded: clients close the connection over messages of 10 MiB, envelope included.
pub(super) const MOST: usize = 10 * 1024 * 1024 - 64 * 1024;

/// A stream as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub text: String,
    pub left_out: u64,
    pub lossy: bool,
}

/// Makes a result of what was kept, and cuts that further until the result is no longer than `most` bytes, encoded.
pub(super) fn fit(
    most: usize,
    mut stdout: Captured,
    mut stderr: Captured,
    make: impl Fn(&Captured, &Captured) -> CallToolResult,
) -> CallToolResult {
    loop {
        let result = make(&stdout, &stderr);
        let kept = stdout.len() + stderr.len();
        // Without structured content there is the text alone, of which no byte takes more than six.
        let surely_fits = result.structured_content.is_none() && result.text.len() <= most / 6;
        if surely_fits || kept == 0 {
            return result;
        }
        let size = encoded_size(&result.text) + result.structured_content.as_ref().map_or(0, value_size);
        if size <= most {
            return result;
        }
        // What fits if all of it grows alike by its encoding, with a sixteenth to spare; each round cuts more.
        let goal = u128::try_from(kept).unwrap_or(u128::MAX) * most as u128 / size as u128 * 15 / 16;
        let goal = usize::try_from(goal).unwrap_or(kept);
        let (large, small) = match stdout.len() >= stderr.len() {
            true => (&mut stdout, stderr.len()),
            false => (&mut stderr, stdout.len()),
        };
        large.shrink(goal.saturating_sub(small).max(large.len() / 4).min(large.len() * 15 / 16));
    }
}

impl Text {
    /// Bytes that are no UTF-8 become U+FFFD. A character that the cut went through is left out whole.
    pub fn new(captured: &Captured) -> Self {
        if captured.left_out == 0 {
            let (text, lossy) = decode(&captured.head);
            return Self { text, left_out: 0, lossy };
        }
        let head_end = captured.head.len() - unfinished(&captured.head);
        let tail_start = captured.tail.iter().take(3).take_while(|&&byte| byte & 0xc0 == 0x80).count();
        let (head, cut_from_head) = captured.head.split_at(head_end);
        let (cut_from_tail, tail) = captured.tail.split_at(tail_start);
        let left_out = captured.left_out + (cut_from_head.len() + cut_from_tail.len()) as u64;
        let (head, head_lossy) = decode(head);
        let (tail, tail_lossy) = decode(tail);
        Self {
            text: format!("{head}\n[... {left_out} bytes left out ...]\n{tail}"),
            left_out,
            lossy: head_lossy || tail_lossy,
        }
    }
}

fn decode(bytes: &[u8]) -> (String, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), false),
        Err(_) => (String::from_utf8_lossy(bytes).into_owned(), true),
    }
}

/// How many bytes at the end are the beginning of a character that the end cuts off.
fn unfinished(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes.get(bytes.len().saturating_sub(4)..).unwrap_or_default()) {
        // No error length means that the input ended too early; the window may itself begin within a character.
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

/// The length of a string in JSON, with serde_json's escapes.
fn encoded_size(text: &str) -> usize {
    text.bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
            0..0x20 => 6,
            _ => 1,
        })
        .sum()
}

fn value_size(value: &Value) -> usize {
    match value {
        Value::String(text) => encoded_size(text),
        Value::Object(members) => members.values().map(value_size).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_leaves_whole_characters_and_counts_what_is_missing() {
        let cut = Captured { head: "aé".as_bytes()[..2].to_vec(), tail: "éz".as_bytes()[1..].to_vec(), left_out: 5 };
        let expected = Text { text: "a\n[... 7 bytes left out ...]\nz".to_owned(), left_out: 7, lossy: false };
        assert_eq!(Text::new(&cut), expected);
        for (bytes, expected) in
            [("aé😀".as_bytes(), 0), (b"\xff", 0), (b"", 0), (&"😀".as_bytes()[..3], 3), (&"x漢".as_bytes()[..3], 2)]
        {
            assert_eq!(unfinished(bytes), expected, "{bytes:?}");
        }
        assert_eq!(unfinished(&"漢漢".as_bytes()[..5]), 2);
    }
}
