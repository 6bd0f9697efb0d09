//! Everything that is refused while a line is read, in sentences that say what to write instead.

use std::fmt;

use thiserror::Error;

use super::bounds::{
    MOST_BRACE_BYTES, MOST_COMMANDS, MOST_LEVELS, MOST_REDIRECTIONS, MOST_STAGES, MOST_WORD_BYTES, MOST_WORDS,
};
use super::builtin::BuiltinError;

/// Why a text is no line, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct Unreadable {
    /// The byte offset in the text.
    pub at: usize,
    /// Why.
    pub reason: Reason,
}

/// Why a text is no line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Reason {
    /// A NUL, which no argument can hold.
    #[error("the line holds a NUL character, which no argument can hold; leave it out")]
    Nul,
    /// A CR outside quotes.
    #[error("the line has CR LF ends; end lines with LF alone")]
    CarriageReturn,
    /// Another control character outside quotes.
    #[error("the line holds the control character {:?} outside quotes; leave it out, or quote it", .0)]
    Control(char),
    /// There is no command.
    #[error("the line is empty; expected a command")]
    Empty,
    /// An operator without a command in front of it, or the end after an operator.
    #[error("a command is missing in front of {}", Shown(.0))]
    MissingCommand(&'static str),
    /// A redirection without its word.
    #[error("a redirection has no file; write one after it")]
    MissingTarget,
    /// The name of a command is empty.
    #[error("the name of a command is empty; begin it with the name of an allowed command")]
    NoName,
    /// An operator of shells that a line can't have.
    #[error("{} is not read in a line; {}", Shown(.0), instead_of(.0))]
    Operator(&'static str),
    /// A substitution or an arithmetic expansion.
    #[error("{} is not read in a line, also not in double quotes; call the inner command first and write out what it prints, or use single quotes to pass it on literally", Shown(.0))]
    Substitution(&'static str),
    /// A keyword where a command begins.
    #[error("`{0}` is a keyword of shells, and a line has only commands; {advice}", advice = instead_of_keyword(.0))]
    Reserved(&'static str),
    /// A parenthesis that is no group.
    #[error(
        "`{0}` is only read as part of a group `( … )` in the place of a command; quote it to pass it on literally"
    )]
    Parenthesis(&'static str),
    /// A word after the end of a group.
    #[error("after `)` only redirections and operators are read; put `;` or `&&` in front of the next command")]
    AfterGroup,
    /// A quote, an escape or a group without its end.
    #[error("{} is not closed; close it, or quote it to pass it on literally", Shown(.0))]
    Unclosed(&'static str),
    /// The end of a here-document is not what it may be.
    #[error(
        "the end of a here-document is a word of letters, digits, `_`, `-` and `.`, quoted as a whole or not at all; write `<<'EOF'`"
    )]
    Delimiter,
    /// A here-document without its end.
    #[error("the here-document is not closed: no line is exactly `{0}`; end its text with such a line")]
    DocumentUnclosed(String),
    /// The text of a here-document in a substitution has a line that bash may take for its end.
    #[error("a line of the here-document begins with `{0}`, where a shell may end its text; choose another end")]
    DocumentMayEnd(String),
    /// The text of a here-document would be expanded.
    #[error(
        "the text of the here-document holds `$`, a backtick or a backslash; quote its end, `<<'{0}'`, to pass them on literally"
    )]
    DocumentExpands(String),
    /// Another descriptor than 0, 1 and 2 at its place.
    #[error(
        "`{0}` in front of a redirection is a descriptor that commands don't have; only `0<`, `1>` and `2>` are read"
    )]
    Descriptor(String),
    /// Another copy of a descriptor.
    #[error("of copied descriptors only `2>&1`, `1>&2` and `>&2` are read, each followed by a blank or an operator")]
    Duplicate,
    /// A redirection whose file depends on what exists.
    #[error("the file of a redirection has {0}; write its whole name, or quote it")]
    ExpandingTarget(&'static str),
    /// `${…}` that is more than a name.
    #[error(
        "of `${{…}}` only a name is read, `${{NAME}}`; write the value out, or use single quotes to pass it on literally"
    )]
    Parameter,
    /// A `$` in front of something else.
    #[error("`$` in front of {0:?} is not read in a line; {advice}", advice = instead_of_dollar(*.0))]
    Dollar(char),
    /// A variable directly before something that shells may count to it.
    #[error("`${name}` directly in front of `{after}` is not read; write `${{{name}}}`")]
    AfterVariable {
        /// Its name.
        name: String,
        /// The character after it.
        after: char,
    },
    /// A variable that shells make themselves.
    #[error("the variable `{0}` belongs to shells, and none runs here; write the value out")]
    VariableOfShell(String),
    /// An escape within `$'…'`.
    #[error(r"within `$'…'` only `\a \b \e \f \n \r \t \v \\ \' \x01` to `\x7F` and `\1` to `\177` are read; write the character itself")]
    Escape,
    /// A `~` in another place than the beginning of a path.
    #[error(
        "`~` is read alone or in front of `/`, at the beginning of a word; write the path out, or quote it to pass it on literally"
    )]
    Tilde,
    /// Braces that bash reads differently.
    #[error("the braces hold {0}; write the words out, or quote them to pass them on literally")]
    Braces(&'static str),
    /// A pattern that is not read.
    #[error("{0} is not read as a pattern; use `*`, `?` and `[a-z]`, or quote it to pass it on literally")]
    Pattern(&'static str),
    /// Assignments without a command.
    #[error("a variable can't be set alone; put `NAME=value` in front of the command that needs it")]
    OnlyAssignments,
    /// `NAME+=value`
    #[error("`{0}+=` is not read; write `{0}=` with the whole value")]
    Append(String),
    /// `NAME[…`
    #[error("`{0}[` in front of a command is not read; quote it if it is its name")]
    Subscript(String),
    /// A variable that decides which code runs.
    #[error("the variable `{0}` decides which code runs, so that no line can set it; leave it out")]
    NeverSet(String),
    /// A builtin that is refused, or its arguments.
    #[error(transparent)]
    Builtin(#[from] BuiltinError),
    /// A variable in front of a shell.
    #[error("no variable can be set for a whole shell; put `NAME=value` in front of the command in it that needs it")]
    ShellAssignment,
    /// A shell in a shell.
    #[error("a shell in a shell is not read; write the commands of the inner one into the line")]
    ShellInShell,
    /// Only bash reads it, and the line is for `sh` or `dash`.
    #[error("`{0}` is read by bash, and not by `sh` and `dash`; write `bash -c`")]
    OnlyBash(&'static str),
    /// Shells read it in different ways.
    #[error("bash, dash, zsh and fish don't all read {0} alike; quote it with single quotes if it is text")]
    NotCommon(String),
    /// A shell has a builtin of this name, which understands the words in another way than the program that would run.
    #[error(
        "`{name}` with {what} does something else in {shell} than the program `{name}`, which would run here; {instead}"
    )]
    Namesake {
        /// The name.
        name: &'static str,
        /// The words that differ.
        what: &'static str,
        /// The shells.
        shell: &'static str,
        /// The advice, as a clause.
        instead: &'static str,
    },
    /// Too many commands.
    #[error("the line has more than {MOST_COMMANDS} commands; make several calls")]
    TooManyCommands,
    /// Too many commands at the same time.
    #[error("the line has more than {MOST_STAGES} commands connected by pipes; make several calls")]
    TooManyStages,
    /// Too many groups within groups.
    #[error("the line has more than {MOST_LEVELS} levels of `(` or `{{`; make several calls")]
    TooManyLevels,
    /// Too many redirections: each may need descriptors of the server.
    #[error("the line has more than {MOST_REDIRECTIONS} redirections; make several calls of it")]
    TooManyRedirections,
    /// Too many words.
    #[error("the line has more than {MOST_WORDS} words; pass the rest in a file or as `input`")]
    TooManyWords,
    /// A word that no argument can hold.
    #[error(
        "a word is longer than the {MOST_WORD_BYTES} bytes that an argument can have; pass it in a file or as `input`"
    )]
    LongWord,
    /// Braces that make too much text.
    #[error("the braces make more than {MOST_BRACE_BYTES} bytes; pass the words in a file or as `input`")]
    LongBraces,
}

/// Advises what to do about a keyword.
fn instead_of_keyword(word: &str) -> &'static str {
    match word {
        "time" => "leave `time` out: `list_calls` says how long calls took",
        "{" => "write `( … )` around the commands",
        "if" | "[[" => "write commands one by one with `&&`, `||` and `;`, as in `test -f FILE && COMMAND`",
        "for" => "write commands one by one with `&&`, `||` and `;`, or one command for all files (`wc -l src/*.rs`)",
        _ => "write commands one by one with `&&`, `||` and `;`",
    }
}

/// Advises what to do about a `$` in front of this character.
fn instead_of_dollar(next: char) -> &'static str {
    match next {
        '?' => "leave `$?` out: the answer holds the exit code, and `&&` and `||` depend on it",
        _ => "use single quotes to pass it on literally",
    }
}

/// Advises what to write instead of an operator.
fn instead_of(operator: &str) -> &'static str {
    match operator {
        "&" => "call the command with `background: true`, or quote it to pass it on literally",
        "<(" | ">(" => "write to a file first, or use a pipe",
        "((" | "))" => "arithmetic is not read; put a blank between parentheses of groups",
        "!(" => "put a blank between `!` and `(`",
        "&>>" => "write `>>file 2>&1`",
        "<>" | "<&" => "write `<file`",
        _ => "it belongs to `case`, and a line has only commands; write one `;`",
    }
}

/// A piece of syntax as a sentence shows it.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "`" => f.write_str("a backtick"),
            word if word.starts_with(|c: char| c.is_ascii_lowercase()) => f.write_str(word),
            syntax => write!(f, "`{syntax}`"),
        }
    }
}
