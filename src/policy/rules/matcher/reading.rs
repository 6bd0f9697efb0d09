//! What the matcher finds: what each word is, or what is wrong with one.

use crate::policy::rules::grammar::{Form, Level, Operand, OptionRule, PathType, ValueType};

/// What a word, or the part of it from a byte on, is.
#[derive(Debug, Clone)]
pub struct Reading<'p> {
    /// The word, counted from the command, which is 0.
    pub word: usize,
    /// The byte of it where the part begins.
    pub from: usize,
    /// What it is.
    pub role: Role<'p>,
}

/// What a word can be.
#[derive(Debug, Clone)]
pub enum Role<'p> {
    /// The command, or the name of a subcommand.
    Name(&'p Level),
    /// An option.
    Option(&'p OptionRule),
    /// The value of an option.
    Value(&'p OptionRule, &'p ValueType),
    /// An operand.
    Operand(&'p Operand),
    /// `--`.
    DoubleDash,
    /// A word of a level that takes anything.
    Anything,
}

/// A form that matches.
#[derive(Debug, Clone)]
pub struct Match<'p> {
    /// The levels from the command down, each with the number of the first word behind its name.
    pub levels: Vec<(&'p Level, usize)>,
    /// The form; `None` at a level that takes anything.
    pub form: Option<&'p Form>,
    /// What each word is.
    pub readings: Vec<Reading<'p>>,
}

/// A word that a form says is a path, for the file system to be asked.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'p, 'w> {
    /// The word, counted from the command.
    pub word: usize,
    /// The path, as it stands in the word.
    pub text: &'w str,
    /// What it must be.
    pub path: &'p PathType,
}

impl<'p> Match<'p> {
    /// The paths among the words.
    pub fn claims<'w>(&self, words: &'w [String]) -> Vec<Claim<'p, 'w>> {
        let claim = |reading: &Reading<'p>| {
            let value = match &reading.role {
                Role::Value(_, value) => value,
                Role::Operand(operand) => &operand.value,
                Role::Name(_) | Role::Option(_) | Role::DoubleDash | Role::Anything => return None,
            };
            let ValueType::Path(path) = value else { return None };
            let text = words.get(reading.word)?.get(reading.from..)?;
            Some(Claim { word: reading.word, text, path })
        };
        self.readings.iter().filter_map(claim).collect()
    }
}

/// Why a form does not match.
#[derive(Debug, Clone)]
pub struct Failure<'p> {
    /// The word that is wrong, counted from the command; the number of words where one is missing.
    pub word: usize,
    /// The level that was reached.
    pub level: &'p Level,
    /// The form; `None` where it is about the subcommand.
    pub form: Option<&'p Form>,
    /// What is wrong.
    pub wrong: Mismatch<'p>,
}

/// What can be wrong with a word.
#[derive(Debug, Clone)]
pub enum Mismatch<'p> {
    /// No such option; the letter where it is one of a bundle.
    UnknownOption(Option<char>),
    /// A flag with a value.
    TakesNoValue(&'p OptionRule),
    /// An option without the value that it needs.
    NeedsValue(&'p OptionRule),
    /// `=` behind a letter.
    EqualsBehindLetter(&'p OptionRule),
    /// Not what the option takes; the byte where the value begins.
    BadValue(&'p OptionRule, &'p ValueType, usize),
    /// Not what stands in this place.
    BadOperand(&'p Operand),
    /// One operand more than there may be.
    TooMany,
    /// An operand is missing.
    TooFew(&'p Operand),
    /// An option is missing.
    MissingOption(&'p OptionRule),
    /// An option behind an operand.
    OptionBehindOperand,
    /// An operand behind an option.
    OperandBehindOption,
    /// `--` where it is refused.
    DoubleDash,
    /// No subcommand of this name.
    UnknownSubcommand,
    /// No subcommand at all.
    NoSubcommand,
}
