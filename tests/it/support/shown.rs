//! What a snapshot shows of a played transcript: what the server said, in the order in which it was waited for.
//!
//! The fixture has the rest: of a line of the client only the method and the id are shown, and of the header, the comments and
//! the blank lines nothing. A text that many sessions hold stands whole in `tests/snapshots/texts.txt` alone, and by its name in
//! the snapshots, so a change of one sentence changes one file. A name stands only for exactly its text: another text is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use allowexec::transcript::{Entry, LineEnd, Sent, Transcript};
use serde_json::Value;

/// A sentence this long, in more snapshots than this, wants a name.
const LONG: usize = 40;
const FEW: usize = 4;

/// The texts that have a name, the longest first.
pub struct Texts(Vec<(String, String)>);

impl Texts {
    /// Reads `tests/snapshots/texts.txt`: a comment, or `[name] text` as it stands in a line of a transcript.
    pub fn read(root: &Path) -> Self {
        let text = fs::read_to_string(root.join("tests/snapshots/texts.txt")).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let mut texts: Vec<(String, String)> = lines
            .map(|line| {
                let (name, text) =
                    line.split_once("] ").unwrap_or_else(|| panic!("expected `[name] text`, found `{line}`"));
                (format!("{name}]"), text.to_owned())
            })
            .collect();
        texts.sort_by_key(|(_, text)| std::cmp::Reverse(text.len()));
        Self(texts)
    }

    fn named(&self, line: &str) -> String {
        for (name, _) in &self.0 {
            assert!(!line.contains(name), "the server says `{name}`, so that can't be the name of a text: {line}");
        }
        self.0.iter().fold(line.to_owned(), |line, (name, text)| line.replace(text, name))
    }
}

/// The lines of a played transcript as its snapshot shows them.
pub fn lines(played: &Transcript, texts: &Texts) -> Vec<String> {
    let shown = played.entries.iter().filter_map(|entry| match entry {
        Entry::Comment(_) | Entry::Blank => None,
        Entry::Send(line) => Some(sent(line)),
        said => Some(texts.named(&said.to_string())),
    });
    shown.collect()
}

/// A session in both eras: the legacy one whole, and of the modern one the lines that differ, with the numbers of those in whose
/// place they are, counted from 1.
///
/// The modern session lacks the handshake, the first three lines, and the result of a call has two members more at its end.
/// Everything else is a difference, so the two sessions can be read from what is shown.
pub fn both(legacy: &[String], modern: &[String]) -> String {
    let expected: Vec<String> = legacy.iter().skip(HANDSHAKE).map(|line| in_modern(line)).collect();
    let mut shown = legacy.join("\n") + "\n";
    let (mut left, mut right) = (0, 0);
    let common = common(&expected, modern);
    for (next_left, next_right) in common.into_iter().chain([(expected.len(), modern.len())]) {
        if (left, right) != (next_left, next_right) {
            let (first, last) = (HANDSHAKE + left + 1, HANDSHAKE + next_left);
            shown.push_str(&match last + 1 - first {
                0 => format!("\nmodern, after line {last}:\n"),
                1 => format!("\nmodern, in place of line {first}:\n"),
                _ => format!("\nmodern, in place of lines {first} to {last}:\n"),
            });
            shown.extend(modern[right..next_right].iter().map(|line| format!("{line}\n")));
        }
        (left, right) = (next_left + 1, next_right + 1);
    }
    if expected == modern { shown + "\nmodern: the same" } else { shown.trim_end().to_owned() }
}

/// How many lines open a legacy session: `initialize`, its answer, and `notifications/initialized`.
const HANDSHAKE: usize = 3;

/// What a line of a legacy session is in a modern one if nothing else differs.
fn in_modern(line: &str) -> String {
    match line.strip_suffix("}}").filter(|line| line.starts_with("<-- ") && line.contains(r#","result":{""#)) {
        Some(line) => format!(r#"{line},"resultType":"complete",[_meta]}}}}"#),
        None => line.to_owned(),
    }
}

/// The longest common subsequence, as pairs of places.
fn common(left: &[String], right: &[String]) -> Vec<(usize, usize)> {
    let mut longest = vec![vec![0; right.len() + 1]; left.len() + 1];
    for l in (0..left.len()).rev() {
        for r in (0..right.len()).rev() {
            longest[l][r] = match left[l] == right[r] {
                true => longest[l + 1][r + 1] + 1,
                false => longest[l + 1][r].max(longest[l][r + 1]),
            };
        }
    }
    let (mut l, mut r, mut pairs) = (0, 0, Vec::new());
    while l < left.len() && r < right.len() {
        if left[l] == right[r] {
            pairs.push((l, r));
            (l, r) = (l + 1, r + 1);
        } else if longest[l + 1][r] >= longest[l][r + 1] {
            l += 1;
        } else {
            r += 1;
        }
    }
    pairs
}

/// `--> method id`; a line that is no message in one piece as it is.
fn sent(line: &Sent) -> String {
    let text = line.text().filter(|_| line.end == LineEnd::Newline);
    let message: Value = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let answers = message.get("result").or(message.get("error")).is_some();
    let is_id = |id: &Value| id.is_string() || id.is_i64() || id.is_u64();
    match (message.get("method").and_then(Value::as_str), message.get("id")) {
        (Some(method), Some(id)) if is_id(id) => format!("--> {method} {id}"),
        (Some(method), None) => format!("--> {method}"),
        (None, Some(id)) if answers && is_id(id) => format!("--> response {id}"),
        (_, _) => line.to_string(),
    }
}

/// Long sentences that stand in more than a few snapshots, and names of texts that stand in none.
pub fn problems(root: &Path) -> Vec<String> {
    let Texts(texts) = Texts::read(root);
    let (mut sentences, mut all) = (BTreeMap::<String, BTreeSet<String>>::new(), String::new());
    for area in fs::read_dir(root.join("tests/snapshots")).unwrap().map(|area| area.unwrap().path()) {
        let Ok(files) = fs::read_dir(&area) else { continue };
        for file in
            files.map(|file| file.unwrap().path()).filter(|file| file.extension().is_some_and(|it| it == "snap"))
        {
            let text = fs::read_to_string(&file).unwrap();
            all.push_str(&text);
            let text = texts.iter().fold(text, |text, (name, _)| text.replace(name, ""));
            let lines = text.split(['"', '\n']).flat_map(|part| part.split("\\n"));
            let parts = lines.flat_map(|line| line.split(". ")).flat_map(|part| part.split(": "));
            for sentence in parts.filter(|part| part.chars().count() >= LONG) {
                sentences.entry(sentence.to_owned()).or_default().insert(file.display().to_string());
            }
        }
    }
    sentences.retain(|_, files| files.len() > FEW);
    let give = |(sentence, files): (&String, &BTreeSet<String>)| {
        format!("{} snapshots hold `{sentence}`; give it a name in tests/snapshots/texts.txt", files.len())
    };
    let unused = texts.iter().filter(|(name, _)| !all.contains(name.as_str()));
    sentences.iter().map(give).chain(unused.map(|(name, _)| format!("no snapshot holds {name}"))).collect()
}
