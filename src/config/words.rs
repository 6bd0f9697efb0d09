//! Settings whose value is one of a few words: which tools there are, which programs are trusted, the level of the sandbox,
//! its network and its presets, how the client's roots are treated, and how the log is written.

use std::fmt;

use super::error::printable;
use super::wrong::Wrong;
use crate::integrity::Trust;
use crate::policy::Lines;
use crate::sandbox::{Level, Network, Preset};
use crate::text::nearest;
use crate::tools::WhichTools;

/// How the roots of a client are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootsMode {
    /// Clients that have roots are asked for them; the default.
    Use,
    /// Clients are not asked for them.
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
        word(text, Self::ALL, Self::name, "a mode for roots", "use, ignore or require")
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
        word(text, Self::ALL, Self::name, "a log format", "text or json")
    }
}

impl fmt::Display for RootsMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reads a level of the sandbox; case and surrounding blanks don't matter.
pub(super) fn level(text: &str) -> Result<Level, Wrong> {
    word(text, Level::ALL, Level::name, "a level of the sandbox", "off, workspace or strict")
}

/// Reads whether commands in the sandbox have a network; case and surrounding blanks don't matter.
pub(super) fn network(text: &str) -> Result<Network, Wrong> {
    word(text, Network::ALL, Network::name, "a choice of network", "none, loopback or full")
}

/// Reads which programs may run, by who can replace them; case and surrounding blanks don't matter.
pub(super) fn trust(text: &str) -> Result<Trust, Wrong> {
    word(text, Trust::ALL, Trust::name, "a choice of trust", "any or owner")
}

/// Reads which tools there are; case and surrounding blanks don't matter.
pub(super) fn which_tools(text: &str) -> Result<WhichTools, Wrong> {
    word(text, WhichTools::ALL, WhichTools::name, "a choice of tools", "execute, shell or all")
}

/// Reads what lines may do; case and surrounding blanks don't matter.
pub(super) fn lines(text: &str) -> Result<Lines, Wrong> {
    word(text, Lines::ALL, Lines::name, "a choice of lines", "off, on or files")
}

/// Reads the name of a preset of grants; case and surrounding blanks don't matter.
pub(super) fn preset(text: &str) -> Result<Preset, Wrong> {
    word(text, Preset::ALL, Preset::name, "a preset of grants", "git, rust, node, python or go")
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
    fn an_unknown_word_is_answered_with_what_was_meant() {
        assert_eq!(level(" Strict ").unwrap(), Level::Strict);
        assert_eq!(RootsMode::parse("require").unwrap(), RootsMode::Require);
        let error = level("stric").unwrap_err().to_string();
        assert_eq!(error, "`stric` is not a level of the sandbox; did you mean `strict`?");
        assert_eq!(network("NONE").unwrap(), Network::None);
        let error = network("no").unwrap_err().to_string();
        assert_eq!(error, "`no` is not a choice of network; did you mean `none`?");
        assert_eq!(trust("Owner").unwrap(), Trust::Owner);
        let error = trust("root").unwrap_err().to_string();
        assert_eq!(error, "`root` is not a choice of trust; expected any or owner");
        let error = RootsMode::parse("sometimes").unwrap_err().to_string();
        assert_eq!(error, "`sometimes` is not a mode for roots; expected use, ignore or require");
    }
}
