//! `allowexec audit verify`: follows the chain through the files of a log, and says where it breaks.

use std::path::Path;

use serde_json::{Value, json};

use super::{lines, open_log, unreadable};
use crate::audit::log::{Anchor, Anchors, Line, LinePlace, Link, Verification, Verifier};
use crate::cli::error::CliError;
use crate::cli::words::wrong;
use crate::cli::{Outcome, print, print_json};
use crate::files::{into_text, read_regular};
use crate::text::{counted, escape};

/// The largest file of anchors that is read.
const LARGEST_ANCHORS: u64 = 16 * 1024 * 1024;

pub(super) fn run(
    files: &[String],
    heads: &[String],
    since_anchor: Option<&str>,
    as_json: bool,
) -> Result<Outcome, CliError> {
    let mut anchors = Anchors::default();
    if let Some(file) = since_anchor {
        read_anchors(file, &mut anchors)?;
    }
    for head in heads {
        let expected = "what `allowexec audit head` prints (a number and the 64 digits of a SHA-256), or the 64 digits";
        anchors.add(Anchor::read(head).ok_or_else(|| wrong("head", head, expected))?);
    }
    let is_anchored = since_anchor.is_some() || !heads.is_empty();
    let found = verify(files, anchors, |_, _| Ok(()))?;
    if as_json {
        print_json(&verification_json(files, &found))?;
    } else {
        print(&verification_text(files, &found, is_anchored))?;
    }
    Ok(if found.broken.is_none() { Outcome::Good } else { Outcome::Bad })
}

fn read_anchors(file: &str, anchors: &mut Anchors) -> Result<(), CliError> {
    let text = read_regular(Path::new(file), LARGEST_ANCHORS).and_then(into_text);
    let text = text.map_err(|source| unreadable(file, source))?;
    anchors
        .add_lines(&text)
        .map_err(|error| CliError::Audit { file: escape(file).into_owned(), why: error.to_string() })
}

/// Follows the chain through the files, and calls `each` with each line.
pub(in crate::cli) fn verify(
    files: &[String],
    anchors: Anchors,
    mut each: impl FnMut(&Line, &Link) -> Result<(), CliError>,
) -> Result<Verification, CliError> {
    let mut verifier = Verifier::new(anchors);
    for file in files {
        verifier.begin_file();
        lines(file, open_log(file)?, |line| {
            let taken = verifier.take(line);
            let link =
                taken.map_err(|error| CliError::Audit { file: escape(file).into_owned(), why: error.to_string() })?;
            each(line, &link)
        })?;
    }
    Ok(verifier.finish())
}

pub(in crate::cli) fn verification_text(files: &[String], found: &Verification, is_anchored: bool) -> String {
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
        say("torn", format!("{}: a crash or a full disk cut this line off, as the next line records", at(*place)));
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
        None if is_anchored => say("anchor", "that of an empty log".to_owned()),
        None => say(
            "no anchor",
            "so a changed last record, or records cut off at the end, can't be detected; see `--head` and `--since-anchor`"
                .to_owned(),
        ),
    }
    text
}

pub(in crate::cli) fn verification_json(files: &[String], found: &Verification) -> Value {
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
