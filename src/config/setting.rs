//! A resolved value and where it came from; the places where values stand, as error texts name them.

use std::fmt;
use std::path::PathBuf;

/// A value, and the source that won it.
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

    /// The same source with what `change` makes of the value.
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
    /// The flag of this name, which is written here without its dashes.
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

/// Where a value stands that somebody wrote: a [`Source`] down to the key of the file.
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
