//! The file of `--config`: a YAML mapping from keys to values. It and the files of `--policy` are the only ones that this layer
//! reads, and it looks at the file of `--lock` if others than the operator may have named it.
//!
//! What it holds is bounded before and while it is parsed: deep nesting costs the YAML parser the square of its depth, and
//! a few aliases stand for as much text as they like.

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
use crate::policy::rules::{LARGEST_POLICY, PolicyText};
use crate::text::nearest;

/// The largest file in bytes.
const LARGEST: u64 = 256 * 1024;
/// So many brackets may be opened. Settings need one for each list.
const MOST_BRACKETS: usize = 500;
/// The text that all values may come to, in bytes and one more for each value. Without aliases no file comes near it.
const MOST_TEXT: usize = 512 * 1024;

/// Where the file may be.
#[derive(Clone, Copy)]
pub(super) enum FileFrom<'a> {
    /// Wherever its name leads, links followed: it is the operator's.
    Anywhere,
    /// In this directory, reached without a link: its name is somebody else's.
    Beneath(&'a Beneath),
}

/// The settings in the file, where one is named; a relative name is meant from `directory`.
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
    let bytes = match from {
        FileFrom::Anywhere => read_regular(&directory.join(name), LARGEST),
        FileFrom::Beneath(outer) => read_beneath(outer, name, LARGEST),
    };
    let text = bytes.and_then(into_text).map_err(|source| ConfigError::File {
        file: name.clone(),
        named_by: file.source.clone(),
        source,
    })?;
    parse(&text, name)
}

/// The texts of the policies that are named; relative names are meant from `directory`.
///
/// # Errors
/// A file that can't be read.
pub(super) fn policies(
    files: &Setting<Vec<PathBuf>>,
    directory: &Path,
    from: FileFrom<'_>,
) -> Result<Vec<PolicyText>, ConfigError> {
    let read = |name: &PathBuf| {
        let bytes = match from {
            FileFrom::Anywhere => read_regular(&directory.join(name), LARGEST_POLICY),
            FileFrom::Beneath(outer) => read_beneath(outer, name, LARGEST_POLICY),
        };
        let text = bytes.and_then(into_text).map_err(|source| ConfigError::PolicyFile {
            file: name.clone(),
            named_by: files.source.clone(),
            source,
        })?;
        Ok(PolicyText { file: name.clone(), text })
    };
    files.value.iter().map(read).collect()
}

/// Makes sure that the lock file, which is read later by its path, is where it may be.
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

/// The settings in the text of a file; none where it is empty.
///
/// # Errors
/// No YAML mapping, an unknown or repeated key, a value of the wrong shape, or more of something than is read.
pub(super) fn parse(text: &str, file: &Path) -> Result<Vec<Given>, ConfigError> {
    count_brackets(text, file)?;
    let reading = Reading { file, left: Cell::new(MOST_TEXT), wrong: RefCell::new(None) };
    let parsed = reading.deserialize(serde_yaml::Deserializer::from_str(text));
    // Of two errors ours is the cause: the parser only hears that there is one.
    if let Some(wrong) = reading.wrong.into_inner() {
        return Err(wrong);
    }
    parsed.map_err(|source| ConfigError::Yaml { file: file.to_owned(), line: first_line(&source.to_string()), source })
}

/// The first line that the parser names. It notices a bracket or a quote without an end further down, and names where that
/// began as well.
fn first_line(said: &str) -> Option<usize> {
    let numbers = said.split(" line ").skip(1);
    numbers.filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()).min()
}

/// Counts them all, in quotes and comments too: which of them the parser takes for brackets only it can tell.
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

/// Reads the mapping key by key, so that nothing is gathered that no setting has.
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

    /// Counts a value.
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

    /// A document that is written, but empty.
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

/// What a value is, as far as any setting takes it.
enum Node {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
    /// A list with something else, in words.
    Mixed(String),
    Mapping,
    Tagged(String),
}

/// Reads one value. What no setting takes is passed over without following its aliases.
struct Value<'a, 'b> {
    reading: &'a Reading<'b>,
    /// A list in a list is not looked into.
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

/// The setting of a key, in which `-` is as good as `_`.
fn by_key(key: &str) -> Option<&'static Spec> {
    in_file().find(|spec| spec.flag == key.replace('_', "-"))
}

/// The settings that a file may hold: all but the one that names the file.
fn in_file() -> impl Iterator<Item = &'static Spec> {
    SETTINGS.iter().filter(|spec| spec.flag != CONFIG)
}

fn unknown_key(key: &str, file: &Path) -> ConfigError {
    let nearest = nearest(key, in_file().map(Spec::key));
    ConfigError::UnknownKey { file: file.to_owned(), given: printable(key), nearest }
}

/// The texts of a value, or what was found instead. The items of a list are taken whole, commas and blanks included;
/// empty ones are ignored, as everywhere.
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

/// What a setting takes in the file, for error texts.
fn expected(spec: &Spec) -> &'static str {
    match spec.takes {
        Takes::Text if spec.value == ON_OR_OFF => "`true` or `false`",
        Takes::Switch => "`true` or `false`",
        Takes::Text => "one text, in quotes where it looks like something else",
        Takes::Number => "a number or one text",
        Takes::List => "a list of texts such as `[]` or `[ls, 'true']`",
    }
}

/// What a value is, for error texts.
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
