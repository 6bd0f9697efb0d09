//! The functions that the fuzzer calls, since the parts are not public: readers of files that anybody may have written. See
//! `fuzz/README.md`.

use std::io::{BufReader, Cursor};

use serde_json::Value;

use super::evidence::audit::{laid_out, verification_json, verification_text};
use super::json_for_people;
use crate::audit::log::{Anchors, Bounded, Head, Line, Verifier, row};
use crate::integrity::LockError;
use crate::integrity::demands::Lock;
use crate::report::{self, Report};
use crate::transcript::Transcript;

/// Everything that `audit head`, `verify` and `show` print about a log, which is read in pieces of this size.
///
/// # Errors
/// Why the log can't be read to its end.
pub fn audit_log(log: &[u8], piece: usize) -> std::io::Result<String> {
    let mut input = BufReader::with_capacity(piece, Bounded::new(Cursor::new(log.to_vec()), None)?);
    let mut anchors = Anchors::default();
    let mut text = match std::str::from_utf8(log).map(|text| anchors.add_lines(text)) {
        Ok(Err(none)) => format!("{none}\n"),
        Ok(Ok(())) | Err(_) => String::new(),
    };
    let (mut verifier, mut line) = (Verifier::new(anchors), Line::new());
    verifier.begin_file();
    while line.read(&mut input)? {
        verifier.take(&line).map_err(std::io::Error::other)?;
        let record = serde_json::from_slice::<Value>(&line.bytes).ok().filter(Value::is_object);
        text.push_str(&laid_out(&row(&line, record.as_ref()), None));
    }
    let (files, found) = (["log".to_owned()], verifier.finish());
    text.push_str(&verification_text(&files, &found, true));
    text.push_str(&json_for_people(&verification_json(&files, &found).to_string()));
    Ok(format!("{text}\n{}\n", Head::of(log)?))
}

/// The page of `report` about a log or a transcript.
///
/// # Errors
/// Why it can't be made.
pub fn page(file: &[u8]) -> std::io::Result<String> {
    let mut report = Report::default();
    match Transcript::parse("file", file) {
        Ok(transcript) => report.add_transcript("file", &transcript),
        Err(_) => {
            let (mut input, mut line) = (file, Line::new());
            while line.read(&mut input)? {
                match serde_json::from_slice::<Value>(&line.bytes) {
                    Ok(record) => report.add_record(&record),
                    Err(_) => report.add_unreadable(),
                }
            }
        }
    }
    report.add_source("file", "a file");
    report.finish();
    let mut page = Vec::new();
    report::write(&report, &mut page)?;
    String::from_utf8(page).map_err(std::io::Error::other)
}

/// A lock file, read and written again.
///
/// # Errors
/// The problem with it.
pub fn lock_file(text: &[u8]) -> Result<String, LockError> {
    Lock::of_bytes(text, "file".as_ref())?.to_text()
}

/// The answers of every agent's hook to an event whose line nothing allows: what is printed, and the exit status.
pub fn hook_answers(event: &[u8]) -> Vec<(Option<String>, u8)> {
    super::lines::hook::refused_by_all(event)
}
