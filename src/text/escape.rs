//! Which characters are shown unchanged on a line for a person, and how the others are escaped.

use std::borrow::Cow;
use std::ffi::OsStr;

/// Characters that are invisible, end a line or change the direction of text, in addition to the control characters:
/// blanks other than the ordinary one, the default ignorable code points, interlinear annotations and noncharacters
/// (<https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt>).
const HIDDEN: &[(char, char)] = &[
    ('\u{a0}', '\u{a0}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    // Blanks, zero-width characters, directions, the separators of lines and paragraphs.
    ('\u{2000}', '\u{200f}'),
    ('\u{2028}', '\u{202f}'),
    ('\u{205f}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fdd0}', '\u{fdef}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{fffe}', '\u{ffff}'),
    ('\u{13430}', '\u{1343f}'),
    // A filler without a shape that isn't a default ignorable code point; below there is a notehead of the same kind.
    ('\u{16fe4}', '\u{16fe4}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d159}', '\u{1d159}'),
    ('\u{1d173}', '\u{1d17a}'),
    // Tags and variation selectors.
    ('\u{e0000}', '\u{e0fff}'),
];

/// The blocks of the scripts that are written from right to left, with their digits
/// (<https://www.unicode.org/Public/UCD/latest/ucd/extracted/DerivedBidiClass.txt>, R, AL and AN).
const RIGHT_TO_LEFT: &[(char, char)] = &[
    ('\u{590}', '\u{8ff}'),
    ('\u{fb1d}', '\u{fdff}'),
    ('\u{fe70}', '\u{feff}'),
    ('\u{10800}', '\u{10fff}'),
    ('\u{1e800}', '\u{1efff}'),
];

/// Whether a character is written from right to left, so that a terminal may change the order of the characters around it.
pub fn is_right_to_left(character: char) -> bool {
    RIGHT_TO_LEFT.iter().any(|(first, last)| (first..=last).contains(&&character))
}

/// Whether a character is shown unchanged: it is visible or the ordinary blank, and does not change other characters.
pub fn is_plain(character: char) -> bool {
    if character.is_ascii() {
        return matches!(character, ' '..='~');
    }
    !character.is_control() && !HIDDEN.iter().any(|(first, last)| (first..=last).contains(&&character))
}

/// Replaces every character that is not plain by its escape (`\n`, `\u{202e}`): the text stays on one line and can't
/// control a terminal. A backslash stays; [`quote`](super::quote) makes a text that can be read back exactly.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_but(text, &[])
}

/// The same for text of several lines: line feeds and tabs stay.
pub fn escape_block(text: &str) -> Cow<'_, str> {
    escape_but(text, &['\n', '\t'])
}

/// The same as [`escape`] for bytes: those that are not UTF-8 become `\xNN`.
pub fn escape_bytes(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => escape(text),
        Err(_) => {
            let mut escaped = String::with_capacity(bytes.len() + 8);
            for chunk in bytes.utf8_chunks() {
                escaped.push_str(&escape(chunk.valid()));
                chunk.invalid().iter().for_each(|byte| escaped.push_str(&format!("\\x{byte:02x}")));
            }
            Cow::Owned(escaped)
        }
    }
}

/// The same as [`escape`] for a name or a path of the system. On Windows half of a surrogate pair becomes U+FFFD.
pub fn escape_os(text: &OsStr) -> Cow<'_, str> {
    #[cfg(unix)]
    return escape_bytes(std::os::unix::ffi::OsStrExt::as_bytes(text));
    #[cfg(not(unix))]
    match text.to_string_lossy() {
        Cow::Borrowed(text) => escape(text),
        Cow::Owned(text) => Cow::Owned(escape(&text).into_owned()),
    }
}

fn escape_but<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let stays = |character: char| is_plain(character) || kept.contains(&character);
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if stays(character) { escaped.push(character) } else { escaped.extend(character.escape_default()) }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_visible_stays_and_what_is_not_is_escaped() {
        for plain in ["", "ls -l", "größe", "目录", "a\\b", "`\"'", "e\u{301}", "😀", "\u{fffd}", "\u{e000}"] {
            assert!(matches!(escape(plain), Cow::Borrowed(same) if same == plain), "{plain}");
        }
        assert_eq!(escape("a\n\r\t\0\x1b[31m\x7f"), r"a\n\r\t\u{0}\u{1b}[31m\u{7f}");
        assert_eq!(escape_block("a\n\tb\r\x1b"), "a\n\tb\\r\\u{1b}");
    }

    #[test]
    fn no_character_that_hides_or_turns_text_stands_for_itself() {
        // Controls, blanks, zero-width characters, directions, the byte order mark, tags, variation selectors, fillers.
        let ranges = [
            ('\0', '\x1f'),
            ('\x7f', '\u{a0}'),
            ('\u{ad}', '\u{ad}'),
            ('\u{61c}', '\u{61c}'),
            ('\u{180e}', '\u{180e}'),
            ('\u{200b}', '\u{200f}'),
            ('\u{2028}', '\u{202e}'),
            ('\u{2060}', '\u{206f}'),
            ('\u{3164}', '\u{3164}'),
            ('\u{fe00}', '\u{fe0f}'),
            ('\u{feff}', '\u{feff}'),
            ('\u{fff9}', '\u{fffb}'),
            ('\u{16fe4}', '\u{16fe4}'),
            ('\u{1d159}', '\u{1d159}'),
            ('\u{e0000}', '\u{e01ef}'),
        ];
        for character in ranges.into_iter().flat_map(|(first, last)| first..=last) {
            assert_eq!(escape(&character.to_string()), character.escape_default().to_string(), "{character:?}");
        }
        for character in '\0'..=char::MAX {
            let blank = character.is_whitespace() && character != ' ';
            assert!(!is_plain(character) || !(character.is_control() || blank), "{character:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_utf_8_are_shown_by_their_numbers() {
        assert_eq!(escape_bytes(b"a\xffb\xe2\x80\n"), "a\\xffb\\xe2\\x80\\n");
        assert_eq!(escape_os(OsStr::new("a\u{202e}")), r"a\u{202e}");
    }

    proptest! {
        #[test]
        fn what_is_escaped_is_plain(text in any::<String>(), bytes in any::<Vec<u8>>()) {
            prop_assert!(escape(&text).chars().all(is_plain));
            prop_assert!(escape_bytes(&bytes).chars().all(is_plain));
        }
    }
}
