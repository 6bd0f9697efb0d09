//! The differences between shells: how a command becomes one line, how its end is read, and what is refused.
//!
//! Pure functions, one file for each dialect, with the same names: `SHELL`, `LINE_END`, `start_arguments`,
//! `opening_line`, `words`, `join`, `refuse`, `changes_state`, `sets_variables`, `change_of`, `change_to`, `line`, `status`, `is_builtin`,
//! `is_found_by_shell`. `current` is the one of this platform; all are built and tested on each.

#[allow(dead_code, reason = "built and tested on every platform, used on one")]
pub mod cmd;
pub mod posix;

#[cfg(windows)]
pub use cmd as current;
#[cfg(not(windows))]
pub use posix as current;

use thiserror::Error;

use crate::policy::{MOST_WORDS, ShellSyntax, quoted};

/// Why arguments, or a whole command, are not given to the shell. Each text is one sentence for the model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    /// Shell syntax outside quotes.
    #[error(
        "{syntax} outside quotes is shell syntax, and arguments can't hold any; call one tool at a time, or quote it to pass \
         it on literally"
    )]
    Syntax {
        /// The first piece of it.
        syntax: ShellSyntax,
    },
    /// A character that the shell's line can't hold.
    #[error("the arguments hold {}, which can't be given to {shell}; leave it out", shown(*.character))]
    Character {
        /// The character.
        character: char,
        /// The shell.
        shell: &'static str,
    },
    /// A path that the shell would read differently.
    #[error("the path {} holds {}, which can't be given to {shell}; use a directory without it", quoted(.path), shown(*.character))]
    Path {
        /// The path.
        path: String,
        /// The first such character.
        character: char,
        /// The shell.
        shell: &'static str,
    },
    /// More than the shell reads as one line.
    #[error("the command is longer than the {most} characters that {shell} takes; pass less, or by a file")]
    TooLong {
        /// How many characters it may have.
        most: usize,
        /// The shell.
        shell: &'static str,
    },
    /// More words than are allowed.
    #[error("the arguments are more than {MOST_WORDS} words, and no more are taken; pass the rest by a file")]
    TooManyWords,
    /// An unclosed quote or an unfinished escape.
    #[error("the quotes in the arguments {} are not balanced; close every one of them", quoted(.arguments))]
    Unbalanced {
        /// As the client gave them.
        arguments: String,
    },
    /// A word of the shell that runs something else, or changes how the session works.
    #[error("{} {why}, so it is never given to the persistent shell; call the command itself", quoted(.word))]
    Word {
        /// The word.
        word: String,
        /// Its effect, as a clause after the word.
        why: &'static str,
    },
    /// A variable that decides which programs run.
    #[error(
        "the variable `{name}` decides which code runs, or is the shell's own, so it can't be changed in the persistent shell; ask \
         the operator to set it"
    )]
    Variable {
        /// Its name.
        name: String,
    },
    /// A variable that the operator does not leave to calls.
    #[error("the variable {} can't be changed in the persistent shell; {}", quoted(.name), who_can(.settable))]
    NotSettable {
        /// Its name.
        name: String,
        /// The names of those that can.
        settable: Vec<String>,
    },
    /// A limit that the shell itself could not work with.
    #[error(
        "so low a limit of {of} would keep the persistent shell itself from starting commands, so it is not set there; run the \
         command in a process of its own, or ask the operator for a limit of each call"
    )]
    Limit {
        /// The resource that it limits.
        of: &'static str,
    },
    /// An argument with which a builtin would do more than a call may.
    #[error(
        "`{word}` is run by the shell itself, and takes only plain names, numbers and its common options; {} is not one of them",
        quoted(.argument)
    )]
    Operand {
        /// The builtin.
        word: String,
        /// The argument that was refused.
        argument: String,
    },
    /// A directory change with several targets, or with an unknown option.
    #[error("`{word}` takes one directory here, and no options except `-L` and `-P`; found {}", quoted(.arguments))]
    ChangeArguments {
        /// The word.
        word: String,
        /// The arguments after the word.
        arguments: String,
    },
}

/// The target of a directory change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// To the home directory.
    Home,
    /// Back to the previous directory.
    Back,
    /// To this path, relative to the current directory.
    To(String),
    /// No change: the directory is only printed.
    Show,
}

/// The contents of a marker's note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The command's exit status.
    pub code: i32,
    /// The shell's directory, as the shell reports it.
    pub directory: String,
}

fn who_can(names: &[String]) -> String {
    match names {
        [] => "none can, because a variable may make an allowed command run another; pass the value as an argument, or ask the \
               operator to name the variable in `--line-env`"
            .to_owned(),
        names => format!("only {} can; ask the operator to name others in `--line-env`", names.join(", ")),
    }
}

fn shown(character: char) -> String {
    match character {
        '\n' => "a line break".to_owned(),
        '\t' => "a tab".to_owned(),
        character if character.is_control() => format!("the control character U+{:04X}", u32::from(character)),
        character => format!("`{character}`"),
    }
}
