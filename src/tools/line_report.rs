//! The result of a line of several commands, for the client.

use serde_json::{Map, Value, json};

use super::ReportSettings;
use super::command_result::{self, CommandResult, Own};
use super::yaml::{write_text, write_value};
use crate::exec::Output;
use crate::mcp::CallToolResult;

/// Makes the result of a line. `failed` are the commands whose failure its status does not show; `error` is why it
/// ended before its end.
pub(crate) fn line_result(
    output: Output,
    failed: &[(String, i32)],
    error: Option<&str>,
    settings: &ReportSettings,
) -> CallToolResult {
    let Output { end, stdout, stderr, limit, .. } = output;
    let result = command_result::result(end, limit, [stdout, stderr], settings, &OfLine { failed, error });
    CallToolResult { is_error: result.is_error || error.is_some(), ..result }
}

/// The hint of the result of a line, if it has one.
pub(crate) fn line_hint(output: &Output, failed: &[(String, i32)], settings: &ReportSettings) -> Option<String> {
    let own = OfLine { failed, error: None };
    command_result::hint(output.end, [&output.stdout, &output.stderr], settings, &own)
}

/// The parts of the result of a line.
struct OfLine<'a> {
    failed: &'a [(String, i32)],
    error: Option<&'a str>,
}

impl Own for OfLine<'_> {
    const NUMBER: &'static str = "output";

    fn success(&self) -> &[i32] {
        &[]
    }

    fn hint(&self, _exit_code: i32) -> Option<String> {
        None
    }

    fn has_failed(&self, exit_code: i32) -> bool {
        exit_code != 0 || !self.failed.is_empty()
    }

    fn write(&self, result: &CommandResult<'_>, yaml: &mut String) {
        if !self.failed.is_empty() {
            let failed = self.failed.iter().map(|(name, code)| format!("{}: {code}", json!(name)));
            write_value(yaml, "failed", &format!("[{}]", failed.collect::<Vec<_>>().join(", ")));
        }
        if let Some(error) = self.error {
            write_text(yaml, "error", error);
        }
        write_text(yaml, "stdout", &result.stdout.text);
        write_text(yaml, "stderr", &result.stderr.text);
    }

    fn insert(&self, _outcome: &CommandResult<'_>, content: &mut Map<String, Value>) {
        if !self.failed.is_empty() {
            let failed = self.failed.iter().map(|(name, code)| json!({name.as_str(): code}));
            content.insert("failed".into(), failed.collect());
        }
    }
}
