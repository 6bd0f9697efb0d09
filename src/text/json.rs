//! Text as a string of JSON: RFC 8259, section 7.
//!
//! serde_json looks at each byte separately. Output can have megabytes with few escapes. So here a few instructions
//! recognise a chunk that needs no escape, and it is copied whole.

/// Bytes that are looked at together: few enough that their escapes can be counted in one byte.
const CHUNK: usize = 32;

/// Appends the text as a JSON string, with the escapes that JSON demands and no others: what serde_json writes.
pub fn write_json_string(json: &mut Vec<u8>, text: &str) {
    json.push(b'"');
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let plain = plain_length(rest);
        let (copied, escaped) = rest.split_at(plain);
        json.extend_from_slice(copied);
        rest = match escaped.split_first() {
            Some((byte, rest)) => {
                write_escape(json, *byte);
                rest
            }
            None => &[],
        };
    }
    json.push(b'"');
}

/// The length of the text as a JSON string, without its quotes.
pub fn json_string_length(text: &str) -> usize {
    let escapes = |chunk: &[u8]| chunk.iter().map(|&byte| added(byte)).sum::<u8>();
    text.len() + text.as_bytes().chunks(CHUNK).map(|chunk| usize::from(escapes(chunk))).sum::<usize>()
}

/// How many bytes at the start need no escape.
fn plain_length(bytes: &[u8]) -> usize {
    let is_plain = |chunk: &&[u8]| !chunk.iter().fold(false, |any, &byte| any | needs_escape(byte));
    let whole = bytes.chunks_exact(CHUNK).take_while(is_plain).count() * CHUNK;
    let rest = bytes.get(whole..).unwrap_or_default();
    whole + rest.iter().position(|&byte| needs_escape(byte)).unwrap_or(rest.len())
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// How much longer a byte becomes.
fn added(byte: u8) -> u8 {
    let is_short = matches!(byte, b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r');
    5 * u8::from(byte < 0x20 && !is_short) + u8::from(is_short)
}

fn write_escape(json: &mut Vec<u8>, byte: u8) {
    let hex = |digit: u8| if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
    let short = match byte {
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        b'"' | b'\\' => byte,
        control => return json.extend([b'\\', b'u', b'0', b'0', hex(control >> 4), hex(control & 0xf)]),
    };
    json.extend([b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_what_serde_json_writes(text: &str) {
        let mut json = Vec::new();
        write_json_string(&mut json, text);
        assert_eq!(String::from_utf8(json).unwrap(), serde_json::to_string(text).unwrap());
        assert_eq!(json_string_length(text) + 2, serde_json::to_string(text).unwrap().len());
    }

    #[test]
    fn every_byte_at_every_place_of_a_chunk_is_written_as_serde_json_does() {
        for byte in 0..0x80_u8 {
            for before in [0, 1, CHUNK - 1, CHUNK, 2 * CHUNK + 5] {
                for after in [0, 1, CHUNK] {
                    let text = format!("{}{}{}", "a".repeat(before), char::from(byte), "b".repeat(after));
                    is_what_serde_json_writes(&text);
                }
            }
        }
        is_what_serde_json_writes(&"\u{1}".repeat(10 * CHUNK));
    }

    proptest! {
        #[test]
        fn any_text_is_written_as_serde_json_does(text in any::<String>(), times in 1..20_usize) {
            is_what_serde_json_writes(&text.repeat(times));
        }
    }
}
