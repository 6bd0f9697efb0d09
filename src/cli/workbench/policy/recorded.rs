//! The calls in recorded sessions: what a client asked for, and whether it was refused.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::super::replay::LARGEST;
use crate::files::read_regular;
use crate::policy::rules::{ExampleLine, words_of};
use crate::transcript::{Entry, Transcript};

/// One call of a recorded session that names a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recorded {
    /// The session and the number of the call in it, for people.
    pub at: String,
    /// The words.
    pub words: Vec<String>,
    /// The directory that it named.
    pub cwd: Option<String>,
    /// Whether the answer was an error before anything ran, or there was no answer.
    pub was_refused: bool,
}

/// The calls of a transcript.
///
/// # Errors
/// Why the transcript can't be read.
pub(super) fn read(file: &str, directory: &Path) -> Result<Vec<Recorded>, String> {
    let bytes = read_regular(&directory.join(file), LARGEST).map_err(|error| format!("{file}: {error}"))?;
    let transcript = Transcript::parse(file, bytes).map_err(|error| error.to_string())?;
    Ok(calls(file, &transcript))
}

fn calls(file: &str, transcript: &Transcript) -> Vec<Recorded> {
    let mut calls: Vec<Recorded> = Vec::new();
    let mut open: HashMap<String, usize> = HashMap::new();
    for entry in &transcript.entries {
        match entry {
            Entry::Send(sent) => {
                let Some(message) = sent.text().and_then(|text| serde_json::from_str(text).ok()) else { continue };
                for message in members(&message) {
                    let Some((words, cwd)) = command(message) else { continue };
                    if let Some(id) = message.get("id") {
                        open.insert(id.to_string(), calls.len());
                    }
                    let at = format!("{file}, call {}", calls.len() + 1);
                    calls.push(Recorded { at, words, cwd, was_refused: true });
                }
            }
            Entry::Receive(message) => {
                for message in members(message.value()) {
                    let id = message.get("id").map(ToString::to_string);
                    let call = id.and_then(|id| open.remove(&id)).and_then(|index| calls.get_mut(index));
                    if let Some(call) = call {
                        call.was_refused = is_refusal(message);
                    }
                }
            }
            Entry::Noise(_)
            | Entry::NoLineEnd
            | Entry::CloseInput
            | Entry::Exit(_)
            | Entry::Comment(_)
            | Entry::Blank
            | Entry::Failure(_) => {}
        }
    }
    calls
}

/// The messages of a batch, or the one message.
fn members(message: &Value) -> &[Value] {
    match message {
        Value::Array(members) => members,
        message => std::slice::from_ref(message),
    }
}

/// The words of a `tools/call`, and its directory. A tool that is not listed here is that of a command, and has its arguments
/// in the text `arguments`.
fn command(message: &Value) -> Option<(Vec<String>, Option<String>)> {
    if message.get("method")?.as_str()? != "tools/call" {
        return None;
    }
    let parameters = message.get("params")?;
    let name = parameters.get("name")?.as_str()?;
    let nothing = Map::new();
    let arguments = parameters.get("arguments").and_then(Value::as_object).unwrap_or(&nothing);
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let line = match name {
        "execute_command" => ExampleLine::Line(text("command")?.to_owned()),
        "execute_process" => {
            let rest = arguments.get("args").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let words = rest.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?;
            ExampleLine::Words([text("file")?.to_owned()].into_iter().chain(words).collect())
        }
        "read_output" | "write_input" | "stop_call" | "list_calls" | "list_commands" | "restart" => return None,
        command => ExampleLine::Line(format!("{command} {}", text("arguments").unwrap_or_default())),
    };
    Some((words_of(&line).ok()?, text("cwd").map(str::to_owned)))
}

/// Whether an answer says that nothing ran: a tool's error that does not begin with an exit code.
fn is_refusal(answer: &Value) -> bool {
    let Some(result) = answer.get("result") else { return true };
    let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
    let text = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
    is_error && !text.starts_with("exit_code:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_every_tool_are_read_with_their_outcome() {
        let text = "transcript: 1\n\n\
            --> {\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"execute_command\",\"arguments\":{\"command\":\"git log \\\"a b\\\"\",\"cwd\":\"x\"}}}\n\
            <-- {\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"command `git` is not allowed\"}],\"isError\":true}}\n\
            --> [{\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":\"execute_process\",\"arguments\":{\"file\":\"ls\",\"args\":[\"-l\"]}}},{\"id\":3,\"method\":\"ping\"}]\n\
            <-- {\"id\":\"a\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"exit_code: 1\"}],\"isError\":true}}\n\
            --> {\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"cat\",\"arguments\":{\"arguments\":\"x y\"}}}\n\
            --> {\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"list_commands\"}}\n\
            <-- {\"id\":5}\n==> eof\n<== exit 0\n";
        let calls = calls("t", &Transcript::parse("t", text).unwrap());
        let words: Vec<&[String]> = calls.iter().map(|call| call.words.as_slice()).collect();
        assert_eq!(words, [&["git", "log", "a b"][..], &["ls", "-l"], &["cat", "x", "y"]]);
        assert_eq!(calls.iter().map(|call| call.was_refused).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(calls[0].cwd.as_deref(), Some("x"));
        assert_eq!(calls[1].at, "t, call 2");
    }
}
