//! How the tools describe themselves: written for the model that is to call them.

use serde_json::{Value, json};

use super::{ExecuteTool, ToolSettings, outcome};
use crate::mcp::{Tool, ToolAnnotations};

/// Makes the entry of the list for one tool.
pub fn tool(kind: ExecuteTool, settings: &ToolSettings) -> Tool {
    let (title, what, own_arguments, required) = match kind {
        ExecuteTool::Command => (
            "Execute command",
            "Runs one allowed command line and returns its exit code, stdout and stderr as YAML.",
            json!({"command": {
                "type": "string",
                "description": "The command with its arguments, for example: ls -l src",
            }}),
            "command",
        ),
        ExecuteTool::Process => (
            "Execute process",
            "Runs one allowed program with its arguments passed on exactly as they are, and returns its exit code, stdout \
             and stderr as YAML. Prefer it where an argument holds quotes, blanks or line breaks.",
            json!({
                "file": {"type": "string", "description": "The allowed command, without arguments, for example: grep"},
                "args": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "The arguments, one each, with no quoting: [\"-n\", \"two words\", \"file.txt\"]",
                },
            }),
            "file",
        ),
    };
    Tool {
        name: kind.name().to_owned(),
        title: title.to_owned(),
        description: description(kind, what, settings),
        input_schema: input_schema(own_arguments, required, settings),
        output_schema: settings.structured.then(|| outcome::output_schema(&json!({}), &[])),
        annotations: ToolAnnotations { read_only: false, destructive: true, idempotent: false, open_world: true },
    }
}

fn description(kind: ExecuteTool, what: &str, settings: &ToolSettings) -> String {
    let syntax = match kind {
        ExecuteTool::Command => {
            "There is no shell: operators (&&, |, ;, >, $(...)), globs and variables do not work; quote such characters to \
             pass them literally."
        }
        ExecuteTool::Process => "There is no shell: operators, globs and variables are ordinary characters.",
    };
    format!(
        "{what}\n\
         ONLY for non-interactive commands: interactive commands are not supported, and nobody can answer a prompt.\n\
         {syntax} Choose the directory with `cwd`, not with cd.\n\
         Allowed commands: {}.\n\
         Limits: {} a call unless `timeout_ms` says otherwise (at most {}); {}.{}",
        settings.allowed,
        duration(settings.timeout),
        duration(settings.max_timeout),
        output_bound(settings.max_output),
        settings.sandbox.as_ref().map_or_else(String::new, |sandbox| format!("\n{sandbox}")),
    )
}

/// How much output is kept, as a part of a sentence.
pub fn output_bound(bytes: u64) -> String {
    match bytes {
        0 => "output is kept up to what one message can carry".to_owned(),
        bytes => format!("of longer output the first and last {bytes} bytes of each stream are kept, half each"),
    }
}

/// A duration as people write it.
pub fn duration(duration: std::time::Duration) -> String {
    match (duration.as_millis(), duration.as_secs()) {
        (millis, _) if millis % 1000 != 0 => format!("{millis} ms"),
        (_, seconds) if seconds >= 120 && seconds % 60 == 0 => format!("{} minutes", seconds / 60),
        (_, seconds) => format!("{seconds} s"),
    }
}

fn input_schema(own: Value, required: &str, settings: &ToolSettings) -> Value {
    let mut properties = own;
    if let Value::Object(members) = &mut properties {
        members.insert(
            "cwd".into(),
            json!({
                "type": "string",
                "description": "The directory to run in, absolute or relative to the default one; it must exist.",
            }),
        );
        members.insert(
            "input".into(),
            json!({
                "type": "string",
                "description": "What the command reads on its standard input; without it the input is empty.",
            }),
        );
        let most = u64::try_from(settings.max_timeout.as_millis()).unwrap_or(u64::MAX);
        members.insert(
            "timeout_ms".into(),
            json!({
                "type": "integer",
                "minimum": 1,
                "maximum": most,
                "description": "After this many milliseconds the command is ended with everything that it started.",
            }),
        );
    }
    json!({"type": "object", "properties": properties, "required": [required], "additionalProperties": false})
}
