//! Why a command does not run, as a sentence for the model or the person who asked for it.

use thiserror::Error;

use super::allow_list::OF_PROJECT;
use super::line::LineRefusal;
use super::program::is_path;
use super::quoted::quoted;
use super::windows_name;
use super::{CommandLineError, DirectoryError, Proposal};
use crate::integrity::Untrusted;
use crate::text::nearest;

/// Why a command does not run.
#[derive(Debug, Error)]
pub enum Refusal {
    /// It is not a command line.
    #[error(transparent)]
    CommandLine(#[from] CommandLineError),
    /// Its first word is not allowed.
    #[error("command {} is not allowed; {}", quoted(.word), advice(.word, .allowed))]
    NotAllowed {
        /// The first word.
        word: String,
        /// The allowed commands: the names of the allow-list, and the programs of the project.
        allowed: Vec<String>,
    },
    /// Its rule does not allow these arguments.
    #[error("{reason}")]
    Arguments {
        /// Why, as a sentence.
        reason: String,
    },
    /// A person has to approve it.
    #[error("{0}")]
    NeedsApproval(Box<Proposal>),
    /// A person has approved it, but it has changed since.
    #[error(
        "{what} is not what it was when a person was asked to approve this call, so it was not run; call it again to have it \
         approved as it is now"
    )]
    ChangedSinceApproval {
        /// The part that differs.
        what: &'static str,
    },
    /// Its rule allows no `input`.
    #[error("{} takes no `input`: its standard input is empty; give what it needs as arguments, or in a file", quoted(.word))]
    Input {
        /// The first word.
        word: String,
    },
    /// Its rule does not allow this directory.
    #[error("{} may not run in this directory: its rule names the directories of the project that it may run in ({}); choose one with `cwd`", quoted(.word), .under.join(", "))]
    OutsideOfRule {
        /// The first word.
        word: String,
        /// The directories, relative to the project.
        under: Vec<String>,
    },
    /// Its line sets a variable that it may not.
    #[error("the variable `{name}` can't be set for {}: {}", quoted(.word), variable_advice(name, *bar))]
    Variable {
        /// The first word.
        word: String,
        /// The name of the variable.
        name: String,
        /// The reason against it.
        bar: VariableBar,
    },
    /// The directory can't be used, or is not allowed.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The line that it is does not run.
    #[error(transparent)]
    Line(#[from] Box<LineRefusal>),
    /// The persistent shell must not run it, or not in this way.
    #[error("{reason}")]
    InShell {
        /// Why, as a sentence.
        reason: String,
    },
    /// It is allowed, but there is no such program.
    #[error("{}", not_found(.word, .sought))]
    ProgramNotFound {
        /// The first word.
        word: String,
        /// The program: a name in PATH, or the file at a path.
        sought: String,
    },
    /// Its program is not one that the operator trusts.
    #[error("command {} is not run: {source}", quoted(.word))]
    Untrusted {
        /// The first word.
        word: String,
        /// Why not.
        source: Untrusted,
    },
}

/// The end of an answer to a call whose program was not found.
pub const NOT_FOUND_NOTE: &str = "Note: This tool does not support interactive commands. \
     Ensure the command is non-interactive and the executable exists.";

fn advice(word: &str, allowed: &[String]) -> String {
    if allowed.is_empty() {
        return "no command is allowed yet: the operator names them with `--allow` or `ALLOWED_COMMANDS`".to_owned();
    }
    let allowed_names = named(word, allowed);
    if word == "cd" {
        return format!("choose the directory of each call with `cwd`; allowed commands: {allowed_names}");
    }
    if let Some(advice) = of_shells(word) {
        return format!("{advice}; allowed commands: {allowed_names}");
    }
    if is_assignment(word) {
        return format!(
            "a call can't set variables (the operator can, with `--env`); leave it out, and begin with an allowed command: {allowed_names}"
        );
    }
    let name = word.rsplit(|c| c == '/' || (cfg!(windows) && c == '\\')).next().unwrap_or(word);
    let is_it = |entry: &String| entry == name || (cfg!(windows) && windows_name::means(name, entry));
    if let Some((_, advice)) = name_alone(word).filter(|(name, _)| allowed.iter().any(|entry| entry == name)) {
        return format!("{advice}; allowed commands: {allowed_names}");
    }
    if name != word && allowed.iter().any(is_it) {
        return format!("call it by its name alone, `{name}`; allowed commands: {allowed_names}");
    }
    if word.contains(['/', std::path::MAIN_SEPARATOR]) && allowed.iter().any(|entry| entry == OF_PROJECT) {
        return format!("no program under the project directory has this path; allowed commands: {allowed_names}");
    }
    format!("allowed commands: {allowed_names}")
}

/// The most names of commands that a refusal lists. `list_commands` has all.
const MOST_ALLOWED: usize = 16;

/// The names of the allowed commands: the nearest first, if there are more than a refusal lists.
fn named(word: &str, allowed: &[String]) -> String {
    if allowed.len() <= MOST_ALLOWED {
        return allowed.join(", ");
    }
    let near = nearest(word, allowed);
    let others = allowed.iter().filter(|name| Some(*name) != near);
    let shown: Vec<&str> = near.into_iter().chain(others).take(MOST_ALLOWED).map(String::as_str).collect();
    format!("{} and {} more, which `list_commands` names", shown.join(", "), allowed.len() - MOST_ALLOWED)
}

/// Why a line may not set a variable for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableBar {
    /// The operator has not allowed it.
    NotNamed,
    /// The rule of the command sets it.
    Set,
    /// The rule of the command removes it.
    Removed,
    /// It changes how the program reads the words that the rule describes.
    Reading,
}

fn variable_advice(name: &str, bar: VariableBar) -> String {
    match bar {
        VariableBar::NotNamed => format!(
            "the operator has not allowed it; leave it out, or ask for `line_env: [{name}]` in the configuration (`--line-env {name}`)"
        ),
        VariableBar::Set => format!(
            "its rule sets it for each call, so no line sets it; leave it out, or ask for another value in the rule (`env: {{set: {{{name}: …}}}}`)"
        ),
        VariableBar::Removed => format!(
            "its rule removes it, so no line sets it; leave it out, or ask for one value for every call (`env: {{set: {{{name}: …}}}}` in the rule, \
             in place of `{name}` in its `unset`)"
        ),
        VariableBar::Reading => {
            "it changes how the program reads the words that the rule describes; leave it out".to_owned()
        }
    }
}

/// Advises what to call instead of the words that agents write in front of commands.
fn of_shells(word: &str) -> Option<&'static str> {
    match word {
        "timeout" => Some("call the command itself, with `timeout_ms`"),
        "bash" | "sh" | "dash" | "zsh" | "/bin/bash" | "/bin/sh" | "/bin/zsh" => Some("call the inner command itself"),
        "source" | "." => Some(
            "call what the file runs, and the programs of a virtual environment by their paths, such as `.venv/bin/python`; no variable \
             lasts from call to call",
        ),
        "export" => {
            Some("no variable lasts from call to call, and the operator can set one with `--env`; leave it out")
        }
        _ => None,
    }
}

/// The name that a word begins with, and what to do about the rest, if the word has blanks.
fn name_alone(word: &str) -> Option<(&str, String)> {
    let mut parts = word.split_whitespace();
    let name = parts.next().filter(|name| *name != word)?;
    let shown = quoted(name);
    let advice = match parts.next() {
        None => format!("leave out the blanks around its name {shown}"),
        Some(_) => format!(
            "put its arguments into `args`, separate from its name {shown}, or remove the quotes around the whole command"
        ),
    };
    Some((name, advice))
}

fn not_found(word: &str, sought: &str) -> String {
    let command = quoted(word);
    if is_path(sought) {
        return format!(
            "command {command} was not found: no executable file is at {}. {NOT_FOUND_NOTE}",
            quoted(sought)
        );
    }
    if word == "cd" {
        return format!("command {command} is not a program here; choose the directory of each call with `cwd`");
    }
    if let Some((_, advice)) = name_alone(word) {
        return format!("command {command} was not found; {advice}");
    }
    format!("command {command} was not found in the directories of the server's PATH. {NOT_FOUND_NOTE}")
}

/// Whether the word is `NAME=VALUE`, which a shell would take for a variable of the command that follows.
fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        let mut characters = name.chars();
        characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
    };
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

impl Refusal {
    /// Whether the call would run if a person approved it.
    pub fn needs_approval(&self) -> bool {
        match self {
            Self::Line(refusal) => refusal.needs_approval(),
            _ => matches!(self, Self::NeedsApproval(_)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_a_bounded_number_of_commands_and_the_nearest_first() {
        let said = |word: &str, count: usize| {
            let allowed: Vec<String> = (0..count).map(|number| format!("command-{number}")).collect();
            Refusal::NotAllowed { word: word.to_owned(), allowed }.to_string()
        };
        assert!(said("x", 16).ends_with(", command-14, command-15"), "{}", said("x", 16));
        let many = said("comand-42", 60);
        let expected = "command `comand-42` is not allowed; allowed commands: command-42, command-0, ";
        assert!(many.starts_with(expected), "{many}");
        assert!(many.ends_with(", command-14 and 44 more, which `list_commands` names"), "{many}");
        for word in ["source", "A=1", "a b", "bin/command-3", "timeout", "cd"] {
            assert!(said(word, 1000).len() < 700, "{}", said(word, 1000));
        }
    }
}
