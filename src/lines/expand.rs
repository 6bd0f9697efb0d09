//! The arguments that words become: variables are looked up, and patterns replaced by names.

use thiserror::Error;

use super::bounds::{MOST_WORD_BYTES, Room};
use super::glob::{self, Directories, Unit};
use super::word::{Part, Pattern, Piece, Value, Word};

/// Why a word does not become arguments. Each text is a sentence that says what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ExpandError {
    /// A variable without a value here.
    #[error("{}", unknown(name))]
    Unknown {
        /// Its name.
        name: String,
    },
    /// A value that a shell would split into words, or take for a pattern.
    #[error(
        "the value of `{name}` is empty, or holds blanks or characters of patterns; write `\"${{{name}}}\"` in double quotes"
    )]
    Splits {
        /// Its name.
        name: String,
    },
    /// A pattern that leads out of where commands may run.
    #[error("the pattern `{pattern}` leads outside of the directories that calls may run in; begin it within them")]
    Outside {
        /// The word.
        pattern: String,
    },
    /// A name that begins like an option.
    #[error(
        "the pattern `{pattern}` finds a name that begins with `-`, which would be read as an option; write `./{pattern}`"
    )]
    Option {
        /// The word.
        pattern: String,
    },
    /// A name that no argument can hold.
    #[error("the pattern `{pattern}` meets a name that is no UTF-8; name the files one by one")]
    NotUtf8 {
        /// The word.
        pattern: String,
    },
    /// `//`, `.` or `..` after the begin of a pattern.
    #[error("the pattern `{pattern}` has `//`, `.` or `..` after `*`, `?` or `[`; leave them out")]
    Dots {
        /// The word.
        pattern: String,
    },
    /// More words, bytes or names than a line may have.
    #[error(
        "the words of the line become too many or too long once its variables and patterns are replaced; make several calls of it"
    )]
    TooLarge,
    /// More names or directories than are looked at.
    #[error("the pattern `{pattern}` finds too many names or directories; narrow it down")]
    TooMany {
        /// The word.
        pattern: String,
    },
}

impl Value {
    /// Its text. `variables` returns the values that words may hold.
    ///
    /// # Errors
    /// [`ExpandError::Unknown`], [`ExpandError::Splits`] and [`ExpandError::TooLarge`].
    pub fn expand(&self, variables: &dyn Fn(&str) -> Option<String>) -> Result<String, ExpandError> {
        let mut brought = 0;
        self.pieces.iter().map(|piece| text(piece, variables, &mut brought)).collect()
    }
}

impl Word {
    /// Its arguments: one, or as many as names match its pattern, sorted by their bytes. A pattern that no name matches is an
    /// argument as it is. `variables` returns the values that words may hold.
    ///
    /// # Errors
    /// [`ExpandError`]
    pub fn expand(
        &self,
        variables: &dyn Fn(&str) -> Option<String>,
        directories: &mut dyn Directories,
        room: &Room,
    ) -> Result<Vec<String>, ExpandError> {
        let mut units = Vec::new();
        let mut brought = 0;
        for part in &self.parts {
            match part {
                Part::Piece(piece) => units.extend(text(piece, variables, &mut brought)?.chars().map(Unit::Character)),
                Part::Pattern(Pattern::Any) => units.push(Unit::Any),
                Part::Pattern(Pattern::One) => units.push(Unit::One),
                Part::Pattern(Pattern::Set(set)) => units.push(Unit::Set(set)),
            }
        }
        let words = glob::expand(&units, directories, room)?;
        // What the line itself holds was counted when it was read.
        if !self.parts.iter().all(|part| matches!(part, Part::Piece(Piece::Literal(_)))) {
            room.hold(words.len(), words.iter().map(String::len).sum())?;
        }
        Ok(words)
    }
}

/// Says that a variable has no value. Commands in a sandbox have a temporary directory of their own, in which a line can't name files.
fn unknown(name: &str) -> String {
    match name {
        "TMPDIR" => "the variable `TMPDIR` has no value in a line: the temporary directory is one of the commands alone, and a line names \
                     only files in the directories that calls may run in; name one there, or leave it out, since the output is returned"
            .to_owned(),
        _ => format!("the variable `{name}` has no value here; write the value out, or quote the `$` to pass it on literally"),
    }
}

/// The text of a piece. What variables bring to one text is counted in `brought`: no argument holds more.
fn text(piece: &Piece, variables: &dyn Fn(&str) -> Option<String>, brought: &mut usize) -> Result<String, ExpandError> {
    let mut value = |name: &str| {
        let value = variables(name).ok_or_else(|| ExpandError::Unknown { name: name.to_owned() })?;
        *brought += value.len();
        if *brought > MOST_WORD_BYTES { Err(ExpandError::TooLarge) } else { Ok(value) }
    };
    match piece {
        Piece::Literal(text) => Ok(text.clone()),
        Piece::Home => value("HOME"),
        Piece::Variable { name, quoted } => {
            let value = value(name)?;
            let splits = value.is_empty() || value.contains([' ', '\t', '\n', '*', '?', '[', '\\']);
            if splits && !quoted { Err(ExpandError::Splits { name: name.clone() }) } else { Ok(value) }
        }
    }
}
