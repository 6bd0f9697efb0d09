//! `allowexec audit show`: the records as a table, or as they are in the log.

use std::io::{self, IsTerminal, Write};

use serde_json::json;

use super::{lines, open};
use crate::audit::log::{Filter, Row, record, row};
use crate::cli::error::CliError;
use crate::cli::{Outcome, json_for_people};

/// The width of a terminal that does not report its own.
const WIDTH: usize = 80;

pub(super) fn run(files: &[String], mut filter: Filter, as_json: bool) -> Result<Outcome, CliError> {
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
        lines(file, open(file)?, |line| {
            let record = record(line);
            let is_wanted = match &record {
                Some(record) => filter.wants(record, line.is_whole()),
                None => filter.wants_unreadable(line.is_whole()),
            };
            if !is_wanted {
                return Ok(());
            }
            let text = match (as_json, &record) {
                (false, record) => laid_out(&row(line, record.as_ref()), width),
                (true, Some(_)) if line.is_whole() => {
                    json_for_people(&format!("{}\n", String::from_utf8_lossy(&line.bytes)))
                }
                (true, beginning) => {
                    let sha256 = line.sha256.to_string();
                    json_for_people(&format!(
                        "{}\n",
                        json!({"unreadable": line.length, "sha256": sha256, "beginning": beginning})
                    ))
                }
            };
            output.write_all(text.as_bytes()).map_err(failed)
        })?;
    }
    output.flush().map_err(failed)?;
    Ok(Outcome::Good)
}

/// The width that rows are cut to; `None` if the output is not a terminal.
fn width() -> Option<usize> {
    let set = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    set.or_else(|| io::stdout().is_terminal().then(|| of_terminal().unwrap_or(WIDTH)))
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
pub(in crate::cli) fn laid_out(row: &Row, width: Option<usize>) -> String {
    let Row { time, session, call, event, what } = row;
    let line = format!("{time:<19}  {session:<8}  {call:>5}  {event:<15}  {what}");
    format!("{}\n", fitted(line.trim_end(), width))
}

/// The text, cut if it would not fit. Every character that may take two columns is counted as two.
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
    fn rows_fit_their_width() {
        assert_eq!(fitted("abc", Some(3)), "abc");
        assert_eq!(fitted("abcd", Some(3)), "ab…");
        assert_eq!(fitted("目录目录", Some(5)), "目录…");
        assert_eq!(fitted("目录目录", Some(4)), "目…");
        assert_eq!(fitted("abcd", None), "abcd");
    }
}
