//! What a command came to, as a client gets it: YAML text, and structured content where the operator asks for it.

use serde_json::{Map, Value, json};

use super::describe;
use super::yaml::{write_text, write_value};
use crate::exec::{Captured, End, Output};
use crate::mcp::CallToolResult;

/// The longest result, encoded: clients close the connection over messages of 10 MiB, envelope included.
pub(super) const MOST: usize = 10 * 1024 * 1024 - 64 * 1024;

/// What shapes a result beside the output itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReportSettings {
    /// Whether results carry structured content beside the text.
    pub structured: bool,
    /// Whether a non-zero exit is an error.
    pub exit_error: bool,
}

/// One result, field by field in the order of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    exit_code: i32,
    stdout: Text,
    stderr: Text,
    signal: Option<String>,
    timed_out: bool,
    hint: Option<String>,
}

/// A stream as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub text: String,
    pub left_out: u64,
    pub lossy: bool,
}

impl Report {
    /// Makes the result of an output; `literal_pattern` is what a shell would have expanded in the command line.
    ///
    /// Output that no message could carry is cut further, and the result says so.
    pub fn result(output: Output, literal_pattern: Option<&'static str>, settings: ReportSettings) -> CallToolResult {
        Self::result_within(MOST, output, literal_pattern, settings)
    }

    fn result_within(
        most: usize,
        output: Output,
        literal_pattern: Option<&'static str>,
        settings: ReportSettings,
    ) -> CallToolResult {
        let Output { end, stdout, stderr, .. } = output;
        fit(most, stdout, stderr, |stdout, stderr| Self::new(end, stdout, stderr, literal_pattern).to_result(settings))
    }

    fn new(end: End, stdout: &Captured, stderr: &Captured, literal_pattern: Option<&'static str>) -> Self {
        let (exit_code, signal) = match end {
            End::Exited(code) => (code, None),
            End::Signaled(number) => (128 + number, Some(signal_name(number))),
            End::TimedOut(_) => (124, None),
            End::Stopped => (128 + 15, Some(signal_name(15))),
        };
        let (stdout, stderr) = (Text::new(stdout), Text::new(stderr));
        let hint = match (end, literal_pattern) {
            (End::TimedOut(timeout), _) => Some(timeout_hint(timeout)),
            (End::Exited(code), Some(pattern)) if code != 0 => {
                Some(format!("no shell runs here, so the unquoted `{pattern}` was passed on literally"))
            }
            _ => None,
        };
        Self { exit_code, stdout, stderr, signal, timed_out: matches!(end, End::TimedOut(_)), hint }
    }

    fn to_result(&self, settings: ReportSettings) -> CallToolResult {
        let failed = self.timed_out || self.signal.is_some();
        let is_error = failed || (settings.exit_error && self.exit_code != 0);
        CallToolResult {
            text: self.yaml(),
            structured_content: (settings.structured && !is_error).then(|| self.structured()),
            is_error,
        }
    }

    fn streams(&self) -> [(&'static str, &Text); 2] {
        [("stdout", &self.stdout), ("stderr", &self.stderr)]
    }

    fn lossy(&self) -> Vec<&'static str> {
        self.streams().into_iter().filter(|(_, text)| text.lossy).map(|(name, _)| name).collect()
    }

    fn truncated(&self) -> Vec<(&'static str, u64)> {
        self.streams()
            .into_iter()
            .filter(|(_, text)| text.left_out > 0)
            .map(|(name, text)| (name, text.left_out))
            .collect()
    }

    fn yaml(&self) -> String {
        let mut yaml = String::with_capacity(self.stdout.text.len() + self.stderr.text.len() + 128);
        write_value(&mut yaml, "exit_code", &self.exit_code.to_string());
        write_text(&mut yaml, "stdout", &self.stdout.text);
        write_text(&mut yaml, "stderr", &self.stderr.text);
        if let Some(signal) = &self.signal {
            write_value(&mut yaml, "signal", signal);
        }
        if self.timed_out {
            write_value(&mut yaml, "timed_out", "true");
        }
        let truncated = self.truncated();
        if !truncated.is_empty() {
            let counts: Vec<String> = truncated.iter().map(|(name, count)| format!("{name}: {count}")).collect();
            write_value(&mut yaml, "truncated", &format!("{{{}}}", counts.join(", ")));
        }
        let lossy = self.lossy();
        if !lossy.is_empty() {
            write_value(&mut yaml, "lossy", &format!("[{}]", lossy.join(", ")));
        }
        if let Some(hint) = &self.hint {
            write_text(&mut yaml, "hint", hint);
        }
        yaml
    }

    fn structured(&self) -> Value {
        let mut content = Map::new();
        content.insert("exit_code".into(), json!(self.exit_code));
        content.insert("stdout".into(), json!(self.stdout.text));
        content.insert("stderr".into(), json!(self.stderr.text));
        if let Some(signal) = &self.signal {
            content.insert("signal".into(), json!(signal));
        }
        if self.timed_out {
            content.insert("timed_out".into(), json!(true));
        }
        let truncated: Map<String, Value> =
            self.truncated().into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect();
        if !truncated.is_empty() {
            content.insert("truncated".into(), Value::Object(truncated));
        }
        let lossy = self.lossy();
        if !lossy.is_empty() {
            content.insert("lossy".into(), json!(lossy));
        }
        if let Some(hint) = &self.hint {
            content.insert("hint".into(), json!(hint));
        }
        Value::Object(content)
    }
}

/// What helps a model whose command was ended at its deadline.
pub(super) fn timeout_hint(timeout: std::time::Duration) -> String {
    format!(
        "ended after {}; pass a larger `timeout_ms` if the command needs longer, and make sure that it waits for nobody",
        describe::duration(timeout)
    )
}

/// Makes a result of what was kept, and cuts that further until the result is no longer than `most` bytes, encoded.
pub(super) fn fit(
    most: usize,
    mut stdout: Captured,
    mut stderr: Captured,
    make: impl Fn(&Captured, &Captured) -> CallToolResult,
) -> CallToolResult {
    loop {
        let result = make(&stdout, &stderr);
        let size = encoded_size(&result.text) + result.structured_content.as_ref().map_or(0, value_size);
        let kept = stdout.len() + stderr.len();
        if size <= most || kept == 0 {
            return result;
        }
        // What fits if all of it grows alike by its encoding, with a sixteenth to spare; each round cuts more.
        let goal = u128::try_from(kept).unwrap_or(u128::MAX) * most as u128 / size as u128 * 15 / 16;
        let goal = usize::try_from(goal).unwrap_or(kept);
        let (large, small) = match stdout.len() >= stderr.len() {
            true => (&mut stdout, stderr.len()),
            false => (&mut stderr, stdout.len()),
        };
        large.shrink(goal.saturating_sub(small).max(large.len() / 4).min(large.len() * 15 / 16));
    }
}

impl Text {
    /// Bytes that are no UTF-8 become U+FFFD. A character that the cut went through is left out whole.
    pub fn new(captured: &Captured) -> Self {
        if captured.left_out == 0 {
            let (text, lossy) = decode(&captured.head);
            return Self { text, left_out: 0, lossy };
        }
        let head_end = captured.head.len() - unfinished(&captured.head);
        let tail_start = captured.tail.iter().take(3).take_while(|&&byte| byte & 0xc0 == 0x80).count();
        let (head, cut_from_head) = captured.head.split_at(head_end);
        let (cut_from_tail, tail) = captured.tail.split_at(tail_start);
        let left_out = captured.left_out + (cut_from_head.len() + cut_from_tail.len()) as u64;
        let (head, head_lossy) = decode(head);
        let (tail, tail_lossy) = decode(tail);
        Self {
            text: format!("{head}\n[... {left_out} bytes left out ...]\n{tail}"),
            left_out,
            lossy: head_lossy || tail_lossy,
        }
    }
}

fn decode(bytes: &[u8]) -> (String, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), false),
        Err(_) => (String::from_utf8_lossy(bytes).into_owned(), true),
    }
}

/// How many bytes at the end are the beginning of a character that the end cuts off.
fn unfinished(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes.get(bytes.len().saturating_sub(4)..).unwrap_or_default()) {
        // No error length means that the input ended too early; the window may itself begin within a character.
        Err(error) if error.error_len().is_none() => bytes.len().min(4) - error.valid_up_to(),
        Err(_) => (1..=3.min(bytes.len()))
            .find(|&back| {
                let end = bytes.get(bytes.len() - back..).unwrap_or_default();
                std::str::from_utf8(end).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
            })
            .unwrap_or(0),
        Ok(_) => 0,
    }
}

/// The length of a string in JSON, with serde_json's escapes.
fn encoded_size(text: &str) -> usize {
    text.bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
            0..0x20 => 6,
            _ => 1,
        })
        .sum()
}

fn value_size(value: &Value) -> usize {
    match value {
        Value::String(text) => encoded_size(text),
        Value::Object(members) => members.values().map(value_size).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => 64,
    }
}

/// The name of a signal by signal(7); a number without a name is `SIG` and itself.
pub(super) fn signal_name(number: i32) -> String {
    const NAMES: [(i32, &str); 14] = [
        (1, "HUP"),
        (2, "INT"),
        (3, "QUIT"),
        (4, "ILL"),
        (5, "TRAP"),
        (6, "ABRT"),
        (8, "FPE"),
        (9, "KILL"),
        (11, "SEGV"),
        (13, "PIPE"),
        (14, "ALRM"),
        (15, "TERM"),
        (24, "XCPU"),
        (25, "XFSZ"),
    ];
    // These have other numbers on other systems.
    const LINUX: [(i32, &str); 5] = [(7, "BUS"), (10, "USR1"), (12, "USR2"), (19, "STOP"), (31, "SYS")];
    const APPLE: [(i32, &str); 5] = [(10, "BUS"), (30, "USR1"), (31, "USR2"), (17, "STOP"), (12, "SYS")];
    let own = if cfg!(target_vendor = "apple") { APPLE } else { LINUX };
    let name = NAMES.into_iter().chain(own).find(|(known, _)| *known == number);
    name.map_or_else(|| format!("SIG{number}"), |(_, name)| format!("SIG{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn captured(text: &[u8]) -> Captured {
        Captured { head: text.to_vec(), ..Captured::default() }
    }

    fn output(end: End, stdout: Captured, stderr: Captured) -> Output {
        Output { end, stdout, stderr, elapsed: Duration::ZERO }
    }

    fn check(output: Output, pattern: Option<&'static str>, is_error: bool, expected: &str) {
        let result = Report::result(output, pattern, ReportSettings::default());
        assert_eq!((result.text.as_str(), result.is_error), (expected, is_error));
    }

    #[test]
    fn the_text_has_its_keys_in_order_and_only_those_that_apply() {
        let hello = || captured(b"hello\n");
        let nothing = Captured::default;
        check(
            output(End::Exited(0), hello(), nothing()),
            Some("*"),
            false,
            "exit_code: 0\nstdout: |\n  hello\nstderr: ''\n",
        );
        check(
            output(End::Exited(1), nothing(), hello()),
            None,
            false,
            "exit_code: 1\nstdout: ''\nstderr: |\n  hello\n",
        );
        check(
            output(End::Exited(2), nothing(), nothing()),
            Some("*"),
            false,
            "exit_code: 2\nstdout: ''\nstderr: ''\nhint: no shell runs here, so the unquoted `*` was passed on literally\n",
        );
        check(
            output(End::Signaled(9), captured(b"\xff"), nothing()),
            None,
            true,
            "exit_code: 137\nstdout: \u{fffd}\nstderr: ''\nsignal: SIGKILL\nlossy: [stdout]\n",
        );
        check(
            output(End::TimedOut(Duration::from_millis(1500)), hello(), nothing()),
            None,
            true,
            "exit_code: 124\nstdout: |\n  hello\nstderr: ''\ntimed_out: true\nhint: ended after 1500 ms; pass a larger \
             `timeout_ms` if the command needs longer, and make sure that it waits for nobody\n",
        );
    }

    #[test]
    fn a_cut_leaves_whole_characters_and_counts_what_is_missing() {
        let cut = Captured { head: "aé".as_bytes()[..2].to_vec(), tail: "éz".as_bytes()[1..].to_vec(), left_out: 5 };
        check(
            output(End::Exited(0), cut, Captured::default()),
            None,
            false,
            "exit_code: 0\nstdout: |-\n  a\n  [... 7 bytes left out ...]\n  z\nstderr: ''\ntruncated: {stdout: 7}\n",
        );
        for (bytes, expected) in
            [("aé😀".as_bytes(), 0), (b"\xff", 0), (b"", 0), (&"😀".as_bytes()[..3], 3), (&"x漢".as_bytes()[..3], 2)]
        {
            assert_eq!(unfinished(bytes), expected, "{bytes:?}");
        }
        assert_eq!(unfinished(&"漢漢".as_bytes()[..5]), 2);
    }

    #[test]
    fn no_result_is_larger_than_a_message_may_be() {
        let most = 64 * 1024;
        for (unit, structured) in
            [("x", false), ("\n", true), ("\u{1}", true), ("a\n", true), ("\u{1}\u{feff}漢", false)]
        {
            let whole = captured(unit.repeat(most / unit.len()).as_bytes());
            let settings = ReportSettings { structured, exit_error: false };
            let output = output(End::Exited(0), whole.clone(), whole);
            let result = Report::result_within(most, output, None, settings);
            let encoded = serde_json::to_vec(&result.for_revision(crate::mcp::Revision::V2026_07_28)).unwrap();
            let envelope = 512;
            assert!(encoded.len() < most + envelope, "{} bytes for {unit:?}", encoded.len());
            assert!(encoded.len() > most / 4, "{} bytes for {unit:?}", encoded.len());
            assert!(result.text.contains("\ntruncated: {"), "{}", result.text);
        }
    }

    #[test]
    fn structured_content_says_what_the_text_says_and_is_left_out_of_errors() {
        let settings = ReportSettings { structured: true, exit_error: true };
        let result =
            |code| Report::result(output(End::Exited(code), captured(b"a\xff"), Captured::default()), None, settings);
        let expected = json!({"exit_code": 0, "stdout": "a\u{fffd}", "stderr": "", "lossy": ["stdout"]});
        assert_eq!(result(0).structured_content, Some(expected));
        assert_eq!((result(1).structured_content, result(1).is_error), (None, true));
    }
}
