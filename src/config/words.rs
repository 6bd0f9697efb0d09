//! Settings whose value is one of a few words: which programs are trusted, the level of the sandbox, its network and its presets, what is done with the
//! client's roots, and how the log is written.

use std::fmt;

use super::error::{Wrong, printable};
use crate::integrity::Trust;
use crate::sandbox::{Level, Network, Preset};
use crate::text::nearest;

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

/// How the lines of the log are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// As text, `key=value`; the default.
    Text,
    /// Each as a JSON object.
    Json,
}

impl LogFormat {
    /// All formats.
    pub const ALL: [Self; 2] = [Self::Text, Self::Json];

    /// The word for it in a setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }

    /// Reads a format; case and surrounding blanks don't matter.
    pub(super) fn parse(text: &str) -> Result<Self, Wrong> {
        word(text, Self::ALL, Self::name, "format of the log", "text, json")
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

/// Reads whether commands in the sandbox have a network; case and surrounding blanks don't matter.
pub(super) fn network(text: &str) -> Result<Network, Wrong> {
    word(text, Network::ALL, Network::name, "choice of a network", "none, full")
}

/// Reads which programs run, by who can replace them; case and surrounding blanks don't matter.
pub(super) fn trust(text: &str) -> Result<Trust, Wrong> {
    word(text, Trust::ALL, Trust::name, "choice of trust", "any, owner")
}

/// Reads the name of a preset of grants; case and surrounding blanks don't matter.
pub(super) fn preset(text: &str) -> Result<Preset, Wrong> {
    word(text, Preset::ALL, Preset::name, "preset of grants", "git, rust, node, python, go")
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
        assert_eq!(network("NONE").unwrap(), Network::None);
        let error = network("no").unwrap_err().to_string();
        assert_eq!(error, "`no` is no choice of a network; did you mean `none`?");
        assert_eq!(trust("Owner").unwrap(), Trust::Owner);
        let error = trust("root").unwrap_err().to_string();
        assert_eq!(error, "`root` is no choice of trust; expected one of any, owner");
        let error = RootsMode::parse("sometimes").unwrap_err().to_string();
        assert_eq!(error, "`sometimes` is no mode for roots; expected one of use, ignore, require");
    }
}
