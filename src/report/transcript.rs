//! The entries of a report that are made from a transcript: its calls, with what their answers say.

use serde_json::Value;

use super::data::{Fact, Kind, Report, Row, shown, shown_block};
use crate::audit::log::words;
use crate::transcript::{Entry, LineEnd, Transcript};

impl Report {
    /// Adds the calls of a recorded session.
    pub(crate) fn add_transcript(&mut self, file: &str, transcript: &Transcript) {
        let session = self.session(file);
        if let Some(session) = self.sessions.get_mut(session) {
            session.title = "a transcript".to_owned();
            session.facts = facts(transcript);
        }
        let (mut time, mut calls, mut line) = (None, 0, Vec::new());
        for entry in &transcript.entries {
            match entry {
                Entry::Comment(text) => time = time_in(text).or(time),
                Entry::Send(sent) => {
                    line.extend_from_slice(&sent.bytes);
                    if sent.end == LineEnd::Newline {
                        if let Ok(message) = serde_json::from_slice::<Value>(&line) {
                            self.each(&message, |report, message| {
                                report.sent(session, message, time, &mut calls);
                            });
                        }
                        line.clear();
                    }
                }
                Entry::Receive(message) => {
                    self.each(message.value(), |report, message| report.received(session, message, time));
                }
                Entry::Noise(_)
                | Entry::NoLineEnd
                | Entry::CloseInput
                | Entry::Exit(_)
                | Entry::Blank
                | Entry::Failure(_) => {}
            }
        }
        // How long a call without an answer took is unknown.
        let (open, rows) = (&mut self.open, &mut self.rows);
        open.retain(|(of, _), index| {
            if *of == session {
                rows.get_mut(*index).into_iter().for_each(|row| row.ms = None);
            }
            *of != session
        });
    }

    /// Calls `take` with each message of a line, which may be a batch.
    fn each(&mut self, line: &Value, mut take: impl FnMut(&mut Self, &Value)) {
        match line {
            Value::Array(messages) => messages.iter().for_each(|message| take(self, message)),
            message => take(self, message),
        }
    }

    fn sent(&mut self, session: usize, message: &Value, time: Option<f64>, calls: &mut u64) {
        let text = |key: &str| message.get(key).and_then(Value::as_str);
        let Some(id) = message.get("id") else { return };
        if text("method") == Some("initialize") {
            let client = message.pointer("/params/clientInfo/name").and_then(Value::as_str);
            if let (Some(client), Some(session)) = (client, self.sessions.get_mut(session)) {
                session.title = format!("{} · a transcript", shown(client));
            }
        }
        if text("method") != Some("tools/call") {
            return;
        }
        *calls += 1;
        let tool = message.pointer("/params/name").and_then(Value::as_str).map(shown);
        let arguments = message.pointer("/params/arguments").unwrap_or(&Value::Null);
        let mut row = Row {
            session,
            outcome: "no answer".to_owned(),
            time: time.map(|seconds| format!("{seconds:.3} s")),
            call: Some(*calls),
            command: command(tool.as_deref(), arguments),
            ..Row::default()
        };
        row.fact("Call", Some(calls.to_string()));
        row.fact("Request", Some(shown(&id.to_string())));
        row.fact("Tool", tool);
        row.fact("Directory", arguments.get("cwd").and_then(Value::as_str).map(shown));
        row.ms = time.map(milliseconds);
        let name = id.to_string();
        if let Some(index) = self.add(row) {
            self.open.insert((session, name), index);
        }
    }

    fn received(&mut self, session: usize, message: &Value, time: Option<f64>) {
        if message.get("method").and_then(Value::as_str) == Some("elicitation/create") {
            let mut row = Row { session, asked: true, outcome: "question".to_owned(), ..Row::default() };
            row.time = time.map(|seconds| format!("{seconds:.3} s"));
            let text = message.pointer("/params/message").and_then(Value::as_str).unwrap_or_default();
            row.command = shown(text.lines().next().unwrap_or_default());
            row.fact("Question", Some(shown_block(text)));
            self.add(row);
            return;
        }
        let Some(id) = message.get("id").filter(|_| message.get("method").is_none()) else { return };
        self.end_open_call(session, &id.to_string(), |row| {
            // Until now, it was the time when the call came.
            row.ms = row.ms.zip(time).map(|(began, now)| milliseconds(now).saturating_sub(began));
            answered(row, message);
        });
    }
}

fn facts(transcript: &Transcript) -> Vec<Fact> {
    let header = &transcript.header;
    let joined = |words: &[String]| (!words.is_empty()).then(|| words_of(words));
    let facts = [
        ("Server", joined(header.server())),
        ("Arguments", joined(header.args())),
        ("Version", header.version().map(shown)),
        ("Scenario", header.scenario().map(shown)),
        ("Directory", header.directory().map(shown)),
    ];
    facts.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
}

fn words_of(list: &[String]) -> String {
    words(&Value::Array(list.iter().cloned().map(Value::String).collect()))
}

/// The seconds in a comment that `record --timing` writes.
fn time_in(comment: &str) -> Option<f64> {
    comment.strip_prefix(" at ")?.strip_suffix(" s")?.parse().ok().filter(|time: &f64| time.is_finite() && *time >= 0.0)
}

fn milliseconds(seconds: f64) -> u64 {
    u64::try_from(std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default().as_millis()).unwrap_or_default()
}

fn command(tool: Option<&str>, arguments: &Value) -> String {
    if let Some(command) = arguments.get("command").and_then(Value::as_str) {
        return shown(command);
    }
    if let Some(file) = arguments.get("file").and_then(Value::as_str) {
        let mut argv = vec![Value::String(file.to_owned())];
        argv.extend(arguments.get("args").and_then(Value::as_array).into_iter().flatten().cloned());
        return words(&Value::Array(argv));
    }
    let arguments = if arguments.is_null() { String::new() } else { shown(&arguments.to_string()) };
    format!("{} {arguments}", tool.unwrap_or("?"))
}

fn answered(row: &mut Row, message: &Value) {
    if let Some(error) = message.get("error") {
        let said = error.get("message").and_then(Value::as_str).map(shown);
        (row.kind, row.outcome, row.why) = (Kind::Refused, "bad request".to_owned(), said.clone());
        row.fact("Error", said);
        row.fact("Code", error.get("code").map(|code| shown(&code.to_string())));
        return;
    }
    let Some(result) = message.get("result") else { return };
    let is_complete = result.get("resultType").is_none_or(|kind| kind == "complete");
    if !is_complete {
        (row.asked, row.outcome) = (true, "asked".to_owned());
        return;
    }
    let texts = result.get("content").and_then(Value::as_array).into_iter().flatten();
    let text = texts.filter_map(|content| content.get("text").and_then(Value::as_str)).collect::<Vec<_>>().join("\n");
    // Both the number of a call's kept output and the output of the persistent shell are called `output`; the latter is never
    // a plain number.
    let is_text = |line: &str| {
        let output = line.strip_prefix("output: ");
        line.starts_with("stdout:")
            || line.starts_with("output:") && output.is_none_or(|text| text.parse::<u64>().is_err())
    };
    // A field before the output; each is a line.
    let field = |name: &str| {
        let lines = text.lines().take_while(|line| !is_text(line));
        lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).next().map(str::to_owned)
    };
    let is_error = result.get("isError") == Some(&Value::Bool(true));
    row.exit = field("exit_code").and_then(|code| code.parse().ok());
    row.stdout = Some(text.len() as u64);
    let end = [
        field("timed_out").map(|_| "timed out".to_owned()),
        field("limit").map(|limit| format!("limit: {}", shown(&limit))),
        field("signal").map(|signal| format!("signal {}", shown(&signal))),
        row.exit.filter(|exit| *exit != 0).map(|_| "failed".to_owned()),
    ];
    let end = end.into_iter().flatten().next();
    (row.kind, row.outcome) = match (row.exit, end) {
        (_, Some(end)) => (Kind::Failed, end),
        (None, None) if is_error => (Kind::Refused, "refused".to_owned()),
        (_, None) if is_error => (Kind::Failed, "failed".to_owned()),
        // Answered before its end: in the background, or handed over.
        (None, None) if text.starts_with("running: true\n") => (Kind::Allowed, "running".to_owned()),
        (_, None) => (Kind::Allowed, "allowed".to_owned()),
    };
    if row.kind == Kind::Refused {
        row.why = text.lines().next().map(shown);
        row.stdout = None;
    }
    row.fact("Answer", Some(shown_block(&text)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_that_was_answered_before_its_end_is_not_said_to_be_done() {
        let outcome = |text: &str| {
            let mut row = Row::default();
            answered(&mut row, &json!({"result": {"content": [{"type": "text", "text": text}], "isError": false}}));
            row.outcome
        };
        assert_eq!(outcome("running: true\ncall: 1\nstdout: ''\nstderr: ''\n"), "running");
        assert_eq!(outcome("call: 1\nrunning: true\nnext_line: 1\n"), "allowed", "it reads another call's output");
        assert_eq!(outcome("exit_code: 0\nstdout: |\n  running: true\nstderr: ''\n"), "allowed");
    }

    #[test]
    fn fields_after_the_number_of_an_output_are_read_and_nothing_of_the_output_itself() {
        let outcome = |text: &str| {
            let mut row = Row::default();
            answered(&mut row, &json!({"result": {"content": [{"type": "text", "text": text}], "isError": true}}));
            (row.outcome, row.exit)
        };
        let timed_out = ("timed out".to_owned(), Some(124));
        let text = "timed_out: true\ntruncated: {stdout: 9}\nstdout: x\nstderr: ''\n";
        assert_eq!(outcome(&format!("exit_code: 124\noutput: 17\n{text}")), timed_out);
        let text = "timed_out: true\ntruncated: {stdout: 9}\noutput: x\ncwd: /\n";
        assert_eq!(outcome(&format!("exit_code: 124\ncall: 17\n{text}")), timed_out);
        for output in ["|\n  x\ntimed_out: true", "'17'\ntimed_out: true", "x\ntimed_out: true"] {
            assert_eq!(
                outcome(&format!("exit_code: 1\noutput: {output}\n")),
                ("failed".to_owned(), Some(1)),
                "{output}"
            );
        }
    }
}
