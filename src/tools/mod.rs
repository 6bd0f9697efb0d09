//! What a client can call: the tools, their arguments, and their results as text and as structured content.
//!
//! Starts no process and decides nothing: a call becomes a [`Call`], whose command the policy examines; an output
//! becomes a [`CallToolResult`](crate::mcp::CallToolResult).

mod arguments;
mod describe;
mod outcome;
mod report;
mod shell;
mod shell_report;
mod text;
mod yaml;

pub use arguments::{ArgumentError, Arguments};
pub use report::{ReportSettings, execute_result};
pub use shell::{ShellCall, ShellRequest, ShellTool};
pub use shell_report::{ShellCommandFacts, shell_result};
pub use yaml::{write_text, write_value};

use std::time::Duration;

use serde_json::{Map, Value};

use crate::mcp::Tool;
use crate::policy::{CommandLine, CommandLineError, WhichTools};

/// What tools say of themselves, and what bounds their arguments.
#[derive(Debug, Clone)]
pub struct ToolSettings {
    /// The allowed commands, as a sentence's end.
    pub allowed: String,
    /// Which tools there are.
    pub which: WhichTools,
    /// The entries of the allow-list, which have a tool each on the persistent shell.
    pub entries: Vec<String>,
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
    /// Runs one process.
    Execute(ExecuteTool),
    /// Stands on the persistent shell.
    Shell(ShellTool),
}

/// What a tool that runs one process is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecuteTool {
    /// One command line, split into words.
    Command,
    /// One program with its arguments as they are.
    Process,
}

/// A call whose arguments fit the tool's schema.
#[derive(Debug)]
pub enum Called {
    /// Runs one process.
    Execute(Call),
    /// Asks the persistent shell.
    Shell(ShellCall),
}

/// A call of one process.
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
        let mut tools = Vec::new();
        if settings.which.has_execute() {
            let both = [ExecuteTool::Command, ExecuteTool::Process];
            tools.extend(both.map(|tool| (ToolKind::Execute(tool), describe::tool(tool, &settings))));
        }
        if settings.which.has_shell() {
            tools.extend(shell::tools(&settings).into_iter().map(|(tool, entry)| (ToolKind::Shell(tool), entry)));
        }
        Self { tools, settings }
    }

    /// The list; its order never changes.
    pub fn list(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().map(|(_, tool)| tool)
    }

    /// Which tools there are.
    pub fn which(&self) -> WhichTools {
        self.settings.which
    }

    /// Finds a tool by its exact name.
    pub fn find(&self, name: &str) -> Option<ToolKind> {
        self.tools.iter().find(|(_, tool)| tool.name == name).map(|(kind, _)| *kind)
    }

    /// Reads the arguments of a call.
    ///
    /// # Errors
    /// [`ArgumentError`], where they break the tool's schema.
    pub fn read(&self, kind: ToolKind, arguments: Map<String, Value>) -> Result<Called, ArgumentError> {
        let common = |arguments: &mut Arguments, command| -> Result<Called, ArgumentError> {
            Ok(Called::Execute(Call {
                command,
                cwd: arguments.string("cwd")?,
                input: arguments.string("input")?,
                timeout: arguments.timeout("timeout_ms", self.settings.max_timeout)?.unwrap_or(self.settings.timeout),
            }))
        };
        match kind {
            ToolKind::Execute(ExecuteTool::Command) => {
                let mut arguments = Arguments::new(arguments, &["command", "cwd", "input", "timeout_ms"])?;
                let command = CommandLine::parse(&arguments.required_string("command")?);
                common(&mut arguments, command)
            }
            ToolKind::Execute(ExecuteTool::Process) => {
                let mut arguments = Arguments::new(arguments, &["file", "args", "cwd", "input", "timeout_ms"])?;
                let file = arguments.required_string("file")?;
                let command = CommandLine::from_process(file, arguments.strings("args")?);
                common(&mut arguments, command)
            }
            ToolKind::Shell(tool) => shell::read(tool, arguments, &self.settings).map(Called::Shell),
        }
    }
}

impl ExecuteTool {
    /// The name that clients call it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => "execute_command",
            Self::Process => "execute_process",
        }
    }
}
