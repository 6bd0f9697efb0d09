//! What a scenario finds in its temporary directory before the server starts.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Component, Path};

use super::{Placeholders, Problem};

/// One `setup:` line. Paths are relative to the temporary directory and hold no `..`; folders on the way are made.
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
    /// [`Problem::SetupOutside`] for a path that is empty, absolute or holds `..`; this and the next three alike.
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

    /// `link PATH TARGET`: a symbolic link; the target stands as it is written, placeholders filled.
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

    /// Makes it in `directory`.
    ///
    /// # Errors
    /// What the file system says; `AlreadyExists` where a file or link of that name is there.
    pub fn make(&self, directory: &Path, placeholders: &Placeholders) -> io::Result<()> {
        let path = directory.join(&self.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        match &self.kind {
            Kind::Dir => fs::create_dir_all(path),
            Kind::File { text } => write_new(&path, &placeholders.fill(text)),
            Kind::Script { text } => {
                write_new(&path, &placeholders.fill(text))?;
                make_executable(&path)
            }
            Kind::Link { target } => make_link(Path::new(&placeholders.fill(target)), &path),
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

/// Splits at blanks; a word that begins with a quote is a JSON string, any other is as it stands.
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

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    // A file is never written through a link that an earlier line made.
    let mut file = fs::File::create_new(path)?;
    io::Write::write_all(&mut file, text.as_bytes())
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn make_link(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(windows)]
fn make_link(target: &Path, link: &Path) -> io::Result<()> {
    // Windows keeps links to directories apart; the target is looked up from where the link stands.
    let seen = link.parent().map_or_else(|| target.to_owned(), |parent| parent.join(target));
    if seen.is_dir() {
        std::os::windows::fs::symlink_dir(target, link)
    } else {
        std::os::windows::fs::symlink_file(target, link)
    }
}
