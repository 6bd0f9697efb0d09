//! Logs with each kind of break, and logs that look broken and are not.

use super::super::anchor::Anchor;
use super::*;

/// A log that is being written: each record is linked to the one before.
#[derive(Clone, Default)]
struct Log(Vec<Vec<u8>>);

impl Log {
    fn last(&self) -> Sha256 {
        self.0.last().map_or(Sha256::ZERO, Sha256::of)
    }

    fn record(&mut self, session: &str, seq: u64, fields: &str) -> &mut Self {
        let line = record(session, seq, self.last(), fields);
        self.0.push(line);
        self
    }

    /// Two sessions that take turns.
    fn of_two() -> Self {
        let mut log = Self::default();
        log.record("a", 0, STARTED).record("a", 1, "\"event\":\"decided\"").record("b", 0, STARTED);
        log.record("a", 2, "\"event\":\"ended\"").record("b", 1, "\"event\":\"decided\"");
        log.record("b", 2, "\"event\":\"ended\"").record("a", 3, ENDED).record("b", 3, ENDED);
        log
    }

    fn torn(&mut self, bytes: &[u8], session: &str, seq: u64) -> &mut Self {
        self.0.push(bytes.to_vec());
        let fields =
            format!("\"event\":\"recovered\",\"torn_bytes\":{},\"torn_sha256\":\"{}\"", bytes.len(), self.last());
        self.record(session, seq, &fields)
    }
}

const STARTED: &str = "\"event\":\"session_started\"";
const ENDED: &str = "\"event\":\"session_ended\",\"calls\":1";

fn record(session: &str, seq: u64, prev: Sha256, fields: &str) -> Vec<u8> {
    format!(
        "{{\"seq\":{seq},\"time\":\"2026-11-23T05:48:36.123Z\",\"session\":\"{session}\",\"prev\":\"{prev}\",{fields}}}"
    )
    .into_bytes()
}

fn verified(files: &[&[u8]], anchors: Anchors) -> Verification {
    let mut verifier = Verifier::new(anchors);
    for mut file in files.iter().copied() {
        verifier.begin_file();
        let mut line = Line::new();
        while line.read(&mut file).unwrap() {
            verifier.take(&line).unwrap();
        }
    }
    verifier.finish()
}

fn verify(log: &Log) -> Verification {
    let text: Vec<u8> = log.0.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect();
    verified(&[&text], Anchors::default())
}

fn broken(log: &Log) -> (Kind, u64) {
    let broken = verify(log).broken.expect("a break");
    (broken.kind, broken.place.line)
}

#[test]
fn a_log_of_several_sessions_is_intact() {
    let log = Log::of_two();
    let found = verify(&log);
    assert_eq!((found.broken, found.sessions, found.lines, found.head), (None, 2, vec![8], log.last()));
    assert_eq!(verify(&Log::default()).head, Sha256::ZERO);
}

#[test]
fn files_in_another_order_are_told_by_that() {
    let mut log = Log::default();
    log.record("a", 0, STARTED).record("a", 1, "\"event\":\"decided\",\"continues\":\"log.1\"");
    log.record("a", 2, "\"event\":\"ended\",\"continues\":\"log.2\"").record(
        "a",
        3,
        "\"event\":\"x\",\"continues\":\"log.3\"",
    );
    let files: Vec<Vec<u8>> = log.0.iter().map(|line| [line, b"\n".as_slice()].concat()).collect();
    let broken = |order: [usize; 4]| verified(&order.map(|file| files[file].as_slice()), Anchors::default()).broken;
    assert_eq!(broken([0, 1, 2, 3]), None);
    for order in [[2, 1, 0, 3], [3, 2, 1, 0], [1, 0, 2, 3], [0, 2, 1, 3]] {
        let what = broken(order).unwrap().what;
        assert!(what.contains("the files are not in their order (oldest first)"), "{order:?}: {what}");
    }
}

#[test]
fn each_change_is_told_by_what_it_looks_like() {
    let whole = Log::of_two();
    let changed = |change: fn(&mut Vec<Vec<u8>>)| {
        let mut log = whole.clone();
        change(&mut log.0);
        broken(&log)
    };
    assert_eq!(
        changed(|lines| lines[3] = String::from_utf8(lines[3].clone()).unwrap().replace("36.", "37.").into_bytes()),
        (Kind::Changed, 4)
    );
    assert_eq!(changed(|lines| lines[3] = b"{}".to_vec()), (Kind::Changed, 4));
    assert_eq!(changed(|lines| lines[3].truncate(140)), (Kind::Changed, 4));
    assert_eq!(changed(|lines| lines[7] = b"x".to_vec()), (Kind::Changed, 8));
    assert_eq!(changed(|lines| lines[0][8] = b'1'), (Kind::Changed, 1));
    // The hash that it names, and its number.
    assert_eq!(
        changed(|lines| {
            let at = lines[3].windows(8).position(|part| part == b"\"prev\":\"").unwrap() + 8;
            lines[3][at] = if lines[3][at] == b'0' { b'1' } else { b'0' };
        }),
        (Kind::Changed, 4)
    );
    assert_eq!(changed(|lines| lines[3][7] = b'9'), (Kind::Changed, 4));
    for line in 0..7 {
        let mut log = whole.clone();
        log.0.remove(line);
        // The end of a session is missed by nobody.
        let expected = if line == 6 { (Kind::Changed, 6) } else { (Kind::Removed, line as u64 + 1) };
        assert_eq!(broken(&log), expected, "{line}");
    }
    assert_eq!(changed(|lines| drop(lines.drain(0..5))), (Kind::Removed, 1));
    assert_eq!(changed(|lines| drop(lines.drain(2..4))), (Kind::Removed, 3));
    assert_eq!(changed(|lines| lines.swap(3, 4)), (Kind::Reordered, 4));
    assert_eq!(changed(|lines| lines.swap(1, 5)), (Kind::Reordered, 2));
    assert_eq!(changed(|lines| lines.insert(3, lines[2].clone())), (Kind::Inserted, 4));
    assert_eq!(changed(|lines| lines.insert(5, lines[1].clone())), (Kind::Inserted, 6));
    assert_eq!(changed(|lines| lines.insert(3, Vec::new())), (Kind::Inserted, 4));
    // One that follows the line before, whose place the next line denies.
    assert_eq!(changed(|lines| lines.insert(3, record("c", 0, Sha256::of(&lines[2]), STARTED))), (Kind::Inserted, 4));
}

#[test]
fn a_chain_that_was_written_anew_shows_by_its_numbers() {
    let mut log = Log::default();
    log.record("a", 0, STARTED).record("a", 2, "\"event\":\"ended\"").record("a", 3, ENDED);
    assert_eq!(broken(&log), (Kind::Removed, 2));
    let mut log = Log::default();
    log.record("a", 0, STARTED).record("a", 1, "\"event\":\"ended\"").record("a", 1, ENDED);
    assert_eq!(broken(&log), (Kind::Inserted, 3));
    // Behind its end a session says nothing.
    log = Log::of_two();
    log.record("a", 4, "\"event\":\"decided\"").record("c", 0, STARTED);
    assert_eq!(broken(&log), (Kind::Removed, 9));
}

#[test]
fn a_torn_line_that_the_next_one_names_is_no_break() {
    let torn_places = |log: &Log| {
        let found = verify(log);
        assert_eq!(found.broken, None);
        found.torn.iter().map(|place| place.line).collect::<Vec<_>>()
    };
    for length in [1, 30, 130, 180] {
        let mut log = Log::default();
        log.record("a", 0, STARTED);
        let mut next = record("a", 1, log.last(), "\"event\":\"decided\",\"argv\":[\"true\"]");
        next.truncate(length);
        log.torn(&next, "a", 1).record("a", 2, ENDED);
        assert_eq!(torn_places(&log), [2], "{length}");
        // Of another session; the first one had counted it, or not.
        let mut log = Log::default();
        log.record("a", 0, STARTED)
            .torn(&next[..length.min(100)], "b", 0)
            .record("b", 1, STARTED)
            .record("a", 2, ENDED);
        assert_eq!(torn_places(&log), [2]);
    }
    // Only its end was missing, and the server did not count it.
    let mut log = Log::default();
    log.record("a", 0, STARTED);
    let whole = record("a", 1, log.last(), "\"event\":\"decided\"");
    log.torn(&whole, "a", 1).record("a", 2, ENDED);
    assert_eq!(torn_places(&log), [2]);
    // The record about a torn line may be torn itself.
    let mut log = Log::default();
    log.record("a", 0, STARTED);
    log.0.push(b"{\"se".to_vec());
    let mut recovered = record("a", 1, log.last(), "\"event\":\"recovered\",\"torn_bytes\":4");
    recovered.truncate(160);
    log.torn(&recovered, "a", 1).record("a", 2, ENDED);
    assert_eq!(torn_places(&log), [2, 3]);
    // What stands before a torn line is not to be removed either.
    log.0.remove(1);
    assert_eq!(broken(&log), (Kind::Changed, 1));
    // A line is torn only where the next one says so, and says so of that line.
    let mut log = Log::default();
    log.record("a", 0, STARTED).torn(b"{", "a", 1).record("a", 2, ENDED);
    log.0[1] = b"[".to_vec();
    assert_eq!(broken(&log), (Kind::Changed, 2));
}

#[test]
fn a_server_that_finds_its_file_shorter_says_so() {
    let mut log = Log::default();
    log.record("a", 0, STARTED).record("a", 9, "\"event\":\"recovered\",\"cut_bytes\":300,\"cut_last\":\"0\"");
    assert_eq!(broken(&log), (Kind::Cut, 2));
    let mut log = Log::default();
    log.record("a", 9, "\"event\":\"recovered\",\"emptied_last\":\"0\"").record("a", 10, ENDED);
    assert_eq!(broken(&log), (Kind::Cut, 1));
}

#[test]
fn the_last_line_may_have_no_end() {
    let log = Log::of_two();
    let text = log.0.join(&b'\n');
    let found = verified(&[&text], Anchors::default());
    assert_eq!((found.broken, found.unfinished), (None, Some(LinePlace { file: 0, line: 8 })));
    // The file that follows a rotation may still be empty.
    let found = verified(&[&text, b""], Anchors::default());
    assert_eq!((found.broken, found.lines), (None, vec![7, 0]));
    let found = verified(&[&text[..text.len() - 20]], Anchors::default());
    assert_eq!((found.broken, found.unfinished), (None, Some(LinePlace { file: 0, line: 8 })));
}

/// The log in two files, the second of which begins with line `at`.
fn rotated(at: usize) -> [Vec<u8>; 2] {
    let mut log = Log::of_two();
    let rest = log.0.split_off(at);
    let first = log.0.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect();
    let mut second = Vec::new();
    for (index, line) in rest.iter().enumerate() {
        let line = String::from_utf8(line.clone()).unwrap();
        let (before, behind) = (line.find("\"prev\"").unwrap(), line.find("\"event\"").unwrap());
        let continues = if index == 0 { "\"continues\":\"log.1\"," } else { "" };
        let line =
            format!("{}\"prev\":\"{}\",{continues}{}", &line[..before], log.last(), &line[behind..]).into_bytes();
        second.extend_from_slice(&line);
        second.push(b'\n');
        log.0.push(line);
    }
    [first, second]
}

#[test]
fn the_chain_goes_through_all_files_in_their_order() {
    let [first, second] = rotated(4);
    let verify = |files: &[&[u8]]| verified(files, Anchors::default());
    let both = verify(&[&first, &second]);
    assert_eq!((&both.broken, both.lines, both.continues), (&None, vec![4, 4], None));
    let alone = verify(&[&second]);
    assert_eq!((&alone.broken, alone.continues), (&None, Some("log.1".into())));
    let at = |found: Verification| found.broken.map(|broken| (broken.kind, broken.place));
    let place = |file, line| LinePlace { file, line };
    assert_eq!(at(verify(&[&second, &first])), Some((Kind::Removed, place(1, 1))));
    let shorter = first.split_inclusive(|byte| *byte == b'\n').take(3).collect::<Vec<_>>().concat();
    assert_eq!(at(verify(&[&shorter, &second])), Some((Kind::Removed, place(1, 1))));
    assert_eq!(at(verify(&[&first, &first])), Some((Kind::Removed, place(1, 1))));
    // The first record of the new file was torn.
    let torn = &second[..160];
    let mut log = Log(vec![torn.to_vec()]);
    let fields = format!("\"event\":\"recovered\",\"torn_bytes\":160,\"torn_sha256\":\"{}\"", log.last());
    log.record("b", 1, &fields);
    let text = log.0.join(&b'\n');
    assert_eq!(verify(&[&first, &text]).broken, None);
    assert_eq!(verify(&[&text]).broken, None);
}

#[test]
fn a_cut_end_shows_by_an_anchor() {
    let log = Log::of_two();
    let text: Vec<u8> = log.0.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect();
    let cut: Vec<u8> = log.0.iter().take(5).flat_map(|line| [line.as_slice(), b"\n"].concat()).collect();
    let judged = |text: &[u8], wanted: &[(usize, Option<u64>)]| {
        let mut anchors = Anchors::default();
        for (line, count) in wanted {
            anchors.add(Anchor { sha256: Sha256::of(&log.0[*line - 1]), count: *count });
        }
        let found = verified(&[text], anchors);
        (
            found.anchored.map(|(place, behind)| (place.line, behind)),
            found.broken.map(|broken| (broken.kind, broken.place.line)),
        )
    };
    assert_eq!(judged(&text, &[(8, None)]), (Some((8, 0)), None));
    assert_eq!(judged(&text, &[(3, Some(3)), (5, Some(5))]), (Some((5, 3)), None));
    assert_eq!(judged(&cut, &[(3, Some(3)), (5, Some(5))]), (Some((5, 0)), None));
    assert_eq!(judged(&cut, &[(3, Some(3)), (7, Some(7))]), (None, Some((Kind::Cut, 5))));
    assert_eq!(judged(&cut, &[(7, None)]), (None, Some((Kind::Cut, 5))));
    assert_eq!(judged(b"", &[(7, Some(7))]), (None, Some((Kind::Cut, 0))));
    // Written anew, and as long as before.
    let mut anew = Log::default();
    anew.record("a", 0, STARTED).record("a", 1, ENDED).record("b", 0, STARTED);
    let anew: Vec<u8> = anew.0.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect();
    assert_eq!(judged(&anew, &[(3, Some(3))]), (None, Some((Kind::Changed, 3))));
}

#[test]
fn sessions_without_an_end_are_followed_up_to_a_bound() {
    let mut verifier = Verifier::default();
    verifier.begin_file();
    verifier.sessions.extend((0..MOST_SESSIONS).map(|number| (number.to_string(), 1)));
    let line = record("new", 0, Sha256::ZERO, STARTED);
    let mut read = Line::new();
    read.read(&mut line.as_slice()).unwrap();
    assert_eq!(verifier.take(&read), Err(TooMany));
}
