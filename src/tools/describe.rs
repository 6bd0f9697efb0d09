//! The descriptions of the tools, written for the model that calls them.

use std::time::Duration;

use serde_json::{Value, json};

use super::output_schema::output_schema;
use super::{BackgroundSettings, ExecuteTool, ToolSettings};
use crate::mcp::{TaskSupport, Tool, ToolAnnotations};
use crate::policy::Lines;
use crate::text::counted;

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
        ExecuteTool::Inspect => (
            "Inspect",
            "Runs one allowed command line that changes nothing, as `execute_command` does, with the same rules and limits. \
             Prefer it for such commands: it can be called at once and in parallel.",
            json!({"command": {"type": "string", "description": "The command with its arguments, for example: ls -l src"}}),
            "command",
        ),
        ExecuteTool::Process => (
            "Execute process",
            "Runs one allowed program with its arguments passed on exactly as they are, with the rules and limits of \
             `execute_command`. Prefer it if an argument contains quotes, blanks or line breaks.",
            json!({
                "file": {"type": "string", "description": "The allowed command, without arguments, for example: grep"},
                "args": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "The arguments, with no quoting: [\"-n\", \"two words\"]",
                },
            }),
            "file",
        ),
    };
    let read_only = kind == ExecuteTool::Inspect || settings.only_reads();
    Tool {
        name: kind.name().to_owned(),
        title: title.to_owned(),
        description: description(kind, what, settings),
        input_schema: input_schema(kind, own_arguments, required, settings),
        output_schema: settings.structured.then(|| output_schema(&json!({}), &[], settings)),
        annotations: ToolAnnotations { read_only, destructive: !read_only, idempotent: false, open_world: true },
        max_result_chars: settings.max_result_chars(),
        task_support: settings.background.map_or(TaskSupport::Forbidden, |_| TaskSupport::Optional),
    }
}

fn description(kind: ExecuteTool, what: &str, settings: &ToolSettings) -> String {
    // The other tools have the same rules, which are said once.
    match kind {
        ExecuteTool::Command => {}
        ExecuteTool::Process => {
            return format!(
                "{what}\n\
                 ONLY for non-interactive commands. There is no shell: operators, globs and variables are ordinary characters.\n\
                 Allowed commands: {}.",
                shortened_list(&settings.allowed, MOST_NAMES_AGAIN, "see `list_commands`"),
            );
        }
        ExecuteTool::Inspect => {
            return format!(
                "{what}\nONLY for non-interactive commands; no shell.\nCommands: {}.",
                shortened_list(&settings.read_only.join(", "), MOST_NAMES_AGAIN, "see `list_commands`"),
            );
        }
    }
    format!(
        "{what}\n\
         ONLY for non-interactive commands: interactive commands are not supported, and nobody can answer a prompt.\n\
         {}\n\
         Limits: {} a call unless `timeout_ms` says otherwise (at most {}); {}.{}{}\n\
         Allowed commands: {}.{}",
        of_lines(settings.lines),
        duration(settings.timeout),
        duration(settings.max_timeout),
        output_bound(settings.max_output),
        settings.background.as_ref().map_or_else(String::new, in_background),
        settings.sandbox.as_ref().map_or_else(String::new, |sandbox| format!("\n{sandbox}")),
        shortened_list(&settings.allowed, MOST_NAMES, "see `list_commands`"),
        super::list::synopses(settings),
    )
}

/// The sentences about operators for a model.
fn of_lines(lines: Lines) -> &'static str {
    match lines {
        Lines::Off => {
            "There is no shell: operators (&&, |, ;, >, $(...)), globs and variables do not work; quote such characters to \
             pass them literally. Choose the directory with `cwd`, not with cd."
        }
        Lines::On => {
            "Lines as in bash work, each command decided on its own: |, &&, ||, ;, ( ), cd, 2>&1, /dev/null, globs, braces, $HOME \
             and $PWD, here-documents. Not: $(...), backticks, &, other redirections, keywords. A command that fails before the \
             last one is reported as `failed`, so it is not lost behind `| tail`."
        }
        Lines::Files => {
            "Lines as in bash work, each command decided on its own: |, &&, ||, ;, ( ), cd, redirections, globs, braces, $HOME \
             and $PWD, here-documents. Not: $(...), backticks, &, keywords. A command that fails before the last one is reported \
             as `failed`, so it is not lost behind `| tail`."
        }
    }
}

/// Describes for a model the calls that go on after their answer.
fn in_background(settings: &BackgroundSettings) -> String {
    let handed_over = match settings.hand_over {
        Duration::ZERO => String::new(),
        _ if !settings.keeps_output => String::new(),
        after => format!("; a call still running after {} goes on in the background", duration(after)),
    };
    format!(
        "\nFor servers and long builds: `background: true` returns the call's number immediately (at most {} at a time, \
         {} each){handed_over}. Read or wait with `read_output`, end with `stop_call`.",
        settings.most_calls,
        duration(settings.max_background),
    )
}

/// How many bytes of a description can be names of commands. Some clients cut descriptions at 4,000 characters; with what
/// comes before the names, and the arguments after them, a description stays below that.
const MOST_NAMES: usize = 1500;
/// The same for the other tools.
const MOST_NAMES_AGAIN: usize = 300;

/// Returns a list of names with commas between them, cut after a name if it is longer than `most`.
pub fn shortened_list(list: &str, most: usize, rest: &str) -> String {
    if list.len() <= most {
        return list.to_owned();
    }
    let end = (0..=most).rev().find(|end| list.is_char_boundary(*end)).unwrap_or_default();
    let cut = list.get(..end).unwrap_or_default();
    let kept = cut.rsplit_once(", ").map_or("", |(kept, _)| kept);
    let left = list.get(kept.len()..).unwrap_or_default().trim_start_matches(", ").split(", ").count();
    format!("{kept}, and {left} more ({rest})")
}

/// How much output is kept, as part of a sentence.
pub fn output_bound(bytes: u64) -> String {
    match bytes {
        0 => "output is kept up to what one message can carry".to_owned(),
        bytes => {
            let bytes = counted(bytes, "byte");
            format!("longer output is cut to {bytes} of each stream, half from its start and half from its end")
        }
    }
}

/// A duration as people write it.
pub fn duration(duration: Duration) -> String {
    match (duration.as_millis(), duration.as_secs()) {
        (millis, _) if millis % 1000 != 0 => format!("{millis} ms"),
        (_, seconds) if seconds >= 120 && seconds % 60 == 0 => format!("{} minutes", seconds / 60),
        (_, seconds) => format!("{seconds} s"),
    }
}

/// The arguments that all these tools have.
const COMMON: [&str; 4] = ["cwd", "input", "timeout_ms", "background"];

fn input_schema(kind: ExecuteTool, own: Value, required: &str, settings: &ToolSettings) -> Value {
    let is_first = kind == ExecuteTool::Command;
    let mut properties = own;
    if let Value::Object(members) = &mut properties {
        members.insert(
            "cwd".into(),
            json!({
                "type": "string",
                "description": "The directory to run in; it must exist.",
            }),
        );
        members.insert(
            "input".into(),
            json!({
                "type": "string",
                "description": "The standard input of the command.",
            }),
        );
        let longest = settings.background.map(|background| background.max_background);
        let most = longest.map_or(settings.max_timeout, |longest| longest.max(settings.max_timeout));
        let in_millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let in_background = match most > settings.max_timeout {
            true => format!(" More than {} needs `background: true`.", in_millis(settings.max_timeout)),
            false => String::new(),
        };
        members.insert(
            "timeout_ms".into(),
            json!({
                "type": "integer",
                "minimum": 1,
                "maximum": in_millis(most),
                "description": format!(
                    "When to end the command with all that it started.{in_background}"
                ),
            }),
        );
        if longest.is_some() {
            members.insert(
                "background".into(),
                json!({
                    "type": "boolean",
                    "description": "Return the call's number at once, and leave the command running.",
                }),
            );
        }
    }
    // What the first of these tools says of an argument holds for the others.
    let common = properties.as_object_mut().filter(|_| !is_first);
    for (name, property) in common.into_iter().flatten() {
        if let (Some(property), true) = (property.as_object_mut(), COMMON.contains(&name.as_str())) {
            property.remove("description");
        }
    }
    json!({"type": "object", "properties": properties, "required": [required], "additionalProperties": false})
}
