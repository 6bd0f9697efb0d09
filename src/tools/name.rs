//! The names of the tools for the entries of the allow-list, in a form that every client accepts.

use thiserror::Error;

/// The longest name that every client accepts.
const LONGEST: usize = 64;

/// Which tools there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhichTools {
    /// `execute_command` and `execute_process`, one process for each call; the default.
    #[default]
    Execute,
    /// One for each allowed command, on the one persistent shell.
    Shell,
    /// Both.
    All,
}

impl WhichTools {
    /// All choices.
    pub const ALL: [Self; 3] = [Self::Execute, Self::Shell, Self::All];

    /// The word for it in a setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::Execute => "execute",
            Self::Shell => "shell",
            Self::All => "all",
        }
    }

    /// Whether there are tools that run one process for each call.
    pub fn has_execute(self) -> bool {
        matches!(self, Self::Execute | Self::All)
    }

    /// Whether there are tools on the persistent shell.
    pub fn has_shell(self) -> bool {
        matches!(self, Self::Shell | Self::All)
    }

    /// The names of the tools that do not come from the allow-list.
    pub fn own_names(self) -> &'static [&'static str] {
        match self {
            Self::Execute => &["execute_command", "execute_process", "inspect_command"],
            Self::Shell => &["restart", "list_commands"],
            Self::All => &["execute_command", "execute_process", "inspect_command", "restart", "list_commands"],
        }
    }
}

/// An entry of the allow-list that can't have a tool of its own.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ToolNameError {
    /// Two names are equal after replacing characters, or one is the name of another tool.
    #[error(
        "`{entry}` on the allow-list would be the tool `{name}`, which is also the tool of {other}; with one tool for each \
         command take one of them off the list"
    )]
    Collision {
        /// The entry.
        entry: String,
        /// The tool's name.
        name: String,
        /// The tool or entry that already has that name.
        other: String,
    },
    /// The name is longer than clients accept.
    #[error("`{entry}` on the allow-list is longer than the {LONGEST} characters that the name of a tool may have")]
    TooLong {
        /// The entry.
        entry: String,
    },
    /// The list allows everything, so it is not a list of tools.
    #[error("`*` on the allow-list names no command, and there is one tool for each command; name the commands")]
    Any,
}

/// The tool name of an entry: the entry with `_` for each character that is not an ASCII letter or digit, `_` or `-`.
pub fn tool_name(entry: &str) -> String {
    entry.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// The names of the tools of all `entries`, in their order; `taken` are the names of the other tools.
///
/// # Errors
/// [`ToolNameError`], the first that applies.
pub fn tool_names(entries: &[String], taken: &[&str]) -> Result<Vec<String>, ToolNameError> {
    let mut names: Vec<String> = Vec::new();
    for entry in entries {
        if entry == "*" {
            return Err(ToolNameError::Any);
        }
        let name = tool_name(entry);
        if name.len() > LONGEST {
            return Err(ToolNameError::TooLong { entry: entry.clone() });
        }
        let same = names.iter().zip(entries).find(|(other, _)| **other == name).map(|(_, other)| format!("`{other}`"));
        let other = same.or_else(|| taken.contains(&name.as_str()).then(|| "this server itself".to_owned()));
        if let Some(other) = other {
            return Err(ToolNameError::Collision { entry: entry.clone(), name, other });
        }
        names.push(name);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(entries: &[&str]) -> String {
        let entries: Vec<String> = entries.iter().map(|&entry| entry.to_owned()).collect();
        tool_names(&entries, &["restart"]).map_or_else(|error| error.to_string(), |names| names.join(" "))
    }

    #[test]
    fn an_entry_becomes_a_name_that_every_client_takes() {
        assert_eq!(names(&["ls", "git-lfs", "g++", "/opt/my tool", "a.b", "é"]), "ls git-lfs g__ _opt_my_tool a_b _");
    }

    #[test]
    fn what_can_have_no_name_of_its_own_is_said() {
        let end = "with one tool for each command take one of them off the list";
        let expected = |entry: &str, name: &str, other: &str| {
            format!("`{entry}` on the allow-list would be the tool `{name}`, which is also the tool of {other}; {end}")
        };
        assert_eq!(names(&["g++", "g--", "g..", "x"]), expected("g..", "g__", "`g++`"));
        assert_eq!(names(&["ls", "restart"]), expected("restart", "restart", "this server itself"));
        assert_eq!(
            names(&["ls", "*"]),
            "`*` on the allow-list names no command, and there is one tool for each command; name the commands"
        );
        assert_eq!(names(&["x".repeat(64).as_str()]), "x".repeat(64));
        assert!(
            names(&["x".repeat(65).as_str()])
                .ends_with("longer than the 64 characters that the name of a tool may have")
        );
    }
}
