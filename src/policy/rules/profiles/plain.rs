//! Reads the part of YAML that the shipped profiles use, in a quarter of the time that the full parser takes. With `--profile`, the
//! first request after the start waits for this.
//!
//! A test also reads each profile with the full parser, and compares the trees. If a profile used other YAML, the full parser
//! would read it.

use crate::policy::rules::yaml::{Key, Kind, Node};

/// Parses a shipped profile; `None` if it uses anything else of YAML.
pub(super) fn parse(text: &str) -> Option<Node> {
    let mut reader = Reader { rest: text, line: 1, column: 0 };
    reader.next_token();
    let node = (!reader.rest.is_empty()).then(|| reader.block())??;
    reader.rest.is_empty().then_some(node)
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    rest: &'a str,
    line: usize,
    /// How many bytes of the line have been read.
    column: usize,
}

impl<'a> Reader<'a> {
    fn skip(&mut self, bytes: usize) -> &'a str {
        let (skipped, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        (self.rest, self.column) = (rest, self.column + bytes);
        skipped
    }

    /// Skips blanks, comments and line ends.
    fn next_token(&mut self) {
        loop {
            let blanks = self.rest.len() - self.rest.trim_start_matches(' ').len();
            self.skip(blanks);
            if self.rest.starts_with('#') {
                self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
            }
            match self.rest.strip_prefix('\n') {
                Some(rest) => (self.rest, self.line, self.column) = (rest, self.line + 1, 0),
                None => return,
            }
        }
    }

    fn has(&mut self, character: char) -> bool {
        let has = self.rest.starts_with(character);
        if has {
            self.skip(1);
        }
        has
    }

    /// A list or a mapping in block style, whose entries all have the same indentation.
    fn block(&mut self) -> Option<Node> {
        let (line, column) = (self.line, self.column);
        let is_list = self.rest.starts_with("- ");
        let (mut items, mut entries) = (Vec::new(), Vec::new());
        while self.column == column && !self.rest.is_empty() && self.rest.starts_with("- ") == is_list {
            if is_list {
                self.skip(2);
                let begins_mapping =
                    !self.rest.starts_with(['[', '{']) && Self::key(&mut self.clone(), false).is_some();
                items.push(if begins_mapping { self.block()? } else { self.value(usize::MAX)? });
            } else {
                let key = self.key(false)?;
                entries.push((key, self.value(column)?));
            }
            self.next_token();
        }
        let kind = if is_list { Kind::List(items) } else { Kind::Map(entries) };
        Some(Node { line, kind })
    }

    /// The value after a key or a dash: on the same line, or below it and indented further than `column`.
    fn value(&mut self, column: usize) -> Option<Node> {
        let line = self.line;
        self.next_token();
        match self.rest.chars().next()? {
            _ if self.line > line && self.column <= column => None,
            '[' | '{' => self.flow(false),
            _ if self.line > line => self.block(),
            _ => self.flow(false),
        }
    }

    /// `[…]`, `{…}` or a scalar; within brackets a scalar ends earlier.
    fn flow(&mut self, is_within: bool) -> Option<Node> {
        let line = self.line;
        let kind = match self.rest.chars().next()? {
            '[' => {
                self.skip(1);
                let mut items = Vec::new();
                while !self.ends(']') {
                    items.push(self.flow(true)?);
                    self.separator(']')?;
                }
                Kind::List(items)
            }
            '{' => {
                self.skip(1);
                let mut entries = Vec::new();
                while !self.ends('}') {
                    let key = self.key(true)?;
                    self.next_token();
                    entries.push((key, self.flow(true)?));
                    self.separator('}')?;
                }
                Kind::Map(entries)
            }
            _ => {
                let (text, is_quoted) = self.scalar(is_within)?;
                Kind::Scalar { text, is_quoted }
            }
        };
        Some(Node { line, kind })
    }

    /// Whether the bracket closes here.
    fn ends(&mut self, bracket: char) -> bool {
        self.next_token();
        self.has(bracket)
    }

    /// A comma, or the closing bracket, which is not skipped.
    fn separator(&mut self, bracket: char) -> Option<()> {
        self.next_token();
        (self.has(',') || self.rest.starts_with(bracket)).then_some(())
    }

    fn key(&mut self, is_within: bool) -> Option<Key> {
        let line = self.line;
        let (text, _) = self.scalar(is_within)?;
        self.has(':').then_some(Key { text, line })
    }

    /// A text, and whether it was in quotes.
    fn scalar(&mut self, is_within: bool) -> Option<(String, bool)> {
        match self.rest.chars().next()? {
            '\'' => {
                let end = self.rest.get(1..)?.find(['\'', '\n'])? + 1;
                let text = self.skip(end).get(1..)?;
                // Two quotes would mean one quote character; no profile uses that.
                (self.has('\'') && !self.rest.starts_with('\'')).then(|| (text.to_owned(), true))
            }
            '"' => {
                self.skip(1);
                let mut text = String::new();
                loop {
                    text.push_str(self.skip(self.rest.find(['"', '\\', '\n'])?));
                    if self.has('"') {
                        return Some((text, true));
                    }
                    match self.skip(2) {
                        "\\\\" => text.push('\\'),
                        "\\\"" => text.push('"'),
                        "\\n" => text.push('\n'),
                        "\\t" => text.push('\t'),
                        _ => return None,
                    }
                }
            }
            '&' | '*' | '!' | '|' | '>' | '%' | '@' | '`' => None,
            _ => {
                let text = self.skip(self.end_of_plain(is_within)).trim_end_matches(' ');
                Some((text.to_owned(), false))
            }
        }
    }

    /// Where a scalar without quotes ends.
    fn end_of_plain(&self, is_within: bool) -> usize {
        let bytes = self.rest.as_bytes();
        let is_end = |(at, byte): (usize, &u8)| match byte {
            b'\n' => true,
            b':' => matches!(bytes.get(at + 1), None | Some(b' ' | b'\n')),
            b'#' => at > 0 && bytes.get(at - 1) == Some(&b' '),
            b',' | b'[' | b']' | b'{' | b'}' => is_within,
            _ => false,
        };
        bytes.iter().enumerate().position(|(at, byte)| is_end((at, byte))).unwrap_or(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::PROFILES;
    use super::*;
    use crate::policy::rules::yaml;

    #[test]
    fn a_shipped_profile_is_read_as_all_of_yaml_reads_it() {
        for profile in &PROFILES {
            let plain = parse(profile.text).unwrap_or_else(|| panic!("{} is not written plainly", profile.name));
            assert_eq!(Some(plain), yaml::parse(profile.text).unwrap(), "{}", profile.name);
        }
    }

    #[test]
    fn what_is_not_written_plainly_is_read_by_nobody_here() {
        for text in [
            "",
            "a: |\n  b",
            "a: *b",
            "a: &b c",
            "- a: b",
            "a:\nb: c",
            "a: [b",
            "a: 'it''s'",
            "a: \"\\x41\"",
            "a: b\n c",
        ] {
            let read = parse(text);
            assert!(read.is_none() || read == yaml::parse(text).ok().flatten(), "{text}: {read:?}");
        }
        let text = "# c\na: {b: [c d, \"e\\\"\", 'f'], \"g, h\": 1} # i\nj:\n  - k l\n  - [m,\n     n]\n";
        assert_eq!(parse(text), yaml::parse(text).unwrap());
    }
}
