//! The clients: how each is told of a server, where its file is, and how it is found on this system.

use std::path::{Path, PathBuf};

use super::snippet::Snippet;
use crate::config::Surroundings;
use crate::policy::{Programs, SearchPath};

/// A client that `setup` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Codex,
    Copilot,
    Cursor,
    Gemini,
    Opencode,
    Vscode,
    Zed,
}

/// The client's own command for adding a server, up to the server's program and arguments.
#[derive(Clone, Copy)]
pub(super) enum Command {
    /// The server's command line follows.
    Words(&'static [&'static str]),
    /// The server's program follows, then `--`, then its arguments.
    ProgramFirst(&'static [&'static str]),
    /// The server follows as JSON in one word.
    Json(&'static [&'static str]),
}

/// The form in which a client takes a server.
pub(super) struct Form {
    pub command: Option<Command>,
    pub snippet: Snippet,
    /// A note for its users about the command alone.
    pub of_command: Option<&'static str>,
    /// Notes for its users, one line each.
    pub notes: &'static [&'static str],
    /// How its own shell is switched off, so that commands go to the server.
    pub own_shell: Option<&'static str>,
}

impl Client {
    pub(in crate::cli) const ALL: [Self; 9] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Codex,
        Self::Copilot,
        Self::Cursor,
        Self::Gemini,
        Self::Opencode,
        Self::Vscode,
        Self::Zed,
    ];

    /// The word on the command line, what people call it, and the program to look for in PATH, if it has a command of its own.
    fn names(self) -> (&'static str, &'static str, Option<&'static str>) {
        match self {
            Self::ClaudeCode => ("claude-code", "Claude Code", Some("claude")),
            Self::ClaudeDesktop => ("claude-desktop", "Claude Desktop", None),
            Self::Codex => ("codex", "Codex", Some("codex")),
            Self::Copilot => ("copilot", "GitHub Copilot CLI", Some("copilot")),
            Self::Cursor => ("cursor", "Cursor", Some("cursor")),
            Self::Gemini => ("gemini", "Gemini CLI", Some("gemini")),
            Self::Opencode => ("opencode", "opencode", Some("opencode")),
            Self::Vscode => ("vscode", "VS Code", Some("code")),
            Self::Zed => ("zed", "Zed", Some(if cfg!(target_os = "linux") { "zeditor" } else { "zed" })),
        }
    }

    pub(in crate::cli) fn name(self) -> &'static str {
        self.names().0
    }

    pub(in crate::cli) fn title(self) -> &'static str {
        self.names().1
    }

    /// How its own shell is switched off; `None` if it has none, or if its documents name no way.
    fn own_shell(self) -> Option<&'static str> {
        Some(match self {
            Self::ClaudeCode => {
                "Its own shell stays beside the server: `\"permissions\": {\"deny\": [\"Bash\"]}` in `.claude/settings.json` switches it off, and \
                 `allowexec setup claude-code --hook` has it ask."
            }
            Self::Codex => {
                "Its own shell stays beside the server: `shell_tool = false` below `[features]` in config.toml switches it off, and \
                 `allowexec setup codex --hook` has it ask."
            }
            Self::Copilot => {
                "Its own shell stays beside the server: `copilot --deny-tool shell` switches it off, and `allowexec setup copilot --hook` \
                 has it ask."
            }
            Self::Gemini => {
                "Its own shell stays beside the server: `\"tools\": {\"exclude\": [\"run_shell_command\"]}` in its settings.json switches it off, \
                 and `allowexec setup gemini --hook` has it ask."
            }
            Self::Opencode => {
                "Its own shell stays beside the server: `\"permission\": {\"bash\": \"deny\"}` in opencode.json switches it off, and \
                 `allowexec setup opencode --hook` has it ask."
            }
            Self::Cursor => "Its own shell stays beside the server: `allowexec setup cursor --hook` has it ask.",
            Self::Vscode => {
                "Its own terminal stays beside the server: take it out in the tool picker of the chat, or have it ask by \
                 `allowexec setup vscode --hook`."
            }
            Self::ClaudeDesktop | Self::Zed => return None,
        })
    }

    pub(super) fn form(self) -> Form {
        let own_shell = self.own_shell();
        let form = |command, snippet, notes| Form { command, snippet, of_command: None, notes, own_shell };
        match self {
            Self::ClaudeCode => Form {
                command: Some(Command::Words(&["claude", "mcp", "add", "allowexec", "--"])),
                snippet: Snippet::McpServers { is_typed: false },
                of_command: Some(
                    "It is added only for you and the current directory; `--scope user` before the name adds it for all \
                     your directories.",
                ),
                notes: &[],
                own_shell,
            },
            Self::ClaudeDesktop => form(
                None,
                Snippet::McpServers { is_typed: false },
                &["Quit and start Claude Desktop to have it read the file."],
            ),
            Self::Codex => form(
                Some(Command::Words(&["codex", "mcp", "add", "allowexec", "--"])),
                Snippet::Codex,
                &[
                    "`codex exec` refuses tools that may write, unless config.toml has `default_tools_approval_mode = \"approve\"` \
                   below `[mcp_servers.allowexec]`.",
                ],
            ),
            Self::Copilot => form(
                Some(Command::Words(&["copilot", "mcp", "add", "allowexec", "--"])),
                Snippet::McpServers { is_typed: true },
                &[],
            ),
            Self::Cursor => form(
                None,
                Snippet::McpServers { is_typed: false },
                &["For one project only, it goes into `.cursor/mcp.json` there."],
            ),
            Self::Gemini => form(
                Some(Command::ProgramFirst(&["gemini", "mcp", "add", "--scope", "user", "allowexec"])),
                Snippet::McpServers { is_typed: false },
                &["Gemini CLI starts servers only in folders that you trust."],
            ),
            Self::Opencode => form(
                Some(Command::Words(&["opencode", "mcp", "add", "allowexec", "--"])),
                Snippet::Opencode,
                &["For one project only, the snippet (`--snippet`) goes into `opencode.json` there."],
            ),
            Self::Vscode => form(
                Some(Command::Json(&["code", "--add-mcp"])),
                Snippet::Vscode,
                &["For one project only, the snippet (`--snippet`) goes into `.vscode/mcp.json` there."],
            ),
            Self::Zed => form(None, Snippet::Zed, &[]),
        }
    }

    /// The key of its file that holds servers, if that file is JSON.
    pub(in crate::cli) fn key(self) -> Option<&'static str> {
        self.form().snippet.key()
    }

    /// Whether its file must be plain JSON, without comments.
    pub(in crate::cli) fn reads_plain_json(self) -> bool {
        match self {
            Self::ClaudeCode | Self::ClaudeDesktop | Self::Copilot => true,
            Self::Codex | Self::Cursor | Self::Gemini | Self::Opencode | Self::Vscode | Self::Zed => false,
        }
    }

    /// The directory that it starts servers in, if that is neither the project nor the directory that the client was started in.
    pub(in crate::cli) fn starts_in(self) -> Option<&'static str> {
        (self == Self::ClaudeDesktop && !cfg!(windows)).then_some("/")
    }
}

/// Where clients keep a user's settings on this system.
pub(in crate::cli) struct ClientFiles {
    home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, or its default.
    configuration: Option<PathBuf>,
    /// Where desktop programs keep their settings.
    desktop: Option<PathBuf>,
    codex: Option<PathBuf>,
    directory: PathBuf,
}

impl ClientFiles {
    pub(in crate::cli) fn new(surroundings: &Surroundings) -> Self {
        let path = |name| surroundings.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = path("HOME").or_else(|| path("USERPROFILE"));
        let below = |part: &str| home.as_deref().map(|home| home.join(part));
        let configuration = path("XDG_CONFIG_HOME").or_else(|| below(".config"));
        let desktop = if cfg!(windows) {
            path("APPDATA").or_else(|| below("AppData/Roaming"))
        } else if cfg!(target_os = "macos") {
            below("Library/Application Support")
        } else {
            configuration.clone()
        };
        let codex = path("CODEX_HOME").or_else(|| below(".codex"));
        Self { desktop, codex, configuration, directory: surroundings.directory.clone(), home }
    }

    /// The file that a snippet belongs in; `None` if no home directory is known.
    pub(super) fn file(&self, client: Client) -> Option<String> {
        let below = |place: &Option<PathBuf>, part: &str| place.as_deref().map(|place| place.join(part));
        let file = match client {
            // Its main file holds much else, and its own command writes that; this one is for the project.
            Client::ClaudeCode => Some(self.directory.join(".mcp.json")),
            Client::ClaudeDesktop => below(&self.desktop, "Claude/claude_desktop_config.json"),
            Client::Codex => below(&self.codex, "config.toml"),
            Client::Copilot => below(&self.home, ".copilot/mcp-config.json"),
            Client::Cursor => below(&self.home, ".cursor/mcp.json"),
            Client::Gemini => below(&self.home, ".gemini/settings.json"),
            Client::Opencode => below(&self.configuration, "opencode/opencode.json"),
            Client::Vscode => below(&self.desktop, "Code/User/mcp.json"),
            Client::Zed if cfg!(windows) => below(&self.desktop, "Zed/settings.json"),
            Client::Zed => below(&self.configuration, "zed/settings.json"),
        };
        // With one kind of separator, even on Windows.
        file.map(|file| file.components().collect::<PathBuf>().display().to_string())
    }

    /// The file that a hook belongs in; `None` if no home directory is known.
    pub(super) fn hook(&self, client: Client) -> Option<String> {
        let below = |place: &Option<PathBuf>, part: &str| place.as_deref().map(|place| place.join(part));
        let file = match client {
            Client::ClaudeCode | Client::Vscode => Some(self.directory.join(".claude/settings.json")),
            Client::Codex => below(&self.codex, "hooks.json"),
            Client::Copilot => below(&self.home, ".copilot/hooks/allowexec.json"),
            Client::Cursor => Some(self.directory.join(".cursor/hooks.json")),
            Client::Gemini => below(&self.home, ".gemini/settings.json"),
            Client::Opencode => below(&self.configuration, "opencode/plugin/allowexec.js"),
            Client::ClaudeDesktop | Client::Zed => None,
        };
        file.map(|file| file.components().collect::<PathBuf>().display().to_string())
    }

    /// All files in which a client may have servers: the user's, and those of the project in this directory.
    pub(in crate::cli) fn all(&self, client: Client) -> Vec<PathBuf> {
        let here = |part: &str| Some(self.directory.join(part));
        let more = match client {
            Client::ClaudeCode => self.home.as_deref().map(|home| home.join(".claude.json")),
            Client::Cursor => here(".cursor/mcp.json"),
            Client::Gemini => here(".gemini/settings.json"),
            Client::Opencode => here("opencode.json"),
            Client::Vscode => here(".vscode/mcp.json"),
            Client::ClaudeDesktop | Client::Codex | Client::Copilot | Client::Zed => None,
        };
        self.file(client).map(PathBuf::from).into_iter().chain(more).collect()
    }

    /// The client's program, or the directory of its settings, if one of them exists.
    pub(super) fn found(&self, client: Client, search_path: &SearchPath) -> Option<String> {
        let programs = Programs::new(search_path.clone(), self.directory.clone());
        let program = client.names().2.and_then(|name| programs.find_listed(name));
        if let Some(program) = program {
            return Some(program.path().display().to_string());
        }
        // The file of a project does not show that the client is installed.
        let file = self.file(client).filter(|_| client != Client::ClaudeCode)?;
        let settings = Path::new(&file).parent().filter(|settings| settings.is_dir())?;
        Some(settings.display().to_string())
    }
}
