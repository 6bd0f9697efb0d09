//! Settings whose value is one of a few words: which tools there are, which programs are trusted, the level of the sandbox,
//! its network and its presets, how the client's roots are treated, and how the log is written.

use std::fmt;

use super::error::printable;
use super::wrong::Wrong;
use crate::integrity::Trust;
use crate::network::{Network, NetworkError};
use crate::policy::Lines;
use crate::sandbox::{Level, Preset};
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

/// Reads the network of commands in the sandbox; case and surrounding blanks don't matter.
pub(super) fn network(text: &str) -> Result<Network, Wrong> {
    let given = text.trim_ascii();
    given.to_ascii_lowercase().parse().map_err(|error| match error {
        NetworkError::NotOne => {
            Wrong::NotANetwork { found: printable(text), nearest: nearest(given, Network::WORDS.map(|(word, _)| word)) }
        }
        NetworkError::NotAPort { entry } => Wrong::NotAPort { found: printable(&entry) },
        NetworkError::BesidePorts { word } => Wrong::WordBesidePorts { word },
    })
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
        let error = network("5432").unwrap_err().to_string();
        assert_eq!(
            error,
            "`5432` is not a choice of network; expected none, loopback, full, or ports such as `connect:5432,listen:3000`"
        );
        assert_eq!(network(" CONNECT:5432, listen:1 ").unwrap().to_string(), "connect:5432,listen:1");
        let error = network("connect:0").unwrap_err().to_string();
        assert_eq!(
            error,
            "`connect:0` names no port; expected `connect:PORT` or `listen:PORT`, with a number from 1 to 65535"
        );
        let error = network("Loopback,connect:1").unwrap_err().to_string();
        assert!(error.starts_with("`loopback` can't be combined with ports; write"), "{error}");
        assert_eq!(trust("Owner").unwrap(), Trust::Owner);
        let error = trust("root").unwrap_err().to_string();
        assert_eq!(error, "`root` is not a choice of trust; expected any or owner");
        let error = RootsMode::parse("sometimes").unwrap_err().to_string();
        assert_eq!(error, "`sometimes` is not a mode for roots; expected use, ignore or require");
    }
}
