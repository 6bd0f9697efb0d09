//! How much the log says.

use std::fmt;

use super::error::printable;
use super::wrong::Wrong;
use crate::text::nearest;

/// The level of a log message; each includes the earlier ones, so `level <= limit` is the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Nothing at all.
    Off,
    /// A failure of the server.
    Error,
    /// Something that an operator should look at.
    Warn,
    /// One line for each call; the default.
    Info,
    /// Details that help to find a mistake in the server.
    Debug,
}

impl LogLevel {
    /// All levels, the quietest first.
    pub const ALL: [LogLevel; 5] = [LogLevel::Off, LogLevel::Error, LogLevel::Warn, LogLevel::Info, LogLevel::Debug];

    /// The word for it in a setting.
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Off => "off",
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
        }
    }

    /// Reads a level; case and surrounding blanks don't matter.
    pub(super) fn parse(text: &str) -> Result<Self, Wrong> {
        let word = text.trim_ascii();
        LogLevel::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(word)).ok_or_else(|| {
            let elsewhere = ELSEWHERE.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
            let nearest = nearest(word, LogLevel::ALL.map(LogLevel::name));
            let nearest = nearest.or_else(|| elsewhere.map(|(_, level)| level.name()));
            let (what, known) = ("a log level", "off, error, warn, info or debug");
            Wrong::NotAWord { what, found: printable(text), nearest, known }
        })
    }
}

/// Names of levels in other programs that share nothing with ours.
const ELSEWHERE: [(&str, LogLevel); 9] = [
    ("none", LogLevel::Off),
    ("quiet", LogLevel::Off),
    ("silent", LogLevel::Off),
    ("critical", LogLevel::Error),
    ("fatal", LogLevel::Error),
    ("notice", LogLevel::Info),
    ("all", LogLevel::Debug),
    ("trace", LogLevel::Debug),
    ("verbose", LogLevel::Debug),
];

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
