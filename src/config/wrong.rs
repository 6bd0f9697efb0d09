//! Mistakes in one value, in words for the person who wrote it.

use thiserror::Error;

use super::amount;
use super::error::meant;
use crate::network::NetworkError;

/// A mistake in one value; [`ConfigError`](super::ConfigError) adds where the value comes from.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// A text that is longer than any useful one. It isn't shown.
    #[error("expected at most {most} bytes, found {length}")]
    TooLong {
        /// How long it is.
        length: usize,
        /// How long it may be.
        most: usize,
    },
    /// A list with more entries than any useful one.
    #[error("expected at most {most} entries, found {count}")]
    TooManyEntries {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// An empty text instead of a path: joined to a directory, it would silently mean that directory.
    #[error("expected a path, found an empty text; leave the setting out for its default")]
    EmptyPath,
    /// A pattern as other tools have them, such as `git diff:*` or `Bash(git log)`.
    #[error("`{found}` is a pattern of another tool; write {}", taken(instead))]
    PatternOfAnotherTool {
        /// The entry.
        found: String,
        /// The command to write; empty if it names none.
        instead: String,
    },
    /// An entry with syntax of shells or of other lists, which no call's first word is.
    #[error("`{found}` holds `{character}`, so that no call is allowed by it; {}", without(*character, instead))]
    SyntaxInCommand {
        /// The entry.
        found: String,
        /// The first character that no name has.
        character: char,
        /// The entry without such characters.
        instead: String,
    },
    /// A program of the operator's that can't be split into words.
    #[error("`{found}` is not a command line; expected a program and its arguments, with every quote closed")]
    NoProgram {
        /// The value.
        found: String,
    },
    /// A path that no system call accepts.
    #[error("`{found}` contains a NUL character, which no path can contain")]
    NulInPath {
        /// The path, with unprintable characters escaped.
        found: String,
    },
    /// A duration without a unit.
    #[error("`{found}` has no unit; write `{found}s` for seconds, or one of ms, m and h")]
    MissingUnit {
        /// The number.
        found: String,
    },
    /// Not a duration.
    #[error("`{found}` is not a duration; expected a number and a unit (ms, s, m or h), such as `500ms` or `1.5s`")]
    NotADuration {
        /// The value.
        found: String,
    },
    /// A limit of zero bytes, with which no command could run.
    #[error("`{found}` leaves no room at all; expected more than zero")]
    ZeroSize {
        /// The value.
        found: String,
    },
    /// A time limit of zero, with which no command could run.
    #[error("`{found}` leaves no time at all; expected more than zero")]
    ZeroDuration {
        /// The value.
        found: String,
    },
    /// A duration above the maximum.
    #[error("`{found}` is too long; expected at most {}", amount::duration_text(amount::LONGEST))]
    LongDuration {
        /// The value.
        found: String,
    },
    /// Not a size.
    #[error(
        "`{found}` is not a size; expected whole bytes, as a number (`0` for no bound) or with a unit \
         (B, KB, KiB, MB, MiB, GB or GiB), such as `64KiB`"
    )]
    NotASize {
        /// The value.
        found: String,
    },
    /// A size above the maximum.
    #[error("`{found}` is too large; expected at most {}, or `0` for no bound", amount::size_text(amount::LARGEST))]
    LargeSize {
        /// The value.
        found: String,
    },
    /// Not a count.
    #[error("`{found}` is not a count; expected a whole number of at least 1")]
    NotACount {
        /// The value.
        found: String,
    },
    /// Neither on nor off, for a switch.
    #[error("`{found}` is neither on nor off; expected true, false, yes, no, on, off, 1 or 0")]
    NotASwitch {
        /// The value.
        found: String,
    },
    /// Not one of the few words that a setting takes.
    #[error("`{found}` is not {what}{}", meant("", *nearest, &format!("expected {known}")))]
    NotAWord {
        /// The kind of word that was expected, with its article.
        what: &'static str,
        /// The value.
        found: String,
        /// The word that was probably meant.
        nearest: Option<&'static str>,
        /// All the words, as a list with `or`.
        known: &'static str,
    },
    /// Not a network.
    #[error(
        "`{found}` is not a choice of network{}",
        meant("", *nearest, "expected none, loopback, full, or ports such as `connect:5432,listen:3000`")
    )]
    NotANetwork {
        /// The value.
        found: String,
        /// The word that was probably meant.
        nearest: Option<&'static str>,
    },
    /// Not a port of the network.
    #[error("{}", NetworkError::NotAPort { entry: found.clone() })]
    NotAPort {
        /// The entry.
        found: String,
    },
    /// A word for a whole network among ports.
    #[error("{}", NetworkError::BesidePorts { word })]
    WordBesidePorts {
        /// The word.
        word: &'static str,
    },
    /// A name that no command line could contain.
    #[error("`{found}` contains a control character; expected the name of a command, or its path")]
    ControlInCommand {
        /// The entry, with unprintable characters escaped.
        found: String,
    },
    /// A named set of commands that does not exist.
    #[error("`{found}` is not a set of commands; the only set is `@shell`, and names of commands don't begin with `@`")]
    UnknownSet {
        /// The entry.
        found: String,
    },
    /// A command line instead of the name of a command.
    #[error(
        "`{found}` contains a blank; expected the name of a command, which the first word of a call is compared with \
         (write a name that itself contains a blank as a path)"
    )]
    BlankInCommand {
        /// The entry.
        found: String,
    },
    /// Not the name of a variable. The entry isn't shown, since it may be the part of a secret that follows a comma.
    #[error(
        "an entry names no variable; expected `NAME` or `NAME=VALUE`, with letters, digits and `_` in the name; \
         a value with a comma must be given in the file"
    )]
    NotAVariable,
    /// Not the name of a variable that calls may change.
    #[error("`{found}` is not the name of a variable; expected letters, digits and `_`, without a value")]
    NotASettableName {
        /// The entry.
        found: String,
    },
    /// A variable that decides which code runs.
    #[error(
        "`{name}` can't be left to calls: `PATH`, `IFS`, `ENV`, `PWD`, `OLDPWD`, `SHELLOPTS`, `BASH*`, `LD_*` and `DYLD_*` decide \
         which code runs, or are the shell's own; set it with `--env`"
    )]
    GuardedVariable {
        /// The name.
        name: String,
    },
    /// A value that no environment can contain; it isn't shown, since it may be a secret.
    #[error("the value of `{name}` contains a NUL character, which no variable can contain")]
    NulInVariable {
        /// The variable's name.
        name: String,
    },
}

/// The words to write instead of a pattern.
fn without(character: char, instead: &str) -> String {
    match (character, instead) {
        ('!', _) => "leave it out: only what is listed is allowed".to_owned(),
        (_, "") => "write the names of commands".to_owned(),
        (_, instead) => format!("write `{instead}`"),
    }
}

fn taken(instead: &str) -> String {
    match instead {
        "" => "the names of commands, which take any arguments".to_owned(),
        _ => format!("`{instead}`, which takes any arguments"),
    }
}
