//! Finds the id of a request that is too long to be kept, so that its sender gets an answer.
//!
//! The line is examined byte by byte as it passes. Only the current key or value of the outermost object is kept, as
//! far as it can be an id. Whether the rest is JSON is not checked.

use super::{LONGEST_ID, RequestId};

/// The longest text of an id: each byte of a string may be written as `\u0000`, and it has two quotes.
const LONGEST_TEXT: usize = 6 * LONGEST_ID + 2;

/// Looks for the id of a request.
#[derive(Debug, Default)]
pub(super) struct IdSearch {
    /// How many brackets and braces are open.
    depth: usize,
    /// Whether the outermost bracket is a brace.
    is_object: bool,
    string: Option<Escape>,
    /// The current key or value of the outermost object; what is too long for an id is cut.
    text: Vec<u8>,
    /// The key whose value is being read.
    key: Key,
    id: Option<RequestId>,
    has_id: bool,
    has_method: bool,
    is_response: bool,
}

/// The kind of a line that is too long to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LongLine {
    /// A request with this id.
    Request(RequestId),
    /// A notification or a response: JSON-RPC answers neither, whatever is wrong with it.
    Unanswered,
    /// Anything else.
    Other,
}

/// The state within a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    /// After a backslash.
    Open,
    None,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Key {
    #[default]
    Other,
    Id,
    Method,
    Result,
}

impl IdSearch {
    /// Takes the next piece of the line.
    pub fn push(&mut self, piece: &[u8]) {
        piece.iter().for_each(|byte| self.push_byte(*byte));
    }

    /// Returns the kind of the line, once all of it has passed.
    pub fn finish(self) -> LongLine {
        let Self { id, has_id, has_method, is_response, is_object, depth, .. } = self;
        match id {
            _ if !is_object || depth != 0 => LongLine::Other,
            Some(id) if has_method => LongLine::Request(id),
            _ if has_method && !has_id => LongLine::Unanswered,
            // A response has an id too, but the server's own.
            _ if !has_method && is_response => LongLine::Unanswered,
            _ => LongLine::Other,
        }
    }

    fn push_byte(&mut self, byte: u8) {
        if let Some(escape) = self.string {
            self.keep(byte);
            self.string = match (escape, byte) {
                (Escape::Open, _) => Some(Escape::None),
                (Escape::None, b'\\') => Some(Escape::Open),
                (Escape::None, b'"') => None,
                (Escape::None, _) => Some(Escape::None),
            };
            return;
        }
        match byte {
            b'{' | b'[' => {
                self.is_object |= self.depth == 0 && byte == b'{';
                // A nested value is not an id; what is kept of it can't be read as one.
                self.keep(byte);
                self.depth += 1;
            }
            b'}' | b']' => {
                self.end_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' => self.end_key(),
            b',' => self.end_value(),
            b'"' => {
                self.keep(byte);
                self.string = Some(Escape::None);
            }
            b' ' | b'\t' | b'\r' => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.text.len() <= LONGEST_TEXT {
            self.text.push(byte);
        }
    }

    fn end_key(&mut self) {
        if self.depth == 1 {
            self.key = match serde_json::from_slice::<String>(&std::mem::take(&mut self.text)).as_deref() {
                Ok("id") => Key::Id,
                Ok("method") => Key::Method,
                Ok("result" | "error") => Key::Result,
                _ => Key::Other,
            };
        }
    }

    fn end_value(&mut self) {
        if self.depth == 1 {
            let text = std::mem::take(&mut self.text);
            match std::mem::take(&mut self.key) {
                Key::Id => {
                    self.has_id = true;
                    let value = serde_json::from_slice(&text).ok();
                    self.id = value.as_ref().and_then(RequestId::from_value);
                }
                Key::Method => self.has_method = true,
                Key::Result => self.is_response = true,
                Key::Other => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{Incoming, Message};
    use proptest::prelude::*;

    fn kind(line: &str) -> LongLine {
        let mut search = IdSearch::default();
        line.as_bytes().chunks(3).for_each(|piece| search.push(piece));
        search.finish()
    }

    fn found(line: &str) -> Option<String> {
        match kind(line) {
            LongLine::Request(id) => Some(id.to_string()),
            LongLine::Unanswered | LongLine::Other => None,
        }
    }

    #[test]
    fn only_what_json_rpc_never_answers_is_not_answered() {
        for line in [
            r#"{"method":"x","params":{"id":7}}"#,
            r#"{"id":7,"result":{"method":"x"}}"#,
            r#"{"error":{},"id":null}"#,
            r#"{"result":1}"#,
        ] {
            assert_eq!(kind(line), LongLine::Unanswered, "{line}");
        }
        for line in [
            r#"{"method":"x","id":null}"#,
            r#"{"method":"x","id":[7]}"#,
            r#"{"method":"x""#,
            r#"[{"method":"x"}]"#,
            r#"{"id":7}"#,
            "{}",
            "",
        ] {
            assert_eq!(kind(line), LongLine::Other, "{line}");
        }
    }

    #[test]
    fn the_id_of_a_request_is_found_wherever_it_stands() {
        for line in [
            r#"{"id":7,"method":"x","params":{"id":8,"a":[{"id":9}],"b":"\"id\":10,\\"}}"#,
            r#"{"params":{"id":8,"c":"}{"},"method":"x" , "jsonrpc":"2.0","id" : 7 }"#,
            r#"{"method":"x","\u0069d":7}"#,
            r#"{"id":"id","method":"x","id":7}"#,
        ] {
            assert_eq!(found(line).as_deref(), Some("7"), "{line}");
        }
        assert_eq!(found(r#"{"method":"x","id":"a\"b\u0020"}"#).as_deref(), Some(r#""a\"b ""#));
    }

    #[test]
    fn what_is_no_request_has_none() {
        for line in [
            r#"{"id":7,"result":{}}"#,
            r#"{"method":"x","params":{"id":7}}"#,
            r#"[{"id":7,"method":"x"}]"#,
            r#"{"method":"x","id":[7]}"#,
            r#"{"method":"x","id":{"id":7}}"#,
            r#"{"method":"x","id":null}"#,
            r#"{"method":"x","id":7"#,
            r#""id":7,"method":1"#,
            "",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
        assert_eq!(found(&format!(r#"{{"method":"x","id":"{}"}}"#, "i".repeat(1025))), None);
    }

    proptest! {
        #[test]
        fn it_is_the_id_that_a_shorter_line_would_have(
            line in r#"\{("(id|method|params)":("[a-z\\",:{}]{0,4}"|[0-9]{1,3}|\{"id":[0-9]\}|\["id",1\]),?){1,4}\}"#
        ) {
            let parsed = Incoming::parse(line.as_bytes());
            if let Ok(Incoming::Single(Message::Request(request))) = parsed {
                prop_assert_eq!(found(&line), Some(request.id.to_string()), "{}", line);
            }
        }
    }
}
