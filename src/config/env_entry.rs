//! Entries that are added to the environment of commands.

use std::fmt;

use super::wrong::Wrong;

/// One entry of `--env`. Entries apply in their order: if two name the same variable, the later one wins.
#[derive(Clone, PartialEq, Eq)]
pub enum EnvEntry {
    /// Passes on the server's variable of this name, if it is set.
    Pass(String),
    /// Sets the variable of this name to this value, which may be empty.
    Set(String, String),
}

impl EnvEntry {
    /// The name of the variable.
    pub fn name(&self) -> &str {
        match self {
            EnvEntry::Pass(name) | EnvEntry::Set(name, _) => name,
        }
    }

    /// Reads `NAME` or `NAME=VALUE`. A name begins with a letter or `_` and consists of ASCII letters, digits, `_`, `.`, `-`
    /// and parentheses (Windows has `ProgramFiles(x86)`); a value may contain anything but NUL.
    pub(super) fn parse(entry: &str) -> Result<Self, Wrong> {
        let (name, value) = match entry.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (entry, None),
        };
        let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !first || !name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-()".contains(c)) {
            return Err(Wrong::NotAVariable);
        }
        match value {
            None => Ok(EnvEntry::Pass(name.to_owned())),
            Some(value) if value.contains('\0') => Err(Wrong::NulInVariable { name: name.to_owned() }),
            Some(value) => Ok(EnvEntry::Set(name.to_owned(), value.to_owned())),
        }
    }
}

/// `NAME`, or `NAME=…`: a value may be a secret, so it is never written out.
impl fmt::Display for EnvEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EnvEntry::Pass(name) => write!(f, "{name}"),
            EnvEntry::Set(name, _) => write!(f, "{name}=…"),
        }
    }
}

impl fmt::Debug for EnvEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EnvEntry({self})")
    }
}
