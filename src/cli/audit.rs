//! `allowexec audit`: what is in an audit log, and whether it is what was written.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::path::Path;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::error::CliError;
use super::own_flags::Given;
use super::{Outcome, json_for_people, print, print_json};
use crate::audit::{
    Anchor, Anchors, Bounded, Filter, Head, Line, LinePlace, Link, Row, Verification, Verifier, not_a_log, row,
};
use crate::files::{ReadError, into_text, open_regular, read_regular};
use crate::text::{counted, escape, nearest, read_duration, time};

/// The name for a log on standard input.
const STANDARD_INPUT: &str = "-";
/// The largest file of anchors that is read.
const LARGEST_ANCHORS: u64 = 16 * 1024 * 1024;
/// So much is read at once.
const PIECE: usize = 256 * 1024;
/// The width of a terminal that does not tell its own.
const WIDTH: usize = 80;

/// What `allowexec audit` does, with its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Prints the number of records and the last hash.
    Head { file: String },
    /// Checks the chain.
    Verify { files: Vec<String>, heads: Vec<String>, since_anchor: Option<String> },
    /// Prints records.
    Show { files: Vec<String>, filter: Filter },
}

/// What each action is called on the command line, with the flags that it has beside `--json`.
pub(super) const ACTIONS: [(&str, &[&str]); 3] =
    [("head", &[]), ("verify", &["head", "since-anchor"]), ("show", &["refused", "call", "since", "program"])];

impl Action {
    /// Reads the words behind `audit`, with the flags that some actions have.
    pub(super) fn parse(mut words: impl Iterator<Item = String>, given: &Given) -> Result<Self, CliError> {
        let missing = |what| CliError::Missing { subcommand: "audit", what };
        let name = words.next().ok_or(missing("one of head, verify and show"))?;
        let names = ACTIONS.map(|(name, _)| name);
        let Some((_, own)) = ACTIONS.into_iter().find(|(known, _)| *known == name) else {
            let help = nearest(&name, names).map_or_else(
                || format!("; it has {}", names.join(", ")),
                |nearest| format!("; did you mean `{nearest}`?"),
            );
            return Err(CliError::UnknownCommand { found: format!("audit {}", name.escape_debug()), help });
        };
        let foreign = ACTIONS.into_iter().find_map(|(of, flags)| {
            let flag = flags.iter().find(|flag| given.is_given(flag) && !own.contains(flag))?;
            Some((of, *flag))
        });
        if let Some((of, flag)) = foreign {
            let help = format!("; `allowexec audit {of}` has");
            return Err(CliError::UnknownOwnFlag { flag: flag.to_owned(), subcommand: "audit", help });
        }
        let wrong = |flag: &'static str, found: &str, expected: &'static str| CliError::Value {
            flag,
            found: found.escape_debug().to_string(),
            expected,
        };
        match name.as_str() {
            // What is left over is an error of the caller.
            "head" => Ok(Self::Head { file: words.next().ok_or(missing("the file of an audit log after `head`"))? }),
            "verify" => Ok(Self::Verify {
                files: some(words, missing("the file of an audit log after `verify`"))?,
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
                Ok(Self::Show { files: some(words, missing("the file of an audit log after `show`"))?, filter })
            }
        }
    }
}

fn some(words: impl Iterator<Item = String>, missing: CliError) -> Result<Vec<String>, CliError> {
    let words: Vec<String> = words.collect();
    if words.is_empty() { Err(missing) } else { Ok(words) }
}

/// A point in time as records have it, or its beginning, which sorts before all that it begins.
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
    // With the end of a time of seconds alone a later millisecond would sort before it.
    if is_time { Some(text) } else { text.strip_suffix('Z').filter(|text| text.len() == 19).and_then(since) }
}

pub(super) fn run(action: Action, as_json: bool) -> Result<Outcome, CliError> {
    match action {
        Action::Head { file } => head(&file, as_json),
        Action::Verify { files, heads, since_anchor } => {
            let mut anchors = Anchors::default();
            if let Some(file) = &since_anchor {
                read_anchors(file, &mut anchors)?;
            }
            for head in &heads {
                anchors.add(Anchor::read(head).ok_or_else(|| CliError::Value {
                    flag: "head",
                    found: head.escape_debug().to_string(),
                    expected: "what `allowexec audit head` prints (a number and the 64 digits of a SHA-256), or the 64 digits alone",
                })?);
            }
            let is_anchored = since_anchor.is_some() || !heads.is_empty();
            let found = verify(&files, anchors, |_, _| Ok(()))?;
            if as_json {
                print_json(&verification_json(&files, &found))?;
            } else {
                print(&verification_text(&files, &found, is_anchored))?;
            }
            Ok(if found.broken.is_none() { Outcome::Good } else { Outcome::Bad })
        }
        Action::Show { files, filter } => show(&files, filter, as_json),
    }
}

/// Opens a file that has to be an audit log; see [`open`].
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

/// Opens a log. What it leads to must be a regular file, so that reading never waits, and no larger than logs are.
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
fn lines(file: &str, mut each: impl FnMut(&Line) -> Result<(), CliError>) -> Result<(), CliError> {
    lines_of(file, open(file)?, &mut each)
}

fn lines_of(
    file: &str,
    mut input: impl BufRead,
    each: &mut impl FnMut(&Line) -> Result<(), CliError>,
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

fn read_anchors(file: &str, anchors: &mut Anchors) -> Result<(), CliError> {
    let text = read_regular(Path::new(file), LARGEST_ANCHORS).and_then(into_text);
    let text = text.map_err(|source| unreadable(file, source))?;
    anchors
        .add_lines(&text)
        .map_err(|error| CliError::Audit { file: escape(file).into_owned(), why: error.to_string() })
}

/// Follows the chain through the files; each line is told to `each` too.
pub(super) fn verify(
    files: &[String],
    anchors: Anchors,
    mut each: impl FnMut(&Line, &Link) -> Result<(), CliError>,
) -> Result<Verification, CliError> {
    let mut verifier = Verifier::new(anchors);
    for file in files {
        verifier.begin_file();
        lines_of(file, open_log(file)?, &mut |line: &Line| {
            let taken = verifier.take(line);
            let link =
                taken.map_err(|error| CliError::Audit { file: escape(file).into_owned(), why: error.to_string() })?;
            each(line, &link)
        })?;
    }
    Ok(verifier.finish())
}

pub(super) fn verification_text(files: &[String], found: &Verification, is_anchored: bool) -> String {
    let at = |place: LinePlace| {
        let file = files.get(place.file).map(|file| escape(file).into_owned()).unwrap_or_default();
        format!("{file} line {}", place.line)
    };
    let mut text = match &found.broken {
        Some(broken) => format!("broken: {}: {}: {}\n", at(broken.place), broken.kind, escape(&broken.what)),
        None => {
            let records = counted(found.lines.iter().sum(), "record");
            format!(
                "intact: {records} in {}, {}\n",
                counted(found.lines.len() as u64, "file"),
                counted(found.sessions, "session")
            )
        }
    };
    let mut say = |what: &str, detail: String| text.push_str(&format!("  {what:<10} {detail}\n"));
    say("head", format!("{} {}", found.lines.last().copied().unwrap_or_default(), found.head));
    for place in &found.torn {
        say(
            "torn",
            format!("{}: a crash or a full disk cut this line off, and the next line records that", at(*place)),
        );
    }
    match found.torn_lines.saturating_sub(found.torn.len() as u64) {
        0 => {}
        more => say("torn", format!("{} more", counted(more, "line"))),
    }
    if let Some(place) = found.unfinished {
        say(
            "no end",
            format!("{}: this line is not counted; a crash cut it off, or a server is writing it", at(place)),
        );
    }
    if let Some(name) = &found.continues {
        let name = if name.is_empty() { "another file".to_owned() } else { format!("`{}`", escape(name)) };
        say("continues", format!("{name}, which was not given, so what came before is not checked"));
    }
    if found.broken.is_some() {
        return text;
    }
    match found.anchored {
        Some((place, behind)) => {
            say("anchor", format!("{}; {} since, and no anchor covers them", at(place), counted(behind, "record")));
        }
        None if is_anchored => say("anchor", "it is that of an empty log".to_owned()),
        None => say(
            "no anchor",
            "so a changed last record, or records cut off at the end, can't be detected; see `--head` and `--since-anchor`"
                .to_owned(),
        ),
    }
    text
}

pub(super) fn verification_json(files: &[String], found: &Verification) -> Value {
    let at = |place: LinePlace| json!({"file": files.get(place.file), "line": place.line});
    let broken = found.broken.as_ref().map(|broken| {
        let kind = broken.kind.to_string();
        json!({"file": files.get(broken.place.file), "line": broken.place.line, "kind": kind, "what": broken.what})
    });
    json!({
        "intact": found.broken.is_none(),
        "break": broken,
        "records": found.lines.iter().sum::<u64>(),
        "sessions": found.sessions,
        "head": {"records": found.lines.last().copied().unwrap_or_default(), "sha256": found.head.to_string()},
        "torn": found.torn.iter().map(|place| at(*place)).collect::<Vec<_>>(),
        "unfinished": found.unfinished.map(at),
        "continues": found.continues,
        "anchored": found.anchored.map(|(place, behind)| json!({"file": files.get(place.file), "line": place.line, "behind": behind})),
    })
}

fn show(files: &[String], mut filter: Filter, as_json: bool) -> Result<Outcome, CliError> {
    let failed = |source| CliError::Output { source };
    let width = width();
    let mut output = io::BufWriter::new(io::stdout().lock());
    if !as_json {
        let heading = Row {
            time: "TIME (UTC)".to_owned(),
            session: "SESSION".to_owned(),
            call: "CALL".to_owned(),
            event: "EVENT".to_owned(),
            what: "WHAT".to_owned(),
        };
        output.write_all(laid_out(&heading, width).as_bytes()).map_err(failed)?;
    }
    for file in files {
        lines(file, |line| {
            // What is too long for its parts to be looked at is shown as it begins.
            let record = line.is_whole().then(|| serde_json::from_slice::<Value>(&line.bytes).ok()).flatten();
            let record = record.filter(Value::is_object);
            let is_wanted = match &record {
                Some(record) => filter.wants(record),
                None => filter.wants_unreadable(),
            };
            if !is_wanted {
                return Ok(());
            }
            let text = match (as_json, &record) {
                (false, record) => laid_out(&row(line, record.as_ref()), width),
                (true, Some(_)) => json_for_people(&format!("{}\n", String::from_utf8_lossy(&line.bytes))),
                (true, None) => format!("{}\n", json!({"unreadable": line.length, "sha256": line.sha256.to_string()})),
            };
            output.write_all(text.as_bytes()).map_err(failed)
        })?;
    }
    output.flush().map_err(failed)?;
    Ok(Outcome::Good)
}

/// The width that rows are cut to; `None` where the output is no terminal.
fn width() -> Option<usize> {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    told.or_else(|| io::stdout().is_terminal().then(|| of_terminal().unwrap_or(WIDTH)))
}

#[cfg(unix)]
fn of_terminal() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
fn of_terminal() -> Option<usize> {
    None
}

/// A row as a line of text, cut to the width.
pub(super) fn laid_out(row: &Row, width: Option<usize>) -> String {
    let Row { time, session, call, event, what } = row;
    let line = format!("{time:<19}  {session:<8}  {call:>5}  {event:<15}  {what}");
    format!("{}\n", fitted(line.trim_end(), width))
}

/// The text, cut where it would not fit. Letters of two columns are taken for all that could be some.
fn fitted(line: &str, width: Option<usize>) -> String {
    let columns = |c: char| if c < '\u{1100}' { 1 } else { 2 };
    let Some(width) = width.filter(|width| line.chars().map(columns).sum::<usize>() > *width) else {
        return line.to_owned();
    };
    let mut left = width.saturating_sub(1);
    let kept = line.chars().take_while(|c| {
        let fits = columns(*c) <= left;
        left = left.saturating_sub(columns(*c));
        fits
    });
    kept.chain(['…']).collect()
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

    #[test]
    fn rows_fit_their_width() {
        assert_eq!(fitted("abc", Some(3)), "abc");
        assert_eq!(fitted("abcd", Some(3)), "ab…");
        assert_eq!(fitted("目录目录", Some(5)), "目录…");
        assert_eq!(fitted("目录目录", Some(4)), "目…");
        assert_eq!(fitted("abcd", None), "abcd");
    }
}
