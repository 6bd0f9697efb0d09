//! Whatever was printed, and however much of it has come so far, ranges are exact and end where lines and characters end.

use std::fmt;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;

use super::super::{CallState, ReadOutput, Start};
use super::{ReadOutcome, read_output};
use crate::exec::{End, Keeper, Spool, StreamName};
use crate::tools::ReportSettings;

/// How many bytes are read by default.
const MOST: u64 = 16 * 1024;

/// A spool, and the directory in which its file is made.
fn spool() -> (Arc<Spool>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    (Keeper::new(vec![directory.path().to_owned()], 1 << 24).spool(|| ()), directory)
}

/// A read of everything from the beginning on.
fn read() -> ReadOutput {
    ReadOutput { wait: None, ..ReadOutput::of_end(1) }
}

fn answer(spool: &Spool, state: &CallState, read: &ReadOutput) -> Value {
    let settings = ReportSettings { structured: true, ..ReportSettings::default() };
    match read_output(read, (&spool.part(StreamName::Stdout), 0), state, (0, true), MOST, &settings) {
        ReadOutcome::Done(result) => result.structured_content.unwrap(),
        ReadOutcome::Waits { .. } => panic!("nothing is waited for"),
    }
}

fn text(answer: &Value) -> &str {
    answer["text"].as_str().unwrap()
}

fn number(answer: &Value, key: &str) -> usize {
    usize::try_from(answer[key].as_u64().unwrap()).unwrap()
}

/// `length` bytes of lines of digits: what follows crosses the end of the memory, or of a chunk of the file.
fn filler(length: usize) -> String {
    "0123456789 23456789\n".chars().cycle().take(length).collect()
}

/// A text whose odd parts lie across the ends of the memory and of the first chunk.
#[derive(Clone)]
struct Printed(String);

impl fmt::Debug for Printed {
    /// Leaves out the filler, which does not help to understand a failed test.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let odd = self.0.split('\n').filter(|line| !line.starts_with("0123456789 23456789"));
        write!(f, "{} bytes with {:?}", self.0.len(), odd.collect::<Vec<_>>())
    }
}

fn printed() -> impl Strategy<Value = Printed> {
    let odd = "([aé漢😀]{0,9}[\n -]{0,2}){0,12}";
    (0..90_usize, odd, 0..90_usize, odd).prop_map(|(before, first, between, second)| {
        let memory = filler(32 * 1024 - before);
        let chunk = filler((96 * 1024 - between).saturating_sub(memory.len() + first.len()));
        Printed([memory, first, chunk, second].concat())
    })
}

/// The ways in which a client continues reading.
fn parts() -> impl Strategy<Value = ReadOutput> {
    prop_oneof![
        Just(read()),
        (500..40_000_usize).prop_map(|bytes| ReadOutput { bytes: Some(bytes), ..read() }),
        (20..4_000_u64).prop_map(|lines| ReadOutput { lines: Some(lines), ..read() }),
    ]
}

/// The first place at or after this byte at which a character begins.
fn boundary(text: &str, byte: usize) -> usize {
    (byte..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_read_on_while_it_is_written_is_exactly_what_was_printed(
        Printed(printed) in printed(), cuts in proptest::collection::vec(0..98_000_usize, 0..8), part in parts()
    ) {
        let (spool, _directory) = spool();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(printed.len())).collect();
        cuts.extend([0, printed.len()]);
        cuts.sort_unstable();
        let (mut seen, mut next) = (String::new(), 0);
        for ends in cuts.windows(2) {
            spool.push(StreamName::Stdout, &printed.as_bytes()[ends[0]..ends[1]]);
            // Until there is no more, and once again at the end.
            for state in [CallState::Running, CallState::Ended { end: End::Exited(0), hint: None }] {
                if !state.is_running() && ends[1] < printed.len() {
                    continue;
                }
                loop {
                    let answer = answer(&spool, &state, &ReadOutput { start: Start::Byte(next), ..part.clone() });
                    seen.push_str(text(&answer));
                    prop_assert!(answer.get("lossy").is_none());
                    prop_assert_eq!(number(&answer, "next_byte"), seen.len());
                    prop_assert_eq!(number(&answer, "next_line"), seen.matches('\n').count() + 1);
                    let is_in_lines = part.lines.is_some() && state.is_running();
                    prop_assert!(!is_in_lines || text(&answer).is_empty() || text(&answer).ends_with('\n'));
                    let is_all = !state.is_running() && seen.len() == printed.len();
                    prop_assert_eq!(answer["end"].as_bool(), Some(is_all));
                    if seen.len() as u64 == next {
                        break;
                    }
                    next = seen.len() as u64;
                }
            }
            prop_assert!(printed.starts_with(&seen));
        }
        prop_assert!(seen == printed);
    }

    #[test]
    fn a_range_holds_the_lines_and_bytes_that_were_asked_for_and_no_other(
        Printed(printed) in printed(), line in 1..6_000_i64, lines in 1..3_000_u64, byte in 0..98_500_usize, bytes in 1..3_000_usize
    ) {
        let (spool, _directory) = spool();
        spool.push(StreamName::Stdout, printed.as_bytes());
        let ended = CallState::Ended { end: End::Exited(0), hint: None };
        let all: Vec<&str> = printed.split_inclusive('\n').collect();
        let wanted = usize::try_from(lines).unwrap();
        let first = usize::try_from(line).unwrap() - 1;
        let from = |start| answer(&spool, &ended, &ReadOutput { start, lines: Some(lines), ..read() });
        let expected: String = all.iter().skip(first).take(wanted).copied().collect();
        let answered = from(Start::Line(line));
        prop_assert_eq!(text(&answered), expected);
        let from_end = all.len().saturating_sub(first + 1);
        let expected: String = all.iter().skip(from_end).take(wanted).copied().collect();
        let answered = from(Start::Line(-line));
        prop_assert_eq!(text(&answered), expected);
        let start = Start::Byte(byte as u64);
        let part = answer(&spool, &ended, &ReadOutput { start, bytes: Some(bytes), ..read() });
        let begin = boundary(&printed, byte.min(printed.len()));
        let end = number(&part, "next_byte");
        prop_assert_eq!(text(&part), &printed[begin..end]);
        // As much as fits, or a single character if that is longer.
        let next = boundary(&printed, (end + 1).min(printed.len()));
        prop_assert!(end == printed.len() || next - begin > bytes, "{begin} {end} {next}");
        prop_assert!(end - begin <= bytes.max(4));
    }

    #[test]
    fn a_search_finds_the_lines_that_hold_the_text_and_no_other(
        Printed(printed) in printed(), searched in "([aé漢😀]{1,3}|[0-9]{1,2} 2|\\PC{1,2})", written in 0..98_500_usize
    ) {
        let (spool, _directory) = spool();
        let written = written.min(printed.len());
        spool.push(StreamName::Stdout, &printed.as_bytes()[..written]);
        // While the call is running, only whole lines.
        let whole = printed.as_bytes()[..written].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let numbered = printed[..whole].lines().zip(1..).filter(|(line, _)| line.contains(&searched));
        let expected: Vec<String> = numbered.map(|(line, number)| format!("{number}:{line}")).take(1000).collect();
        let mut found = Vec::new();
        let mut next = 0;
        loop {
            let read = ReadOutput { start: Start::Byte(next), search: Some(searched.clone()), ..read() };
            let answer = answer(&spool, &CallState::Running, &read);
            let lines = text(&answer).lines();
            found.extend(lines.map(|line| line.replace('…', "")));
            let before = std::mem::replace(&mut next, number(&answer, "next_byte") as u64);
            if next <= before || found.len() >= 1000 {
                break;
            }
        }
        found.truncate(1000);
        prop_assert_eq!(found, expected);
    }
}
