//! The agents whose shells can ask a hook, and which of their tools are shells.

use std::ffi::OsStr;

use serde_json::{Map, Value};

use super::verdict::Shell;
use crate::config::Surroundings;
use crate::files::is_executable;

/// An agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Agent {
    ClaudeCode,
    Vscode,
    Codex,
    Copilot,
    Gemini,
    Cursor,
    Opencode,
}

/// The use that a tool makes of a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    /// Runs the line in its argument `command`.
    Command,
    /// Starts or feeds a shell in another way.
    Shell,
    Other,
}

/// The arguments of Copilot by which a call names its shell.
const SHELL_NAMES: [&str; 2] = ["shellId", "sessionId"];

/// The names that any of the agents has for a tool that starts or feeds a shell. Claude Code calls `REPL` also `Eval`.
const SHELLS: &str = "\
    async_bash Bash create_and_run_task createAndRunTask Eval exec_command local_shell mcp__workspace__bash Monitor pty pty_spawn \
    pty_write REPL run_in_terminal run_shell_command run_task runInTerminal runTask runTerminalCommand send_to_shell send_to_terminal \
    sendToTerminal shell shell_command ShellTool unified_exec write_bash write_stdin write_to_shell";

/// The tools of VS Code that type a command into a terminal.
const TERMINAL_TOOLS: [&str; 2] = ["run_in_terminal", "runInTerminal"];

impl Agent {
    pub const ALL: [Self; 7] =
        [Self::ClaudeCode, Self::Vscode, Self::Codex, Self::Copilot, Self::Gemini, Self::Cursor, Self::Opencode];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Vscode => "vscode",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::Opencode => "opencode",
        }
    }

    /// The shell that its own tool always uses in an environment; `None` if it is the user's.
    pub fn shell(self, here: &Surroundings) -> Option<Shell> {
        match self {
            Self::Copilot | Self::Gemini => Some(Shell::Bash),
            // The first executable one of these that has the text `bash` or `zsh` in its path, else a bash or zsh that it finds.
            Self::ClaudeCode => {
                let is_named = |path: &&OsStr| ["bash", "zsh"].iter().any(|name| path.to_string_lossy().contains(name));
                let is_taken = |path: &&OsStr| is_named(path) && is_executable(path.as_ref());
                let taken =
                    ["CLAUDE_CODE_SHELL", "SHELL"].into_iter().filter_map(|name| here.variable(name)).find(is_taken);
                Some(taken.map_or(Shell::Bash, |path| Shell::of_path(path.as_ref())))
            }
            Self::Vscode | Self::Codex | Self::Cursor | Self::Opencode => None,
        }
    }

    /// Whether it can ask a person if the hook says so.
    pub fn can_ask(self) -> bool {
        match self {
            Self::ClaudeCode | Self::Vscode | Self::Copilot | Self::Cursor => true,
            Self::Codex | Self::Gemini | Self::Opencode => false,
        }
    }

    /// Whether it runs another command if the hook answers with one.
    pub fn takes_rewriting(self) -> bool {
        match self {
            Self::ClaudeCode | Self::Vscode | Self::Codex | Self::Copilot | Self::Gemini | Self::Opencode => true,
            Self::Cursor => false,
        }
    }

    /// The arguments by which the agent's tool for commands chooses the directory of one.
    pub(super) fn directories(self) -> &'static [&'static str] {
        match self {
            Self::Codex | Self::Opencode => &["workdir"],
            Self::Gemini => &["dir_path", "directory"],
            Self::ClaudeCode | Self::Vscode | Self::Copilot | Self::Cursor => &[],
        }
    }

    /// Whether these arguments of the tool name a shell that may run already. That of Copilot stays in the directory in which it was
    /// started, and its events name the one of the session.
    pub(super) fn reuses_shell(self, fields: &Map<String, Value>) -> bool {
        self == Self::Copilot && SHELL_NAMES.iter().any(|name| fields.get(*name).is_some_and(|value| !value.is_null()))
    }

    /// Whether the tool types its commands into a terminal, which takes control characters for keys, and may stay in a directory.
    pub(super) fn is_typed(tool: &str) -> bool {
        TERMINAL_TOOLS.contains(&tool)
    }

    /// The names of its tools that run the line in their argument `command`.
    fn commands(self) -> &'static [&'static str] {
        match self {
            // VS Code reads the hooks of both.
            Self::ClaudeCode | Self::Vscode => &["Bash", "run_in_terminal", "runInTerminal"],
            Self::Codex => &["Bash"],
            Self::Copilot | Self::Opencode => &["bash"],
            Self::Gemini => &["run_shell_command"],
            // Its event is for shells alone and names no tool.
            Self::Cursor => &[],
        }
    }

    /// Returns the use that a tool of this name makes of a shell. A name in other letters, a name that another agent has for a shell, and
    /// any name of a PowerShell, is a shell.
    pub(super) fn tool(self, name: &str) -> Tool {
        let folded = name.trim().to_ascii_lowercase();
        let is_powershell = (folded.contains("powershell") || folded.contains("pwsh"))
            && !["read", "stop", "list"].iter().any(|harmless| folded.starts_with(harmless));
        if self.commands().contains(&name) {
            Tool::Command
        } else if is_powershell || SHELLS.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(&folded)) {
            Tool::Shell
        } else {
            Tool::Other
        }
    }
}
