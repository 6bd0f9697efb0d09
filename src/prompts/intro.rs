//! The words that introduce the server to a model.

use std::fmt::Write;

use crate::mcp::Tool;
use crate::policy::AllowList;

/// What the server says of itself when a client connects: short, since it is read before every conversation.
pub fn instructions(allow: &AllowList) -> String {
    format!(
        "Runs non-interactive commands that the operator allows, without a shell. Allowed: {}. The prompt `intro` tells \
         the rules.",
        allow.summary()
    )
}

/// The text of the prompt `intro`.
pub fn intro<'a>(tools: impl Iterator<Item = &'a Tool>, allow: &AllowList) -> String {
    let mut text = format!(
        "This server runs commands on the user's machine, and only those that its operator allows.\n\nAllowed commands: {}.\n\n\
         Tools:\n",
        allow.summary()
    );
    for tool in tools {
        let summary = tool.description.lines().next().unwrap_or_default();
        // Writing to a string does not fail.
        let _ = writeln!(text, "- `{}`: {summary}", tool.name);
    }
    text.push_str(RULES);
    text
}

const RULES: &str = "
Rules:
- ONLY non-interactive commands: nobody can answer a prompt, and standard input is empty unless `input` is given.
- The first word must be an allowed command, exactly as it stands in the list: no path before it, no other case.
- There is no shell: no pipes, no redirection, no `&&`, no globs, no variables. Quoted, such characters are passed on literally.
- Choose the directory with `cwd`. Every call starts anew: nothing is kept from one call to the next.
- `exit_code` tells how the command ended; other than 0 is not yet a failure: `grep` without a match exits with 1.
- A refused call says why and what is allowed; change the call, and do not try to get around it.
- Long output is cut in the middle and says so (`truncated`); ask for less, with `head`-like options of the command itself.
";
