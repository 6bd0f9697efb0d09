//! The tools on the persistent shell: one for each command, and the one that restarts the shell.

mod report;

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::describe::{duration, output_bound};
use super::name::tool_name;
use super::{ArgumentError, Arguments, BackgroundSettings, ToolSettings, output_schema};
use crate::mcp::{TaskSupport, Tool, ToolAnnotations};
use crate::policy::reach_of;
use crate::shell::ShellArguments;
use crate::shell::dialect::current as dialect;

pub(crate) use report::{ShellCommandFacts, shell_hint, shell_result};

/// Whether this build has the room.
pub(crate) const IS_BUILT: bool = true;

/// The action of a tool on the persistent shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellTool {
    /// Runs the entry of the allow-list with this index.
    Command(usize),
    /// Ends the shell and starts a new one.
    Restart,
}

impl ShellTool {
    /// The index of the entry that it runs; `None` if it runs none.
    pub(super) fn entry(self) -> Option<usize> {
        match self {
            Self::Command(place) => Some(place),
            Self::Restart => None,
        }
    }
}

/// A call whose arguments fit the tool's schema.
#[derive(Debug)]
pub struct ShellCall {
    /// The request.
    pub what: ShellRequest,
    /// How long it may take.
    pub timeout: Option<Duration>,
}

impl ShellCall {
    /// How long it may take, if its client says so.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Whether it runs a command, whose output can be kept.
    pub fn runs_command(&self) -> bool {
        matches!(self.what, ShellRequest::Command { .. })
    }
}

/// The request of a call of a shell tool.
#[derive(Debug)]
pub enum ShellRequest {
    /// Runs a command.
    Command {
        /// The entry of the allow-list.
        entry: String,
        /// Its arguments.
        arguments: ShellArguments,
    },
    /// Restarts the shell.
    Restart,
}

/// The tools, in the order of the allow-list.
pub(super) fn tools(settings: &ToolSettings) -> Vec<(ShellTool, Tool)> {
    let commands = settings.entries.iter().enumerate();
    let commands = commands.map(|(place, entry)| (ShellTool::Command(place), command_tool(entry, settings)));
    commands.chain([(ShellTool::Restart, restart_tool(settings))]).collect()
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
            let timeout = arguments.timeout("timeout_ms", settings.max_timeout, None)?;
            // The indices come from the entries, which never change.
            let entry = settings.entries.get(place).cloned().unwrap_or_default();
            let what = ShellRequest::Command { entry, arguments: ShellArguments::read(&line) };
            return Ok(ShellCall { what, timeout });
        }
        ShellTool::Restart => {
            Arguments::new(arguments, &[])?;
            ShellRequest::Restart
        }
    };
    Ok(ShellCall { what, timeout: None })
}

/// Describes the rules for every command on the shell.
pub(super) fn rules(settings: &ToolSettings) -> String {
    let syntax = if cfg!(windows) {
        "The characters % ! ^ & | < > ( ) are refused, and double quotes must be balanced."
    } else {
        "Operators (&&, |, ;, >, $(...)) are refused outside quotes; globs and variables are never expanded."
    };
    format!(
        "\nThe tools on the persistent shell, one for each command, have these rules in common.\n\
         ONLY for non-interactive commands: interactive commands are not supported, and nobody can answer a prompt.\n\
         A call returns the exit code, the output and the shell's directory as YAML. The shell keeps its state (directory, \
         variables) from call to call, and calls run one after another.\n\
         `arguments` is split by the shell's quoting rules, and nothing else in it has a meaning. {syntax}\n\
         Limits: {} a call unless `timeout_ms` says otherwise (at most {}); {}.{}",
        duration(settings.timeout),
        duration(settings.max_timeout),
        output_bound(settings.max_output),
        settings.background.as_ref().map_or_else(String::new, after_the_answer),
    )
}

/// Describes for a model the output that was cut, and calls that go on after their answer.
fn after_the_answer(settings: &BackgroundSettings) -> String {
    if !settings.keeps_output {
        return String::new();
    }
    let handed_over = match settings.hand_over {
        Duration::ZERO => String::new(),
        after => format!(
            "\nA call that still runs after {} is answered with `running: true` and `call`, and the shell is busy until it ends: \
             wait for that with `read_output`, or end it with `stop_call`.",
            duration(after)
        ),
    };
    format!("\nAn answer that was cut has the number of its call as `call`; `read_output` reads the rest.{handed_over}")
}

fn command_tool(entry: &str, settings: &ToolSettings) -> Tool {
    let described = settings.described.iter().find(|command| command.name == entry);
    let read_only = settings.is_read_only(entry);
    let note = match described {
        Some(command) => format!("\nIt takes no other arguments than: {}", command.synopsis),
        None => reach_of(entry).map_or("", |_| " It can start other programs.").to_owned(),
    };
    let directory = match dialect::change_of(&[entry.to_owned()]) {
        Ok(Some(_)) => "Later calls run in the new directory.",
        Ok(None) | Err(_) => "It runs in the shell's current directory.",
    };
    // The rules that all commands share are only in the description of `list_commands`.
    let description = format!(
        "Runs `{entry}` in the one persistent shell.{note} {directory}\n\
         ONLY for non-interactive commands; no operators, globs or variables. Rules and limits: see `list_commands`.",
    );
    let most = u64::try_from(settings.max_timeout.as_millis()).unwrap_or(u64::MAX);
    let properties = json!({
        "arguments": {
            "type": "string",
            "description": "The arguments of the command, as one line; leave it out for none.",
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
        output_schema: settings.structured.then(|| output_schema(settings)),
        annotations: ToolAnnotations { read_only, destructive: !read_only, idempotent: false, open_world: true },
        max_result_chars: settings.max_result_chars(),
        task_support: TaskSupport::Forbidden,
    }
}

fn restart_tool(settings: &ToolSettings) -> Tool {
    Tool {
        name: "restart".to_owned(),
        title: "Restart the shell".to_owned(),
        description: "Ends the persistent shell and starts a new one: its directory and variables are reset.\n\
             It waits for earlier calls; cancel those that it should not wait for."
            .to_owned(),
        input_schema: json!({"type": "object", "properties": {}, "additionalProperties": false}),
        output_schema: settings.structured.then(|| output_schema(settings)),
        annotations: ToolAnnotations { read_only: false, destructive: true, idempotent: true, open_world: false },
        max_result_chars: settings.max_result_chars(),
        task_support: TaskSupport::Forbidden,
    }
}

fn output_schema(settings: &ToolSettings) -> Value {
    let own = json!({
        "output": {"type": "string", "description": "The standard output, followed by the standard error."},
        "cwd": {"type": "string", "description": "The shell's current directory."},
        "shell_restarted": {"type": "string", "description": "Why the shell was restarted; its state is lost."},
    });
    output_schema::output_schema(&own, &["output", "cwd"], settings)
}
