//! One way to call a command: options, and what the other words are.

use super::{Effect, Options, Origin, ValueType};

/// One way to call a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// Where it is described.
    pub origin: Origin,
    /// What it comes to.
    pub effect: Effect,
    /// Why, in the operator's words.
    pub reason: Option<String>,
    /// The level's options, those of the sets that it uses, and its own.
    pub options: Options,
    /// What the other words are.
    pub operands: Vec<Operand>,
    /// What the words behind `--` are; `None` where they are operands like the others.
    pub after_double_dash: Option<Vec<Operand>>,
}

impl Form {
    /// The operands, with those after `--`.
    pub(crate) fn all_operands(&self) -> impl Iterator<Item = &Operand> {
        self.operands.iter().chain(self.after_double_dash.iter().flatten())
    }
}

/// What a word after the options is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand {
    /// What it is called in messages.
    pub name: Option<String>,
    /// Where it is described.
    pub origin: Origin,
    /// What it is.
    pub value: ValueType,
    /// The fewest of them.
    pub least: usize,
    /// The most of them; `None` for any number.
    pub most: Option<usize>,
    /// Whether it is hidden in the log.
    pub is_secret: bool,
}

impl Operand {
    /// Whether there are always as many of them.
    pub fn is_fixed(&self) -> bool {
        self.most == Some(self.least)
    }

    /// Whether there may be more than one.
    pub fn repeats(&self) -> bool {
        self.most.is_none_or(|most| most > 1)
    }
}
