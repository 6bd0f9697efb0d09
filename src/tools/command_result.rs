//! The common part of the results of all commands: how the command ended, and what it printed.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::text::{MOST, Text, fit};
use super::yaml::{write_text, write_value};
use super::{ReportSettings, denial, describe};
use crate::exec::{Captured, End, Limit};
use crate::mcp::CallToolResult;

/// How a command ended, and what it printed.
#[derive(Debug)]
pub(super) struct CommandResult<'a> {
    pub exit_code: i32,
    limit: Option<Limit>,
    pub stdout: Text<'a>,
    pub stderr: Text<'a>,
    signal: Option<String>,
    timed_out: bool,
    hint: Option<String>,
    kept_as: Option<u64>,
}

/// The parts that only one kind of result has.
pub(super) trait Own {
    /// The key of the number by which the whole output can be read.
    const NUMBER: &'static str;

    /// Returns advice for the next call, if the command exited by itself with this code.
    fn hint(&self, exit_code: i32) -> Option<String>;

    /// The exit codes that count as success if non-zero codes are errors; empty means only `0`.
    fn success(&self) -> &[i32];

    /// Whether this exit code is one of them.
    fn is_success(&self, exit_code: i32) -> bool {
        if self.success().is_empty() { exit_code == 0 } else { self.success().contains(&exit_code) }
    }

    /// Whether something has failed, so that a sandbox may have refused it.
    fn has_failed(&self, exit_code: i32) -> bool {
        !self.is_success(exit_code)
    }

    /// Writes the fields that follow the short ones in the text.
    fn write(&self, result: &CommandResult<'_>, yaml: &mut String);

    /// Adds the fields that only this kind of result has to the structured content.
    fn insert(&self, result: &CommandResult<'_>, content: &mut Map<String, Value>);
}

/// Makes the result. Output that is too long for a message is cut further, and the result says so.
pub(super) fn result(
    end: End,
    limit: Option<Limit>,
    streams: [Captured; 2],
    settings: &ReportSettings,
    own: &impl Own,
) -> CallToolResult {
    result_within(MOST, end, limit, streams, settings, own)
}

fn result_within(
    most: usize,
    end: End,
    limit: Option<Limit>,
    [stdout, stderr]: [Captured; 2],
    settings: &ReportSettings,
    own: &impl Own,
) -> CallToolResult {
    fit(most, stdout, stderr, |stdout, stderr| {
        CommandResult::new(end, limit, [stdout, stderr], settings, own).to_result(settings, own)
    })
}

/// The hint of a result for a command that ended in this way.
pub(super) fn hint(end: End, streams: [&Captured; 2], settings: &ReportSettings, own: &impl Own) -> Option<String> {
    if matches!(end, End::Exited(code) if !own.has_failed(code)) {
        return None;
    }
    let [stdout, stderr] = streams.map(Text::new);
    hint_for(end, [&stdout, &stderr], settings, own)
}

fn hint_for(end: End, [stdout, stderr]: [&Text<'_>; 2], settings: &ReportSettings, own: &impl Own) -> Option<String> {
    let denial = |code| {
        let mut confined = settings.confined.iter().filter(|_| own.has_failed(code));
        // A file whose path is known needs no reading of messages.
        let of_file = confined.clone().find_map(|confined| denial::hint_of_files(confined, settings));
        of_file.or_else(|| confined.find_map(|confined| denial::hint([&stderr.text, &stdout.text], confined, settings)))
    };
    match end {
        // It may have tried again and again.
        End::TimedOut(timeout) => Some(match denial(exit_code_of(end).0) {
            Some(denial) => format!("{}; {denial}", timeout_hint(timeout)),
            None => timeout_hint(timeout),
        }),
        End::Exited(code) => denial(code).or_else(|| own.hint(code)),
        End::Signaled(_) | End::Stopped => None,
    }
}

impl<'a> CommandResult<'a> {
    fn new(
        end: End,
        limit: Option<Limit>,
        streams: [&'a Captured; 2],
        settings: &ReportSettings,
        own: &impl Own,
    ) -> Self {
        let (exit_code, signal) = exit_code_of(end);
        let [stdout, stderr] = streams.map(Text::new);
        let hint = hint_for(end, [&stdout, &stderr], settings, own);
        Self {
            exit_code,
            limit,
            stdout,
            stderr,
            signal,
            timed_out: matches!(end, End::TimedOut(_)),
            hint,
            kept_as: settings.kept_as,
        }
    }

    fn to_result(&self, settings: &ReportSettings, own: &impl Own) -> CallToolResult {
        let failed = self.timed_out || self.signal.is_some();
        let is_error = failed || (settings.exit_error && !own.is_success(self.exit_code));
        CallToolResult {
            text: self.yaml(own),
            structured_content: (settings.structured && !is_error).then(|| self.structured(own)),
            is_error,
        }
    }

    fn streams(&self) -> [(&'static str, &Text<'a>); 2] {
        [("stdout", &self.stdout), ("stderr", &self.stderr)]
    }

    /// The number by which the whole output can be read, if that is more than the result has.
    fn output(&self) -> Option<u64> {
        self.kept_as.filter(|_| self.streams().iter().any(|(_, text)| text.left_out > 0 || text.cleaned))
    }

    /// Short fields come before the output, so that a client that cuts long answers loses only output.
    fn yaml<O: Own>(&self, own: &O) -> String {
        let mut yaml = String::with_capacity(self.stdout.text.len() + self.stderr.text.len() + 256);
        write_value(&mut yaml, "exit_code", &self.exit_code.to_string());
        if let Some(call) = self.output() {
            write_value(&mut yaml, O::NUMBER, &call.to_string());
        }
        if let Some(limit) = self.limit {
            write_value(&mut yaml, "limit", limit.name());
        }
        if let Some(signal) = &self.signal {
            write_value(&mut yaml, "signal", signal);
        }
        if self.timed_out {
            write_value(&mut yaml, "timed_out", "true");
        }
        for (name, mark) in marks(&self.streams()) {
            write_value(&mut yaml, name, &mark.yaml());
        }
        if let Some(hint) = &self.hint {
            write_text(&mut yaml, "hint", hint);
        }
        own.write(self, &mut yaml);
        yaml
    }

    /// A command that a signal or its deadline ended is an error, which has no structured content.
    fn structured<O: Own>(&self, own: &O) -> Value {
        let mut content = Map::new();
        content.insert("exit_code".into(), json!(self.exit_code));
        content.extend(self.output().map(|call| (O::NUMBER.to_owned(), json!(call))));
        if let Some(limit) = self.limit {
            content.insert("limit".into(), json!(limit.name()));
        }
        own.insert(self, &mut content);
        content.insert("stdout".into(), json!(self.stdout.text));
        content.insert("stderr".into(), json!(self.stderr.text));
        content.extend(marks(&self.streams()).into_iter().map(|(name, mark)| (name.to_owned(), mark.json())));
        if let Some(hint) = &self.hint {
            content.insert("hint".into(), json!(hint));
        }
        Value::Object(content)
    }
}

/// How the text of some streams differs from what the command wrote.
enum Mark {
    /// How many bytes were left out of each.
    Counts(Vec<(&'static str, u64)>),
    /// Their names.
    Names(Vec<&'static str>),
}

/// Returns the marks of a result's streams, by key.
fn marks(streams: &[(&'static str, &Text<'_>)]) -> Vec<(&'static str, Mark)> {
    let names = |is: fn(&Text<'_>) -> bool| {
        let names = streams.iter().filter(|(_, text)| is(text)).map(|(name, _)| *name);
        Mark::Names(names.collect())
    };
    let counts = streams.iter().filter(|(_, text)| text.left_out > 0).map(|(name, text)| (*name, text.left_out));
    let mut marks = vec![
        ("truncated", Mark::Counts(counts.collect())),
        ("lossy", names(|text| text.lossy)),
        ("cleaned", names(|text| text.cleaned)),
        ("crlf", names(|text| text.crlf)),
    ];
    marks.retain(|(_, mark)| match mark {
        Mark::Counts(counts) => !counts.is_empty(),
        Mark::Names(names) => !names.is_empty(),
    });
    marks
}

impl Mark {
    fn yaml(&self) -> String {
        match self {
            Self::Counts(counts) => {
                let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{name}: {count}")).collect();
                format!("{{{}}}", counts.join(", "))
            }
            Self::Names(names) => format!("[{}]", names.join(", ")),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Counts(counts) => counts.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect(),
            Self::Names(names) => json!(names),
        }
    }
}

/// The kind of a running call, which determines the form of its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsIn {
    /// A process of its own.
    Process,
    /// The persistent shell, whose results call its text `output`.
    Shell,
}

/// The result of a running call: its output so far.
pub fn running_result(
    call: u64,
    [stdout, stderr]: [Captured; 2],
    settings: &ReportSettings,
    runs_in: RunsIn,
) -> CallToolResult {
    fit(MOST, stdout, stderr, |stdout, stderr| {
        let [stdout, stderr] = [stdout, stderr].map(Text::new);
        let streams = [("stdout", &stdout), ("stderr", &stderr)];
        let mut yaml = String::new();
        let mut content = Map::new();
        write_value(&mut yaml, "running", "true");
        write_value(&mut yaml, "call", &call.to_string());
        content.insert("running".into(), json!(true));
        content.insert("call".into(), json!(call));
        let is_more = streams.iter().any(|(_, text)| text.left_out > 0 || text.cleaned);
        if is_more && runs_in == RunsIn::Process {
            write_value(&mut yaml, "output", &call.to_string());
            content.insert("output".into(), json!(call));
        }
        for (name, mark) in marks(&streams) {
            write_value(&mut yaml, name, &mark.yaml());
            content.insert(name.into(), mark.json());
        }
        if runs_in == RunsIn::Shell {
            let both = both(&stdout.text, &stderr.text);
            write_text(&mut yaml, "output", &both);
            content.insert("output".into(), json!(both));
        }
        for (name, text) in streams {
            if runs_in == RunsIn::Process {
                write_text(&mut yaml, name, &text.text);
            }
            content.insert(name.into(), json!(text.text));
        }
        let structured_content = settings.structured.then_some(Value::Object(content));
        CallToolResult { text: yaml, structured_content, is_error: false }
    })
}

/// The standard output, followed by the standard error, if there is any, on a new line.
pub(super) fn both<'a>(stdout: &'a str, stderr: &'a str) -> Cow<'a, str> {
    match (stdout, stderr) {
        (one, "") | ("", one) => Cow::Borrowed(one),
        (_, _) if stdout.ends_with('\n') => Cow::Owned([stdout, stderr].concat()),
        (_, _) => Cow::Owned([stdout, "\n", stderr].concat()),
    }
}

/// The exit code that stands for an end, and the signal if there was one.
pub(super) fn exit_code_of(end: End) -> (i32, Option<String>) {
    match end {
        End::Exited(code) => (code, None),
        End::Signaled(number) => (128 + number, Some(signal_name(number))),
        End::TimedOut(_) => (124, None),
        End::Stopped => (128 + 15, Some(signal_name(15))),
    }
}

/// The hint for a model whose command was ended at its deadline.
fn timeout_hint(timeout: Duration) -> String {
    format!(
        "ended after {}; pass a larger `timeout_ms` if the command needs longer, and make sure that it waits for nobody",
        describe::duration(timeout)
    )
}

/// The name of a signal according to signal(7); `SIG` and the number if it has none.
pub(crate) fn signal_name(number: i32) -> String {
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

    /// A result with nothing of its own.
    struct Nothing;

    impl Own for Nothing {
        const NUMBER: &'static str = "output";

        fn hint(&self, _exit_code: i32) -> Option<String> {
            None
        }

        fn success(&self) -> &[i32] {
            &[]
        }

        fn write(&self, result: &CommandResult<'_>, yaml: &mut String) {
            write_text(yaml, "stdout", &result.stdout.text);
            write_text(yaml, "stderr", &result.stderr.text);
        }

        fn insert(&self, _outcome: &CommandResult<'_>, _content: &mut Map<String, Value>) {}
    }

    #[test]
    fn no_result_is_larger_than_a_message_may_be() {
        let most = 64 * 1024;
        for (unit, structured) in
            [("x", false), ("\n", true), ("\u{1}", true), ("a\n", true), ("\u{1}\u{feff}漢", false)]
        {
            let head = unit.repeat(most / unit.len()).into_bytes();
            let whole = Captured { head, ..Captured::default() };
            let settings = ReportSettings { structured, ..ReportSettings::default() };
            let result = result_within(most, End::Exited(0), None, [whole.clone(), whole], &settings, &Nothing);
            let encoded = result.encode(crate::mcp::Revision::V2026_07_28);
            let envelope = 512;
            assert!(encoded.len() < most + envelope, "{} bytes for {unit:?}", encoded.len());
            assert!(encoded.len() > most / 4, "{} bytes for {unit:?}", encoded.len());
            assert!(result.text.contains("\ntruncated: {"), "{}", result.text);
        }
    }
}
