//! `setup AGENT --hook`: how an agent asks `allowexec hook` before its own shell runs a line.

use serde_json::{Value, json};

use super::clients::{Client, ClientFiles};
use super::snippet::{NAME, Server, command_line};
use crate::cli::error::CliError;
use crate::cli::json_for_people;
use crate::config::Config;

/// How long an agent waits for the answer, in seconds. The hook answers within two.
const SECONDS: u64 = 10;

/// The form in which an agent takes its hook.
struct Form {
    /// Whether it runs another command in place of the line.
    takes_rewriting: bool,
    /// Notes for its users, one line each.
    notes: &'static [&'static str],
}

/// The instructions for one agent: the file, its contents, and notes.
pub(super) struct Hook {
    pub file: Option<String>,
    pub snippet: String,
    pub notes: Vec<String>,
}

impl Client {
    fn hook(self) -> Option<Form> {
        let form = |takes_rewriting, notes| Some(Form { takes_rewriting, notes });
        match self {
            Self::ClaudeCode => form(
                true,
                &[
                    "Whoever can write the settings of Claude Code can take the hook out, and `disableAllHooks` switches all off; \
                     managed settings can't be changed by a project.",
                    "Servers and tools that start programs in other ways don't ask this hook.",
                ],
            ),
            Self::Vscode => form(
                true,
                &[
                    "VS Code reads the hooks of Claude Code's settings; tasks and terminals that a person starts don't ask.",
                ],
            ),
            Self::Codex => form(
                true,
                &[
                    "Codex runs a hook only after you have trusted it once, in `/hooks`.",
                    "What `write_stdin` sends to a program that runs already goes past it.",
                ],
            ),
            Self::Copilot => {
                form(true, &["By its documents, Copilot lets the line run if the hook does not answer in time."])
            }
            Self::Gemini => form(
                true,
                &[
                    "Gemini CLI goes on if a hook fails with another status than 2; it can't ask, so what asks is denied.",
                ],
            ),
            Self::Cursor => form(
                false,
                &[
                    "Cursor runs the line itself: its shell has its own PATH, aliases and functions, and no sandbox of a rule holds.",
                ],
            ),
            Self::Opencode => form(true, &["It can't ask, so what asks is denied."]),
            Self::ClaudeDesktop | Self::Zed => None,
        }
    }
}

/// Makes it.
///
/// # Errors
/// If the agent has no hook, or its command can't be written for a shell.
pub(super) fn hook(client: Client, server: &Server, files: &ClientFiles, config: &Config) -> Result<Hook, CliError> {
    let agent = client.name();
    let Some(Form { takes_rewriting, notes }) = client.hook() else {
        return Err(CliError::Policy {
            why: format!("{} has no shell that asks a hook; `allowexec setup {agent}` adds the server", client.title()),
        });
    };
    let Server { program, arguments } = server;
    let rewrites = takes_rewriting.then(|| "--rewrite".to_owned());
    let words: Vec<String> =
        ["hook".to_owned(), agent.to_owned()].into_iter().chain(rewrites).chain(arguments.clone()).collect();
    let quoted = command_line(&[&[program.clone()][..], &words].concat());
    let quoted = quoted.ok_or_else(|| CliError::Policy { why: "a setting can't be written for a shell".to_owned() })?;
    // A panic, a kill or a missing program must not let the line run.
    let command = format!("{quoted} || exit 2");
    let (file, snippet) = (files.hook(client), snippet(client, &command, program, &words));
    let allow = config.allow_list();
    let held = allow.rules().iter().filter(|rule| !rule.rests_on_words_alone());
    let held: Vec<String> = held.map(|rule| format!("`{}`", rule.name)).collect();
    let unheld = (!takes_rewriting && !held.is_empty()).then(|| {
        format!(
            "The rules for {} add words, variables, a program, a sandbox or limits, which only `--rewrite` holds: lines with these \
             commands are not allowed.",
            held.join(", ")
        )
    });
    let rewrites = takes_rewriting.then(|| {
        "Allowed lines are replaced by `allowexec run`; without `--rewrite` the agent's shell reads them itself."
            .to_owned()
    });
    let notes = rewrites.into_iter().chain(unheld).chain(notes.iter().map(|note| (*note).to_owned())).collect();
    Ok(Hook { file, snippet, notes })
}

fn snippet(client: Client, command: &str, program: &str, words: &[String]) -> String {
    let matched = |matcher: &str, hook: Value| json!([{"matcher": matcher, "hooks": [hook]}]);
    let plain = json!({"type": "command", "command": command, "timeout": SECONDS});
    let value = match client {
        Client::Codex => {
            json!({"hooks": {"PreToolUse": matched("Bash", plain.clone()), "PermissionRequest": matched("Bash", plain)}})
        }
        Client::Copilot => {
            json!({"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": command, "timeoutSec": SECONDS}]}})
        }
        Client::Gemini => {
            let hook = json!({"name": NAME, "type": "command", "command": command, "timeout": SECONDS * 1000});
            json!({"hooks": {"BeforeTool": matched("run_shell_command", hook)}})
        }
        Client::Cursor => {
            json!({"version": 1, "hooks": {"beforeShellExecution": [{"command": command, "timeout": SECONDS}]}})
        }
        Client::Opencode => return plugin(program, words),
        Client::ClaudeCode | Client::Vscode | Client::ClaudeDesktop | Client::Zed => {
            // Its other tools that run lines say `Bash` in an event of their own, and take no other line in place of theirs.
            json!({"hooks": {"PreToolUse": matched("Bash|mcp__workspace__bash|Monitor|REPL|Eval|PowerShell", plain)}})
        }
    };
    json_for_people(&format!("{value:#}"))
}

/// The plugin of opencode.
fn plugin(program: &str, words: &[String]) -> String {
    let program = json_for_people(&json!(program).to_string());
    let words = json_for_people(&json!(words).to_string());
    format!(
        r#"// Asks allowexec before opencode's own shell runs a line, and throws to deny.
import {{ spawnSync }} from "node:child_process"

const program = {program}
const words = {words}

export const Allowexec = async ({{ directory }}) => ({{
  "tool.execute.before": async (input, output) => {{
    const event = JSON.stringify({{ tool: input.tool, args: output.args, cwd: directory }})
    const asked = spawnSync(program, words, {{ input: event, encoding: "utf8", timeout: {milliseconds} }})
    if (asked.error || asked.status !== 0) {{
      throw new Error(asked.stderr || `allowexec has not answered: ${{asked.error ?? asked.signal}}`)
    }}
    const answer = JSON.parse(asked.stdout)
    if (answer.decision === "pass") return
    if (answer.decision !== "allow") throw new Error(answer.reason ?? "allowexec denies it")
    if (answer.args) Object.assign(output.args, answer.args)
  }},
}})"#,
        milliseconds = SECONDS * 1000,
    )
}
