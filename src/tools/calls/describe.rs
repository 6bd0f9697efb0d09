//! The descriptions of the tools about calls, written for the model that calls them.

use std::time::Duration;

use serde_json::{Value, json};

use super::CallTool;
use super::request::{SIGNALS, WAIT};
use crate::mcp::{TaskSupport, Tool, ToolAnnotations};
use crate::tools::{ToolSettings, WhichTools};

/// Makes the entries for the list of tools; none without background settings.
pub(in crate::tools) fn tools(settings: &ToolSettings) -> Vec<(CallTool, Tool)> {
    let tools = settings.background.map(|_| CallTool::ALL).into_iter().flatten();
    // The commands of the persistent shell have an empty standard input.
    let is_of_use = |tool: &CallTool| *tool != CallTool::WriteInput || settings.which.has_execute();
    let tools = tools.filter(is_of_use);
    tools.map(|tool| (tool, entry(tool, settings))).collect()
}

fn entry(tool: CallTool, settings: &ToolSettings) -> Tool {
    let (title, description, properties, required) = match tool {
        CallTool::ReadOutput => (
            "Read output",
            "Reads the whole output of a call, even while it runs: from the beginning, on with `from_byte: NEXT_BYTE`, the end \
             with `from_line: -20`. `wait_ms` waits for the end of the call; with `from_line` or `from_byte` for more \
             output, with `until` for a text.",
            read_properties(settings),
            vec!["call"],
        ),
        CallTool::WriteInput => (
            "Write input",
            "Writes to the standard input of a call with `background: true`. End each line with \\n; there is NO terminal. A \
             program that reads to the end waits for `close: true`.",
            json!({
                "call": {"type": "integer", "minimum": 0, "description": "The number of the call."},
                "text": {"type": "string", "description": "The text."},
                "close": {"type": "boolean", "description": "Close the input after this text."},
            }),
            vec!["call"],
        ),
        CallTool::StopCall => (
            "Stop call",
            "Ends a running call with all that it started. Its output can still be read.",
            json!({
                "call": {"type": "integer", "minimum": 0, "description": "The number of the call."},
                "signal": {
                    "type": "string",
                    "enum": SIGNALS,
                    "description": "By default SIGTERM, then SIGKILL.",
                },
            }),
            vec!["call"],
        ),
        CallTool::ListCalls => (
            "List calls",
            "Lists the running calls and the last ones that have ended, each with its number.",
            json!({}),
            vec![],
        ),
    };
    Tool {
        name: tool.name().to_owned(),
        title: title.to_owned(),
        description: description.to_owned(),
        input_schema: input_schema(&properties, &required),
        output_schema: settings.structured.then(|| output_schema(tool)),
        annotations: annotations(tool),
        max_result_chars: settings.max_result_chars(),
        task_support: TaskSupport::Forbidden,
    }
}

fn annotations(tool: CallTool) -> ToolAnnotations {
    let read_only = match tool {
        CallTool::ReadOutput | CallTool::ListCalls => true,
        CallTool::WriteInput | CallTool::StopCall => false,
    };
    let is_write = tool == CallTool::WriteInput;
    ToolAnnotations { read_only, destructive: !read_only, idempotent: !is_write, open_world: is_write }
}

fn input_schema(properties: &Value, required: &[&str]) -> Value {
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if let (Some(schema), false) = (schema.as_object_mut(), required.is_empty()) {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

fn read_properties(settings: &ToolSettings) -> Value {
    let whole =
        |least: i64, description: &str| json!({"type": "integer", "minimum": least, "description": description});
    let in_millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let max_wait = settings.background.map_or(Duration::ZERO, |background| background.max_wait);
    let number = match settings.which {
        WhichTools::Execute => "The number of the call: `call` or `output` of its result.",
        // There `output` is the text.
        WhichTools::Shell => "The number of the call: `call` of its result.",
        WhichTools::All => {
            "The number of the call: `call` of its result, or `output` of one of `execute_command` or `execute_process`."
        }
    };
    json!({
        "call": whole(0, number),
        "stream": {"type": "string", "enum": ["stdout", "stderr"], "description": "By default stdout."},
        "from_line": {
            "type": "integer",
            "description": "From 1; -20 begins 20 lines before the end.",
        },
        "from_byte": whole(0, "From 0, instead of a line."),
        "lines": whole(1, "The most lines, or hits of `search`."),
        "bytes": whole(1, "The most bytes."),
        "search": {"type": "string", "description": "Return only lines with this literal text."},
        "context": {
            "type": "integer", "minimum": 0, "maximum": 100, "description": "Lines around each hit.",
        },
        "wait_ms": {
            "type": "integer",
            "minimum": 0,
            "maximum": in_millis(max_wait),
            "description": format!("By default 0, and with `until` {}.", in_millis(WAIT.min(max_wait))),
        },
        "until": {"type": "string", "description": "A literal text to wait for, such as: listening on"},
    })
}

fn output_schema(tool: CallTool) -> Value {
    let number = |description: &str| json!({"type": "integer", "description": description});
    let flag = |description: &str| json!({"type": "boolean", "description": description});
    let text = |description: &str| json!({"type": "string", "description": description});
    let mut properties = json!({
        "call": number("The number of the call."),
        "running": flag("Whether its command is still running."),
        "exit_code": number("The command's exit status, once it has ended; 128 + N after signal N."),
        "signal": text("The signal that ended the command."),
        "timed_out": flag("Whether the command was ended at its deadline."),
        "failed": text("Why the command could not be run."),
    });
    let (own, required) = match tool {
        CallTool::ReadOutput => (
            json!({
                "found": flag("Whether the text of `until` has come."),
                "next_line": number("The line to go on with."),
                "next_byte": number("The byte to go on with."),
                "end": flag("Whether that is all, and the call has ended."),
                "lossy": flag("Whether bytes that are not UTF-8 are shown as U+FFFD."),
                "not_kept": number("How many bytes came after what is kept."),
                "stdout_bytes": number("How many bytes stdout holds, if stderr was read."),
                "stderr_bytes": number("How many bytes stderr holds, if stdout was read."),
                "text": text("The part of the output, or the lines that were found, with their numbers."),
            }),
            json!(["call", "running", "text", "next_line", "next_byte", "end"]),
        ),
        CallTool::WriteInput | CallTool::StopCall => (json!({}), json!(["call", "running"])),
        CallTool::ListCalls => (
            json!({"command": text("Its words."), "elapsed_ms": number("How long it has run.")}),
            json!(["call", "command", "running", "elapsed_ms"]),
        ),
    };
    if let (Some(properties), Value::Object(own)) = (properties.as_object_mut(), own) {
        properties.extend(own);
    }
    let call = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    if tool != CallTool::ListCalls {
        return call;
    }
    json!({
        "type": "object",
        "properties": {"calls": {"type": "array", "items": call}},
        "required": ["calls"],
        "additionalProperties": false,
    })
}
