//! The file of `--config`: a YAML mapping from keys to values. It is the only file that this layer reads.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_yaml::Value;

use super::entry::entries;
use super::error::{ConfigError, printable};
use super::given::Given;
use super::nearest::nearest;
use super::setting::{Place, Setting};
use super::table::{CONFIG, SETTINGS, Spec, Takes};

/// The settings in the file, where one is named; a relative name is meant from `directory`.
///
/// # Errors
/// A file that can't be read, and all that [`parse`] finds.
pub(super) fn given(file: &Setting<Option<PathBuf>>, directory: &Path) -> Result<Vec<Given>, ConfigError> {
    let Some(name) = &file.value else {
        return Ok(Vec::new());
    };
    let text = fs::read_to_string(directory.join(name)).map_err(|source| ConfigError::File {
        file: name.clone(),
        named_by: file.source.clone(),
        source,
    })?;
    parse(&text, name)
}

/// The settings in the text of a file; none where it is empty.
///
/// # Errors
/// No YAML mapping, an unknown or repeated key, or a value of the wrong shape.
pub(super) fn parse(text: &str, file: &Path) -> Result<Vec<Given>, ConfigError> {
    let entries: Entries =
        serde_yaml::from_str(text).map_err(|source| ConfigError::Yaml { file: file.to_owned(), source })?;
    let mut all: Vec<Given> = Vec::new();
    for (key, value) in entries.0 {
        let spec = by_key(&key).ok_or_else(|| unknown_key(&key, file))?;
        if all.iter().any(|given| given.spec.flag == spec.flag) {
            return Err(ConfigError::DuplicateKey { file: file.to_owned(), key });
        }
        let place = Place::Key { key, file: file.to_owned() };
        let texts = match texts(spec.takes, &value) {
            Ok(texts) => texts,
            Err(found) => {
                return Err(ConfigError::Type { place, expected: expected(spec.takes), found });
            }
        };
        all.push(Given { spec, place, texts });
    }
    Ok(all)
}

/// What the mapping holds, in its order and with its repetitions, which `Value` would not keep.
struct Entries(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Mapping;
        impl<'de> Visitor<'de> for Mapping {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping of settings")
            }

            /// A document that is written, but empty.
            fn visit_unit<E>(self) -> Result<Entries, E> {
                Ok(Entries(Vec::new()))
            }

            /// No document at all.
            fn visit_none<E: serde::de::Error>(self) -> Result<Entries, E> {
                self.visit_unit()
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_any(Mapping)
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
fn texts(takes: Takes, value: &Value) -> Result<Vec<String>, String> {
    match (takes, value) {
        (Takes::Switch, Value::Bool(on)) => Ok(vec![on.to_string()]),
        (Takes::Text | Takes::Number, Value::String(text)) => Ok(vec![text.clone()]),
        (Takes::Number, Value::Number(number)) => Ok(vec![number.to_string()]),
        (Takes::List, Value::String(text)) => Ok(entries(text)),
        (Takes::List, Value::Sequence(items)) => {
            let text = |item: &Value| {
                let Value::String(text) = item else {
                    return Err(format!("a list with {}", name(item)));
                };
                Ok(text.clone())
            };
            let items = items.iter().map(text).collect::<Result<Vec<_>, _>>()?;
            Ok(items.into_iter().filter(|item| !item.is_empty()).collect())
        }
        (_, other) => Err(name(other)),
    }
}

/// What a setting takes in the file, for error texts.
fn expected(takes: Takes) -> &'static str {
    match takes {
        Takes::Switch => "`true` or `false`",
        Takes::Text => "one text, in quotes where it looks like something else",
        Takes::Number => "a number or one text",
        Takes::List => "a list of texts such as `[]` or `[ls, 'true']`",
    }
}

/// What a value is, for error texts.
fn name(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(on) => format!("the boolean `{on}`"),
        Value::Number(number) => format!("the number `{number}`"),
        Value::String(text) => format!("the text `{}`", printable(text)),
        Value::Sequence(_) => "a list".to_owned(),
        Value::Mapping(_) => "a mapping".to_owned(),
        Value::Tagged(tagged) => format!("the tag `{}`", printable(&tagged.tag.to_string())),
    }
}
