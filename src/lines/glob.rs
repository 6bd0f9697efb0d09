//! The names that a pattern matches, by the rules of bash without options: `*`, `?` and `[…]` match neither `/` nor a dot at
//! the begin of a name, and `.` and `..` are never found.

use std::ffi::OsString;

use super::bounds::Room;
use super::expand::ExpandError;
use super::word::Set;

/// The most names that one pattern finds.
pub const MOST_NAMES: usize = 10_000;
/// The most directories and files that one pattern looks at, which is as many steps as a path may have.
pub const MOST_STEPS: usize = 16_384;

/// A path that leads out of the directories that calls may run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outside;

/// The directories in which patterns find names. Paths are relative to the directory of the line, or absolute.
pub trait Directories {
    /// The names in a directory but `.` and `..`, in any order. `path` is empty for the directory of the line, and ends with
    /// `/` otherwise. `None` if there is no such directory, or if it can't be read.
    ///
    /// # Errors
    /// [`Outside`], whether it exists or not.
    fn names(&mut self, path: &str) -> Result<Option<Vec<OsString>>, Outside>;

    /// Whether there is such a file. A link is one, whatever it leads to; a path that ends with `/` is a directory.
    ///
    /// # Errors
    /// [`Outside`], whether it exists or not.
    fn exists(&mut self, path: &str) -> Result<bool, Outside>;
}

/// One character of a word, or what stands for characters.
#[derive(Debug, Clone, Copy)]
pub enum Unit<'a> {
    Character(char),
    Any,
    One,
    Set(&'a Set),
}

impl Unit<'_> {
    fn character(&self) -> Option<char> {
        match self {
            Self::Character(character) => Some(*character),
            Self::Any | Self::One | Self::Set(_) => None,
        }
    }

    fn takes(&self, character: char) -> bool {
        match self {
            Self::Character(own) => *own == character,
            Self::Any | Self::One => true,
            Self::Set(set) => set.takes(character),
        }
    }
}

pub fn expand(units: &[Unit<'_>], directories: &mut dyn Directories, room: &Room) -> Result<Vec<String>, ExpandError> {
    let written = written(units);
    let Some(first) = units.iter().position(|unit| unit.character().is_none()) else { return Ok(vec![written]) };
    // The directory in front of the first component that is a pattern.
    let begin = units.iter().take(first).rposition(|unit| unit.character() == Some('/')).map_or(0, |slash| slash + 1);
    let (prefix, rest) = units.split_at(begin);
    let mut search = Search { written: &written, directories, room, steps: 0 };
    let mut found = search.find(self::written(prefix), rest)?;
    if found.is_empty() {
        return Ok(vec![written]);
    }
    if begin == first && begin == 0 && found.iter().any(|name| name.starts_with('-')) {
        return Err(ExpandError::Option { pattern: written });
    }
    found.sort_unstable();
    Ok(found)
}

fn written(units: &[Unit<'_>]) -> String {
    let mut text = String::new();
    for unit in units {
        match unit {
            Unit::Character(character) => text.push(*character),
            Unit::Any => text.push('*'),
            Unit::One => text.push('?'),
            Unit::Set(set) => text.push_str(&set.text),
        }
    }
    text
}

struct Search<'a> {
    written: &'a str,
    directories: &'a mut dyn Directories,
    room: &'a Room,
    steps: usize,
}

impl Search<'_> {
    fn find(&mut self, prefix: String, units: &[Unit<'_>]) -> Result<Vec<String>, ExpandError> {
        let mut found = vec![prefix];
        let mut components = units.split(|unit| unit.character() == Some('/')).peekable();
        while let Some(component) = components.next() {
            let slash = if components.peek().is_some() { "/" } else { "" };
            let literal: Option<String> = component.iter().map(Unit::character).collect();
            let mut next = Vec::new();
            for base in found {
                match &literal {
                    None => {
                        let names = self.names(&base, component)?;
                        next.extend(names.into_iter().map(|name| format!("{base}{name}{slash}")));
                    }
                    Some(name) if !slash.is_empty() && !matches!(name.as_str(), "" | "." | "..") => {
                        next.push(format!("{base}{name}/"));
                    }
                    Some(name) if slash.is_empty() && !matches!(name.as_str(), "." | "..") => {
                        let path = format!("{base}{name}");
                        self.step()?;
                        if self.directories.exists(&path).map_err(|Outside| self.outside())? {
                            next.push(path);
                        }
                    }
                    Some(_) => return Err(ExpandError::Dots { pattern: self.written.to_owned() }),
                }
                if next.len() > MOST_NAMES {
                    return Err(ExpandError::TooMany { pattern: self.written.to_owned() });
                }
            }
            found = next;
        }
        Ok(found)
    }

    fn names(&mut self, directory: &str, pattern: &[Unit<'_>]) -> Result<Vec<String>, ExpandError> {
        self.step()?;
        let names = self.directories.names(directory).map_err(|Outside| self.outside())?.unwrap_or_default();
        self.room.compare(names.len())?;
        let wants_dot = pattern.first().and_then(Unit::character) == Some('.');
        let mut found = Vec::new();
        for name in names.iter().filter(|name| name.as_encoded_bytes().starts_with(b".") == wants_dot) {
            let Some(name) = name.to_str() else {
                return Err(ExpandError::NotUtf8 { pattern: self.written.to_owned() });
            };
            if name != "." && name != ".." && matches(pattern, name) {
                found.push(name.to_owned());
            }
        }
        Ok(found)
    }

    fn step(&mut self) -> Result<(), ExpandError> {
        self.steps += 1;
        self.room.compare(1)?;
        if self.steps > MOST_STEPS {
            return Err(ExpandError::TooMany { pattern: self.written.to_owned() });
        }
        Ok(())
    }

    fn outside(&self) -> ExpandError {
        ExpandError::Outside { pattern: self.written.to_owned() }
    }
}

/// Whether the whole name matches. After a mismatch only the last `*` takes one character more, so that the time is at most
/// the product of both lengths.
fn matches(pattern: &[Unit<'_>], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    if pattern.iter().filter(|unit| !matches!(unit, Unit::Any)).count() > name.len() {
        return false;
    }
    let (mut at, mut read) = (0, 0);
    let mut star = None;
    while let Some(character) = name.get(read) {
        match pattern.get(at) {
            Some(Unit::Any) => {
                star = Some((at, read));
                at += 1;
            }
            Some(unit) if unit.takes(*character) => {
                at += 1;
                read += 1;
            }
            Some(_) | None => {
                let Some((place, taken)) = star else { return false };
                star = Some((place, taken + 1));
                at = place + 1;
                read = taken + 1;
            }
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|unit| matches!(unit, Unit::Any))
}
