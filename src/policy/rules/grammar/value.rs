//! The types of values.

use super::Access;

/// The longest text in characters, if its type sets no other length, and the longest path in bytes.
pub const DEFAULT_LENGTH: usize = 4096;

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueType {
    /// A decimal number within these bounds, without leading zeros and without `+`.
    Integer {
        /// The lowest.
        low: i64,
        /// The highest.
        high: i64,
    },
    /// One of these words.
    OneOf(Vec<String>),
    /// Text.
    Text(TextType),
    /// A file or a directory.
    Path(PathType),
}

/// The type of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextType {
    /// The characters that it may hold; `None` for any.
    pub chars: Option<CharSet>,
    /// Which of `-`, `+` and `@` it may begin with.
    pub first: String,
    /// Whether a leading `/` and a part `..` are refused.
    pub relative: bool,
    /// It must begin with one of these; empty for anything.
    pub must_begin: Vec<String>,
    /// The most characters.
    pub max_length: usize,
}

impl Default for TextType {
    fn default() -> Self {
        Self { chars: None, first: String::new(), relative: false, must_begin: Vec::new(), max_length: DEFAULT_LENGTH }
    }
}

/// The type of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathType {
    /// The program's access to it.
    pub access: Access,
    /// The directories in one of which it must lie, relative to the project; empty for the allowed directories.
    pub under: Vec<String>,
    /// Names that no part of it may have.
    pub except: Vec<String>,
    /// Whether it must exist.
    pub exists: bool,
    /// The characters that it may hold; `None` for any.
    pub chars: Option<CharSet>,
}

/// A set of characters with ranges: `A-Za-z0-9_.-`. A `-` at either end is itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharSet {
    text: String,
    ranges: Vec<(char, char)>,
}

impl CharSet {
    /// Reads a set.
    ///
    /// # Errors
    /// The range that runs backwards; empty for an empty set.
    pub(in crate::policy::rules) fn parse(text: &str) -> Result<Self, String> {
        let characters: Vec<char> = text.chars().collect();
        let mut ranges = Vec::new();
        let mut rest = characters.as_slice();
        loop {
            rest = match rest {
                [low, '-', high, rest @ ..] => {
                    if low > high {
                        return Err(format!("{low}-{high}"));
                    }
                    ranges.push((*low, *high));
                    rest
                }
                [one, rest @ ..] => {
                    ranges.push((*one, *one));
                    rest
                }
                [] => break,
            };
        }
        if ranges.is_empty() { Err(String::new()) } else { Ok(Self { text: text.to_owned(), ranges }) }
    }

    /// Whether the character is one of them.
    pub fn holds(&self, character: char) -> bool {
        self.ranges.iter().any(|(low, high)| (*low..=*high).contains(&character))
    }

    /// Whether each range of this set lies in one of the other.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let is_within = |(low, high): &(char, char)| other.ranges.iter().any(|(from, to)| from <= low && high <= to);
        self.ranges.iter().all(is_within)
    }

    /// The text in the policy.
    pub fn text(&self) -> &str {
        &self.text
    }
}
