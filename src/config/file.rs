//! The file of `--config`: a YAML mapping from keys to values. This layer reads only this file and those of `--policy`, and
//! that of `--lock` if somebody other than the operator may have named it.
//!
//! Its content is bounded before and while it is parsed: for nested brackets the YAML parser takes time that grows with the
//! square of the depth, and a few aliases can stand for any amount of text.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::entry::entries;
use super::error::{ConfigError, printable};
use super::given::Given;
use super::setting::{Setting, SettingPlace};
use super::spec::{Spec, Takes};
use super::table::{CONFIG, ON_OR_OFF, SETTINGS};
use crate::files::{Beneath, ReadError, into_text, read_regular};
use crate::integrity::LARGEST_LOCK;
use crate::text::nearest;

/// The largest file in bytes.
const LARGEST: u64 = 256 * 1024;
/// The most brackets that may be opened. Settings need one for each list.
const MOST_BRACKETS: usize = 500;
/// The most bytes that all values may add up to, plus one for each value. Without aliases no file comes near it.
const MOST_TEXT: usize = 512 * 1024;

/// Where the file may be.
#[derive(Clone, Copy)]
pub(super) enum FileFrom<'a> {
    /// Wherever its name leads, through links too: the operator named it.
    Anywhere,
    /// In this directory, reached without a link: somebody else named it.
    Beneath(&'a Beneath),
}

impl FileFrom<'_> {
    pub(super) fn read(self, directory: &Path, name: &Path, most: u64) -> Result<Vec<u8>, ReadError> {
        match self {
            Self::Anywhere => read_regular(&directory.join(name), most),
            Self::Beneath(outer) => read_beneath(outer, name, most),
        }
    }
}

/// The settings in the file, if one is named; a relative name starts from `directory`.
///
/// # Errors
/// A file that can't be read, and all that [`parse`] finds.
pub(super) fn given(
    file: &Setting<Option<PathBuf>>,
    directory: &Path,
    from: FileFrom<'_>,
) -> Result<Vec<Given>, ConfigError> {
    let Some(name) = &file.value else {
        return Ok(Vec::new());
    };
    let text = from.read(directory, name, LARGEST).and_then(into_text).map_err(|source| ConfigError::File {
        file: name.clone(),
        named_by: file.source.clone(),
        source,
    })?;
    parse(&text, name)
}

/// Makes sure that the lock file, which is read later by its path, is where [`FileFrom`] allows it.
///
/// # Errors
/// A file that can't be read.
pub(super) fn check_lock(file: &Setting<Option<PathBuf>>, from: FileFrom<'_>) -> Result<(), ConfigError> {
    let (Some(name), FileFrom::Beneath(outer)) = (&file.value, from) else { return Ok(()) };
    let failed = |source| ConfigError::File { file: name.clone(), named_by: file.source.clone(), source };
    read_beneath(outer, name, LARGEST_LOCK).map(drop).map_err(failed)
}

fn read_beneath(outer: &Beneath, name: &Path, most: u64) -> Result<Vec<u8>, ReadError> {
    let relative = name.strip_prefix(outer.path()).unwrap_or(name);
    if relative.is_absolute() {
        return Err(
            io::Error::new(io::ErrorKind::InvalidInput, "it is outside the directory that it must be in").into()
        );
    }
    outer.read_regular(relative, most)
}

/// The settings in the text of a file; none if it is empty.
///
/// # Errors
/// Not a YAML mapping, an unknown or repeated key, a value of the wrong shape, or a bound that is exceeded.
pub(super) fn parse(text: &str, file: &Path) -> Result<Vec<Given>, ConfigError> {
    count_brackets(text, file)?;
    let reading = Reading { file, left: Cell::new(MOST_TEXT), wrong: RefCell::new(None) };
    let parsed = reading.deserialize(serde_yaml::Deserializer::from_str(text));
    // Our own error comes first: the parser is only told that there is one.
    if let Some(wrong) = reading.wrong.into_inner() {
        return Err(wrong);
    }
    parsed.map_err(|source| ConfigError::Yaml { file: file.to_owned(), line: first_line(&source.to_string()), source })
}

/// The first line that the parser names. If a bracket or a quote is not closed, it notices this further down, and also names
/// the line where that began.
fn first_line(said: &str) -> Option<usize> {
    let numbers = said.split(" line ").skip(1);
    numbers.filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()).min()
}

/// Counts all brackets, even in quotes and comments: only the parser can tell which ones are syntax.
fn count_brackets(text: &str, file: &Path) -> Result<(), ConfigError> {
    match text.match_indices(['[', '{']).nth(MOST_BRACKETS) {
        None => Ok(()),
        Some((at, _)) => {
            let before = text.get(..at).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            Err(ConfigError::TooManyBrackets { file: file.to_owned(), line, most: MOST_BRACKETS })
        }
    }
}

/// Reads the mapping key by key, so that an unknown key ends the reading before its value is read.
struct Reading<'a> {
    file: &'a Path,
    left: Cell<usize>,
    wrong: RefCell<Option<ConfigError>>,
}

impl Reading<'_> {
    fn fail<T, E: Error>(&self, wrong: ConfigError) -> Result<T, E> {
        *self.wrong.borrow_mut() = Some(wrong);
        Err(E::custom("a setting is wrong"))
    }

    /// Counts the text of a value towards the bound.
    fn charge<E: Error>(&self, text: &str) -> Result<(), E> {
        match self.left.get().checked_sub(text.len() + 1) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => self.fail(ConfigError::TooMuchText { file: self.file.to_owned(), most: MOST_TEXT }),
        }
    }
}

impl<'de> DeserializeSeed<'de> for &Reading<'_> {
    type Value = Vec<Given>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Given>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Reading<'_> {
    type Value = Vec<Given>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a mapping of settings")
    }

    /// An empty document.
    fn visit_unit<E>(self) -> Result<Vec<Given>, E> {
        Ok(Vec::new())
    }

    /// No document at all.
    fn visit_none<E: Error>(self) -> Result<Vec<Given>, E> {
        self.visit_unit()
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Given>, A::Error> {
        let mut all: Vec<Given> = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let Some(spec) = by_key(&key) else {
                let is_policy = ["version", "commands"].contains(&key.as_str());
                return self.fail(match is_policy {
                    true => ConfigError::PolicyForSettings { file: self.file.to_owned(), key },
                    false => unknown_key(&key, self.file),
                });
            };
            if all.iter().any(|given| given.spec.flag == spec.flag) {
                return self.fail(ConfigError::DuplicateKey { file: self.file.to_owned(), key });
            }
            let node = map.next_value_seed(Value { reading: self, is_item: false })?;
            let place = SettingPlace::Key { key, file: self.file.to_owned() };
            match texts(spec, node) {
                Ok(texts) => all.push(Given { spec, place, texts }),
                Err(found) => return self.fail(ConfigError::Type { place, expected: expected(spec), found }),
            }
        }
        Ok(all)
    }
}

/// A value, with as much detail as settings and their error texts need.
enum Node {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
    /// A list with something else in it, which is described in words.
    Mixed(String),
    Mapping,
    Tagged(String),
}

/// Reads one value. A value that no setting takes is skipped, without following its aliases.
struct Value<'a, 'b> {
    reading: &'a Reading<'b>,
    /// Whether it is in a list: a list in a list is skipped.
    is_item: bool,
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, '_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the value of a setting")
    }

    fn visit_bool<E>(self, on: bool) -> Result<Node, E> {
        Ok(Node::Bool(on))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Number(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Number(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Number(serde_yaml::Number::from(number).to_string()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        self.reading.charge(text)?;
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut texts = Vec::new();
        let mut odd = None;
        while odd.is_none() && !self.is_item {
            match items.next_element_seed(Value { reading: self.reading, is_item: true })? {
                Some(Node::Text(text)) => texts.push(text),
                Some(other) => odd = Some(name(&other)),
                None => return Ok(Node::Texts(texts)),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Node::Mixed(odd.unwrap_or_default()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Node::Mapping)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Node, A::Error> {
        let (tag, contents) = tagged.variant::<String>()?;
        contents.newtype_variant::<IgnoredAny>()?;
        Ok(Node::Tagged(format!("!{}", tag.trim_start_matches('!'))))
    }
}

/// The setting of a key, which may be written with `-` instead of `_`.
fn by_key(key: &str) -> Option<&'static Spec> {
    in_file().find(|spec| spec.flag == key.replace('_', "-"))
}

/// The settings that a file may hold: all but the one that names the file.
pub(super) fn in_file() -> impl Iterator<Item = &'static Spec> {
    SETTINGS.iter().filter(|spec| spec.flag != CONFIG)
}

fn unknown_key(key: &str, file: &Path) -> ConfigError {
    let nearest = nearest(key, in_file().map(Spec::key));
    ConfigError::UnknownKey { file: file.to_owned(), given: printable(key), nearest }
}

/// The texts of a value, or what was found instead. Items of a list may contain commas and blanks; empty ones are ignored,
/// as everywhere.
fn texts(spec: &Spec, value: Node) -> Result<Vec<String>, String> {
    match (spec.takes, value) {
        (Takes::Text, Node::Bool(on)) if spec.value == ON_OR_OFF => Ok(vec![on.to_string()]),
        (Takes::Switch, Node::Bool(on)) => Ok(vec![on.to_string()]),
        (Takes::Text | Takes::Number, Node::Text(text)) => Ok(vec![text]),
        (Takes::Number, Node::Number(number)) => Ok(vec![number]),
        (Takes::List, Node::Text(text)) => Ok(entries(&text)),
        (Takes::List, Node::Texts(items)) => Ok(items.into_iter().filter(|item| !item.is_empty()).collect()),
        (Takes::List, Node::Mixed(item)) => Err(format!("a list with {item}")),
        (_, other) => Err(name(&other)),
    }
}

/// Describes the type of a setting in the file, for error texts.
fn expected(spec: &Spec) -> &'static str {
    match spec.takes {
        Takes::Text if spec.value == ON_OR_OFF => "`true` or `false`",
        Takes::Switch => "`true` or `false`",
        Takes::Text => "one text, in quotes if it looks like something else",
        Takes::Number => "a number or one text",
        Takes::List => "a list of texts such as `[]` or `[ls, 'true']`",
    }
}

/// Describes a value, for error texts.
fn name(value: &Node) -> String {
    match value {
        Node::Null => "nothing".to_owned(),
        Node::Bool(on) => format!("the boolean `{on}`"),
        Node::Number(number) => format!("the number `{number}`"),
        Node::Text(text) => format!("the text `{}`", printable(text)),
        Node::Texts(_) | Node::Mixed(_) => "a list".to_owned(),
        Node::Mapping => "a mapping".to_owned(),
        Node::Tagged(tag) => format!("the tag `{}`", printable(tag)),
    }
}
