//! Introduces the server to a model.

use std::fmt::Write;

use crate::mcp::Tool;
use crate::policy::{AllowList, Lines};
use crate::tools::{WhichTools, shortened_list};

/// How many bytes of the introduction can be names of commands.
const MOST_NAMES: usize = 800;

/// The server's instructions at the start of a session: short, since a model reads them before every conversation.
pub fn instructions(allow: &AllowList, which: WhichTools) -> String {
    let how = match which {
        WhichTools::Execute => "without a shell",
        WhichTools::Shell => {
            "each as a tool of its own, in one persistent shell that keeps its directory and variables"
        }
        WhichTools::All => "without a shell, or each as a tool of its own in one persistent shell that keeps its state",
    };
    // Only where all of them are allowed: a model would try the others in vain.
    let tasks = if allow.allows_any() { ": git, build, test, lint, search files, and others" } else { "" };
    format!(
        "Use this server to run shell commands on the user's machine{tasks}. It runs only non-interactive commands, {how}. \
         A refusal says what is allowed, and the prompt `intro` explains the rules. Allowed: {}.",
        shortened_list(&allow.summary(), MOST_NAMES, "see the tools")
    )
}

/// The text of the prompt `intro`.
pub fn intro<'a>(tools: impl Iterator<Item = &'a Tool>, allow: &AllowList, which: WhichTools, lines: Lines) -> String {
    let mut text = format!(
        "This server runs commands on the user's machine, and only those that its operator allows.\n\nAllowed commands: {}.\n\n\
         Tools:\n",
        allow.summary()
    );
    for tool in tools {
        let summary = tool.description.lines().next().unwrap_or_default();
        // Writing to a string can't fail.
        let _ = writeln!(text, "- `{}`: {summary}", tool.name);
    }
    if !allow.rules().is_empty() {
        text.push_str(ARGUMENTS);
    }
    match which {
        WhichTools::Execute => text.push_str(&rules(lines)),
        WhichTools::Shell => text.push_str(SHELL_RULES),
        WhichTools::All => {
            text.push_str("\nFor `execute_command` and `execute_process`:");
            text.push_str(&rules(lines));
            text.push_str("\nFor the tools on the persistent shell:");
            text.push_str(SHELL_RULES);
        }
    }
    text
}

const ARGUMENTS: &str = "
For some commands only certain arguments are allowed: `list_commands` shows them, with examples. Write options in full.
";

/// The rules for the tools that run processes.
fn rules(lines: Lines) -> String {
    let syntax = match lines {
        Lines::Off => NO_SHELL,
        Lines::On | Lines::Files => OF_LINES,
    };
    format!("{WORDS}{syntax}{CALLS}")
}

const WORDS: &str = "
Rules:
- ONLY non-interactive commands: nobody can answer a prompt, and standard input is empty unless `input` is given.
- The first word must be an allowed command exactly as it is listed above, in the same case; don't put a path in front of a name.
";

const NO_SHELL: &str = "\
- There is no shell: no pipes, no redirection, no `&&`, no globs, no variables. Quoted, such characters are passed on literally.
";

const OF_LINES: &str = "\
- `execute_command` takes a line of several commands, read as bash reads it, without a shell: each command must be allowed. Its
  description says what a line may hold. `execute_process` takes one program.
- `failed` names commands of a line whose failure its exit code does not tell.
";

const CALLS: &str = "\
- Choose the directory with `cwd`. Every call starts fresh: nothing is kept from one call to the next.
- `exit_code` says how the command ended; a value other than 0 is not always a failure: `grep` without a match exits with 1.
- A refused call says why and what is allowed; change the call, and do not try to get around it.
- Long output is cut in the middle and says so (`truncated`); ask for less, with `head`-like options of the command itself.
";

const SHELL_RULES: &str = "
Rules:
- ONLY non-interactive commands: nobody can answer a prompt, and standard input is always empty.
- Each allowed command is a tool; `arguments` is the rest of its line. Nothing else can be run.
- All tools share ONE shell, and calls run one after another: what one call changes (directory, variables) the next one finds.
- Arguments hold no syntax: no pipes, no redirection, no `&&`. Quoted, such characters are passed on literally.
- Each answer gives the shell's directory (`cwd`). `shell_restarted` says that the shell was restarted and its state is lost.
- `exit_code` says how the command ended; a value other than 0 is not always a failure: `grep` without a match exits with 1.
- A refused call says why; change the call, and do not try to get around it.
- `restart` makes a fresh shell; `list_commands` lists the commands.
";
