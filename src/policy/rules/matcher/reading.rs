//! The results of the matcher: how it reads each word, or which word is wrong and why.

use crate::policy::rules::grammar::{Form, Level, Operand, OptionRule, PathType, Restriction, ValueType};

/// The reading of a word, or of the rest of a word from some byte.
#[derive(Debug, Clone)]
pub struct Reading<'p> {
    /// The number of the word. The command is word 0.
    pub word: usize,
    /// The byte of the word from which this holds.
    pub from: usize,
    /// Its role.
    pub role: Role<'p>,
}

/// The role of a word.
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
    /// The levels from the command down, each with the number of the first word after its name.
    pub levels: Vec<(&'p Level, usize)>,
    /// The form; `None` for a level that takes anything.
    pub form: Option<&'p Form>,
    /// The reading of each word.
    pub readings: Vec<Reading<'p>>,
}

/// A path among the words, which has to be checked in the file system.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'p, 'w> {
    /// The number of the word. The command is word 0.
    pub word: usize,
    /// The path, as the word has it.
    pub text: &'w str,
    /// The type that it must have.
    pub path: &'p PathType,
}

impl<'p> Reading<'p> {
    /// The values for which something stricter is decided; empty if this is no value.
    fn restrictions(&self) -> &'p [Restriction] {
        match &self.role {
            Role::Value(option, _) => &option.restrictions,
            Role::Operand(operand) => &operand.restrictions,
            Role::Name(_) | Role::Option(_) | Role::DoubleDash | Role::Anything => &[],
        }
    }
}

impl<'p> Match<'p> {
    /// The values among the words for which something stricter may be decided, each with its word.
    pub fn restricted<'w>(&self, words: &'w [String]) -> Vec<(usize, &'w str, &'p Restriction)> {
        let of_reading = |reading: &Reading<'p>| {
            let text = words.get(reading.word).and_then(|word| word.get(reading.from..)).unwrap_or_default();
            let word = reading.word;
            reading.restrictions().iter().map(move |restriction| (word, text, restriction))
        };
        self.readings.iter().flat_map(of_reading).collect()
    }

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
    /// The number of the word that is wrong; the number of words if one is missing.
    pub word: usize,
    /// The level that was reached.
    pub level: &'p Level,
    /// The form; `None` if the subcommand is wrong.
    pub form: Option<&'p Form>,
    /// The mistake.
    pub wrong: Mismatch<'p>,
}

/// A mistake in a word.
#[derive(Debug, Clone)]
pub enum Mismatch<'p> {
    /// There is no such option; the letter if it is one of a bundle.
    UnknownOption(Option<char>),
    /// A flag with a value.
    TakesNoValue(&'p OptionRule),
    /// An option without the value that it needs.
    NeedsValue(&'p OptionRule),
    /// `=` after a letter.
    EqualsAfterLetter(&'p OptionRule),
    /// More letters than are read.
    TooManyLetters,
    /// A value that the option does not take, and the byte where it begins.
    BadValue(&'p OptionRule, &'p ValueType, usize),
    /// A word that this operand does not take.
    BadOperand(&'p Operand),
    /// One operand too many.
    TooMany,
    /// An operand is missing.
    TooFew(&'p Operand),
    /// An option is missing.
    MissingOption(&'p OptionRule),
    /// An option after an operand.
    OptionAfterOperand,
    /// An operand after an option.
    OperandAfterOption,
    /// `--` where it is refused.
    DoubleDash,
    /// There is no subcommand of this name.
    UnknownSubcommand,
    /// The subcommand is missing.
    NoSubcommand,
}
