//! The commands that no program runs: `cd`, `exit`, `true`, `:` and `false`, and those of shells that are refused.

use thiserror::Error;

use super::tree::Simple;
use super::unreadable::{Reason, Unreadable};

/// A command that a line runs itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Builtin {
    /// `true` or `:`, with any words: status 0.
    True,
    /// `false`, with any words: status 1.
    False,
    /// `exit`: ends the line or the group. Without a status it is that of the command before, which may
    /// be the one in front of the group.
    Exit(Option<u8>),
    /// `cd`: changes the directory of the line or the group.
    Cd(String),
}

/// Why a command of shells is not run. Each text is a sentence that says what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BuiltinError {
    /// One that would change the shell.
    #[error("`{name}` is a builtin of shells that no line runs; {advice}")]
    Refused {
        /// Its name.
        name: &'static str,
        /// The advice, as a clause.
        advice: &'static str,
    },
    /// `cd` without exactly one word, or with one that bash reads as something else.
    #[error(
        "`cd` takes exactly one directory here, which is not empty and does not begin with `-` or `+`; write `./-x` for such a name"
    )]
    Cd,
    /// `exit` with anything but one number up to 255.
    #[error("`exit` takes one number from 0 to 255 here, or nothing")]
    Exit,
    /// A variable in front of a builtin.
    #[error("no variable can be set for `{name}`, which is no program; leave `NAME=value` out")]
    Assignment {
        /// Its name.
        name: String,
    },
    /// `cd` or `exit` between pipes.
    #[error("`{name}` has no effect as a part of a pipeline; put it in front, with `&&`")]
    Stage {
        /// Its name.
        name: String,
    },
}

const CALL_IT: &str = "call the command itself";
const VARIABLES: &str =
    "no variable lasts from one command to the next; write values out, or put `NAME=value` in front of one command";
const BACKGROUND: &str = "call the command with `background: true`";
const DIRECTORIES: &str = "use `cd`, or the argument `cwd`";
const NO_SHELL: &str = "there is no shell that it could change; leave it out";
const ACTIVATE: &str = "leave it out: the programs of the environment are called by their names if they are allowed, or else by \
                        their paths, such as `.venv/bin/python`";
const INPUT: &str = "give a command its input by a pipe, `<` or `input`";

/// Builtins of bash that no line runs, sorted, each with what to do instead. `coproc` and `time` are reserved words, too.
const REFUSED: &[(&str, &str)] = &[
    (".", "call what the file runs"),
    ("alias", CALL_IT),
    ("bg", BACKGROUND),
    ("bind", NO_SHELL),
    ("break", NO_SHELL),
    ("builtin", CALL_IT),
    ("caller", NO_SHELL),
    ("command", CALL_IT),
    ("compgen", NO_SHELL),
    ("complete", NO_SHELL),
    ("compopt", NO_SHELL),
    ("continue", NO_SHELL),
    ("coproc", BACKGROUND),
    ("declare", VARIABLES),
    ("dirs", DIRECTORIES),
    ("disown", BACKGROUND),
    ("enable", NO_SHELL),
    ("eval", CALL_IT),
    ("exec", CALL_IT),
    ("export", VARIABLES),
    ("fc", NO_SHELL),
    ("fg", BACKGROUND),
    ("getopts", NO_SHELL),
    ("hash", NO_SHELL),
    ("help", NO_SHELL),
    ("history", NO_SHELL),
    ("jobs", "use the tool `list_calls`"),
    ("let", VARIABLES),
    ("local", VARIABLES),
    ("logout", "use `exit`"),
    ("mapfile", INPUT),
    ("popd", DIRECTORIES),
    ("pushd", DIRECTORIES),
    ("read", INPUT),
    ("readarray", INPUT),
    ("readonly", VARIABLES),
    ("return", "use `exit`"),
    ("set", NO_SHELL),
    ("shift", NO_SHELL),
    ("shopt", NO_SHELL),
    ("source", "call what the file runs"),
    ("suspend", "use the tool `stop_call`"),
    ("time", "leave it out: `list_calls` says how long calls took"),
    ("times", NO_SHELL),
    ("trap", NO_SHELL),
    ("type", "use `which`, if it is allowed"),
    ("typeset", VARIABLES),
    ("ulimit", "the operator sets limits; leave it out"),
    ("umask", NO_SHELL),
    ("unalias", NO_SHELL),
    ("unset", VARIABLES),
    ("wait", "a call with `background: true` is waited for by `read_output`"),
];

/// Returns the name of a builtin of shells, and the advice what to do instead of calling it; `None` for any other name.
pub fn advice_for(name: &str) -> Option<(&'static str, &'static str)> {
    REFUSED.iter().find(|(refused, _)| *refused == name).copied()
}

impl Builtin {
    /// The builtin that these words call, if they call one. A word that is found by a pattern counts like any other.
    ///
    /// # Errors
    /// [`BuiltinError`], for those that are refused and for arguments that are.
    pub fn of(words: &[String]) -> Option<Result<Self, BuiltinError>> {
        let (name, arguments) = words.split_first()?;
        if let Some((name, advice)) = advice_for(name) {
            let is_environment =
                |file: &String| file.rsplit('/').next().is_some_and(|name| name.starts_with("activate"));
            let activates = matches!(name, "." | "source") && arguments.first().is_some_and(is_environment);
            let advice = if activates { ACTIVATE } else { advice };
            return Some(Err(BuiltinError::Refused { name, advice }));
        }
        match (name.as_str(), arguments) {
            ("true" | ":", _) => Some(Ok(Self::True)),
            ("false", _) => Some(Ok(Self::False)),
            ("exit", []) => Some(Ok(Self::Exit(None))),
            ("exit", [status]) if status.len() <= 3 && status.chars().all(|c| c.is_ascii_digit()) => {
                Some(status.parse().map(|status| Self::Exit(Some(status))).map_err(|_| BuiltinError::Exit))
            }
            ("exit", _) => Some(Err(BuiltinError::Exit)),
            ("cd", [directory]) if !directory.is_empty() && !directory.starts_with(['-', '+']) => {
                Some(Ok(Self::Cd(directory.clone())))
            }
            ("cd", _) => Some(Err(BuiltinError::Cd)),
            _ => None,
        }
    }
}

/// Refuses a command that is refused whatever its variables and patterns become.
pub(super) fn check(simple: &Simple) -> Result<(), Unreadable> {
    let refuse = |error| Err(Unreadable { at: simple.at, reason: Reason::Builtin(error) });
    let Some(name) = name(simple) else { return Ok(()) };
    let Some(found) = Builtin::of(std::slice::from_ref(&name)) else { return Ok(()) };
    if !simple.assignments.is_empty() {
        return refuse(BuiltinError::Assignment { name });
    }
    let words: Option<Vec<String>> = simple.words.iter().map(super::Word::text).collect();
    match words.map_or(Some(found), |words| Builtin::of(&words)) {
        Some(Err(error @ BuiltinError::Refused { .. })) => refuse(error),
        // The words are counted once patterns are expanded.
        Some(Err(error)) if simple.words.iter().all(|word| word.text().is_some()) => refuse(error),
        Some(Err(_) | Ok(_)) | None => Ok(()),
    }
}

/// Refuses builtins that have no effect between pipes.
pub(super) fn check_stage(simple: &Simple) -> Result<(), Unreadable> {
    match name(simple).filter(|name| name == "cd" || name == "exit") {
        Some(name) => Err(Unreadable { at: simple.at, reason: Reason::Builtin(BuiltinError::Stage { name }) }),
        None => Ok(()),
    }
}

fn name(simple: &Simple) -> Option<String> {
    simple.words.first().and_then(super::Word::text)
}
