//! Files that no call writes, whatever a rule says.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files::{Held, Reached};

/// How many links of one path are followed; the kernel follows as many.
const MOST_LINKS: usize = 40;

/// A file that no call writes, or several that are named alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Protected {
    /// The file at an absolute path.
    File(PathBuf),
    /// The files of a directory whose names begin and end so, in lower case.
    Named {
        /// The directory.
        directory: PathBuf,
        /// How the names begin.
        beginning: String,
        /// How they end.
        ending: String,
    },
    /// The files of a directory whose names consist of these parts, in lower case.
    Filled {
        /// The directory.
        directory: PathBuf,
        /// The parts.
        parts: Vec<Part>,
    },
}

/// A part of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// This text.
    Literal(String),
    /// A time such as `20260102t030405.123z`, or a number.
    Digits,
    /// The name that a client gives itself.
    Anything,
}

/// Whether a name consists of these parts.
fn consists_of(name: &str, parts: &[Part]) -> bool {
    let Some((part, rest)) = parts.split_first() else { return name.is_empty() };
    let after = |(at, character): (usize, char)| name.get(at + character.len_utf8()..).unwrap_or_default();
    match part {
        Part::Literal(text) => name.strip_prefix(text.as_str()).is_some_and(|after| consists_of(after, rest)),
        Part::Digits => {
            let is_digit = |character: &char| character.is_ascii_digit();
            let digits = name
                .char_indices()
                .take_while(|(at, character)| is_digit(character) || *at > 0 && matches!(character, 't' | 'z' | '.'));
            digits.map(after).any(|after| consists_of(after, rest))
        }
        Part::Anything => {
            consists_of(name, rest) || name.char_indices().map(after).any(|after| consists_of(after, rest))
        }
    }
}

impl Protected {
    /// The files whose names begin with that of `path` and `next`.
    pub fn beginning(path: PathBuf, next: &str) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        Some(Self::Named { directory: path.parent()?.to_owned(), beginning: name + next, ending: String::new() })
    }

    /// The files whose names come from that of `path` with its `%t`, `%p` and `%c` filled in; `None` if it has none of them.
    pub fn filled(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let (mut parts, mut rest) = (Vec::new(), name.as_str());
        while let Some((literal, after)) = rest.split_once('%') {
            parts.push(Part::Literal(literal.to_owned()));
            let (part, letters) = match after.as_bytes() {
                [b't' | b'p', ..] => (Part::Digits, 1),
                [b'c', ..] => (Part::Anything, 1),
                // `%%` is filled in before `%c` is.
                [b'%', b'c', ..] => (Part::Anything, 2),
                [b'%', ..] => (Part::Literal("%".to_owned()), 1),
                _ => (Part::Literal("%".to_owned()), 0),
            };
            parts.push(part);
            rest = after.get(letters..).unwrap_or_default();
        }
        parts.push(Part::Literal(rest.to_owned()));
        let is_filled = parts.iter().any(|part| !matches!(part, Part::Literal(_)));
        let directory = path.parent().filter(|_| is_filled)?.to_owned();
        Some(Self::Filled { directory, parts })
    }

    /// Whether this is for files with names like that of what was reached, in the same directory or beneath such a name.
    pub fn is_named_like(&self, reached: &Path) -> bool {
        let directory = match self {
            Self::File(_) => return false,
            Self::Named { directory, .. } | Self::Filled { directory, .. } => directory,
        };
        let Ok(directory) = crate::files::canonicalize(directory) else { return false };
        let Ok(rest) = reached.strip_prefix(directory) else { return false };
        let name = rest.iter().next().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        match self {
            Self::File(_) => false,
            Self::Named { beginning, ending, .. } => {
                name.len() >= beginning.len() + ending.len() && name.starts_with(beginning) && name.ends_with(ending)
            }
            Self::Filled { parts, .. } => consists_of(&name, parts),
        }
    }

    /// The file, if it is one, and the links on the way to it: whoever replaces one of them replaces the file.
    pub fn file_and_links(&self) -> Option<(&Path, Vec<Reached>)> {
        let Self::File(file) = self else { return None };
        let mut links = Vec::new();
        let mut path = file.clone();
        for _ in 0..MOST_LINKS {
            let mut outermost_first: Vec<&Path> = path.ancestors().collect();
            outermost_first.reverse();
            let link = outermost_first.into_iter().find_map(|part| Some((part, fs::read_link(part).ok()?)));
            let Some((link, target)) = link else { break };
            let (Some(directory), Some(name)) = (link.parent(), link.file_name()) else { break };
            if let Ok(directory) = Held::open_directory(directory) {
                // Not what it leads to: the name itself, which a directory around it holds.
                links.push(Reached::Missing { directory: Arc::new(directory), names: vec![name.to_owned()] });
            }
            let rest = path.strip_prefix(link).unwrap_or(Path::new("")).to_owned();
            let whole = directory.join(target);
            // An empty rest would add a separator.
            path = if rest.as_os_str().is_empty() { whole } else { whole.join(rest) };
        }
        Some((file, links))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_filled_in_are_known_by_their_shape() {
        let dir = tempfile::tempdir().unwrap();
        let base = crate::files::canonicalize(dir.path()).unwrap();
        let recordings = Protected::filled(base.join("s-%t-%p.transcript")).unwrap();
        for (name, expected) in [
            ("s-1-2.transcript", true),
            ("S-1-2.transcript/x", true),
            ("s-.transcript", false),
            ("s-1", false),
            ("d/s-1.transcript", false),
        ] {
            assert_eq!(recordings.is_named_like(&base.join(name)), expected, "{name}");
        }
        let full = Protected::beginning(base.join("log"), ".").unwrap();
        assert_eq!(
            ["log.1", "log.12.gz", "log", "logs"].map(|name| full.is_named_like(&base.join(name))),
            [true, true, false, false]
        );
        for (pattern, name, expected) in [
            ("%t", "20260102T030405.123Z", true),
            ("%t", "notes.txt", false),
            ("%t-%p", "20260102t030405.123z-17", true),
            ("%p%t", "1720260102T030405.123Z", true),
            ("%c", "notes.txt", true),
            ("%%%t", "%20260102T030405.123Z", true),
            ("%%c", "notes.txt", true),
            ("%x%t", "%x1", true),
            ("%t.%c", "1.any client", true),
            ("%t.%c", "any client", false),
        ] {
            let filled = Protected::filled(base.join(pattern)).unwrap();
            assert_eq!(filled.is_named_like(&base.join(name)), expected, "{pattern}, {name}");
        }
        assert_eq!(["plain", "100%", "%%"].map(|name| Protected::filled(base.join(name))), [None, None, None]);
    }
}
