//! The result of a command in the persistent shell, for the client.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::exec::Output;
use crate::mcp::CallToolResult;
use crate::policy::NOT_FOUND_NOTE;
use crate::shell::Answer;
use crate::shell::dialect::current as dialect;
use crate::tools::ReportSettings;
use crate::tools::command_result::{self, CommandResult, Own, both};
use crate::tools::yaml::write_text;

/// The facts about the command that the result depends on.
#[derive(Debug, Clone, Default)]
pub struct ShellCommandFacts {
    /// The entry of the allow-list; empty for `restart`.
    pub word: String,
    /// The pattern in the arguments that a shell would have expanded.
    pub literal_pattern: Option<&'static str>,
    /// The exit codes that count as success if non-zero codes are errors; empty means only `0`.
    pub success: Vec<i32>,
}

/// The hint of the result of an answer of the shell, if it has one.
pub fn shell_hint(answer: &Answer, facts: &ShellCommandFacts, settings: &ReportSettings) -> Option<String> {
    let Answer { output: Output { end, stdout, stderr, .. }, directory, .. } = answer;
    let own = InShell { facts, directory: &directory.path, restarted: None };
    command_result::hint(*end, [stdout, stderr], settings, &own)
}

/// Makes the result of an answer of the shell.
pub fn shell_result(answer: Answer, facts: &ShellCommandFacts, settings: &ReportSettings) -> CallToolResult {
    let Answer { output: Output { end, stdout, stderr, limit, .. }, directory, restarted } = answer;
    command_result::result(
        end,
        limit,
        [stdout, stderr],
        settings,
        &InShell { facts, directory: &directory.path, restarted },
    )
}

struct InShell<'a> {
    facts: &'a ShellCommandFacts,
    directory: &'a Path,
    restarted: Option<String>,
}

impl Own for InShell<'_> {
    // `output` is the text.
    const NUMBER: &'static str = "call";

    fn success(&self) -> &[i32] {
        &self.facts.success
    }

    fn hint(&self, exit_code: i32) -> Option<String> {
        if let Some(hint) = dialect::hint_for(exit_code, &self.facts.word) {
            return Some(format!("{hint}. {NOT_FOUND_NOTE}"));
        }
        let pattern = self.facts.literal_pattern.filter(|_| exit_code != 0)?;
        Some(format!("arguments are never expanded, so {pattern} was passed on literally"))
    }

    fn write(&self, result: &CommandResult<'_>, yaml: &mut String) {
        if let Some(reason) = &self.restarted {
            write_text(yaml, "shell_restarted", reason);
        }
        write_text(yaml, "output", &both(&result.stdout.text, &result.stderr.text));
        write_text(yaml, "cwd", &self.directory.to_string_lossy());
    }

    fn insert(&self, result: &CommandResult<'_>, content: &mut Map<String, Value>) {
        content.insert("output".into(), json!(both(&result.stdout.text, &result.stderr.text)));
        content.insert("cwd".into(), json!(self.directory.to_string_lossy()));
        if let Some(reason) = &self.restarted {
            content.insert("shell_restarted".into(), json!(reason));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::{Captured, End};
    use crate::shell::ShellDirectory;
    use crate::tools::{RunsIn, running_result};
    use std::time::Duration;

    fn answer(end: End, stdout: &[u8], stderr: &[u8]) -> Answer {
        let captured = |bytes: &[u8]| Captured { head: bytes.to_vec(), ..Captured::default() };
        let output =
            Output { end, stdout: captured(stdout), stderr: captured(stderr), limit: None, elapsed: Duration::ZERO };
        let directory = ShellDirectory { path: Path::new("/w").into(), held: None };
        Answer { output, directory, restarted: None }
    }

    fn facts(word: &str, literal_pattern: Option<&'static str>) -> ShellCommandFacts {
        ShellCommandFacts { word: word.to_owned(), literal_pattern, success: Vec::new() }
    }

    #[test]
    fn the_standard_error_stands_behind_the_output_and_apart_for_programs() {
        let settings = ReportSettings { structured: true, ..ReportSettings::default() };
        let result = shell_result(answer(End::Exited(2), b"a", b"b\n"), &facts("x", None), &settings);
        assert_eq!(result.text, "exit_code: 2\noutput: |\n  a\n  b\ncwd: /w\n");
        let expected = json!({"exit_code": 2, "output": "a\nb\n", "cwd": "/w", "stdout": "a", "stderr": "b\n"});
        assert_eq!(result.structured_content, Some(expected));
        assert!(!result.is_error);
    }

    #[test]
    fn what_was_cut_and_what_still_runs_has_its_number() {
        let settings = ReportSettings { structured: true, kept_as: Some(7), ..ReportSettings::default() };
        let cut = || Captured { head: b"a".to_vec(), tail: b"z\n".to_vec(), left_out: 5, sha256: None };
        let mut long = answer(End::Exited(0), b"", b"e");
        long.output.stdout = cut();
        let result = shell_result(long, &facts("x", None), &settings);
        assert!(result.text.starts_with("exit_code: 0\ncall: 7\ntruncated: {stdout: 5}\noutput: |"), "{}", result.text);
        let content = result.structured_content.unwrap();
        assert_eq!((&content["call"], content["stderr"].as_str()), (&json!(7), Some("e")));
        let err = Captured { head: b"e".to_vec(), ..Captured::default() };
        let result = running_result(7, [cut(), err], &settings, RunsIn::Shell);
        assert!(
            result.text.starts_with("running: true\ncall: 7\ntruncated: {stdout: 5}\noutput: |"),
            "{}",
            result.text
        );
        let content = result.structured_content.unwrap();
        assert_eq!((&content["running"], content["stderr"].as_str()), (&json!(true), Some("e")));
        assert!(content["output"].as_str().is_some_and(|output| output.ends_with("z\ne")), "{content}");
    }

    #[test]
    fn what_went_wrong_with_the_command_or_the_shell_is_said() {
        let text = |answer: Answer, pattern| shell_result(answer, &facts("lx", pattern), &ReportSettings::default());
        let restarted = Answer { restarted: Some("it died".into()), ..answer(End::Signaled(9), b"", b"") };
        let result = text(restarted, None);
        assert_eq!(result.text, "exit_code: 137\nsignal: SIGKILL\nshell_restarted: it died\noutput: ''\ncwd: /w\n");
        assert!(result.is_error);
        let result = text(answer(End::TimedOut(Duration::from_secs(3)), b"", b""), None);
        let begin = "exit_code: 124\ntimed_out: true\nhint: ended after 3 s;";
        assert!(result.text.starts_with(begin) && result.is_error, "{}", result.text);
        let result = text(answer(End::Exited(1), b"", b""), Some("the unquoted `*`"));
        let hint = "\nhint: arguments are never expanded, so the unquoted `*` was passed on literally\noutput: ";
        assert!(result.text.contains(hint), "{}", result.text);
        // On other platforms it is refused before, and 127 comes from a program itself.
        let result = text(answer(End::Exited(if cfg!(windows) { 9009 } else { 127 }), b"", b""), None);
        assert_eq!(result.text.contains("found no command `lx`. Note: This tool"), cfg!(windows), "{}", result.text);
    }
}
