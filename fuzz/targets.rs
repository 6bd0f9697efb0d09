//! What is fuzzed, one function a target: each takes any bytes, and panics where a promise is broken.
//!
//! The targets of cargo-fuzz call them, and `tests/it/fuzz.rs` calls them with the saved inputs of `fixtures/fuzz`.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "each target uses one function, and fails by panicking"
)]

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use allowexec::config::{Config, Surroundings, rows};
use allowexec::jsonrpc::{Incoming, Line, LineReader};
use allowexec::policy::{CommandLine, find_literal_pattern, find_syntax, parse_file_uri};
use allowexec::transcript::Transcript;

/// The line parser: what a client sends is cut into lines, and each line is a message or an error.
pub fn lines(data: &[u8]) {
    let mut reader = LineReader::new(Cursor::new(data));
    while let Some(line) = reader.next_line().expect("memory can be read") {
        if let Line::Text(line) = line {
            assert!(!line.contains(&b'\n') && !line.is_empty());
            drop(Incoming::parse(&line));
        }
    }
}

/// The command line parser: words, or an error that a terminal can show.
pub fn command_line(data: &[u8]) {
    let Ok(line) = std::str::from_utf8(data) else { return };
    find_syntax(line);
    find_literal_pattern(line);
    match CommandLine::parse(line) {
        Ok(command) => {
            assert!(!command.word().is_empty(), "{line:?}");
            // The words that were read are taken as they are.
            let mut words = command.words().iter().cloned();
            let first = words.next().expect("a first word");
            let again = CommandLine::from_process(first, words.collect()).expect("the same words");
            assert_eq!(again.words(), command.words(), "{line:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The transcript reader: what was read is written so that the same is read again.
pub fn transcript(data: &[u8]) {
    let Ok(transcript) = Transcript::parse("fuzz", data) else { return };
    let written = transcript.to_string();
    let again = Transcript::parse("written", &written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(again, transcript, "{written}");
}

/// The file of `--config`: a configuration whose settings can be shown, or an error.
pub fn configuration(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let surroundings = Surroundings { variables: BTreeMap::new(), directory: PathBuf::from("/") };
    match Config::from_text(text, Path::new("fuzz.yaml"), surroundings) {
        Ok(config) => assert!(rows(&config).iter().all(|row| !row.value.contains(char::is_control)), "{text:?}"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// File URIs: an absolute path, or an error.
pub fn file_uri(data: &[u8]) {
    let Ok(uri) = std::str::from_utf8(data) else { return };
    if let Ok(path) = parse_file_uri(uri) {
        assert!(path.is_absolute(), "{uri:?}: {path:?}");
        assert!(!path.as_os_str().as_encoded_bytes().contains(&0), "{uri:?}");
    }
}
