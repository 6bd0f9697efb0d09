//! Recognizes files that are not audit logs, whose names were probably given by mistake.

use super::anchor::Anchors;
use super::chain::RECORD;
use super::read::{Line, Link};

/// The beginnings of files that are easily taken for a log, and what they are.
const BEGINNINGS: [(&[u8], &str); 7] = [
    (b"\x1f\x8b", "it is compressed by gzip; decompress it first"),
    (b"\x28\xb5\x2f\xfd", "it is compressed by zstd; decompress it first"),
    (b"\xfd7zXZ", "it is compressed by xz; decompress it first"),
    (b"BZh", "it is compressed by bzip2; decompress it first"),
    (b"PK\x03\x04", "it is a ZIP archive"),
    (b"transcript:", "it is a transcript, which `allowexec report`, `replay` and `lint` read"),
    (b"<!doctype html", "it is a page in HTML"),
];

/// Describes what a file with this beginning seems to be, as a clause; `None` if it may be an audit log, however
/// damaged.
pub(crate) fn not_a_log(first: &[u8]) -> Option<&'static str> {
    if RECORD.starts_with(first) || first.starts_with(RECORD) {
        return None;
    }
    let (mut rest, mut line) = (first, Line::new());
    while line.read(&mut rest).unwrap_or(false) {
        match Link::of(&line) {
            Link::Record(_) | Link::Unreadable { prev: Some(_), .. } => return None,
            Link::Unreadable { prev: None, .. } => {}
        }
    }
    if let Some((_, seems)) = BEGINNINGS.into_iter().find(|(beginning, _)| first.starts_with(beginning)) {
        return Some(seems);
    }
    // The beginning may end within a character.
    let text = match std::str::from_utf8(first) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => std::str::from_utf8(first.get(..error.valid_up_to())?).ok(),
        Err(_) => None,
    };
    let Some(text) = text.filter(|text| !text.contains('\0')) else { return Some("it seems to be binary data") };
    if text.trim().is_empty() {
        return Some("it holds only blanks and line ends");
    }
    if Anchors::default().add_lines(text).is_ok() {
        return Some("it seems to hold heads of a log, which `audit verify --since-anchor` takes");
    }
    match text.trim_start().starts_with(['{', '[']) {
        true => Some("it seems to be JSON, but none of its first lines is a record of such a log"),
        false => Some("it seems to be text, but none of its first lines is a record"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Sha256;

    #[test]
    fn a_file_is_told_from_a_log_however_damaged_that_is() {
        let zeros = Sha256::ZERO;
        let record = format!("{{\"seq\":0,\"session\":\"s\",\"prev\":\"{zeros}\",\"event\":\"x\"}}\n");
        for log in [
            "",
            "{\"s",
            &record,
            &record[..20],
            &format!("\0\0\n{record}"),
            &format!("x{record}"),
            &format!("{{}}\nx\n{}", &record[..100]),
            &format!("{{\"a\":0,\"prev\":\"{zeros}\""),
        ] {
            let is_first_alone = log.starts_with('x');
            assert_eq!(not_a_log(log.as_bytes()).is_some(), is_first_alone, "{log}");
        }
        for (file, expected) in [
            (&b"\x1f\x8b\x08\0"[..], "gzip"),
            (b"\0\0\0", "binary"),
            (b"\xff\xfe\n", "binary"),
            (b"hello\n", "text"),
            (b"gr\xc3", "text"),
            (b"{\"event\":1}\n[]", "JSON"),
            (b"\n\n", "blanks"),
            (format!("7 {zeros}\n").as_bytes(), "--since-anchor"),
        ] {
            assert!(not_a_log(file).unwrap().contains(expected), "{:?}", not_a_log(file));
        }
    }
}
