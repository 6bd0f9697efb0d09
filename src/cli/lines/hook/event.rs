//! The command of an event.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use thiserror::Error;

use super::agent::{Agent, Tool};
use super::json;

/// When an agent asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Kind {
    /// Before a tool runs.
    BeforeTool,
    /// When Codex would ask a person.
    PermissionRequest,
}

/// A command line that an agent's shell is about to run.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cli) struct Event {
    pub kind: Kind,
    /// Empty for Cursor, which names none.
    pub tool: String,
    pub line: String,
    /// The directory that the line runs in: absolute, or `None` if the event does not tell.
    pub cwd: Option<PathBuf>,
    /// The other arguments of the tool.
    pub fields: Map<String, Value>,
    /// All arguments of the tool as the event writes them: a number may have more digits than a type here holds.
    pub written: String,
}

/// The kind of an event.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    Command(Event),
    /// A tool that starts or feeds a shell in another way than by a command line.
    Shell {
        tool: String,
        kind: Kind,
    },
    /// Another tool. A hook has no opinion on it.
    NoCommand,
}

/// Why something is no event.
#[derive(Debug, Error)]
pub(super) enum EventError {
    /// No JSON, or a key twice.
    #[error("the event is not JSON as it should be: {source}")]
    Json {
        /// The mistake.
        source: serde_json::Error,
    },
    /// A field that is missing or of another type.
    #[error("the event has no `{field}` as it should be; expected {expected}")]
    Field {
        /// Its name.
        field: &'static str,
        /// The expected type.
        expected: &'static str,
    },
    /// The hook is configured for another event.
    #[error("the event is `{found}`; configure this hook for {expected}")]
    OtherEvent {
        /// Its name.
        found: String,
        /// The events that it decides on.
        expected: &'static str,
    },
}

/// The arguments by which tools choose a directory.
const DIRECTORIES: [&str; 4] = ["workdir", "dir_path", "directory", "cwd"];

impl Event {
    /// Reads an event.
    ///
    /// # Errors
    /// If the text is no event of this agent.
    pub(super) fn read(agent: Agent, bytes: &[u8]) -> Result<Incoming, EventError> {
        let event = json::parse(bytes).map_err(|source| EventError::Json { source })?;
        let Value::Object(mut event) = event else {
            return Err(EventError::Field { field: "event", expected: "a JSON object" });
        };
        let kind = kind(agent, &event)?;
        let (tool_field, input_field) = match agent {
            Agent::ClaudeCode | Agent::Vscode | Agent::Codex | Agent::Gemini => ("tool_name", "tool_input"),
            Agent::Copilot => ("toolName", "toolArgs"),
            Agent::Opencode => ("tool", "args"),
            Agent::Cursor => {
                let line = line(&mut event)?;
                let cwd = directory(event.get("cwd"), None);
                let (tool, fields, written) = (String::new(), Map::new(), String::new());
                return Ok(Incoming::Command(Self { kind, tool, line, cwd, fields, written }));
            }
        };
        let Some(Value::String(tool)) = event.remove(tool_field) else {
            return Err(EventError::Field { field: tool_field, expected: "the name of a tool" });
        };
        match agent.tool(&tool) {
            Tool::Other => return Ok(Incoming::NoCommand),
            Tool::Shell => return Ok(Incoming::Shell { tool, kind }),
            Tool::Command => {}
        }
        let not_json = |source| EventError::Json { source };
        let written = match event.remove(input_field) {
            // Its documents say a string of JSON, the program sends an object.
            Some(Value::String(text)) if agent == Agent::Copilot => text,
            _ => {
                let written: BTreeMap<String, &RawValue> = serde_json::from_slice(bytes).map_err(not_json)?;
                written.get(input_field).map_or("null", |input| input.get()).to_owned()
            }
        };
        let Value::Object(mut fields) = json::parse(written.as_bytes()).map_err(not_json)? else {
            return Err(EventError::Field { field: input_field, expected: "the arguments of the tool" });
        };
        let line = line(&mut fields)?;
        let cwd = directory(event.get("cwd"), Some((agent, &fields)));
        Ok(Incoming::Command(Self { kind, tool, line, cwd, fields, written }))
    }
}

/// Takes the line from the arguments.
fn line(fields: &mut Map<String, Value>) -> Result<String, EventError> {
    match fields.remove("command") {
        Some(Value::String(line)) => Ok(line),
        Some(_) | None => Err(EventError::Field { field: "command", expected: "a command line" }),
    }
}

/// The directory of the event, and beneath it the one that the tool's arguments choose.
///
/// An argument that the agent's own tool does not have may count or not, so nobody knows the directory then.
fn directory(of_event: Option<&Value>, tool: Option<(Agent, &Map<String, Value>)>) -> Option<PathBuf> {
    let of_event = of_event.and_then(Value::as_str).map(Path::new).filter(|path| path.is_absolute());
    let given = |name: &&str| tool.and_then(|(_, fields)| fields.get(*name)).filter(|value| !value.is_null());
    let is_strange = |name: &&str| !tool.is_some_and(|(agent, _)| agent.directories().contains(name));
    if DIRECTORIES.iter().any(|name| given(name).is_some() && is_strange(name)) {
        return None;
    }
    let mut chosen = DIRECTORIES.iter().filter_map(given);
    let path = match (chosen.next(), chosen.next()) {
        (None, _) => of_event?.to_owned(),
        (Some(Value::String(path)), None) if Path::new(path).is_absolute() => PathBuf::from(path),
        (Some(Value::String(path)), None) => of_event?.join(path),
        // Nobody knows which of two counts, or what another value means.
        (Some(_), _) => return None,
    };
    Some(path)
}

/// Which event it is. Only Codex has two, so only its events must say so.
fn kind(agent: Agent, event: &Map<String, Value>) -> Result<Kind, EventError> {
    let expected = match agent {
        Agent::ClaudeCode | Agent::Vscode => "`PreToolUse`",
        Agent::Codex => "`PreToolUse` and `PermissionRequest`",
        Agent::Copilot => "`preToolUse`",
        Agent::Gemini => "`BeforeTool`",
        Agent::Cursor => "`beforeShellExecution`",
        Agent::Opencode => "`tool.execute.before`",
    };
    match event.get("hook_event_name") {
        None if agent != Agent::Codex => Ok(Kind::BeforeTool),
        Some(Value::String(name)) if name == "PermissionRequest" && agent == Agent::Codex => {
            Ok(Kind::PermissionRequest)
        }
        Some(Value::String(name)) if expected.contains(&format!("`{name}`")) => Ok(Kind::BeforeTool),
        Some(Value::String(name)) => Err(EventError::OtherEvent { found: name.escape_debug().to_string(), expected }),
        Some(_) | None => Err(EventError::Field { field: "hook_event_name", expected: "the name of the event" }),
    }
}
