//! Settings whose value is one of a few words: the level of the sandbox, and what is done with the client's roots.

use std::fmt;

use super::error::{Wrong, printable};
use super::nearest::nearest;
use crate::sandbox::Level;

/// What is done with the roots that a client has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootsMode {
    /// Clients that have roots are asked for them; the default.
    Use,
    /// Nobody is asked.
    Ignore,
    /// Calls are refused until the roots are known.
    Require,
}

impl RootsMode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Use, Self::Ignore, Self::Require];

    /// The word for it in a setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::Use => "use",
            Self::Ignore => "ignore",
            Self::Require => "require",
        }
    }

    /// Reads a mode; case and surrounding blanks don't matter.
    pub(super) fn parse(text: &str) -> Result<Self, Wrong> {
        word(text, Self::ALL, Self::name, "mode for roots", "use, ignore, require")
    }
}

impl fmt::Display for RootsMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reads a level of the sandbox; case and surrounding blanks don't matter.
pub(super) fn level(text: &str) -> Result<Level, Wrong> {
    word(text, Level::ALL, Level::name, "level of the sandbox", "off, workspace, strict")
}

fn word<T: Copy>(
    text: &str,
    all: impl IntoIterator<Item = T>,
    name: fn(T) -> &'static str,
    what: &'static str,
    known: &'static str,
) -> Result<T, Wrong> {
    let all: Vec<T> = all.into_iter().collect();
    let given = text.trim_ascii();
    all.iter().copied().find(|&value| name(value).eq_ignore_ascii_case(given)).ok_or_else(|| Wrong::NotAWord {
        what,
        found: printable(text),
        nearest: nearest(given, all.iter().map(|&value| name(value))),
        known,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_none_of_them_names_what_was_meant() {
        assert_eq!(level(" Strict ").unwrap(), Level::Strict);
        assert_eq!(RootsMode::parse("require").unwrap(), RootsMode::Require);
        let error = level("stric").unwrap_err().to_string();
        assert_eq!(error, "`stric` is no level of the sandbox; did you mean `strict`?");
        let error = RootsMode::parse("sometimes").unwrap_err().to_string();
        assert_eq!(error, "`sometimes` is no mode for roots; expected one of use, ignore, require");
    }
}
