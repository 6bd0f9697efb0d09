//! What a command in the persistent shell came to, as a client gets it.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::ReportSettings;
use super::report::{MOST, Text, fit, signal_name, timeout_hint};
use super::yaml::{write_text, write_value};
use crate::exec::{Captured, End};
use crate::mcp::CallToolResult;
use crate::policy::NOT_FOUND_NOTE;
use crate::shell::Answer;
use crate::shell::dialect::current as dialect;

/// What the command was, as far as the result depends on it.
#[derive(Debug, Clone, Default)]
pub struct ShellCommandFacts {
    /// The entry of the allow-list; empty for `restart`.
    pub word: String,
    /// What a shell would have expanded in the arguments.
    pub literal_pattern: Option<&'static str>,
}

/// One result, field by field in the order of its text.
struct ShellReport<'a> {
    exit_code: i32,
    stdout: Text,
    stderr: Text,
    directory: &'a Path,
    restarted: Option<&'a str>,
    signal: Option<String>,
    timed_out: bool,
    hint: Option<String>,
}

/// Makes the result of an answer of the shell's.
pub fn shell_result(answer: Answer, facts: &ShellCommandFacts, settings: ReportSettings) -> CallToolResult {
    let Answer { end, stdout, stderr, directory, restarted, .. } = answer;
    fit(MOST, stdout, stderr, |stdout, stderr| {
        ShellReport::new(end, [stdout, stderr], &directory, restarted.as_deref(), facts).to_result(settings)
    })
}

impl<'a> ShellReport<'a> {
    fn new(
        end: End,
        streams: [&Captured; 2],
        directory: &'a Path,
        restarted: Option<&'a str>,
        facts: &ShellCommandFacts,
    ) -> Self {
        let (exit_code, signal) = match end {
            End::Exited(code) => (code, None),
            End::Signaled(number) => (128 + number, Some(signal_name(number))),
            End::TimedOut(_) => (124, None),
            End::Stopped => (128 + 15, Some(signal_name(15))),
        };
        let hint = match end {
            End::TimedOut(timeout) => Some(timeout_hint(timeout)),
            End::Exited(code) => match (dialect::hint_for(code, &facts.word), facts.literal_pattern) {
                (Some(hint), _) => Some(format!("{hint}. {NOT_FOUND_NOTE}")),
                (None, Some(pattern)) if code != 0 => {
                    Some(format!("arguments are never expanded, so the unquoted `{pattern}` was passed on literally"))
                }
                (None, _) => None,
            },
            End::Signaled(_) | End::Stopped => None,
        };
        let [stdout, stderr] = streams.map(Text::new);
        let timed_out = matches!(end, End::TimedOut(_));
        Self { exit_code, stdout, stderr, directory, restarted, signal, timed_out, hint }
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

    /// The standard output, and behind it, on a line of its own, the standard error where there is any.
    fn output(&self) -> String {
        let (stdout, stderr) = (&self.stdout.text, &self.stderr.text);
        let between = if stdout.is_empty() || stderr.is_empty() || stdout.ends_with('\n') { "" } else { "\n" };
        [stdout, between, stderr].concat()
    }

    fn streams(&self) -> [(&'static str, &Text); 2] {
        [("stdout", &self.stdout), ("stderr", &self.stderr)]
    }

    fn yaml(&self) -> String {
        let mut yaml = String::with_capacity(self.stdout.text.len() + self.stderr.text.len() + 256);
        write_value(&mut yaml, "exit_code", &self.exit_code.to_string());
        write_text(&mut yaml, "output", &self.output());
        write_text(&mut yaml, "cwd", &self.directory.to_string_lossy());
        if let Some(reason) = self.restarted {
            write_text(&mut yaml, "shell_restarted", reason);
        }
        if let Some(signal) = &self.signal {
            write_value(&mut yaml, "signal", signal);
        }
        if self.timed_out {
            write_value(&mut yaml, "timed_out", "true");
        }
        let cut = self.streams().into_iter().filter(|(_, text)| text.left_out > 0);
        let cut: Vec<String> = cut.map(|(name, text)| format!("{name}: {}", text.left_out)).collect();
        if !cut.is_empty() {
            write_value(&mut yaml, "truncated", &format!("{{{}}}", cut.join(", ")));
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

    fn lossy(&self) -> Vec<&'static str> {
        self.streams().into_iter().filter(|(_, text)| text.lossy).map(|(name, _)| name).collect()
    }

    fn structured(&self) -> Value {
        let mut content = Map::new();
        content.insert("exit_code".into(), json!(self.exit_code));
        content.insert("output".into(), json!(self.output()));
        content.insert("cwd".into(), json!(self.directory.to_string_lossy()));
        if let Some(reason) = self.restarted {
            content.insert("shell_restarted".into(), json!(reason));
        }
        content.insert("stdout".into(), json!(self.stdout.text));
        content.insert("stderr".into(), json!(self.stderr.text));
        let cut = self.streams().into_iter().filter(|(_, text)| text.left_out > 0);
        let cut: Map<String, Value> = cut.map(|(name, text)| (name.to_owned(), json!(text.left_out))).collect();
        if !cut.is_empty() {
            content.insert("truncated".into(), Value::Object(cut));
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::time::Duration;

    fn answer(end: End, stdout: &[u8], stderr: &[u8]) -> Answer {
        let captured = |bytes: &[u8]| Captured { head: bytes.to_vec(), ..Captured::default() };
        Answer {
            end,
            stdout: captured(stdout),
            stderr: captured(stderr),
            directory: PathBuf::from("/w"),
            restarted: None,
            elapsed: Duration::ZERO,
        }
    }

    fn facts(word: &str, literal_pattern: Option<&'static str>) -> ShellCommandFacts {
        ShellCommandFacts { word: word.to_owned(), literal_pattern }
    }

    #[test]
    fn the_standard_error_stands_behind_the_output_and_apart_for_programs() {
        let settings = ReportSettings { structured: true, exit_error: false };
        let result = shell_result(answer(End::Exited(2), b"a", b"b\n"), &facts("x", None), settings);
        assert_eq!(result.text, "exit_code: 2\noutput: |\n  a\n  b\ncwd: /w\n");
        let expected = json!({"exit_code": 2, "output": "a\nb\n", "cwd": "/w", "stdout": "a", "stderr": "b\n"});
        assert_eq!(result.structured_content, Some(expected));
        assert!(!result.is_error);
    }

    #[test]
    fn what_went_wrong_with_the_command_or_the_shell_is_said() {
        let text = |answer: Answer, pattern| shell_result(answer, &facts("lx", pattern), ReportSettings::default());
        let restarted = Answer { restarted: Some("it died".into()), ..answer(End::Signaled(9), b"", b"") };
        let result = text(restarted, None);
        assert_eq!(result.text, "exit_code: 137\noutput: ''\ncwd: /w\nshell_restarted: it died\nsignal: SIGKILL\n");
        assert!(result.is_error);
        let result = text(answer(End::TimedOut(Duration::from_secs(3)), b"", b""), None);
        let begin = "exit_code: 124\noutput: ''\ncwd: /w\ntimed_out: true\nhint: ended after 3 s;";
        assert!(result.text.starts_with(begin) && result.is_error, "{}", result.text);
        let result = text(answer(End::Exited(1), b"", b""), Some("*"));
        assert!(
            result.text.ends_with("hint: arguments are never expanded, so the unquoted `*` was passed on literally\n")
        );
        let not_found = if cfg!(windows) { 9009 } else { 127 };
        let result = text(answer(End::Exited(not_found), b"", b""), None);
        assert!(result.text.contains("found no command `lx`. Note: This tool"), "{}", result.text);
    }
}
