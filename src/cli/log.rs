//! How the lines of the log are written: with the time, as text or as JSON, to standard error or to a file.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Map, Value, json};

use super::error::CliError;
use super::{json_for_people, stdio};
use crate::config::{Config, LogFormat};
use crate::files::{OpenFor, PlaceError, could_append, open_to_append};
use crate::server::LogSink;
use crate::text::{counted, time};

/// The longest line, in bytes, with its end: a pipe takes this much in one piece or not at all.
const LONGEST: usize = 4_096;

/// Makes the sink that lines of the log are given to.
///
/// # Errors
/// [`CliError::LogFile`] if the file can't be opened.
pub(super) fn sink(config: &Config) -> Result<LogSink, CliError> {
    let format = config.log_format.value;
    match &config.log_file.value {
        None => Ok(stdio::log_sink(move |line| match format {
            LogFormat::Text => format!("allowexec: {}", written(format, line, SystemTime::now())),
            LogFormat::Json => written(format, line, SystemTime::now()),
        })),
        Some(path) => Ok(of_file(open(config, path)?, format)),
    }
}

/// Opens the file. Below the directories that commands work in, no link is followed: a command may have put it there, so
/// that the server writes the log into a file that the command can't write itself.
fn open(config: &Config, path: &Path) -> Result<File, CliError> {
    at_file(config, path, open_to_append)
}

/// Checks whether the file of the log could be opened, without making one.
pub(super) fn check(config: &Config) -> Result<(), CliError> {
    let could_open = |path: &Path, changeable: &[&Path]| could_append(path, changeable, OpenFor::Appending).map(drop);
    config.log_file.value.as_ref().map_or(Ok(()), |path| at_file(config, path, could_open))
}

fn at_file<T>(
    config: &Config,
    path: &Path,
    open: impl FnOnce(&Path, &[&Path]) -> Result<T, PlaceError>,
) -> Result<T, CliError> {
    let changeable = config.changeable_directories();
    let changeable: Vec<&Path> = changeable.iter().map(PathBuf::as_path).collect();
    open(&config.surroundings.directory.join(path), &changeable)
        .map_err(|source| CliError::LogFile { file: path.display().to_string(), source })
}

/// The sink of a file. A line that can't be written, for instance because the disk is full, is dropped. The operator is told
/// about the first one on standard error, and before the next line that can be written, the log says how many there were.
fn of_file(mut file: File, format: LogFormat) -> LogSink {
    let mut dropped = 0_u64;
    let mut write = move |line: &str| file.write_all((written(format, line, SystemTime::now()) + "\n").as_bytes());
    Box::new(move |line| {
        if dropped > 0
            && write(&format!("warn: the log has lost {}, which could not be written", counted(dropped, "line")))
                .is_ok()
        {
            dropped = 0;
        }
        if let Err(error) = write(line) {
            if dropped == 0 {
                stdio::note(&format!("warn: lines of the log are lost, since its file can't be written: {error}"));
            }
            dropped += 1;
        }
    })
}

/// One line of the log, without its end.
fn written(format: LogFormat, line: &str, now: SystemTime) -> String {
    match format {
        LogFormat::Text => format!("{} {line}", time::extended(now)),
        LogFormat::Json => json_line(line, now),
    }
}

fn json_line(line: &str, now: SystemTime) -> String {
    let (level, message) = line.split_once(": ").unwrap_or(("info", line));
    let head = |more: Map<String, Value>| {
        let mut object = Map::new();
        object.insert("time".to_owned(), json!(time::extended(now)));
        object.insert("level".to_owned(), json!(level));
        object.extend(more);
        json_for_people(&Value::Object(object).to_string())
    };
    let of_text = |text: &str| head(Map::from_iter([("message".to_owned(), json!(text))]));
    let whole = fields_of(message).map_or_else(|| of_text(message), head);
    if whole.len() < LONGEST {
        return whole;
    }
    // The escapes of JSON can be longer than ours; no character takes more than twelve bytes.
    let short: String = message.chars().take(LONGEST / 16).collect();
    of_text(&format!("{short}…+{}", message.chars().count().saturating_sub(LONGEST / 16)))
}

/// The fields of a line about a call or a request: `call id=7 tool=ls command="ls -l"` and so on; `None` for other lines.
fn fields_of(message: &str) -> Option<Map<String, Value>> {
    let (event, mut rest) = message.split_once(' ').filter(|(event, _)| matches!(*event, "call" | "request"))?;
    let mut fields = Map::from_iter([("event".to_owned(), json!(event))]);
    let mut left_out = Map::new();
    while !rest.is_empty() {
        let (key, behind) = rest.split_once('=')?;
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
            return None;
        }
        let (value, behind) = match behind.strip_prefix('"') {
            Some(quoted) => {
                let (text, behind) = unquoted(quoted)?;
                (json!(text), behind)
            }
            None => {
                // An unquoted value may have several words, and ends where the next key begins.
                let next = behind.match_indices(' ').find(|(place, _)| {
                    let word = behind.get(place + 1..).unwrap_or_default();
                    word.split_once('=').is_some_and(|(key, _)| !key.is_empty() && !key.contains(' '))
                });
                let end = next.map_or(behind.len(), |(place, _)| place);
                (plain_value(behind.get(..end)?), behind.get(end..)?)
            }
        };
        let (cut, behind) = match behind.strip_prefix("…+") {
            Some(behind) => {
                let end = behind.find(' ').unwrap_or(behind.len());
                (behind.get(..end)?.parse::<u64>().ok(), behind.get(end..)?)
            }
            None => (None, behind),
        };
        // `time` is the time of the line itself.
        let key = if key == "time" { "elapsed" } else { key };
        left_out.extend(cut.map(|count| (key.to_owned(), json!(count))));
        fields.insert(key.to_owned(), value);
        rest = behind.strip_prefix(' ').or(behind.is_empty().then_some(""))?;
    }
    if !left_out.is_empty() {
        fields.insert("left_out".to_owned(), Value::Object(left_out));
    }
    Some(fields)
}

fn plain_value(text: &str) -> Value {
    match (text.parse::<i64>(), text) {
        (Ok(number), _) => json!(number),
        (Err(_), "true") => json!(true),
        (Err(_), _) => json!(text),
    }
}

/// The text in quotes, which [`quote`](crate::text::quote) wrote, and the rest of the line.
fn unquoted(quoted: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut characters = quoted.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return Some((text, quoted.get(place + 1..)?)),
            '\\' => match characters.next()?.1 {
                'n' => text.push('\n'),
                'r' => text.push('\r'),
                't' => text.push('\t'),
                'u' => {
                    let digits: String =
                        characters.by_ref().map(|(_, digit)| digit).take_while(|&digit| digit != '}').collect();
                    text.push(char::from_u32(u32::from_str_radix(digits.strip_prefix('{')?, 16).ok()?)?);
                }
                escaped => text.push(escaped),
            },
            character => text.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::{is_plain, quote};

    fn object(line: &str) -> Value {
        let line = json_line(line, SystemTime::UNIX_EPOCH);
        assert!(line.len() < LONGEST && line.chars().all(is_plain), "{line}");
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_line_is_an_object_of_its_fields() {
        let line = r#"info: call id=7 tool=ls shell number=3 command="ls \"a\" \u{2066}\n"…+9 directory="/d" exit=0 time=1.5ms"#;
        assert_eq!(
            object(line),
            json!({
                "time": "1970-01-01T00:00:00.000Z", "level": "info", "event": "call", "id": 7, "tool": "ls shell",
                "number": 3, "command": "ls \"a\" \u{2066}\n", "left_out": {"command": 9}, "directory": "/d", "exit": 0,
                "elapsed": "1.5ms",
            })
        );
        let line = "warn: the allow-list holds `*`: every command is allowed";
        let expected = json!({
            "time": "1970-01-01T00:00:00.000Z", "level": "warn", "message": "the allow-list holds `*`: every command is allowed",
        });
        assert_eq!(object(line), expected);
        assert_eq!(object(r#"info: call id="a\"b" cancelled=true"#)["id"], "a\"b");
        // What looks like a field and is none is kept whole.
        assert_eq!(object("info: call it what you like")["message"], "call it what you like");
    }

    #[test]
    fn no_line_is_longer_than_a_pipe_takes() {
        let most = "\u{e0001}".repeat(440);
        let line = format!("info: request {}", crate::text::escape(&most));
        assert!(object(&line)["message"].as_str().unwrap().contains("…+"));
    }

    proptest! {
        #[test]
        fn every_value_is_read_back(value in any::<String>(), other in any::<String>()) {
            let most = value.len() + other.len() + 2;
            let line = format!("call id=1 command={} reason={}", quote(&value, most * 12), quote(&other, most * 12));
            let fields = fields_of(&line).unwrap();
            prop_assert_eq!(&fields["command"], &json!(value));
            prop_assert_eq!(&fields["reason"], &json!(other));
        }
    }
}
