//! The tools on the persistent shell: one for each entry of the allow-list, and the two beside them.

use serde_json::{Map, Value, json};

use super::describe::{duration, output_bound};
use super::yaml::{quoted_key, write_text};
use super::{ArgumentError, Arguments, ToolSettings, outcome};
use crate::mcp::{CallToolResult, Tool, ToolAnnotations};
use crate::policy::{find_literal_pattern, tool_name, wrappers};
use crate::shell::dialect::{Refused, current as dialect};

/// What a tool on the persistent shell does when it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellTool {
    /// Runs the entry of the allow-list at this place.
    Command(usize),
    /// Ends the shell and starts a new one.
    Restart,
    /// Lists the commands.
    ListCommands,
}

/// A call whose arguments fit the tool's schema.
#[derive(Debug)]
pub struct ShellCall {
    /// What to do.
    pub what: ShellRequest,
    /// How long it may take.
    pub timeout: std::time::Duration,
}

/// What a call of a tool on the shell asks for.
#[derive(Debug)]
pub enum ShellRequest {
    /// To run a command.
    Command {
        /// The entry of the allow-list.
        entry: String,
        /// The words behind it, or why they are none.
        arguments: Result<Vec<String>, Refused>,
        /// What a shell would have expanded in them.
        literal_pattern: Option<&'static str>,
    },
    /// To start the shell anew.
    Restart,
    /// To list the commands: its result.
    List(CallToolResult),
}

/// The tools, in the order of the allow-list.
pub(super) fn tools(settings: &ToolSettings) -> Vec<(ShellTool, Tool)> {
    let commands = settings.entries.iter().enumerate();
    let commands = commands.map(|(place, entry)| (ShellTool::Command(place), command_tool(entry, settings)));
    let beside = [(ShellTool::Restart, restart_tool(settings)), (ShellTool::ListCommands, list_tool(settings))];
    commands.chain(beside).collect()
}

/// Reads the arguments of a call.
pub(super) fn read(
    tool: ShellTool,
    arguments: Map<String, Value>,
    settings: &ToolSettings,
) -> Result<ShellCall, ArgumentError> {
    let what = match tool {
        ShellTool::Command(place) => {
            let mut arguments = Arguments::new(arguments, &["arguments", "timeout_ms"])?;
            let line = arguments.string("arguments")?.unwrap_or_default();
            let timeout = arguments.timeout("timeout_ms", settings.max_timeout)?.unwrap_or(settings.timeout);
            // Places are made from the entries, which never change.
            let entry = settings.entries.get(place).cloned().unwrap_or_default();
            let what = ShellRequest::Command {
                entry,
                arguments: dialect::words(&line),
                literal_pattern: find_literal_pattern(&line).filter(|_| cfg!(unix)),
            };
            return Ok(ShellCall { what, timeout });
        }
        ShellTool::Restart => {
            Arguments::new(arguments, &[])?;
            ShellRequest::Restart
        }
        ShellTool::ListCommands => {
            Arguments::new(arguments, &[])?;
            ShellRequest::List(list(settings))
        }
    };
    Ok(ShellCall { what, timeout: settings.timeout })
}

fn command_tool(entry: &str, settings: &ToolSettings) -> Tool {
    let note = wrappers::reach_of(entry).map_or("", |_| " It can start other programs.");
    let directory = match dialect::change_of(&[entry.to_owned()]) {
        Ok(Some(_)) => {
            "The directory stays for the calls that follow; one that the operator does not allow is refused."
        }
        Ok(None) | Err(_) => "It runs where the shell stands; the answer's `cwd` says where that is.",
    };
    let syntax = if cfg!(windows) {
        "The characters % ! ^ & | < > ( ) are refused, and double quotes must be balanced."
    } else {
        "Operators (&&, |, ;, >, $(...)) are refused outside quotes; globs and variables are never expanded."
    };
    let description = format!(
        "Runs `{entry}` in the one persistent shell and returns its exit code, its output and the shell's directory as YAML.{note}\n\
         ONLY for non-interactive commands: interactive commands are not supported, and nobody can answer a prompt.\n\
         The shell keeps its state (directory, variables) from call to call, and calls run one after another. {directory}\n\
         `arguments` is split by the shell's quoting rules, and nothing else in it has a meaning. {syntax}\n\
         Limits: {} a call unless `timeout_ms` says otherwise (at most {}); {}.",
        duration(settings.timeout),
        duration(settings.max_timeout),
        output_bound(settings.max_output),
    );
    let most = u64::try_from(settings.max_timeout.as_millis()).unwrap_or(u64::MAX);
    let properties = json!({
        "arguments": {
            "type": "string",
            "description": "The arguments behind the command, as one line; left out, there are none.",
        },
        "timeout_ms": {
            "type": "integer",
            "minimum": 1,
            "maximum": most,
            "description": "After this many milliseconds the command is ended with everything that it started.",
        },
    });
    Tool {
        name: tool_name(entry),
        title: format!("Run {entry}"),
        description,
        input_schema: json!({"type": "object", "properties": properties, "additionalProperties": false}),
        output_schema: settings.structured.then(output_schema),
        annotations: ToolAnnotations { read_only: false, destructive: true, idempotent: false, open_world: true },
    }
}

fn restart_tool(settings: &ToolSettings) -> Tool {
    Tool {
        name: "restart".to_owned(),
        title: "Restart the shell".to_owned(),
        description:
            "Ends the persistent shell and starts a new one: its directory and its variables are as at the start.\n\
             It waits its turn behind the calls that came before; cancel those that should not be waited for."
                .to_owned(),
        input_schema: json!({"type": "object", "properties": {}, "additionalProperties": false}),
        output_schema: settings.structured.then(output_schema),
        annotations: ToolAnnotations { read_only: false, destructive: true, idempotent: true, open_world: false },
    }
}

fn list_tool(settings: &ToolSettings) -> Tool {
    let output_schema = || {
        let commands = json!({
            "type": "object",
            "description": "The commands that are allowed, each with its tool.",
            "additionalProperties": {"type": "string"},
        });
        let matching = json!({"type": "string", "description": "How a call is matched with a command."});
        json!({
            "type": "object",
            "properties": {"commands": commands, "matching": matching},
            "required": ["commands", "matching"],
            "additionalProperties": false,
        })
    };
    Tool {
        name: "list_commands".to_owned(),
        title: "List commands".to_owned(),
        description: "Lists the commands that are allowed, the tool of each, and how they are matched. Runs nothing."
            .to_owned(),
        input_schema: json!({"type": "object", "properties": {}, "additionalProperties": false}),
        output_schema: settings.structured.then(output_schema),
        annotations: ToolAnnotations { read_only: true, destructive: false, idempotent: true, open_world: false },
    }
}

const MATCHING: &str = "Each command has a tool of its own on the one persistent shell, and nothing else can be run there; \
     the tool's name is the command's, with `_` for each character that a tool's name may not have.";

fn list(settings: &ToolSettings) -> CallToolResult {
    let names: Vec<String> = settings.entries.iter().map(|entry| tool_name(entry)).collect();
    let mut text = String::from("commands:\n");
    if settings.entries.is_empty() {
        text = "commands: {}\n".to_owned();
    }
    for (entry, name) in settings.entries.iter().zip(&names) {
        text.push_str("  ");
        write_text(&mut text, &quoted_key(entry), name);
    }
    write_text(&mut text, "matching", MATCHING);
    let commands: Map<String, Value> =
        settings.entries.iter().zip(names).map(|(entry, name)| (entry.clone(), name.into())).collect();
    let content = json!({"commands": commands, "matching": MATCHING});
    CallToolResult { text, structured_content: settings.structured.then_some(content), is_error: false }
}

fn output_schema() -> Value {
    let own = json!({
        "output": {"type": "string", "description": "The standard output, and behind it the standard error."},
        "cwd": {"type": "string", "description": "Where the shell stands now."},
        "shell_restarted": {"type": "string", "description": "Why the shell was started anew, its state lost."},
    });
    outcome::output_schema(&own, &["output", "cwd"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_list_names_each_command_with_its_tool() {
        let settings = ToolSettings {
            allowed: String::new(),
            which: crate::policy::WhichTools::Shell,
            entries: ["ls", "g++", "yes", "1:20", "/opt/a: b", "/opt/\u{2028}\u{feff}"].map(str::to_owned).into(),
            timeout: Duration::from_secs(30),
            max_timeout: Duration::from_secs(600),
            max_output: 0,
            structured: true,
            sandbox: None,
        };
        let result = list(&settings);
        let commands = "commands:\n  \"ls\": ls\n  \"g++\": g__\n  \"yes\": 'yes'\n  \"1:20\": '1_20'\n  \"/opt/a: b\": _opt_a__b\n  \
                        \"/opt/\\u2028\\ufeff\": _opt___\nmatching: ";
        assert!(result.text.starts_with(commands), "{}", result.text);
        let text: Value = serde_yaml::from_str(&result.text).unwrap();
        assert_eq!(result.structured_content.as_ref(), Some(&text));
        let list = list_tool(&settings).output_schema.unwrap();
        jsonschema::draft202012::new(&list).unwrap().validate(&text).unwrap();
        let tools = tools(&settings);
        let names: Vec<&str> = tools.iter().map(|(_, tool)| tool.name.as_str()).collect();
        assert_eq!(names, ["ls", "g__", "yes", "1_20", "_opt_a__b", "_opt___", "restart", "list_commands"]);
    }
}
