//! The schema of structured results.

use serde_json::{Value, json};

use super::ToolSettings;
use crate::exec::Limit;

/// The schema of structured content: the common properties, and those of one kind; `required` are required among these.
pub(super) fn output_schema(own: &Value, required: &[&str], settings: &ToolSettings) -> Value {
    let mut properties = json!({
        "exit_code": {"type": "integer", "description": "The command's exit status; 128 + N after signal N."},
        "limit": {
            "type": "string",
            "description": "The limit of the operator's that the command hit, where the kernel tells.",
            "enum": Limit::ALL.map(Limit::name),
        },
        "output": {"type": "integer", "description": "The number by which `read_output` reads the whole output."},
        "stdout": {"type": "string", "description": "What the command wrote to its standard output."},
        "stderr": {"type": "string", "description": "What the command wrote to its standard error."},
        "signal": {"type": "string", "description": "The signal that ended the command."},
        "timed_out": {"type": "boolean", "description": "Whether the command was ended at its deadline."},
        "truncated": {
            "type": "object",
            "description": "The bytes that were left out of the middle of a stream.",
            "properties": {"stdout": {"type": "integer", "minimum": 1}, "stderr": {"type": "integer", "minimum": 1}},
            "additionalProperties": false,
        },
        "lossy": {
            "type": "array",
            "description": "The streams that held bytes that are not UTF-8, each shown as U+FFFD.",
            "items": {"type": "string", "enum": ["stdout", "stderr"]},
        },
        "cleaned": {
            "type": "array",
            "description": "The streams of which terminal sequences and overwritten progress were left out.",
            "items": {"type": "string", "enum": ["stdout", "stderr"]},
        },
        "crlf": {
            "type": "array",
            "description": "The streams whose lines ended with CR LF, shown as line ends.",
            "items": {"type": "string", "enum": ["stdout", "stderr"]},
        },
        "hint": {"type": "string", "description": "What to do better next time."},
    });
    if let (Some(properties), Some(own)) = (properties.as_object_mut(), own.as_object()) {
        properties.extend(own.clone());
    }
    let mut required = [&["exit_code", "stdout", "stderr"], required].concat();
    if let (Some(properties), true) = (properties.as_object_mut(), settings.background.is_some()) {
        // The result of a running call has no exit code, and nothing else that is known only at the end.
        required = vec!["stdout", "stderr"];
        let running = json!({"type": "boolean", "description": "The command is still running, in the background."});
        let call =
            json!({"type": "integer", "description": "The number of the call, for `read_output` and `stop_call`."});
        properties.extend([("running".to_owned(), running), ("call".to_owned(), call)]);
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}
