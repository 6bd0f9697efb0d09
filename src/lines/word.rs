//! A word: its parts, after quotes were removed and braces expanded.

use super::bounds::MOST_WORDS;
use super::quoting::{Atom, is_name_part, is_name_start};
use super::tokens::bare;
use super::unreadable::Reason;

/// A word of a command, which becomes one argument, or several where it has a pattern. Without parts it is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// In their order.
    pub parts: Vec<Part>,
}

/// A value that stays one, whatever is in it: of an assignment or a redirection. Without pieces it is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// In their order.
    pub pieces: Vec<Piece>,
}

/// A part of a [`Word`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text, or what becomes text.
    Piece(Piece),
    /// A part of a pattern for names.
    Pattern(Pattern),
}

/// Text, or what becomes text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Exactly this text.
    Literal(String),
    /// The value of a variable.
    Variable {
        /// Its name.
        name: String,
        /// Whether it is within double quotes, where its value may hold anything.
        quoted: bool,
    },
    /// `~` at the beginning of a word: the directory that `HOME` names.
    Home,
}

/// A part of a pattern for names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// `*`: any characters, also none.
    Any,
    /// `?`: any one character.
    One,
    /// `[…]`: one of these characters.
    Set(Set),
}

/// `[…]` in a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    /// As it is written, with its brackets.
    pub text: String,
    /// `[!…]`: one character that is none of these.
    pub negated: bool,
    /// The characters, each range by its first and its last one.
    pub ranges: Vec<(char, char)>,
}

impl Word {
    /// Its text, if nothing in it has to be looked up.
    pub fn text(&self) -> Option<String> {
        let literal = |part: &Part| match part {
            Part::Piece(Piece::Literal(text)) => Some(text.clone()),
            Part::Piece(Piece::Variable { .. } | Piece::Home) | Part::Pattern(_) => None,
        };
        self.parts.iter().map(literal).collect()
    }

    /// Its text, with what has to be looked up as it is written.
    pub(crate) fn written(&self) -> String {
        let written = |part: &Part| match part {
            Part::Piece(Piece::Literal(text)) => text.clone(),
            Part::Piece(Piece::Variable { name, .. }) => format!("${name}"),
            Part::Piece(Piece::Home) => "~".to_owned(),
            Part::Pattern(Pattern::Any) => "*".to_owned(),
            Part::Pattern(Pattern::One) => "?".to_owned(),
            Part::Pattern(Pattern::Set(set)) => set.text.clone(),
        };
        self.parts.iter().map(written).collect()
    }

    /// Makes the word of atoms.
    pub(super) fn new(atoms: &[Atom], only_bash: impl Fn(&'static str) -> Result<(), Reason>) -> Result<Self, Reason> {
        let last_close = atoms.iter().rposition(|atom| bare(atom) == Some(']'));
        let has_values = could_be_assignment(atoms);
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut has_bracket = false;
        let mut rest = atoms;
        while let Some((atom, after)) = rest.split_first() {
            let at = atoms.len() - rest.len();
            rest = after;
            let part = match atom {
                Atom::Bare('*') if after.first().and_then(bare) == Some('*') => {
                    return Err(Reason::Pattern("`**`"));
                }
                Atom::Bare('*') => Part::Pattern(Pattern::Any),
                Atom::Bare('?') => Part::Pattern(Pattern::One),
                Atom::Bare('[') => match set(after).filter(|_| last_close.is_some_and(|close| close > at)) {
                    Some(inner) => {
                        rest = after.get(inner.len() + 1..).unwrap_or_default();
                        let set = Set::new(inner)?;
                        if set.text.starts_with("[^") {
                            only_bash("[^")?;
                        }
                        Part::Pattern(Pattern::Set(set))
                    }
                    None => {
                        has_bracket = true;
                        text.push('[');
                        continue;
                    }
                },
                // Its value could close the bracket.
                Atom::Variable { quoted: false, .. } if has_bracket => return Err(Reason::Pattern("`$` after a `[`")),
                atom => match piece(atom, at, atoms, has_values)? {
                    Piece::Literal(literal) => {
                        text.push_str(&literal);
                        continue;
                    }
                    piece => Part::Piece(piece),
                },
            };
            if !text.is_empty() {
                parts.push(Part::Piece(Piece::Literal(std::mem::take(&mut text))));
            }
            parts.push(part);
        }
        if !text.is_empty() {
            parts.push(Part::Piece(Piece::Literal(text)));
        }
        Ok(Self { parts })
    }
}

impl Value {
    /// Makes the value of atoms. Patterns and braces in it are ordinary characters.
    pub(super) fn new(atoms: &[Atom]) -> Result<Self, Reason> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        for (at, atom) in atoms.iter().enumerate() {
            match piece(atom, at, atoms, true)? {
                Piece::Literal(literal) => text.push_str(&literal),
                other => {
                    if !text.is_empty() {
                        pieces.push(Piece::Literal(std::mem::take(&mut text)));
                    }
                    pieces.push(other);
                }
            }
        }
        if !text.is_empty() {
            pieces.push(Piece::Literal(text));
        }
        Ok(Self { pieces })
    }
}

/// Makes a piece of the atom at `at`. `has_values` says that bash may expand a `~` after `=` and `:`.
fn piece(atom: &Atom, at: usize, atoms: &[Atom], has_values: bool) -> Result<Piece, Reason> {
    let next = atoms.get(at + 1);
    let before = at.checked_sub(1).and_then(|before| atoms.get(before)).and_then(bare);
    match atom {
        Atom::Bare('~') if at == 0 => match next.map(bare) {
            None | Some(Some('/')) => Ok(Piece::Home),
            Some(_) => Err(Reason::Tilde),
        },
        Atom::Bare('~') if has_values && matches!(before, Some('=' | ':')) => Err(Reason::Tilde),
        Atom::Bare(character) => Ok(Piece::Literal(character.to_string())),
        Atom::Quoted(text) => Ok(Piece::Literal(text.to_string())),
        // Only braces can have put such a character there: bash expands them first.
        Atom::Variable { name, braced: false, quoted: false } => match next.and_then(bare) {
            Some(after) if is_name_part(after) || "[:{".contains(after) => {
                Err(Reason::AfterVariable { name: name.to_string(), after })
            }
            _ => Ok(variable(atom)),
        },
        Atom::Variable { .. } => Ok(variable(atom)),
    }
}

fn variable(atom: &Atom) -> Piece {
    match atom {
        Atom::Variable { name, quoted, .. } => Piece::Variable { name: name.to_string(), quoted: *quoted },
        Atom::Bare(character) => Piece::Literal(character.to_string()),
        Atom::Quoted(text) => Piece::Literal(text.to_string()),
    }
}

/// Whether the word begins like `NAME=`, `NAME+=` or `NAME[…]=`.
fn could_be_assignment(atoms: &[Atom]) -> bool {
    split_name(atoms).is_some_and(|(_, rest)| matches!(rest.first().and_then(bare), Some('=' | '+' | '[')))
}

/// The name of a variable that the atoms begin with, outside quotes, and the rest.
pub fn split_name(atoms: &[Atom]) -> Option<(String, &[Atom])> {
    let name: String = atoms.iter().map_while(bare).take_while(|c| is_name_part(*c)).collect();
    let rest = atoms.get(name.len()..)?;
    name.starts_with(is_name_start).then_some((name, rest))
}

/// The atoms between `[` and its `]`, if it has one. A `]` at the begin is one of the characters.
fn set(after: &[Atom]) -> Option<&[Atom]> {
    let is_negation = matches!(after.first().and_then(bare), Some('!' | '^'));
    let first = usize::from(is_negation) + 1;
    let close = after.iter().skip(first).position(|atom| bare(atom) == Some(']'))?;
    after.get(..first + close)
}

impl Set {
    fn new(inner: &[Atom]) -> Result<Self, Reason> {
        let characters = inner.iter().map(bare).collect::<Option<Vec<char>>>();
        let characters = characters.ok_or(Reason::Pattern("quotes, backslashes and `$` within `[…]`"))?;
        let text: String = ['['].iter().chain(&characters).chain(&[']']).collect();
        if characters.contains(&'/') {
            return Err(Reason::Pattern("`/` within `[…]`"));
        }
        if ["[:", "[.", "[="].iter().any(|class| text.get(1..).is_some_and(|inner| inner.contains(class)))
            || !text.is_ascii()
        {
            return Err(Reason::Pattern("classes and letters beyond ASCII within `[…]`"));
        }
        let negated = matches!(characters.first(), Some('!' | '^'));
        let mut members = characters.get(usize::from(negated)..).unwrap_or_default();
        let mut ranges = Vec::new();
        let mut is_first = true;
        while let Some((first, rest)) = members.split_first() {
            let range = match rest {
                ['-', last, ..] => {
                    let is_class = |of: fn(&char) -> bool| of(first) && of(last);
                    let is_plain = is_class(char::is_ascii_digit)
                        || is_class(char::is_ascii_lowercase)
                        || is_class(char::is_ascii_uppercase);
                    if !is_plain || first > last {
                        return Err(Reason::Pattern("a range that is not like `[a-z]`"));
                    }
                    members = rest.get(2..).unwrap_or_default();
                    (*first, *last)
                }
                _ => {
                    if *first == '-' && !is_first && !rest.is_empty() {
                        return Err(Reason::Pattern("a range that is not like `[a-z]`"));
                    }
                    members = rest;
                    (*first, *first)
                }
            };
            ranges.push(range);
            is_first = false;
        }
        Ok(Self { text, negated, ranges })
    }

    /// Whether it takes this character.
    pub fn takes(&self, character: char) -> bool {
        self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&character)) != self.negated
    }
}

// A word holds at least one character of its line, so that lines of the largest size fit in memory.
const _: () = assert!(MOST_WORDS * size_of::<Word>() <= 4 << 20);
