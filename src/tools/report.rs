//! What a command came to that ran in a process of its own, as a client gets it: YAML text, and structured content where
//! the operator asks for it.

use serde_json::{Map, Value};

use super::outcome::{self, Outcome, Own};
use super::yaml::write_text;
use crate::exec::Output;
use crate::mcp::CallToolResult;

/// What shapes a result beside the output itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReportSettings {
    /// Whether results carry structured content beside the text.
    pub structured: bool,
    /// Whether a non-zero exit is an error.
    pub exit_error: bool,
}

/// Makes the result of an output; `literal_pattern` is what a shell would have expanded in the command line.
///
/// Output that no message could carry is cut further, and the result says so.
pub fn execute_result(
    output: Output,
    literal_pattern: Option<&'static str>,
    settings: ReportSettings,
) -> CallToolResult {
    let Output { end, stdout, stderr, .. } = output;
    outcome::result(end, [stdout, stderr], settings, &Execute { literal_pattern })
}

struct Execute {
    literal_pattern: Option<&'static str>,
}

impl Own for Execute {
    fn hint(&self, exit_code: i32) -> Option<String> {
        let pattern = self.literal_pattern.filter(|_| exit_code != 0)?;
        Some(format!("no shell runs here, so the unquoted `{pattern}` was passed on literally"))
    }

    fn write(&self, outcome: &Outcome, yaml: &mut String) {
        write_text(yaml, "stdout", &outcome.stdout.text);
        write_text(yaml, "stderr", &outcome.stderr.text);
    }

    fn insert(&self, _outcome: &Outcome, _content: &mut Map<String, Value>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::{Captured, End};
    use serde_json::json;
    use std::time::Duration;

    fn captured(text: &[u8]) -> Captured {
        Captured { head: text.to_vec(), ..Captured::default() }
    }

    fn output(end: End, stdout: Captured, stderr: Captured) -> Output {
        Output { end, stdout, stderr, elapsed: Duration::ZERO }
    }

    fn check(output: Output, pattern: Option<&'static str>, is_error: bool, expected: &str) {
        let result = execute_result(output, pattern, ReportSettings::default());
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
    fn structured_content_says_what_the_text_says_and_is_left_out_of_errors() {
        let settings = ReportSettings { structured: true, exit_error: true };
        let result =
            |code| execute_result(output(End::Exited(code), captured(b"a\xff"), Captured::default()), None, settings);
        let expected = json!({"exit_code": 0, "stdout": "a\u{fffd}", "stderr": "", "lossy": ["stdout"]});
        assert_eq!(result(0).structured_content, Some(expected));
        assert_eq!((result(1).structured_content, result(1).is_error), (None, true));
    }
}
