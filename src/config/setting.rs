//! A resolved value and where it came from; the place of a value, as error texts name it.

use std::fmt;
use std::path::PathBuf;

/// A value, and the source that it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The resolved value.
    pub value: T,
    /// Where it came from.
    pub source: Source,
}

impl<T> Setting<T> {
    /// A value that nobody set.
    pub fn default(value: T) -> Self {
        Self { value, source: Source::Default }
    }

    /// Changes the value, and keeps the source.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Setting<U> {
        Setting { value: change(self.value), source: self.source }
    }
}

/// Where a value came from; its `Display` is what `doctor` prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nobody set it.
    Default,
    /// The program that embeds the server.
    Code,
    /// The file of `--config`, as it was named.
    File(PathBuf),
    /// The environment variable of this name.
    Variable(&'static str),
    /// The flag of this name, without its dashes.
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => write!(f, "default"),
            Source::Code => write!(f, "code"),
            Source::File(file) => write!(f, "file `{}`", file.display()),
            Source::Variable(name) => write!(f, "variable `{name}`"),
            Source::Flag(name) => write!(f, "flag `--{name}`"),
        }
    }
}

/// Where somebody wrote a value: a [`Source`], with the key if it is the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingPlace {
    /// The flag of this name, without its dashes.
    Flag(&'static str),
    /// The environment variable of this name.
    Variable(&'static str),
    /// The setting of this flag, made in code.
    Code(&'static str),
    /// A key of the file.
    Key {
        /// The key, as it is written in the file.
        key: String,
        /// The file, as it was named.
        file: PathBuf,
    },
}

impl SettingPlace {
    /// The source that this place belongs to.
    pub fn source(&self) -> Source {
        match self {
            SettingPlace::Flag(name) => Source::Flag(name),
            SettingPlace::Variable(name) => Source::Variable(name),
            SettingPlace::Code(_) => Source::Code,
            SettingPlace::Key { file, .. } => Source::File(file.clone()),
        }
    }
}

impl fmt::Display for SettingPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingPlace::Flag(_) | SettingPlace::Variable(_) => self.source().fmt(f),
            SettingPlace::Code(name) => write!(f, "setting `{name}`"),
            SettingPlace::Key { key, file } => write!(f, "key `{key}` in file `{}`", file.display()),
        }
    }
}
