//! The files in the temporary directory before the server starts.

use std::fmt;
use std::io;
use std::path::{Component, Path};

use super::{Placeholders, Problem};
use crate::files::Beneath;

/// The longest path in bytes: deeper trees are hard to remove again.
const LONGEST_PATH: usize = 1024;

/// One `setup:` line. Paths are relative to the temporary directory and contain no `..`; missing directories on the way
/// are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    kind: Kind,
    path: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Dir,
    File { text: String },
    Script { text: String },
    Link { target: String },
}

impl Setup {
    /// `dir PATH`: a directory.
    ///
    /// # Errors
    /// [`Problem::SetupOutside`] for a path that is empty, absolute or contains `..`; this also applies to the next
    /// three.
    pub fn dir(path: &str) -> Result<Self, Problem> {
        Self::new(path, Kind::Dir)
    }

    /// `file PATH TEXT`: a file that holds exactly this text, placeholders filled.
    ///
    /// # Errors
    /// As [`Setup::dir`].
    pub fn file(path: &str, text: &str) -> Result<Self, Problem> {
        Self::new(path, Kind::File { text: text.to_owned() })
    }

    /// `script PATH TEXT`: likewise, and executable (mode 755 on Unix).
    ///
    /// # Errors
    /// As [`Setup::dir`].
    pub fn script(path: &str, text: &str) -> Result<Self, Problem> {
        Self::new(path, Kind::Script { text: text.to_owned() })
    }

    /// `link PATH TARGET`: a symbolic link; the target is used as it is written, placeholders filled.
    ///
    /// # Errors
    /// As [`Setup::dir`].
    pub fn link(path: &str, target: &str) -> Result<Self, Problem> {
        Self::new(path, Kind::Link { target: target.to_owned() })
    }

    fn new(path: &str, kind: Kind) -> Result<Self, Problem> {
        let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if path.is_empty() || !inside {
            return Err(Problem::SetupOutside { found: path.to_owned() });
        }
        if path.len() > LONGEST_PATH {
            return Err(Problem::SetupTooLong { length: path.len(), most: LONGEST_PATH });
        }
        Ok(Self { kind, path: path.to_owned() })
    }

    pub(super) fn parse(value: &str) -> Result<Self, Problem> {
        let none = || Problem::NoSetup { found: value.to_owned() };
        let words = split(value).ok_or_else(none)?;
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["dir", path] => Self::dir(path),
            ["file", path, text] => Self::file(path, text),
            ["script", path, text] => Self::script(path, text),
            ["link", path, target] => Self::link(path, target),
            _ => Err(none()),
        }
    }

    /// Makes it in `directory`; as [`Setup::make_beneath`].
    ///
    /// # Errors
    /// As it, and if the directory can't be opened.
    pub fn make(&self, directory: &Path, placeholders: &Placeholders) -> io::Result<()> {
        self.make_beneath(&Beneath::open(directory)?, placeholders)
    }

    /// Makes it in a held directory. No link is followed, so nothing is made outside: a link that an earlier line made
    /// may lead anywhere, and a later line that uses it as a directory on the way fails.
    ///
    /// # Errors
    /// The file system's error; `AlreadyExists` if there is a file or link of that name, `InvalidInput` if a directory
    /// on the way is a link.
    pub fn make_beneath(&self, directory: &Beneath, placeholders: &Placeholders) -> io::Result<()> {
        let path = Path::new(&self.path);
        match &self.kind {
            Kind::Dir => directory.create_directory(path),
            Kind::File { text } => directory.create_file(path, placeholders.fill(text).as_bytes(), false),
            Kind::Script { text } => directory.create_file(path, placeholders.fill(text).as_bytes(), true),
            Kind::Link { target } => directory.create_link(path, Path::new(&placeholders.fill(target))),
        }
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = spell(&self.path);
        match &self.kind {
            Kind::Dir => write!(f, "dir {path}"),
            Kind::File { text } => write!(f, "file {path} {}", spell(text)),
            Kind::Script { text } => write!(f, "script {path} {}", spell(text)),
            Kind::Link { target } => write!(f, "link {path} {}", spell(target)),
        }
    }
}

/// Splits at blanks; a word that begins with a quote is a JSON string, any other is taken literally.
fn split(value: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = value.trim_start_matches(' ');
    while !rest.is_empty() {
        let end;
        if rest.starts_with('"') {
            let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            words.push(strings.next()?.ok()?);
            end = strings.byte_offset();
        } else {
            end = rest.find(' ').unwrap_or(rest.len());
            words.push(rest.get(..end)?.to_owned());
        }
        rest = rest.get(end..)?;
        if !rest.is_empty() && !rest.starts_with(' ') {
            return None;
        }
        rest = rest.trim_start_matches(' ');
    }
    Some(words)
}

fn spell(word: &str) -> String {
    let special = |c: char| c.is_whitespace() || c.is_control() || c == '"';
    if word.is_empty() || word.contains(special) {
        return serde_json::Value::from(word).to_string();
    }
    word.to_owned()
}
