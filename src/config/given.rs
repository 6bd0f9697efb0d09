//! The text of one setting from one source, and how it becomes a value.

use super::entry::entries;
use super::error::{ConfigError, Wrong};
use super::setting::{Setting, SettingPlace};
use super::spec::{Spec, Takes};

/// The longest text of a value in bytes; lists have it for each entry.
const LONGEST: usize = 64 * 1024;
/// The most entries of a list.
const MOST_ENTRIES: usize = 10_000;

/// What one source gives for one setting, as text: the next step parses it. It has no `Debug`, since it may hold secrets.
#[derive(Clone)]
pub(super) struct Given {
    /// The setting.
    pub spec: &'static Spec,
    /// Where it stands.
    pub place: SettingPlace,
    /// For a list its entries, of which there may be none; else the one value.
    pub texts: Vec<String>,
}

impl Given {
    /// What stands in a flag or a variable: there, lists are comma-separated.
    pub fn written(spec: &'static Spec, place: SettingPlace, text: String) -> Self {
        let texts = match spec.takes {
            Takes::List => entries(&text),
            Takes::Switch | Takes::Text | Takes::Number => vec![text],
        };
        Self { spec, place, texts }
    }

    /// Puts the last of the values into a setting; the ones before it are checked too.
    ///
    /// # Errors
    /// [`ConfigError::Value`] for the first text that `parse` does not take.
    pub fn set<T>(
        &self,
        setting: &mut Setting<T>,
        parse: impl Fn(&str) -> Result<T, Wrong>,
    ) -> Result<(), ConfigError> {
        let all = self.all(parse)?;
        if let Some(value) = all.value.into_iter().next_back() {
            *setting = Setting { value, source: all.source };
        }
        Ok(())
    }

    /// All entries of a list.
    ///
    /// # Errors
    /// [`ConfigError::Value`] for the first text that `parse` does not take.
    pub fn all<T>(&self, parse: impl Fn(&str) -> Result<T, Wrong>) -> Result<Setting<Vec<T>>, ConfigError> {
        let value = self.bounded().and_then(|()| self.texts.iter().map(|text| parse(text)).collect::<Result<_, _>>());
        let value = value.map_err(|wrong| ConfigError::Value { place: self.place.clone(), wrong })?;
        Ok(Setting { value, source: self.place.source() })
    }

    /// Whether there is no more of it than anybody means.
    fn bounded(&self) -> Result<(), Wrong> {
        if self.texts.len() > MOST_ENTRIES {
            return Err(Wrong::TooManyEntries { count: self.texts.len(), most: MOST_ENTRIES });
        }
        match self.texts.iter().map(String::len).find(|&length| length > LONGEST) {
            None => Ok(()),
            Some(length) => Err(Wrong::TooLong { length, most: LONGEST }),
        }
    }
}
