//! One way to call a command: its options and operands.

use super::{Effect, Options, Origin, Restriction, ValueType};

/// One way to call a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// Where it is described.
    pub origin: Origin,
    /// The decision if it matches.
    pub effect: Effect,
    /// Why, in the operator's words.
    pub reason: Option<String>,
    /// The level's options, those of the sets that it uses, and its own.
    pub options: Options,
    /// The other words.
    pub operands: Vec<Operand>,
    /// The words after `--`; `None` if they are operands like the others.
    pub after_double_dash: Option<Vec<Operand>>,
}

impl Form {
    /// The operands, with those after `--`.
    pub(crate) fn all_operands(&self) -> impl Iterator<Item = &Operand> {
        self.operands.iter().chain(self.after_double_dash.iter().flatten())
    }
}

/// A word that is not an option, or several of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand {
    /// Its name in messages.
    pub name: Option<String>,
    /// Where it is described.
    pub origin: Origin,
    /// Its type.
    pub value: ValueType,
    /// Values for which something stricter is decided.
    pub restrictions: Vec<Restriction>,
    /// The fewest words.
    pub least: usize,
    /// The most words; `None` for any number.
    pub most: Option<usize>,
    /// Whether it is hidden in logs and messages.
    pub is_secret: bool,
}

impl Operand {
    /// Whether the number of words is fixed.
    pub fn is_fixed(&self) -> bool {
        self.most == Some(self.least)
    }

    /// Whether there may be more than one word.
    pub fn repeats(&self) -> bool {
        self.most.is_none_or(|most| most > 1)
    }
}
