//! Tells the patterns of other tools from the names of commands. As names they would allow nothing, without a word.

/// The tools of agents that take a command line, as the patterns of their rules name them.
const SHELL_TOOLS: [&str; 12] = [
    "Bash",
    "bash",
    "Shell",
    "shell",
    "ShellTool",
    "PowerShell",
    "powershell",
    "exec",
    "local_shell",
    "run_shell_command",
    "run_terminal_cmd",
    "run_in_terminal",
];

/// The words to write instead of a pattern of another tool: `git diff` for `git diff:*`, `git diff *`, `^git diff`, `Bash(git diff:*)` or
/// `shell(git diff)`. Empty if the pattern begins with no word.
pub(crate) fn of_another_tool(entry: &str) -> Option<String> {
    let (tool, inner) = entry.split_once('(').unwrap_or(("", entry));
    let is_tool = tool.starts_with(|c: char| c.is_ascii_alphabetic())
        && tool.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let inner = if is_tool { inner.strip_suffix(')').unwrap_or(inner) } else { entry };
    let is_pattern =
        entry.contains(" *") || entry.contains("* ") || entry.starts_with('^') || entry.ends_with(['*', '?', '$']);
    let is_pattern = is_pattern || (entry.contains('*') && entry != "*" && !entry.contains('/'));
    if entry == "*" || !is_tool && !is_pattern {
        return None;
    }
    // Another tool than a shell names no command; any other name is the command itself, with its arguments in parentheses.
    let is_shell = SHELL_TOOLS.contains(&tool);
    if is_tool && !is_shell && tool.starts_with(|c: char| c.is_ascii_uppercase()) {
        return Some(String::new());
    }
    if is_shell && inner.chars().all(|c| c == '*') {
        return Some("*".to_owned());
    }
    let whole = if is_tool && !is_shell { format!("{tool} {inner}") } else { inner.to_owned() };
    let literal = whole.trim_start_matches('^');
    let literal = literal.split(['*', '?', '$', '[', '(', '|']).next().unwrap_or_default();
    let words = literal.split_whitespace().take_while(|word| !word.starts_with('-')).collect::<Vec<_>>().join(" ");
    Some(words.trim_end_matches([':', '.', '-']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_other_tools_are_told_from_names() {
        for (entry, instead) in [
            ("git diff:*", "git diff"),
            ("git *", "git"),
            ("git* ", "git"),
            ("git * main", "git"),
            ("git log --*", "git log"),
            ("git.*", "git"),
            ("^git log", "git log"),
            ("^git (log|diff)$", "git"),
            ("npm run test:*", "npm run test"),
            ("/usr/bin/git *", "/usr/bin/git"),
            ("ls?", "ls"),
            ("Bash(git log)", "git log"),
            ("shell(git:*)", "git"),
            ("run_shell_command(git)", "git"),
            ("bash(git commit -m *)", "git commit"),
            ("Bash(*)", "*"),
            ("ls(*)", "ls"),
            ("git(log:*)", "git log"),
            ("ls(-l)", "ls"),
            ("Read(*)", ""),
            ("Read(src/x)", ""),
            ("*:git", ""),
            ("g*t", "g"),
            ("* --version", ""),
            ("Bash(* --version)", ""),
        ] {
            assert_eq!(of_another_tool(entry).as_deref(), Some(instead), "{entry}");
        }
        for entry in
            ["*", "git", "git log", "npm run test:unit", "./x(1)", "/opt/x (y)/z", "a.b", "x-", "g++", "[", "@shell"]
        {
            assert_eq!(of_another_tool(entry), None, "{entry}");
        }
    }
}
