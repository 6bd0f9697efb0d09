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
        let (beginning, rest) = name.split_once('%')?;
        let last = rest.rsplit('%').next().unwrap_or_default();
        // The letter after the sign.
        let ending = last.get(1..).unwrap_or_default().to_owned();
        // Of a name such as `%t` nothing is known.
        let is_known = !(beginning.is_empty() && ending.is_empty());
        let directory = path.parent().filter(|_| is_known)?.to_owned();
        Some(Self::Named { directory, beginning: beginning.to_owned(), ending })
    }

    /// Whether this is for files with names like that of what was reached, in the same directory or beneath such a name.
    pub fn is_named_like(&self, reached: &Path) -> bool {
        let Self::Named { directory, beginning, ending } = self else { return false };
        let Ok(directory) = crate::files::canonicalize(directory) else { return false };
        let Ok(rest) = reached.strip_prefix(directory) else { return false };
        let name = rest.iter().next().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        name.len() >= beginning.len() + ending.len() && name.starts_with(beginning) && name.ends_with(ending)
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
    fn names_that_are_filled_in_are_known_by_their_ends() {
        let dir = tempfile::tempdir().unwrap();
        let base = crate::files::canonicalize(dir.path()).unwrap();
        let recordings = Protected::filled(base.join("s-%t-%p.transcript")).unwrap();
        for (name, expected) in
            [("s-1-2.transcript", true), ("S-.transcript/x", true), ("s-1", false), ("d/s-1.transcript", false)]
        {
            assert_eq!(recordings.is_named_like(&base.join(name)), expected, "{name}");
        }
        let full = Protected::beginning(base.join("log"), ".").unwrap();
        assert_eq!(
            ["log.1", "log.12.gz", "log", "logs"].map(|name| full.is_named_like(&base.join(name))),
            [true, true, false, false]
        );
        assert_eq!(Protected::filled(base.join("plain")), None);
    }
}
