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

use allowexec::cli::fuzzed;
use allowexec::config::{Config, Surroundings, rows};
use allowexec::jsonrpc::{Incoming, Line, LineReader};
use allowexec::lines;
use allowexec::policy::rules::{PolicyText, Rules, forms_of};
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
    for (_, session) in Transcript::parse_sessions("fuzz", data).unwrap_or_default() {
        let written = session.to_string();
        let again = Transcript::parse("written", &written).unwrap_or_else(|error| panic!("{error}: {written}"));
        assert_eq!(again, session, "{written}");
    }
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

/// An audit log: what is printed of it is plain, and the same however it is read.
pub fn audit_log(data: &[u8]) {
    let [printed, again] =
        [64 * 1024, 3].map(|piece| fuzzed::audit_log(data, piece).map_err(|error| error.to_string()));
    assert_eq!(printed, again);
    let printed = printed.unwrap_or_else(|error| error);
    assert!(printed.chars().all(|c| c == '\n' || is_plain(c)), "{printed:?}");
}

/// The page of `report`: what a file brings stays data, in an element that it can't end.
pub fn report(data: &[u8]) {
    let page = fuzzed::page(data).expect("memory can be read and written");
    assert_eq!((page.matches("</script").count(), page.matches("<!--").count()), (2, 0), "{page}");
    let (_, data) = page.split_once("id=\"data\">").expect("the data");
    let (data, _) = data.split_once("</script>").expect("its end");
    serde_json::from_str::<serde_json::Value>(data).expect("JSON");
    assert!(data.chars().all(is_plain), "{data:?}");
}

/// A lock file: what was read is written so that the same is read again, or an error.
pub fn lock_file(data: &[u8]) {
    match fuzzed::lock_file(data) {
        Ok(written) => {
            let again = fuzzed::lock_file(written.as_bytes()).unwrap_or_else(|error| panic!("{error}: {written}"));
            assert_eq!(again, written);
        }
        // It is escaped where it is printed.
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A policy: rules that can be described, or a mistake.
pub fn policy(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let file = PolicyText { file: PathBuf::from("fuzz.yaml"), text: text.to_owned() };
    match Rules::load(&[file], &[], &[]) {
        Ok(rules) => {
            for rule in rules.iter() {
                assert!(forms_of(rule).iter().all(|form| form.chars().all(is_plain)), "{text:?}");
            }
            assert!(rules.warnings().iter().all(|warning| warning.to_string().chars().all(is_plain)), "{text:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Whether a terminal shows the character and does nothing else with it.
fn is_plain(character: char) -> bool {
    !character.is_control()
        && !matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// The events of agents: every answer denies, has no opinion or blocks.
pub fn hook_event(data: &[u8]) {
    for (answer, status) in fuzzed::hook_answers(data) {
        let text = answer.unwrap_or_default();
        assert!(matches!(status, 0 | 2), "{status}");
        assert!(!text.contains("\"allow\"") && !text.contains("\"ask\""), "{text}");
    }
}

/// The reader of lines: a tree whose commands are numbered in their order, or a reason.
pub fn shell_line(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match lines::Line::read(text).and_then(|line| line.open_shells(&|_| false)) {
        Ok(line) => {
            let numbers: Vec<usize> = line.commands().iter().map(|command| command.number).collect();
            assert!(numbers.iter().copied().eq(1..=numbers.len()), "{text:?}: {numbers:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty() && error.at <= text.len(), "{text:?}"),
    }
}
