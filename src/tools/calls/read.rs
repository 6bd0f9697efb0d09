//! Reads a part of a call's output: a range that ends where lines and characters end, or the lines that hold a text.

use std::io;

use super::answers::{number, of_fields};
use super::request::MOST_READ;
use super::{CallState, Field, ReadOutput, Start};
use crate::exec::StreamName;
use crate::exec::spool::Part;
use crate::mcp::CallToolResult;
use crate::tools::ReportSettings;

/// How many bytes of a line are shown around a hit.
const LONGEST_LINE: usize = 500;
/// How many bytes on each side of a hit are searched for its context.
const CONTEXT_WITHIN: usize = 64 * 1024;
/// The most hits of one read.
const MOST_HITS: u64 = 1000;

/// The outcome of a read.
#[derive(Debug)]
pub enum ReadOutcome {
    /// The result.
    Done(CallToolResult),
    /// It goes on waiting.
    Waits {
        /// How long the stream was when it was looked at.
        looked_at: u64,
    },
}

/// A part of the output.
struct Text {
    text: String,
    is_lossy: bool,
    next_byte: u64,
}

/// Reads what was asked for, if that is there, or if the wait is over (`is_due`). `looked_at` is what an earlier try has
/// returned, at first zero. `most` is how much is read if the call doesn't say, in bytes. `of_other` is how many bytes the
/// other stream holds.
pub fn read_output(
    read: &ReadOutput,
    (part, of_other): (&Part, u64),
    state: &CallState,
    (looked_at, is_due): (u64, bool),
    most: u64,
    settings: &ReportSettings,
) -> ReadOutcome {
    let call = read.call;
    if part.is_gone() {
        let why = format!("the output of call {call} is not kept any more, since newer output took its room");
        return ReadOutcome::Done(CallToolResult::error(why));
    }
    match outcome(read, (part, of_other), state, (looked_at, is_due), most, settings) {
        Ok(outcome) => outcome,
        Err(error) => {
            let why = format!("the output of call {call} can't be read: {error}");
            ReadOutcome::Done(CallToolResult::error(why))
        }
    }
}

fn outcome(
    read: &ReadOutput,
    (part, of_other): (&Part, u64),
    state: &CallState,
    (looked_at, is_due): (u64, bool),
    most: u64,
    settings: &ReportSettings,
) -> io::Result<ReadOutcome> {
    let start = start(read, part)?;
    let mut found = None;
    if let Some(until) = &read.until {
        // The text may have begun at the end of what was looked at before.
        let from = start.max(looked_at.saturating_sub(until.len() as u64));
        found = Some(part.find(until.as_bytes(), from, part.length())?.is_some());
    }
    let is_there = match (found, read.start) {
        (Some(found), _) => found,
        (None, Start::Beginning) => false,
        (None, Start::Line(_) | Start::Byte(_)) => part.length() > start,
    };
    if read.wait.is_some() && !is_there && !is_due && state.is_running() {
        return Ok(ReadOutcome::Waits { looked_at: part.length() });
    }
    let most = if most == 0 { MOST_READ } else { usize::try_from(most).unwrap_or(MOST_READ).min(MOST_READ) };
    let text = match &read.search {
        Some(search) => hits(read, search, part, start, state, most)?,
        None => range(read, part, start, state, most)?,
    };
    Ok(ReadOutcome::Done(result(read, (part, of_other), state, text, found, settings)?))
}

fn result(
    read: &ReadOutput,
    (part, of_other): (&Part, u64),
    state: &CallState,
    text: Text,
    found: Option<bool>,
    settings: &ReportSettings,
) -> io::Result<CallToolResult> {
    let Text { text, is_lossy, next_byte } = text;
    let mut fields = vec![("call", number(read.call))];
    fields.extend(state.fields());
    fields.extend(found.map(|found| ("found", Field::Flag(found))));
    fields.push(("next_line", number(part.line_ends_before(next_byte)? + 1)));
    fields.push(("next_byte", number(next_byte)));
    fields.push(("end", Field::Flag(!state.is_running() && next_byte >= part.length())));
    fields.extend(is_lossy.then_some(("lossy", Field::Flag(true))));
    fields.extend((part.not_kept() > 0).then(|| ("not_kept", number(part.not_kept()))));
    // A reader of an empty stdout would miss the errors otherwise.
    let other = match read.stream {
        StreamName::Stdout => "stderr_bytes",
        StreamName::Stderr => "stdout_bytes",
    };
    fields.extend((of_other > 0).then(|| (other, number(of_other))));
    fields.push(("text", Field::Text(text)));
    Ok(of_fields(fields, settings))
}

/// Where to begin: never within a character.
fn start(read: &ReadOutput, part: &Part) -> io::Result<u64> {
    match read.start {
        Start::Beginning => Ok(0),
        Start::Line(line @ 1..) => Ok(part.start_of_line(line.unsigned_abs() - 1)?.unwrap_or(part.length())),
        Start::Line(line) => {
            let ends = part.line_ends_before(part.length())?;
            let has_open_line = part.line_start_before(part.length(), 1)? < part.length();
            let lines = ends + u64::from(has_open_line);
            Ok(part.start_of_line(lines.saturating_sub(line.unsigned_abs()))?.unwrap_or(part.length()))
        }
        Start::Byte(byte) => behind_character(part, byte.min(part.length())),
    }
}

/// The end of the character that this byte is in the middle of, or the byte itself.
fn behind_character(part: &Part, byte: u64) -> io::Result<u64> {
    let from = byte.saturating_sub(3);
    let around = part.read(from, 7)?;
    let middle = usize::try_from(byte - from).unwrap_or(0);
    for first in (0..middle).rev() {
        let character = around.get(first..).and_then(first_character);
        if let Some(length) = character.filter(|length| *length > 1) {
            return Ok(if first + length > middle { from + (first + length) as u64 } else { byte });
        }
    }
    Ok(byte)
}

/// How many bytes the first character has; `None` if the bytes don't begin with a character.
fn first_character(bytes: &[u8]) -> Option<usize> {
    (1..=4.min(bytes.len())).find(|length| bytes.get(..*length).is_some_and(|bytes| std::str::from_utf8(bytes).is_ok()))
}

/// The end of the last whole line so far, or the end of everything if the call has ended.
fn end_of_lines(part: &Part, state: &CallState) -> io::Result<u64> {
    if !state.is_running() || part.not_kept() > 0 {
        return Ok(part.length());
    }
    let within = MOST_READ as u64;
    let end = part.line_start_before(part.length(), within)?;
    // A line longer than any read is not held back.
    let is_too_long = part.length() >= within && end == part.length() - within;
    Ok(if is_too_long { part.length() } else { end })
}

fn range(read: &ReadOutput, part: &Part, start: u64, state: &CallState, most: usize) -> io::Result<Text> {
    let in_lines = read.lines.is_some() || matches!(read.start, Start::Line(_)) && read.bytes.is_none();
    let limit = if in_lines { end_of_lines(part, state)?.max(start) } else { part.length() };
    let wanted = match read.lines {
        Some(lines) => {
            let first = part.line_ends_before(start)?;
            part.start_of_line(first.saturating_add(lines))?.unwrap_or(limit).min(limit)
        }
        None => limit,
    };
    let most = read.bytes.unwrap_or(if read.lines.is_some() { MOST_READ } else { most });
    let length = usize::try_from(wanted - start.min(wanted)).unwrap_or(usize::MAX).min(most);
    // The extra bytes are for the rest of the last character.
    let mut bytes = part.read(start, length.saturating_add(3))?;
    let available = bytes.len();
    let mut end = length.min(available);
    // Only a read that asks for bytes gets a part of a line.
    if read.bytes.is_none() && (end as u64) < wanted - start.min(wanted) {
        let line_end = bytes.get(..end).and_then(|bytes| bytes.iter().rposition(|byte| *byte == b'\n'));
        end = line_end.map_or(end, |at| at + 1);
    }
    let may_grow = state.is_running() && part.not_kept() == 0;
    if length == 0 {
        // Return nothing of a line that is not complete yet.
        end = 0;
    } else if end < available || may_grow {
        let open = unfinished(bytes.get(..end).unwrap_or_default());
        if open < end {
            end -= open;
        } else if let Some(length) = first_character(&bytes) {
            end = length;
        } else if may_grow && available < 4 {
            end = 0;
        }
    }
    bytes.truncate(end);
    let text = String::from_utf8_lossy(&bytes);
    let is_lossy = matches!(text, std::borrow::Cow::Owned(_));
    Ok(Text { text: text.into_owned(), is_lossy, next_byte: start + end as u64 })
}

/// How many bytes at the end are the beginning of a character that continues after them.
fn unfinished(bytes: &[u8]) -> usize {
    let is_open = |back: &usize| {
        let end = bytes.get(bytes.len() - back..).unwrap_or_default();
        std::str::from_utf8(end).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=3.min(bytes.len())).find(is_open).unwrap_or(0)
}

/// A line that holds the text.
struct Hit {
    /// From 1 on.
    line: u64,
    start: u64,
    end: u64,
    /// Where the text is.
    at: u64,
}

fn hits(read: &ReadOutput, search: &str, part: &Part, start: u64, state: &CallState, most: usize) -> io::Result<Text> {
    let limit = end_of_lines(part, state)?.max(start);
    let most_hits = read.lines.unwrap_or(MOST_HITS).min(MOST_HITS);
    let most = read.bytes.unwrap_or(most);
    let (mut shown, mut is_lossy) = (String::new(), false);
    // The line after the last one that is shown.
    let mut next_shown = 0;
    let mut waiting: Option<Hit> = None;
    let mut from = start;
    let mut count = 0;
    loop {
        let next = if count < most_hits { hit_from(search, part, from, limit)? } else { None };
        count += u64::from(next.is_some());
        let next_line = next.as_ref().map(|hit| hit.line);
        if let Some(hit) = waiting.take() {
            let group = group_of(read, part, &hit, (next_shown, next_line), limit)?;
            let is_apart = read.context > 0 && !shown.is_empty() && group.first > next_shown;
            if !shown.is_empty() && shown.len() + group.text.len() > most {
                return Ok(Text { text: shown, is_lossy, next_byte: hit.start.max(start) });
            }
            shown.push_str(if is_apart { "--\n" } else { "" });
            shown.push_str(&group.text);
            is_lossy |= group.is_lossy;
            next_shown = group.last + 1;
        }
        match next {
            Some(hit) => {
                from = hit.end;
                waiting = Some(hit);
            }
            None if count >= most_hits => return Ok(Text { text: shown, is_lossy, next_byte: from }),
            None => return Ok(Text { text: shown, is_lossy, next_byte: limit }),
        }
    }
}

fn hit_from(search: &str, part: &Part, from: u64, limit: u64) -> io::Result<Option<Hit>> {
    let Some(at) = part.find(search.as_bytes(), from, limit)? else { return Ok(None) };
    let start = part.line_start_before(at, CONTEXT_WITHIN as u64)?;
    let end = part.find(b"\n", at, limit)?.map_or(limit, |end| end + 1);
    Ok(Some(Hit { line: part.line_ends_before(start)? + 1, start, end, at }))
}

/// A hit with the lines around it.
struct Group {
    text: String,
    is_lossy: bool,
    first: u64,
    last: u64,
}

/// The hit with its context: from `next_shown` on, and up to the line of the next hit.
fn group_of(
    read: &ReadOutput,
    part: &Part,
    hit: &Hit,
    (next_shown, next_hit): (u64, Option<u64>),
    limit: u64,
) -> io::Result<Group> {
    let mut group = Group { text: String::new(), is_lossy: false, first: hit.line, last: hit.line };
    let room_before = usize::try_from(hit.line - next_shown.clamp(1, hit.line)).unwrap_or(usize::MAX);
    let before = read.context.min(room_before);
    if before > 0 {
        let from = hit.start.saturating_sub(CONTEXT_WITHIN as u64);
        let bytes = part.read(from, usize::try_from(hit.start - from).unwrap_or(0))?;
        let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        if from > 0 && lines.len() > 1 {
            // The beginning of the first line may be missing.
            lines.remove(0);
        }
        let lines = lines.split_off(lines.len().saturating_sub(before));
        group.first = hit.line - lines.len() as u64;
        lines.iter().zip(group.first..).for_each(|(line, number)| group.show(number, '-', line, 0));
    }
    let around = hit.at.saturating_sub(hit.start);
    let shown_from = hit.start.max(hit.at.saturating_sub(LONGEST_LINE as u64));
    let length = usize::try_from(hit.end - shown_from).unwrap_or(usize::MAX).min(3 * LONGEST_LINE);
    let line = part.read(shown_from, length)?;
    let at = usize::try_from(around.min(hit.at - shown_from)).unwrap_or(0);
    group.show(hit.line, ':', &line, at);
    if read.context > 0 && hit.end < limit {
        let most = next_hit.map_or(usize::MAX, |next| usize::try_from(next - hit.line - 1).unwrap_or(0));
        let bytes = part.read(hit.end, usize::try_from(limit - hit.end).unwrap_or(usize::MAX).min(CONTEXT_WITHIN))?;
        for (line, number) in
            bytes.split_inclusive(|byte| *byte == b'\n').take(read.context.min(most)).zip(hit.line + 1..)
        {
            group.show(number, '-', line, 0);
            group.last = number;
        }
    }
    Ok(group)
}

impl Group {
    /// Adds a line in the format of grep(1); of a long line, only the part around `at`.
    fn show(&mut self, number: u64, mark: char, line: &[u8], at: usize) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let from = if line.len() > LONGEST_LINE { at.saturating_sub(LONGEST_LINE / 2) } else { 0 };
        let shown = line.get(from..line.len().min(from + LONGEST_LINE)).unwrap_or_default();
        // A character that was cut is left out.
        let shown = shown.get(shown.iter().take(3).take_while(|byte| from > 0 && **byte & 0xc0 == 0x80).count()..);
        let shown = shown.unwrap_or_default();
        let is_cut = from + LONGEST_LINE < line.len();
        let open = if is_cut { unfinished(shown) } else { 0 };
        let text = String::from_utf8_lossy(shown.get(..shown.len() - open).unwrap_or_default());
        self.is_lossy |= matches!(text, std::borrow::Cow::Owned(_));
        let (before, behind) = (if from > 0 { "…" } else { "" }, if is_cut { "…" } else { "" });
        self.text.push_str(&format!("{number}{mark}{before}{text}{behind}\n"));
    }
}

#[cfg(test)]
mod properties;
