//! The part of TOML that policies are written in: tables and lists of tables, with strings, whole numbers, booleans and lists of these.
//!
//! Anything else (dates, other numbers, inline tables) is a [`Value::Other`] where its end is certain, else an error. See
//! <https://toml.io/en/v1.0.0>.

use super::{Wrong, take};

/// A table with its header: `rule` for `[[rule]]`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// Counted from 1.
    pub line: usize,
    pub header: String,
    /// Whether it is one of a list: `[[rule]]`, and not `[rule]`.
    pub is_list: bool,
    /// Each with its line, no key twice.
    pub entries: Vec<(String, usize, Value)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Boolean(bool),
    List(Vec<Value>),
    /// As it is written.
    Other(String),
}

impl Table {
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(known, ..)| known == key).map(|(.., value)| value)
    }
}

/// The most levels of lists in each other.
const DEEPEST: usize = 16;

/// Reads the tables of a file. Entries before the first header belong to a table without one.
///
/// # Errors
/// The first thing that is not read.
pub(super) fn parse(text: &str) -> Result<Vec<Table>, Wrong> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { rest: text, line: 1 };
    let mut tables = vec![Table { line: 1, header: String::new(), is_list: false, entries: Vec::new() }];
    loop {
        reader.blank_lines();
        let line = reader.line;
        match reader.first() {
            None => return Ok(tables),
            Some('[') => {
                let is_list = reader.rest.starts_with("[[");
                reader.take(if is_list { 2 } else { 1 });
                let header = reader.key()?;
                if !reader.eat(if is_list { "]]" } else { "]" }) {
                    return Err((line, "the header of a table is not closed".to_owned()));
                }
                // Each table of a list has its own tables below it.
                let own = tables
                    .iter()
                    .rposition(|table| header.strip_prefix(&table.header).is_some_and(|rest| rest.starts_with('.')));
                if !is_list && tables.iter().skip(own.unwrap_or(0).max(1)).any(|table| table.header == header) {
                    return Err((line, format!("the table `{header}` is there twice")));
                }
                tables.push(Table { line, header, is_list, entries: Vec::new() });
            }
            Some(_) => {
                let key = reader.key()?;
                if !reader.eat("=") {
                    return Err((line, format!("expected `=` after the key `{key}`")));
                }
                reader.blanks();
                let value = reader.value(0)?;
                let Some(table) = tables.last_mut() else { return Ok(tables) };
                if table.get(&key).is_some() {
                    return Err((line, format!("the key `{key}` is there twice")));
                }
                table.entries.push((key, line, value));
            }
        }
        reader.end_of_line()?;
    }
}

struct Reader<'t> {
    rest: &'t str,
    line: usize,
}

impl<'t> Reader<'t> {
    fn take(&mut self, length: usize) -> &'t str {
        take(&mut self.rest, &mut self.line, length)
    }

    fn first(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn blanks(&mut self) {
        self.take(self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len());
    }

    fn comment(&mut self) {
        if self.rest.starts_with('#') {
            self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
        }
    }

    /// Passes blanks, comments and line ends.
    fn blank_lines(&mut self) {
        loop {
            self.take(self.rest.len() - self.rest.trim_start_matches([' ', '\t', '\r', '\n']).len());
            if !self.rest.starts_with('#') {
                return;
            }
            self.comment();
        }
    }

    fn end_of_line(&mut self) -> Result<(), Wrong> {
        self.blanks();
        self.comment();
        match self.first() {
            None | Some('\n') => Ok(()),
            Some('\r') if self.rest.starts_with("\r\n") => Ok(()),
            Some(found) => Err((self.line, format!("expected the end of the line, found `{}`", found.escape_debug()))),
        }
    }

    /// Passes blanks, this text and blanks.
    fn eat(&mut self, text: &str) -> bool {
        self.blanks();
        let is_there = self.rest.starts_with(text);
        if is_there {
            self.take(text.len());
            self.blanks();
        }
        is_there
    }

    /// A key; its parts are joined by dots.
    fn key(&mut self) -> Result<String, Wrong> {
        let mut parts = Vec::new();
        loop {
            self.blanks();
            let part = match self.first() {
                Some('"' | '\'') if !self.rest.starts_with("\"\"\"") && !self.rest.starts_with("'''") => {
                    self.string()?
                }
                _ => {
                    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                    let length = self.rest.find(|c: char| !is_bare(c)).unwrap_or(self.rest.len());
                    self.take(length).to_owned()
                }
            };
            if part.is_empty() {
                return Err((self.line, "expected a key".to_owned()));
            }
            parts.push(part);
            if !self.eat(".") {
                return Ok(parts.join("."));
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Wrong> {
        let line = self.line;
        match self.first() {
            Some('"' | '\'') => self.string().map(Value::Text),
            Some('[') if depth < DEEPEST => {
                self.take(1);
                let mut list = Vec::new();
                loop {
                    self.blank_lines();
                    if self.rest.starts_with(']') {
                        self.take(1);
                        return Ok(Value::List(list));
                    }
                    list.push(self.value(depth + 1)?);
                    self.blank_lines();
                    if self.rest.starts_with(',') {
                        self.take(1);
                    } else if !self.rest.starts_with(']') {
                        return Err((line, "a list is not closed".to_owned()));
                    }
                }
            }
            Some('{') => Err((line, "inline tables are not read; write a table of its own".to_owned())),
            Some(_) | None => {
                let end = self.rest.find([',', ']', '#', ' ', '\t', '\n', '\r']).unwrap_or(self.rest.len());
                let word = self.take(end);
                match word {
                    "" => Err((line, "expected a value".to_owned())),
                    "true" => Ok(Value::Boolean(true)),
                    "false" => Ok(Value::Boolean(false)),
                    word => Ok(word.parse().map_or_else(|_| Value::Other(word.to_owned()), Value::Integer)),
                }
            }
        }
    }

    fn string(&mut self) -> Result<String, Wrong> {
        let line = self.line;
        let unclosed = || (line, "a string is not closed".to_owned());
        let kind =
            ["\"\"\"", "'''", "\"", "'"].into_iter().find(|kind| self.rest.starts_with(kind)).ok_or_else(unclosed)?;
        let is_long = kind.len() == 3;
        self.take(kind.len());
        if is_long {
            // A line end right after the quotes is not a part of it.
            let end = ["\r\n", "\n"].into_iter().find(|end| self.rest.starts_with(end)).map_or(0, str::len);
            self.take(end);
        }
        let mut value = String::new();
        loop {
            if self.rest.starts_with(kind) {
                self.take(kind.len());
                // Up to two quotes may stand before the last three.
                let quote = kind.get(..1).unwrap_or_default();
                for _ in 0..2 {
                    if is_long && self.rest.starts_with(quote) {
                        value.push_str(self.take(1));
                    }
                }
                return Ok(value);
            }
            let character = self.first().ok_or_else(unclosed)?;
            self.take(character.len_utf8());
            match character {
                '\n' if !is_long => return Err(unclosed()),
                '\\' if kind.starts_with('"') => self.escape(&mut value, is_long)?,
                _ => value.push(character),
            }
        }
    }

    fn escape(&mut self, value: &mut String, is_long: bool) -> Result<(), Wrong> {
        let line = self.line;
        let unknown = || (line, "a string has an escape that is not known".to_owned());
        let character = self.first().ok_or_else(unknown)?;
        self.take(character.len_utf8());
        let escaped = match character {
            '"' | '\\' => character,
            'b' => '\u{8}',
            't' => '\t',
            'n' => '\n',
            'f' => '\u{c}',
            'r' => '\r',
            'u' | 'U' => {
                let length = if character == 'u' { 4 } else { 8 };
                let digits =
                    self.rest.get(..length).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
                let number = u32::from_str_radix(digits.ok_or_else(unknown)?, 16).map_err(|_| unknown())?;
                self.take(length);
                char::from_u32(number).ok_or_else(unknown)?
            }
            // A line end that is joined, with all blanks after it.
            ' ' | '\t' | '\r' | '\n' if is_long => {
                let blank = self.rest.len() - self.rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
                let passed = self.take(blank);
                return if character == '\n' || passed.contains('\n') { Ok(()) } else { Err(unknown()) };
            }
            _ => return Err(unknown()),
        };
        value.push(escaped);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_keys_and_values_are_read_with_their_lines() {
        let file = "a = 1 # x\n\n[[rule]]\nb.\"c d\" = \"x\\u0041\\\"#\" \nlist = [ # y\n 'a\\b', \"\"\"\nq\\\n  r\"\"\"\"\",\n]\r\n[[ rule ]]\nd=true\ne = 1979-05-27\nf = 1_000\n[t]\n";
        let text = |text: &str| Value::Text(text.to_owned());
        let table = |line, header: &str, entries: Vec<(&str, usize, Value)>| Table {
            line,
            header: header.to_owned(),
            is_list: header == "rule",
            entries: entries.into_iter().map(|(key, line, value)| (key.to_owned(), line, value)).collect(),
        };
        let list = Value::List(vec![text("a\\b"), text("qr\"\"")]);
        let other = |text: &str| Value::Other(text.to_owned());
        assert_eq!(
            parse(file).unwrap(),
            [
                table(1, "", vec![("a", 1, Value::Integer(1))]),
                table(3, "rule", vec![("b.c d", 4, text("xA\"#")), ("list", 5, list)]),
                table(
                    10,
                    "rule",
                    vec![("d", 11, Value::Boolean(true)), ("e", 12, other("1979-05-27")), ("f", 13, other("1_000"))]
                ),
                table(14, "t", vec![]),
            ]
        );
        for wrong in [
            "a",
            "a =",
            "= 1",
            "a = 1 b = 2",
            "a = 'x",
            "a = \"x\ny\"",
            "a = \"\\q\"",
            "[a",
            "[[a]",
            "a = {b = 1}",
            "a = [1",
            "a = [1 2]",
            "a = 1\na = 2",
            "[a]\n[a]",
            "a = \"\"\"x",
            "a..b = 1",
            "a = \"\\u00zz\"",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse("\n\na = 'x").unwrap_err().0, 3);
    }
}
