//! Lists as text, and what the entries of lists of commands and of directories may be.

use std::collections::BTreeSet;
use std::path::{PathBuf, is_separator};

use super::error::printable;
use super::wrong::Wrong;
use crate::policy::{of_another_tool, split_words};

/// The named set of commands that shells of this platform are commonly used for.
const SHELL_SET: &str = "@shell";

/// The commands of `@shell`.
pub(super) const SHELL_COMMANDS: &[&str] = if cfg!(windows) {
    &["dir", "echo", "curl", "type", "find", "findstr", "cd", "where", "set", "podman"]
} else {
    &["ls", "echo", "curl", "cat", "find", "grep", "cd", "pwd", "which", "printenv", "podman"]
};

/// The entries of a comma-separated list: blanks around them are dropped, and empty ones ignored.
pub(super) fn entries(list: &str) -> Vec<String> {
    list.split(',').map(str::trim_ascii).filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
}

/// Reads an entry of the allow-list: the name of a command, its path, `*`, or the name of a set, which begins with `@`.
///
/// A call's first word is compared with the whole entry, so an entry that no first word could equal is an error: one with a
/// control character, or with a blank before its first path separator. After a separator, a blank may be part of a path
/// (`/opt/my tools/lint`). Without a separator, several words are a command and its subcommand (`git status`); an option
/// (`ls -l`) is an error.
pub(super) fn command(entry: &str) -> Result<String, Wrong> {
    if entry.chars().any(char::is_control) {
        return Err(Wrong::ControlInCommand { found: printable(entry) });
    }
    // Quotes belong to what they hold, so they are told first.
    if let Some(instead) = of_another_tool(entry).filter(|_| !entry.contains(['\'', '"'])) {
        return Err(Wrong::PatternOfAnotherTool { found: printable(entry), instead: printable(&instead) });
    }
    let is_syntax = |c: char| "'\"`;&|<>!$(){}".contains(c);
    if let Some(character) = entry.chars().find(|c| is_syntax(*c)).filter(|_| !entry.contains(is_separator)) {
        let commands = entry.split(|c| ";&|".contains(c)).map(|command| command.replace(is_syntax, ""));
        let commands = commands.map(|command| command.trim().to_owned()).filter(|command| !command.is_empty());
        let instead = printable(&commands.collect::<Vec<_>>().join(","));
        return Err(Wrong::SyntaxInCommand { found: printable(entry), character, instead });
    }
    if entry.starts_with('@') && entry != SHELL_SET {
        return Err(Wrong::UnknownSet { found: printable(entry) });
    }
    let blank = entry.find(char::is_whitespace);
    let separator = entry.find(is_separator);
    match (blank, separator) {
        (Some(blank), Some(separator)) if separator < blank => Ok(entry.to_owned()),
        (Some(_), None)
            if entry.split_whitespace().all(|word| !word.starts_with('-') && !word.contains('\\'))
                && entry.is_ascii() =>
        {
            Ok(entry.split_whitespace().collect::<Vec<_>>().join(" "))
        }
        (Some(_), _) => Err(Wrong::BlankInCommand { found: printable(entry) }),
        (None, _) => Ok(entry.to_owned()),
    }
}

/// Reads a program of the operator's with its arguments, split as a POSIX shell splits them. So on Windows too, a `\` is
/// literal only within single quotes.
pub(super) fn program(text: &str) -> Result<Vec<String>, Wrong> {
    let words = split_words(text).ok().filter(|words| words.first().is_some_and(|program| !program.is_empty()));
    words.filter(|_| !text.contains('\0')).ok_or_else(|| Wrong::NoProgram { found: printable(text) })
}

/// Whether an entry of the allow-list is a command with a subcommand.
pub(super) fn has_several_words(entry: &str) -> bool {
    entry.contains(char::is_whitespace) && !entry.contains(is_separator)
}

/// Reads the name of a shipped profile or of a command; whether it exists is checked later.
pub(super) fn name(name: &str) -> Result<String, Wrong> {
    if name.chars().any(char::is_control) {
        return Err(Wrong::ControlInCommand { found: printable(name) });
    }
    Ok(name.to_owned())
}

/// Reads the name of a variable that calls may change: letters, digits and `_`. What decides which code runs, or is the shell's
/// own, is an error.
pub(super) fn variable(name: &str) -> Result<String, Wrong> {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    if !name.starts_with(is_letter) || !name.chars().all(|c| is_letter(c) || c.is_ascii_digit()) {
        return Err(Wrong::NotASettableName { found: printable(name) });
    }
    // Windows does not tell the cases of letters apart.
    let folded = if cfg!(windows) { name.to_ascii_uppercase() } else { name.to_owned() };
    let is_guarded = ["PATH", "IFS", "ENV", "PWD", "OLDPWD", "SHELLOPTS"].contains(&folded.as_str())
        || ["BASH", "LD_", "DYLD_"].iter().any(|prefix| folded.starts_with(prefix));
    if is_guarded { Err(Wrong::GuardedVariable { name: name.to_owned() }) } else { Ok(name.to_owned()) }
}

/// Reads a path literally: tildes, variables, globs and URIs have no special meaning, and nothing is resolved.
pub(super) fn path(text: &str) -> Result<PathBuf, Wrong> {
    if text.is_empty() {
        return Err(Wrong::EmptyPath);
    }
    if text.contains('\0') {
        return Err(Wrong::NulInPath { found: printable(text) });
    }
    Ok(PathBuf::from(text))
}

/// A list of commands with the named sets replaced by their commands, without repetitions.
pub(super) fn with_sets(list: Vec<String>) -> Vec<String> {
    let expand = |entry: String| match entry == SHELL_SET {
        true => SHELL_COMMANDS.iter().map(|&name| name.to_owned()).collect(),
        false => vec![entry],
    };
    without_repetitions(list.into_iter().flat_map(expand).collect())
}

/// A list in its order, with only the first of equal entries.
pub(super) fn without_repetitions(list: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    list.into_iter().filter(|entry| seen.insert(entry.clone())).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::env_entry::EnvEntry;
    use super::super::file;
    use super::*;

    #[test]
    fn a_blank_is_allowed_only_after_a_separator() {
        let check = |entry: &str, allowed: bool| assert_eq!(command(entry).is_ok(), allowed, "`{entry}`");
        check("ls", true);
        check("*", true);
        check("café", true);
        check("./ls", true);
        check("/opt/my tools/lint", true);
        check("./my tool", true);
        check("my tool", true);
        check("git log -p", false);
        check("ls /tmp", false);
        check("ls\u{a0}", false);
        check("/opt/a\tb", false);
        check("C:\\Program Files\\x", cfg!(windows));
    }

    #[test]
    fn a_pattern_of_another_tool_is_an_error_that_says_what_to_write() {
        let error = |entry: &str| command(entry).unwrap_err().to_string();
        assert_eq!(
            error("* --version"),
            "`* --version` is a pattern of another tool; write the names of commands, which take any arguments"
        );
        assert!(error("git diff:*").contains("write `git diff`"), "{}", error("git diff:*"));
        assert_eq!(error("ls(*)"), "`ls(*)` is a pattern of another tool; write `ls`, which takes any arguments");
    }

    #[test]
    fn an_entry_that_no_call_begins_with_is_an_error_that_says_what_to_write() {
        for (entry, instead) in [
            ("git 'log'", "holds `'`, so that no call is allowed by it; write `git log`"),
            ("'*'", "holds `'`, so that no call is allowed by it; write `*`"),
            ("\"git log\"", "write `git log`"),
            ("git;ls", "holds `;`, so that no call is allowed by it; write `git,ls`"),
            ("git && ls -l", "write `git,ls -l`"),
            ("!git", "leave it out: only what is listed is allowed"),
            ("$HOME", "write `HOME`"),
        ] {
            let error = command(entry).unwrap_err().to_string();
            assert!(error.ends_with(instead), "{entry}: {error}");
        }
        for entry in ["[", "g++", "a.b", "a=b", "./it's", "/opt/a;b", "a-b_c", "café"] {
            assert_eq!(command(entry).unwrap(), entry);
        }
    }

    proptest! {
        #[test]
        fn a_list_is_read_back(list in prop::collection::vec("[^, \t\r\n\x0c]([^,]*[^, \t\r\n\x0c])?", 0..8)) {
            prop_assert_eq!(entries(&list.join(" ,")), list);
        }

        #[test]
        fn errors_about_any_text_hold_no_control_character(text in any::<String>()) {
            let mut errors = Vec::new();
            for entry in entries(&text) {
                prop_assert!(!entry.is_empty() && !entry.contains(','));
                errors.extend(command(&entry).err());
                errors.extend(path(&entry).err());
                errors.extend(EnvEntry::parse(&entry).err());
            }
            let errors = errors.iter().map(ToString::to_string);
            let file = file::parse(&text, "f.yaml".as_ref()).err().map(|error| error.to_string());
            for error in errors.chain(file) {
                prop_assert!(!error.contains(char::is_control), "{:?}", error);
            }
        }
    }
}
