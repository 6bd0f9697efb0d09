//! Reads a line of several commands, as a shell would, into a tree. No shell is involved, before or after.
//!
//! This room turns text into values, and nothing else: it starts no process, reads no environment and opens no file. Who
//! decides on the commands and runs them is elsewhere. A text is read as bash 5.2 reads it in the locale C.UTF-8, or it is
//! refused: where bash reads more than the grammar below, [`Unreadable`] says what to write instead. Nothing is passed on
//! literally that a shell would have read.
//!
//! ```text
//! line        = {newline} and_or { (";" {newline} | newline {newline}) and_or } [";"] {newline}
//! and_or      = pipeline { ("&&" | "||") {newline} pipeline }
//! pipeline    = ["!"] command { ("|" | "|&") {newline} command }
//! command     = simple | "(" line ")" {redirection}
//! simple      = {redirection} [ {NAME=value} word {word | redirection} ]
//! redirection = ["0"] "<" word | ["1" | "2"] (">" | ">>" | ">|") word | "&>" word
//!             | "2>&1" | "1>&2" | ">&2" | "<<" ["-"] delimiter | "<<<" word
//! ```
//!
//! A text passes through these files, in this order:
//!
//! - `cursor`: the characters of a text, with `\` and line break joined.
//! - `quoting`: the atoms of a word: bare characters, quoted text, variables.
//! - `tokens`: words, numbers before a redirection, operators, and the texts of here-documents.
//! - `braces`: the words that braces make of one.
//! - `word`: the parts of a word: literal text, variables, `~`, patterns.
//! - `reader`: the grammar above.
//! - `tree`: what comes out, a [`Line`]; `inner`: the lines of `bash -c` in it; `bounds`: how large it may be.
//! - `expand`, `glob`: the words of a command at its turn, by the caller's variables and directories.
//! - `builtin`: the commands that no program runs; `namesakes`: builtins that understand words in another way than the program.
//! - `unreadable`: everything that is refused, in sentences.

mod bounds;
mod braces;
mod builtin;
mod cursor;
mod expand;
mod glob;
mod inner;
mod namesakes;
mod plain;
mod quoting;
mod reader;
#[cfg(test)]
mod tests;
mod tokens;
mod tree;
mod unreadable;
mod word;

pub use bounds::{MOST_COMMANDS, MOST_LEVELS, MOST_REDIRECTIONS, MOST_STAGES, MOST_WORD_BYTES, MOST_WORDS, Room};
pub use builtin::{Builtin, BuiltinError};
pub use expand::ExpandError;
pub use glob::{Directories, MOST_NAMES, MOST_STEPS, Outside};
pub use inner::Shell;
pub use plain::plain_words;
pub use tree::{
    AndOr, Assignment, Command, Connector, Group, Line, Mode, Pipeline, Redirection, Simple, Stage, Stream,
};
pub use unreadable::{Reason, Unreadable};
pub use word::{Part, Pattern, Piece, Set, Value, Word};

/// How a text is read: as bash reads it, or without what only bash has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Bash,
    /// Without bash's own syntax (`|&`, `&>`, `<<<`, `$'…'`, braces, `[^…]`), which is refused.
    Posix,
    /// Only what bash, dash, zsh and fish all read alike: words of plain characters, `*`, `?` and quoted text.
    Common,
}
