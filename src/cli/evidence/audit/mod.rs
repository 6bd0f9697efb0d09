//! `allowexec audit`: what is in an audit log, and whether it is what was written.
//!
//! - `verify`: follows the chain, and says where it breaks
//! - `show`: the records as a table

mod show;
mod verify;

pub(in crate::cli) use show::laid_out;
pub(in crate::cli) use verify::{verification_json, verification_text, verify};

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::time::SystemTime;

use serde_json::json;

use crate::audit::log::{Bounded, Filter, Head, Line, not_a_log};
use crate::cli::error::CliError;
use crate::cli::own_flags::Given;
use crate::cli::words::{check_flags, named, some, word, wrong};
use crate::cli::{Outcome, print, print_json};
use crate::files::{ReadError, open_regular};
use crate::text::{escape, read_duration, time};

/// The name for a log on standard input.
const STANDARD_INPUT: &str = "-";
/// The bytes that are read at once.
const PIECE: usize = 256 * 1024;

/// The actions of `allowexec audit`, with their words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum Action {
    /// Prints the number of records and the last hash.
    Head { file: String },
    /// Checks the chain.
    Verify { files: Vec<String>, heads: Vec<String>, since_anchor: Option<String> },
    /// Prints records.
    Show { files: Vec<String>, filter: Filter },
}

/// The name of each action on the command line.
pub(in crate::cli) const ACTIONS: [&str; 3] = ["head", "verify", "show"];
/// The flags that only one action has.
const FLAGS: [(&str, &str); 6] = [
    ("head", "verify"),
    ("since-anchor", "verify"),
    ("refused", "show"),
    ("call", "show"),
    ("since", "show"),
    ("program", "show"),
];

impl Action {
    /// Reads the words after `audit`, with the flags that some actions have.
    pub(super) fn parse(words: &mut impl Iterator<Item = String>, given: &Given) -> Result<Self, CliError> {
        let name = word(words, "audit", "one of head, verify and show")?;
        let name = named("audit action", &name, ACTIONS, |action| action)?;
        check_flags("audit", name, given, &FLAGS)?;
        match name {
            // The caller reports words that are left over.
            "head" => Ok(Self::Head { file: word(words, "audit", "the file of an audit log after `head`")? }),
            "verify" => Ok(Self::Verify {
                files: some(words, "audit", "the file of an audit log after `verify`")?,
                heads: given.all("head").map(str::to_owned).collect(),
                since_anchor: given.one("since-anchor")?,
            }),
            _ => {
                let call = given
                    .one("call")?
                    .map(|text| text.parse().map_err(|_| wrong("call", &text, "the number of a call, from 1")));
                let since = given.one("since")?.map(|text| {
                    since(&text).ok_or_else(|| {
                        wrong("since", &text, "a time such as `2026-11-23T05:48` (UTC), or `30m` for so long ago")
                    })
                });
                let program = given.one("program")?;
                let filter = Filter::new(given.is_given("refused"), call.transpose()?, since.transpose()?, program);
                Ok(Self::Show { files: some(words, "audit", "the file of an audit log after `show`")?, filter })
            }
        }
    }
}

/// A time as records have it, or the beginning of one, which sorts before every time that begins with it.
fn since(text: &str) -> Option<String> {
    if let Ok(ago) = read_duration(text) {
        return SystemTime::now().checked_sub(ago).map(time::extended);
    }
    let form = "0000-00-00T00:00:00.000Z";
    let text = text.replacen(' ', "T", 1);
    let fits = |(found, expected): (char, char)| match expected {
        '0' => found.is_ascii_digit(),
        other => found == other,
    };
    let is_time = text.len() >= 4 && text.len() <= form.len() && text.chars().zip(form.chars()).all(fits);
    // Times in records have milliseconds; with its `Z`, a time without them would sort after those of its second.
    if is_time { Some(text) } else { text.strip_suffix('Z').filter(|text| text.len() == 19).and_then(since) }
}

pub(super) fn run(action: Action, as_json: bool) -> Result<Outcome, CliError> {
    match action {
        Action::Head { file } => head(&file, as_json),
        Action::Verify { files, heads, since_anchor } => verify::run(&files, &heads, since_anchor.as_deref(), as_json),
        Action::Show { files, filter } => show::run(&files, filter, as_json),
    }
}

/// Opens a file and makes sure that it is an audit log; see [`open`].
fn open_log(file: &str) -> Result<impl BufRead + use<>, CliError> {
    let (mut log, mut first) = (open(file)?, Vec::new());
    let read = log.by_ref().take(PIECE as u64).read_to_end(&mut first);
    read.map_err(|error| unreadable(file, error.into()))?;
    match not_a_log(&first) {
        None => Ok(io::Cursor::new(first).chain(log)),
        Some(seems) => {
            let why = format!("it is not an audit log: {seems}");
            Err(CliError::Audit { file: escape(file).into_owned(), why })
        }
    }
}

/// Opens a log, which must be a regular file, so that reading it never waits, and no larger than logs are.
fn open(file: &str) -> Result<Box<dyn BufRead>, CliError> {
    fn bounded(input: impl Read + 'static, length: Option<u64>) -> io::Result<Box<dyn BufRead>> {
        Ok(Box::new(BufReader::with_capacity(PIECE, Bounded::new(input, length)?)))
    }
    if file == STANDARD_INPUT {
        return bounded(io::stdin(), None).map_err(|error| unreadable(file, error.into()));
    }
    let opened: File = open_regular(Path::new(file)).map_err(|source| unreadable(file, source))?;
    let length = opened.metadata().map(|metadata| metadata.len());
    length.and_then(|length| bounded(opened, Some(length))).map_err(|error| unreadable(file, error.into()))
}

fn unreadable(file: &str, source: ReadError) -> CliError {
    CliError::Read { file: escape(file).into_owned(), source }
}

/// Reads the lines of a log.
fn lines(
    file: &str,
    mut input: impl BufRead,
    mut each: impl FnMut(&Line) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut line = Line::new();
    while line.read(&mut input).map_err(|error| unreadable(file, error.into()))? {
        each(&line)?;
    }
    Ok(())
}

fn head(file: &str, as_json: bool) -> Result<Outcome, CliError> {
    let head = Head::of(open_log(file)?).map_err(|error| unreadable(file, error.into()))?;
    match as_json {
        true => print_json(&json!({"records": head.records, "head": head.last.to_string()})),
        false => print(&format!("{head}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_may_be_cut_short_or_be_a_duration() {
        for (text, expected) in [
            ("2026", "2026"),
            ("2026-11-23", "2026-11-23"),
            ("2026-11-23 05:48", "2026-11-23T05:48"),
            ("2026-11-23T05:48:36Z", "2026-11-23T05:48:36"),
            ("2026-11-23T05:48:36.123Z", "2026-11-23T05:48:36.123Z"),
        ] {
            assert_eq!(since(text).as_deref(), Some(expected));
        }
        for wrong in ["", "now", "20", "2026-1-1", "05:48", "2026-11-23T05:48:36+01:00", "2026-11-23Z"] {
            assert_eq!(since(wrong), None, "{wrong}");
        }
        assert!(since("2h").unwrap() < since("1s").unwrap());
    }
}
