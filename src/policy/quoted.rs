//! Quotes a client's word in a message: in backticks, on one line, of bounded length. Joins words to a command line.

use crate::text::is_plain;

/// How many characters of a word a message repeats.
const LONGEST: usize = 120;

/// Puts `text` in backticks, escapes backticks and what is not plain text, and cuts it after 120 characters, so that no word can
/// break a message or a line of the log.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("`");
    for (position, character) in text.chars().enumerate() {
        if position == LONGEST {
            quoted.push('…');
            break;
        }
        match character {
            '`' => quoted.extend(character.escape_unicode()),
            _ if is_plain(character) => quoted.push(character),
            _ => quoted.extend(character.escape_default()),
        }
    }
    quoted.push('`');
    quoted
}

/// Joins words to a command line, with quotes.
pub fn written(words: &[String]) -> String {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // This fails only for a word with a NUL, which no command line holds.
    shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_can_not_break_out_of_its_message() {
        assert_eq!(quoted("ls"), "`ls`");
        assert_eq!(quoted("a\nb\x1b[31m\u{202e}"), r"`a\nb\u{1b}[31m\u{202e}`");
        assert_eq!(quoted("\u{61c}\u{200f}\u{2066}\u{feff}"), r"`\u{61c}\u{200f}\u{2066}\u{feff}`");
        assert_eq!(quoted("a` is not used; b=`c"), r"`a\u{60} is not used; b=\u{60}c`");
        assert_eq!(quoted(&"x".repeat(500)), format!("`{}…`", "x".repeat(120)));
    }
}
