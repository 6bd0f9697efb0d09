//! Lists as text, and what may stand on the lists of commands and of directories.

use std::collections::BTreeSet;
use std::path::{PathBuf, is_separator};

use super::error::{Wrong, printable};

/// The entries of a comma-separated list: blanks around them are dropped, empty ones ignored.
pub(super) fn entries(list: &str) -> Vec<String> {
    list.split(',')
        .map(str::trim_ascii)
        .filter(|entry| !entry.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Reads an entry of the allow-list: the name of a command, its path, or `*`.
///
/// A call's first word is compared with the entry as it stands, so an entry that no first word could equal is an error:
/// one with a control character, and one with a blank before its first path separator or without any (`ls -l`).
/// Behind a separator a blank may be part of a path (`/opt/my tools/lint`).
pub(super) fn command(entry: &str) -> Result<String, Wrong> {
    if entry.chars().any(char::is_control) {
        return Err(Wrong::ControlInCommand {
            found: printable(entry),
        });
    }
    let blank = entry.find(char::is_whitespace);
    let separator = entry.find(is_separator);
    match (blank, separator) {
        (Some(blank), Some(separator)) if separator < blank => Ok(entry.to_owned()),
        (Some(_), _) => Err(Wrong::BlankInCommand {
            found: entry.to_owned(),
        }),
        (None, _) => Ok(entry.to_owned()),
    }
}

/// Reads a path as it stands: no tilde, variable, glob or URI means anything, and nothing is resolved.
pub(super) fn path(text: &str) -> Result<PathBuf, Wrong> {
    if text.is_empty() {
        return Err(Wrong::EmptyPath);
    }
    if text.contains('\0') {
        return Err(Wrong::NulInPath {
            found: printable(text),
        });
    }
    Ok(PathBuf::from(text))
}

/// A list without what stands in it already, in its order.
pub(super) fn without_repetitions(list: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    list.into_iter()
        .filter(|entry| seen.insert(entry.clone()))
        .collect()
}
