//! What a client can call: the tools, their arguments, and their results as text and as structured content.
//!
//! Starts no process and decides nothing: a call becomes a [`Call`], whose command the policy examines; an output
//! becomes a [`CallToolResult`](crate::mcp::CallToolResult).

mod arguments;
mod describe;
mod report;
mod yaml;

pub use arguments::{ArgumentError, Arguments};
pub use report::{Report, ReportSettings};
pub use yaml::{write_text, write_value};

use std::time::Duration;

use serde_json::{Map, Value};

use crate::mcp::Tool;
use crate::policy::{CommandLine, CommandLineError};

/// What tools say of themselves, and what bounds their arguments.
#[derive(Debug, Clone)]
pub struct ToolSettings {
    /// The allowed commands, as a sentence's end.
    pub allowed: String,
    /// For calls that name none.
    pub timeout: Duration,
    /// The most a call may ask for.
    pub max_timeout: Duration,
    /// Bytes kept of each stream; 0 for no bound.
    pub max_output: u64,
    /// Whether the tools declare an output schema.
    pub structured: bool,
    /// How the kernel confines commands, in sentences; `None` where nobody asked for that.
    pub sandbox: Option<String>,
}

/// The tools, in the order of their list.
#[derive(Debug)]
pub struct Toolbox {
    tools: Vec<(ToolKind, Tool)>,
    settings: ToolSettings,
}

/// What a tool does when it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// Runs one command line, split into words.
    ExecuteCommand,
    /// Runs one program with its arguments as they are.
    ExecuteProcess,
}

/// A call whose arguments fit the tool's schema.
#[derive(Debug)]
pub struct Call {
    /// What to run, or why it is no command.
    pub command: Result<CommandLine, CommandLineError>,
    /// Where to run it, as the client gave it.
    pub cwd: Option<String>,
    /// What it reads on its standard input.
    pub input: Option<String>,
    /// How long it may take.
    pub timeout: Duration,
}

impl Toolbox {
    /// Makes the tools for one server.
    pub fn new(settings: ToolSettings) -> Self {
        let kinds = [ToolKind::ExecuteCommand, ToolKind::ExecuteProcess];
        let tools = kinds.map(|kind| (kind, describe::tool(kind, &settings))).into();
        Self { tools, settings }
    }

    /// The list; its order never changes.
    pub fn list(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().map(|(_, tool)| tool)
    }

    /// Finds a tool by its exact name.
    pub fn find(&self, name: &str) -> Option<ToolKind> {
        self.tools.iter().find(|(_, tool)| tool.name == name).map(|(kind, _)| *kind)
    }

    /// Reads the arguments of a call.
    ///
    /// # Errors
    /// [`ArgumentError`], where they break the tool's schema.
    pub fn read(&self, kind: ToolKind, arguments: Map<String, Value>) -> Result<Call, ArgumentError> {
        let known: &[&'static str] = match kind {
            ToolKind::ExecuteCommand => &["command", "cwd", "input", "timeout_ms"],
            ToolKind::ExecuteProcess => &["file", "args", "cwd", "input", "timeout_ms"],
        };
        let mut arguments = Arguments::new(arguments, known)?;
        let command = match kind {
            ToolKind::ExecuteCommand => CommandLine::parse(&arguments.required_string("command")?),
            ToolKind::ExecuteProcess => {
                let file = arguments.required_string("file")?;
                CommandLine::from_process(file, arguments.strings("args")?)
            }
        };
        Ok(Call {
            command,
            cwd: arguments.string("cwd")?,
            input: arguments.string("input")?,
            timeout: arguments.timeout("timeout_ms", self.settings.max_timeout)?.unwrap_or(self.settings.timeout),
        })
    }
}

impl ToolKind {
    /// The name that clients call it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::ExecuteCommand => "execute_command",
            Self::ExecuteProcess => "execute_process",
        }
    }
}
