//! Text in double quotes, for a field of a log line: exact, unforgeable, and of bounded length.

use std::fmt::{self, Write};

use super::{is_plain, is_right_to_left};

/// How many blanks in a row stand for themselves in a text that a person has to judge.
const MOST_BLANKS: usize = 3;

/// Puts `text` in double quotes. `"` and `\` are escaped by a `\`, and characters that are not [plain](is_plain) as
/// [`escape`] does, so the quotes end where the text ends, and it can be read back.
///
/// At most `most` bytes are written between the quotes, including escapes. If there are more, `…+N` after the quotes
/// says how many characters of the text are left out.
///
/// [`escape`]: super::escape
pub fn quote(text: &str, most: usize) -> Quoted<'_> {
    Quoted { text, most, more: 0 }
}

/// The whole text in quotes, for a person who has to judge it: blanks after the third in a row and letters that are written
/// from right to left are escaped too, so that nothing is pushed out of sight or changes places.
pub(crate) fn quote_to_judge(text: &str) -> String {
    let mut blanks = 0;
    let mut shown = String::new();
    for character in quote(text, usize::MAX).to_string().chars() {
        blanks = if character == ' ' { blanks + 1 } else { 0 };
        match character {
            ' ' if blanks > MOST_BLANKS => shown.push_str("\\u{20}"),
            // A terminal reverses whatever is between two such letters: quotes, blanks, whole words.
            _ if is_right_to_left(character) => shown.extend(character.escape_unicode()),
            _ => shown.push(character),
        }
    }
    shown
}

/// The result of [`quote`]; write it with `{}`.
#[derive(Debug, Clone, Copy)]
pub struct Quoted<'a> {
    text: &'a str,
    most: usize,
    more: usize,
}

impl Quoted<'_> {
    /// Counts further characters as left out, for a caller that knows that no more of the text fits.
    #[must_use]
    pub fn and_more(self, more: usize) -> Self {
        Self { more, ..self }
    }
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        let mut left = self.most;
        let mut rest = self.text.chars();
        while let Some(character) = rest.clone().next() {
            let length = length(character);
            if length > left {
                break;
            }
            left -= length;
            rest.next();
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                _ if is_plain(character) => f.write_char(character)?,
                _ => write!(f, "{}", character.escape_default())?,
            }
        }
        f.write_char('"')?;
        match rest.count() + self.more {
            0 => Ok(()),
            left_out => write!(f, "…+{left_out}"),
        }
    }
}

/// How many bytes a character takes between the quotes.
fn length(character: char) -> usize {
    match character {
        '"' | '\\' => 2,
        _ if is_plain(character) => character.len_utf8(),
        _ => character.escape_default().count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_quotes_end_where_the_text_ends() {
        let quoted = |text, most| quote(text, most).to_string();
        assert_eq!(quoted("ls -l", 100), r#""ls -l""#);
        assert_eq!(quoted("a\" allowed=\"b", 100), r#""a\" allowed=\"b""#);
        assert_eq!(quoted("a\\", 100), r#""a\\""#);
        assert_eq!(quoted("a\u{2066}\n", 100), r#""a\u{2066}\n""#);
        assert_eq!(quoted("", 0), r#""""#);
        assert_eq!(quoted("abcdef", 4), r#""abcd"…+2"#);
        // An escape is never cut in two.
        assert_eq!(quoted("abc\u{2066}", 4), r#""abc"…+1"#);
        assert_eq!(quoted("abc\"", 4), r#""abc"…+1"#);
    }

    proptest! {
        #[test]
        fn no_text_forges_the_end_of_its_quotes_or_exceeds_its_bound(text in any::<String>(), most in 0..40_usize) {
            let quoted = quote(&text, most).to_string();
            let inside = quoted.strip_prefix('"').unwrap();
            let mut end = None;
            let mut characters = inside.char_indices();
            while let Some((place, character)) = characters.next() {
                match character {
                    '\\' => drop(characters.next()),
                    '"' => { end = Some(place); break }
                    _ => {}
                }
            }
            let (inside, behind) = inside.split_at(end.unwrap());
            prop_assert!(inside.len() <= most);
            prop_assert!(behind == "\"" || behind.strip_prefix("\"…+").unwrap().parse::<usize>().is_ok());
            prop_assert!(quoted.chars().all(is_plain));
        }
    }
}
