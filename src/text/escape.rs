//! How characters are escaped that are not [plain](is_plain).

use std::borrow::Cow;
use std::ffi::OsStr;

use super::is_plain;

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
    fn what_is_not_plain_is_escaped_and_the_rest_stays() {
        for plain in ["", "ls -l", "größe", "目录", "a\\b", "`\"'", "😀", "\u{fffd}"] {
            assert!(matches!(escape(plain), Cow::Borrowed(same) if same == plain), "{plain}");
        }
        assert_eq!(escape("a\n\r\t\0\x1b[31m\x7f"), r"a\n\r\t\u{0}\u{1b}[31m\u{7f}");
        assert_eq!(escape_block("a\n\tb\r\x1b"), "a\n\tb\\r\\u{1b}");
        // In one form or the other a name looks the same, and is another name.
        assert_eq!((escape("é"), escape("e\u{301}")), ("é".into(), r"e\u{301}".into()));
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
