//! The log: one line an event, for the operator.

use crate::config::LogLevel;

/// Where the lines of the log go; each comes without its line end, and never holds one.
pub type LogSink = Box<dyn FnMut(&str) + Send>;

/// Writes what is at or above a level.
pub struct Log {
    level: LogLevel,
    sink: LogSink,
}

impl Log {
    /// Writes lines of at least `level` to `sink`; `off` writes none.
    pub fn new(level: LogLevel, sink: LogSink) -> Self {
        Self { level, sink }
    }

    /// Writes one line, with its level in front; control characters in it are escaped.
    pub fn write(&mut self, level: LogLevel, line: &str) {
        if self.writes(level) {
            let line: String = line.chars().flat_map(escaped).collect();
            (self.sink)(&format!("{level}: {line}"));
        }
    }

    /// Whether lines of this level are written, so that they need not be made in vain.
    pub fn writes(&self, level: LogLevel) -> bool {
        level != LogLevel::Off && level <= self.level
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("level", &self.level).finish_non_exhaustive()
    }
}

/// A character as it may stand in one line of a terminal.
fn escaped(character: char) -> impl Iterator<Item = char> {
    let escape = character.is_control() || matches!(character, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}');
    let (escaped, plain) = if escape { (Some(character.escape_default()), None) } else { (None, Some(character)) };
    escaped.into_iter().flatten().chain(plain)
}
