//! Options, found by their spelling.

use std::sync::Arc;

use super::{Origin, Restriction, ValueType};

/// Options, found by their spelling.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    all: Vec<Arc<OptionRule>>,
    /// The number of an option and of one of its spellings, sorted by the text of the spelling. Each form has its own list, so it
    /// holds numbers and not text.
    by_spelling: Vec<(u32, u32)>,
}

impl Options {
    /// Adds an option.
    ///
    /// # Errors
    /// A spelling that another option has already, and that option; then only a part of the option was added.
    pub(in crate::policy::rules) fn add(&mut self, option: Arc<OptionRule>) -> Result<(), (String, Arc<OptionRule>)> {
        // They fit into 32 bits: a policy is at most 256 KiB long.
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(Arc::clone(&option));
        for (which, spelling) in (0..).zip(&option.spellings) {
            match self.place(spelling) {
                Ok(_) => return Err((spelling.clone(), Arc::clone(self.get(spelling).unwrap_or(&option)))),
                Err(place) => self.by_spelling.insert(place, (number, which)),
            }
        }
        Ok(())
    }

    /// Adds an option, and removes those that share a spelling with it.
    pub(in crate::policy::rules) fn replace(&mut self, option: &Arc<OptionRule>) {
        let is_other = |other: &Arc<OptionRule>| !other.spellings.iter().any(|own| option.spellings.contains(own));
        let others = std::mem::take(self).all.into_iter().filter(is_other);
        for option in others.chain([Arc::clone(option)]) {
            // No two of them share a spelling.
            let _ = self.add(option);
        }
    }

    fn spelling(&self, (option, which): (u32, u32)) -> Option<&str> {
        let option = self.all.get(usize::try_from(option).ok()?)?;
        option.spellings.get(usize::try_from(which).ok()?).map(String::as_str)
    }

    /// Where a spelling is in the list, or where it would be inserted.
    fn place(&self, spelling: &str) -> Result<usize, usize> {
        self.by_spelling.binary_search_by(|entry| self.spelling(*entry).unwrap_or_default().cmp(spelling))
    }

    /// The option that is spelled like this.
    pub fn get(&self, spelling: &str) -> Option<&Arc<OptionRule>> {
        let (option, _) = self.by_spelling.get(self.place(spelling).ok()?)?;
        self.all.get(usize::try_from(*option).ok()?)
    }

    /// All of them, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<OptionRule>> {
        self.all.iter()
    }
}

/// The spelling that stands for a dash and a number.
pub const NUMBER_OPTION: &str = "-NUM";

/// One option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionRule {
    /// How it is written, with its dashes; `-NUM` is a dash and a number, and a spelling without a dash is a flag. In the syntax
    /// `go` each spelling has one dash here, and may have two in a call.
    pub spellings: Vec<String>,
    /// Where it is described.
    pub origin: Origin,
    /// Whether it takes a value, and which.
    pub takes: Takes,
    /// Values for which something stricter is decided.
    pub restrictions: Vec<Restriction>,
    /// The name of its value in messages; `None` for a name that follows from its type.
    pub value_name: Option<String>,
    /// Whether a form matches only if the option is there.
    pub is_required: bool,
    /// Whether it stands before the operands of a program whose other options stand after them, as `-P` of find does.
    pub is_leading: bool,
    /// Whether its value is hidden in logs and messages.
    pub is_secret: bool,
}

/// The value that an option takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Flag,
    /// A value.
    Value {
        /// Its type.
        value: ValueType,
        /// Where it is.
        place: ValuePlace,
    },
}

/// Where the value of an option is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValuePlace {
    /// In the same word, or in the next one.
    Anywhere,
    /// In the same word.
    Attached,
    /// In the same word, or left out.
    Optional,
}
