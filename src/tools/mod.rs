//! The tools that a client can call, their arguments, and their results as text and as structured content.
//!
//! It starts no process and decides nothing: a call becomes a [`Call`], whose command the policy examines; an output
//! becomes a [`CallToolResult`].

mod arguments;
mod call_tool;
#[cfg_attr(not(feature = "background"), path = "no_calls.rs")]
pub(crate) mod calls;
mod command_result;
mod denial;
mod describe;
pub(crate) mod line_report;
mod list;
mod name;
mod output_schema;
mod report;
#[cfg_attr(not(feature = "shell"), path = "no_shell.rs")]
pub(crate) mod shell;
#[cfg(test)]
mod tests;
mod text;
mod yaml;

pub(crate) use arguments::{ArgumentError, Arguments};
pub(crate) use call_tool::{BackgroundSettings, CallTool};
pub(crate) use calls::{CallRequest, ReadOutput};
pub(crate) use command_result::{RunsIn, running_result, signal_name};
pub use denial::ConfinedBy;
pub(crate) use describe::shortened_list;
pub(crate) use list::DescribedCommand;
pub(crate) use name::{ToolNameError, WhichTools, tool_names};
pub use report::{Given, GrantLists, ListedIn, NetworkGrant, ReportSettings, execute_hint, execute_result};
pub(crate) use shell::{ShellCall, ShellTool};

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::exec::Limits;
use crate::mcp::{CallToolResult, Tool};
use crate::policy::rules::Rules;
use crate::policy::{CommandLine, CommandLineError, Lines};

/// The settings for the descriptions of the tools and the bounds of their arguments.
#[derive(Debug, Clone)]
pub struct ToolSettings {
    /// The allowed commands, as the end of a sentence.
    pub allowed: String,
    /// Which tools exist.
    pub which: WhichTools,
    /// The entries of the allow-list; each has a tool on the persistent shell.
    pub entries: Vec<String>,
    /// Whether every command is allowed.
    pub allows_any: bool,
    /// Whether programs under the project directory are allowed too, by their path.
    pub allows_project: bool,
    /// The commands that policies describe.
    pub described: Vec<DescribedCommand>,
    /// Their rules, which are read when somebody asks for all that they allow.
    pub rules: Arc<Rules>,
    /// The commands that only read, according to the operator or to their rules.
    pub read_only: Vec<String>,
    /// The default timeout.
    pub timeout: Duration,
    /// The longest timeout that a call may ask for.
    pub max_timeout: Duration,
    /// Bytes kept of each stream; 0 for no bound.
    pub max_output: u64,
    /// Whether the tools declare an output schema.
    pub structured: bool,
    /// The setting `--lines`.
    pub lines: Lines,
    /// How the kernel confines commands, in sentences; `None` without a sandbox.
    pub sandbox: Option<String>,
    /// The settings of the tools about calls; `None` without these tools.
    pub background: Option<BackgroundSettings>,
}

impl ToolSettings {
    /// Whether a command only reads, whatever its arguments are.
    fn is_read_only(&self, entry: &str) -> bool {
        self.read_only.iter().any(|name| name == entry)
    }

    /// Whether every call only reads. Where lines may write files, a command that only reads is part of a line that does not.
    fn only_reads(&self) -> bool {
        let allows_others = self.allows_any || self.allows_project || self.lines == Lines::Files;
        !allows_others && !self.entries.is_empty() && self.entries.iter().all(|entry| self.is_read_only(entry))
    }

    /// Whether there is a tool of its own for the commands that only read: where others don't.
    fn has_inspect(&self) -> bool {
        let reads = |entry: &String| self.is_read_only(entry);
        !self.only_reads() && (self.entries.iter().any(reads) || self.allows_any && !self.read_only.is_empty())
    }

    /// How much of a result clients should show, if the operator has raised the bound of the output: both streams, and
    /// the indentation of their lines.
    fn max_result_chars(&self) -> Option<u64> {
        let raised = match self.max_output {
            0 => Some(MOST_RESULT_CHARS),
            bytes => Some(bytes).filter(|bytes| *bytes > Limits::DEFAULT_MAX_OUTPUT),
        };
        raised.map(|bytes| bytes.saturating_mul(3).min(MOST_RESULT_CHARS))
    }
}

/// The largest value that clients accept for this.
const MOST_RESULT_CHARS: u64 = 500_000;

/// The tools, in the order of their list.
#[derive(Debug)]
pub struct Toolbox {
    /// Made when they are first needed, so that no handshake waits for this.
    tools: OnceLock<Vec<(ToolKind, Tool)>>,
    settings: ToolSettings,
}

/// The action of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// Runs one process.
    Execute(ExecuteTool),
    /// Uses the persistent shell.
    Shell(ShellTool),
    /// Reports on earlier calls, or changes them.
    Calls(CallTool),
    /// Lists the commands.
    ListCommands,
}

/// The input of a tool that runs one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecuteTool {
    /// One command line, split into words.
    Command,
    /// One program with its arguments as they are.
    Process,
    /// One command line of a command that only reads.
    Inspect,
}

/// A call whose arguments fit the tool's schema.
#[derive(Debug)]
pub enum Called {
    /// Runs one process.
    Execute(Call),
    /// Uses the persistent shell.
    Shell(ShellCall),
    /// Runs nothing: it is about another call.
    Calls(CallRequest),
    /// Runs nothing: this is the result.
    Done(CallToolResult),
}

/// The command or the line of a call, as its client wrote it.
#[derive(Debug)]
pub enum Written {
    /// One plain command, or why it is none.
    Command(Result<CommandLine, CommandLineError>),
    /// A line, which may have several.
    Line(String),
}

/// A call of one process.
#[derive(Debug)]
pub struct Call {
    /// The command or the line.
    pub command: Written,
    /// Whether it may run only what changes nothing.
    pub only_reads: bool,
    /// Where to run it, as the client gave it.
    pub cwd: Option<String>,
    /// Its standard input.
    pub input: Option<String>,
    /// Its timeout; `None` if the call does not give one.
    pub timeout: Option<Duration>,
    /// Whether it is answered immediately and runs in the background.
    pub is_background: bool,
    /// Whether clients can write to its standard input after `input`, if its rule allows that.
    pub is_fed: bool,
}

impl Toolbox {
    /// Makes the tools for one server.
    pub fn new(settings: ToolSettings) -> Self {
        Self { tools: OnceLock::new(), settings }
    }

    fn tools(&self) -> &[(ToolKind, Tool)] {
        self.tools.get_or_init(|| Self::describe(&self.settings))
    }

    fn describe(settings: &ToolSettings) -> Vec<(ToolKind, Tool)> {
        let mut tools = Vec::new();
        if settings.which.has_execute() {
            let inspect = settings.has_inspect().then_some(ExecuteTool::Inspect);
            let both = [ExecuteTool::Command, ExecuteTool::Process].into_iter().chain(inspect);
            tools.extend(both.map(|tool| (ToolKind::Execute(tool), describe::tool(tool, settings))));
        }
        if settings.which.has_shell() {
            tools.extend(shell::tools(settings).into_iter().map(|(tool, entry)| (ToolKind::Shell(tool), entry)));
        }
        tools.extend(calls::tools(settings).into_iter().map(|(tool, entry)| (ToolKind::Calls(tool), entry)));
        tools.push((ToolKind::ListCommands, list::tool(settings)));
        tools
    }

    /// The list; its order never changes.
    pub fn list(&self) -> impl Iterator<Item = &Tool> {
        self.tools().iter().map(|(_, tool)| tool)
    }

    /// Which tools exist.
    pub fn which(&self) -> WhichTools {
        self.settings.which
    }

    /// The commands that change nothing, as the operator wrote them.
    pub fn read_only(&self) -> impl Iterator<Item = &str> {
        self.settings.read_only.iter().map(String::as_str)
    }

    /// Finds a tool by its exact name.
    pub fn find(&self, name: &str) -> Option<ToolKind> {
        self.tools().iter().find(|(_, tool)| tool.name == name).map(|(kind, _)| *kind)
    }

    /// The entry of the allow-list that a tool runs, if it runs only one.
    pub(crate) fn entry_of(&self, kind: ToolKind) -> Option<&str> {
        match kind {
            ToolKind::Shell(tool) => self.settings.entries.get(tool.entry()?).map(String::as_str),
            ToolKind::Execute(_) | ToolKind::Calls(_) | ToolKind::ListCommands => None,
        }
    }

    /// Reads the arguments of a call.
    ///
    /// # Errors
    /// `ArgumentError` if they violate the tool's schema.
    pub fn read(&self, kind: ToolKind, arguments: Map<String, Value>) -> Result<Called, ArgumentError> {
        self.read_for(Place::AsItSays, kind, arguments)
    }

    /// Reads the arguments of a call that runs in the background, whether it says so or not.
    ///
    /// # Errors
    /// The same as [`read`](Self::read).
    pub fn read_in_background(&self, kind: ToolKind, arguments: Map<String, Value>) -> Result<Called, ArgumentError> {
        self.read_for(Place::Background, kind, arguments)
    }

    fn written(&self, text: String) -> Written {
        match self.settings.lines {
            Lines::Off => Written::Command(CommandLine::parse(&text)),
            Lines::On | Lines::Files => Written::Line(text),
        }
    }

    /// Checks that a call which may only read runs no other command.
    ///
    /// # Errors
    /// [`ArgumentError::NotReadOnly`].
    pub(crate) fn check_read_only(&self, command: &CommandLine) -> Result<(), ArgumentError> {
        if self.settings.is_read_only(command.word()) { Ok(()) } else { Err(self.not_read_only(command.word())) }
    }

    /// Why a call that may only read does not run this.
    pub(crate) fn not_read_only(&self, word: &str) -> ArgumentError {
        ArgumentError::NotReadOnly { word: word.to_owned(), known: self.settings.read_only.join(", ") }
    }

    fn read_for(&self, place: Place, kind: ToolKind, arguments: Map<String, Value>) -> Result<Called, ArgumentError> {
        let background = self.settings.background;
        let common = |arguments: &mut Arguments, command, only_reads| -> Result<Called, ArgumentError> {
            let is_fed = arguments.flag("background")?;
            let is_background = is_fed || place == Place::Background;
            let longest = background.map(|background| background.max_background);
            let most = longest.filter(|_| is_background).unwrap_or(self.settings.max_timeout);
            Ok(Called::Execute(Call {
                command,
                only_reads,
                cwd: arguments.string("cwd")?,
                input: arguments.string("input")?,
                timeout: arguments.timeout("timeout_ms", most, longest)?,
                is_background,
                is_fed,
            }))
        };
        let known = |names: &[&'static str]| -> Vec<&'static str> {
            names.iter().copied().chain(background.map(|_| "background")).collect()
        };
        match kind {
            ToolKind::Execute(ExecuteTool::Command) => {
                let mut arguments = Arguments::new(arguments, &known(&["command", "cwd", "input", "timeout_ms"]))?;
                let text = arguments.required_string("command")?;
                common(&mut arguments, self.written(text), false)
            }
            ToolKind::Execute(ExecuteTool::Inspect) => {
                let mut arguments = Arguments::new(arguments, &known(&["command", "cwd", "input", "timeout_ms"]))?;
                let written = self.written(arguments.required_string("command")?);
                if let Written::Command(Ok(command)) = &written {
                    // Only the command's own rule counts, whatever other tools run.
                    self.check_read_only(command)?;
                }
                common(&mut arguments, written, true)
            }
            ToolKind::Execute(ExecuteTool::Process) => {
                let mut arguments = Arguments::new(arguments, &known(&["file", "args", "cwd", "input", "timeout_ms"]))?;
                let file = arguments.required_string("file")?;
                let command = CommandLine::from_process(file, arguments.strings("args")?);
                common(&mut arguments, Written::Command(command), false)
            }
            ToolKind::Shell(tool) => shell::read(tool, arguments, &self.settings).map(Called::Shell),
            ToolKind::Calls(tool) => calls::read(tool, arguments, &self.settings).map(Called::Calls),
            ToolKind::ListCommands => list::read(arguments, &self.settings).map(Called::Done),
        }
    }
}

/// Whether a call runs in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// As its arguments say.
    AsItSays,
    Background,
}

impl ExecuteTool {
    /// The name that clients call it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => "execute_command",
            Self::Process => "execute_process",
            Self::Inspect => "inspect_command",
        }
    }
}
