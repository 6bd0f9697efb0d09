//! The characters of a text, one after the other.
//!
//! Outside single quotes, comments and here-documents a backslash before a line break joins two lines: a reader that uses
//! [`Cursor::peek`] and [`Cursor::next`] never sees such a pair. The others use [`Cursor::next_raw`].

/// A place in a text.
pub struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The byte offset of the next character.
    pub fn at(&self) -> usize {
        self.at
    }

    /// How many line breaks were read since this byte offset.
    pub fn breaks_since(&self, at: usize) -> usize {
        self.text.get(at..self.at).unwrap_or_default().matches('\n').count()
    }

    /// The text that was not read yet.
    pub fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Moves past `bytes` of [`rest`](Self::rest).
    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// The next character, after joined lines.
    pub fn peek(&mut self) -> Option<char> {
        while self.rest().starts_with("\\\n") {
            self.at += 2;
        }
        self.rest().chars().next()
    }

    /// Moves past the next character, after joined lines.
    pub fn next(&mut self) -> Option<char> {
        self.peek();
        self.next_raw()
    }

    /// Moves past the next character if it is this one.
    pub fn eat(&mut self, character: char) -> bool {
        let is_next = self.peek() == Some(character);
        if is_next {
            self.skip(character.len_utf8());
        }
        is_next
    }

    /// Moves past the next character, whatever it is.
    pub fn next_raw(&mut self) -> Option<char> {
        let character = self.rest().chars().next()?;
        self.at += character.len_utf8();
        Some(character)
    }

    /// Moves past the rest of this line and its end, and returns it without the end. `None` at the end of the text.
    pub fn line(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let line = rest.split('\n').next().filter(|_| !rest.is_empty())?;
        self.skip(rest.len().min(line.len() + 1));
        Some(line)
    }
}
