//! JSON with the line of each value. serde_json decides what is JSON; what is left to do here is to find the lines.

use super::{Wrong, take};

/// The most levels of values in each other, as in serde_json.
const DEEPEST: usize = 128;

/// A value, and the line that it begins on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    /// Counted from 1.
    pub line: usize,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    List(Vec<Node>),
    /// In the order of the file, no key twice.
    Map(Vec<(String, Node)>),
    /// `true`, `false`, `null` or a number, as it is written.
    Other(String),
}

impl Node {
    /// The value of a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(known, _)| known == key).map(|(_, node)| node)
    }

    /// The entries of a mapping; empty for anything else.
    pub fn entries(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Text(_) | Value::List(_) | Value::Other(_) => &[],
        }
    }

    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::List(_) | Value::Map(_) | Value::Other(_) => None,
        }
    }

    pub fn is_true(&self) -> bool {
        self.value == Value::Other("true".to_owned())
    }
}

/// Reads a text as JSON; with `has_comments`, also `//`, `/* */` and a comma after the last value.
///
/// # Errors
/// If it is no JSON, or has a key twice.
pub(super) fn parse(text: &str, has_comments: bool) -> Result<Node, Wrong> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let plain = if has_comments { without_comments(text) } else { text.to_owned() };
    serde_json::from_str::<serde::de::IgnoredAny>(&plain)
        .map_err(|error| (error.line(), format!("no JSON: {error}")))?;
    let mut reader = Reader { rest: &plain, line: 1 };
    reader.node(0)
}

/// Replaces comments and commas before `]` and `}` by blanks. Line ends stay.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    // Where a comma is, if it follows a value and only blanks follow it so far.
    let mut comma = None;
    let mut last = ',';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ => first.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        if piece.len() > 1 && first == '/' {
            plain.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            continue;
        }
        match (first, comma) {
            (']' | '}', Some(at)) => plain.replace_range(at..=at, " "),
            _ if first.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        if first == ',' && !"[{:,".contains(last) {
            comma = Some(plain.len());
        }
        if !first.is_ascii_whitespace() {
            last = first;
        }
        plain.push_str(piece);
    }
    plain
}

/// The length of the string that a text begins with, with its quotes.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Reads a text that is JSON.
struct Reader<'t> {
    rest: &'t str,
    line: usize,
}

impl<'t> Reader<'t> {
    /// Takes this many bytes.
    fn take(&mut self, length: usize) -> &'t str {
        take(&mut self.rest, &mut self.line, length)
    }

    fn next(&mut self) -> Option<char> {
        let blank = self.rest.len() - self.rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
        self.take(blank);
        self.rest.chars().next()
    }

    fn node(&mut self, depth: usize) -> Result<Node, Wrong> {
        let first = self.next();
        let line = self.line;
        if depth > DEEPEST {
            return Err((line, format!("more than {DEEPEST} levels")));
        }
        let value = match first {
            Some('"') => Value::Text(self.string()?),
            Some('[') => {
                let mut list = Vec::new();
                self.take(1);
                while !matches!(self.next(), Some(']') | None) {
                    list.push(self.node(depth + 1)?);
                    self.comma();
                }
                self.take(1);
                Value::List(list)
            }
            Some('{') => {
                let mut map: Vec<(String, Node)> = Vec::new();
                let mut keys = std::collections::HashSet::new();
                self.take(1);
                while !matches!(self.next(), Some('}') | None) {
                    let at = self.line;
                    let key = self.string()?;
                    if !keys.insert(key.clone()) {
                        return Err((at, format!("the key {key:?} is there twice")));
                    }
                    self.next();
                    self.take(1);
                    map.push((key, self.node(depth + 1)?));
                    self.comma();
                }
                self.take(1);
                Value::Map(map)
            }
            Some(_) | None => {
                let end = self.rest.find(|c: char| c.is_ascii_whitespace() || ",]}".contains(c));
                Value::Other(self.take(end.unwrap_or(self.rest.len())).to_owned())
            }
        };
        Ok(Node { line, value })
    }

    fn comma(&mut self) {
        if self.next() == Some(',') {
            self.take(1);
        }
    }

    fn string(&mut self) -> Result<String, Wrong> {
        let line = self.line;
        let text = self.take(string_length(self.rest));
        serde_json::from_str(text).map_err(|error| (line, format!("no JSON: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn to_json(node: &Node) -> serde_json::Value {
        match &node.value {
            Value::Text(text) => text.as_str().into(),
            Value::List(list) => list.iter().map(to_json).collect(),
            Value::Map(map) => map.iter().map(|(key, node)| (key.clone(), to_json(node))).collect(),
            Value::Other(text) => serde_json::from_str(text).unwrap(),
        }
    }

    #[test]
    fn values_know_their_lines_and_comments_are_blanks_only_where_they_may_be() {
        let text = "{ // one, \"two\"\n \"a\": [1, /* x\n y */ \"b//c\",],\n\n\"d\\u0041\": {\"e\": null,\n},}";
        let node = parse(text, true).unwrap();
        assert_eq!(to_json(&node), serde_json::json!({"a": [1, "b//c"], "dA": {"e": null}}));
        let Some(Value::List(list)) = node.get("a").map(|node| &node.value) else { panic!() };
        assert_eq!((list[0].line, list[1].line, node.get("dA").unwrap().line), (2, 3, 5));
        for wrong in [text, "{\"a\": 1,}", "{\"a\": 1, \"a\": 2}", "{\"a\": 1, \"\\u0061\": 2}", "[1", "[,]", ""] {
            assert!(parse(wrong, false).is_err(), "{wrong}");
        }
        for wrong in ["[,]", "[1,,]", "{,}", "/* x", "\"a\" // x\n1"] {
            assert!(parse(wrong, true).is_err(), "{wrong}");
        }
        assert_eq!(parse("[1]\n{", false).unwrap_err().0, 2);
    }

    proptest! {
        #[test]
        fn what_serde_json_reads_is_read_alike(text in r#"[\[\]{}:,"a1 \n\\/*u]{0,24}"#, has_comments in any::<bool>()) {
            if let Ok(node) = parse(&text, has_comments) {
                let plain = if has_comments { without_comments(&text) } else { text };
                prop_assert_eq!(to_json(&node), serde_json::from_str::<serde_json::Value>(&plain).unwrap());
            }
        }
    }
}
