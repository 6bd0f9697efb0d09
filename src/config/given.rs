//! The text of one setting from one source, and how it becomes a value.

use super::config::Config;
use super::entry::entries;
use super::error::ConfigError;
use super::feature::Feature;
use super::setting::{Setting, SettingPlace};
use super::spec::{Spec, Takes};
use super::wrong::Wrong;

/// The longest text of a value, in bytes; for a list, of each entry.
const LONGEST: usize = 64 * 1024;
/// The most entries of a list.
const MOST_ENTRIES: usize = 10_000;

/// The text that one source gives for one setting; the next step parses it. It has no `Debug`, since it may hold secrets.
#[derive(Clone)]
pub(super) struct Given {
    /// The setting.
    pub spec: &'static Spec,
    /// Where it was given.
    pub place: SettingPlace,
    /// The entries of a list, of which there may be none; else the one value.
    pub texts: Vec<String>,
}

impl Given {
    /// The text of a flag or a variable, in which lists are comma-separated.
    pub fn written(spec: &'static Spec, place: SettingPlace, text: String) -> Self {
        let texts = match spec.takes {
            Takes::List => entries(&text),
            Takes::Switch | Takes::Text | Takes::Number => vec![text],
        };
        Self { spec, place, texts }
    }

    /// Replaces the setting in the configuration.
    ///
    /// # Errors
    /// A setting or a value that the build was made without, or a value that is wrong.
    pub fn apply(&self, config: &mut Config) -> Result<(), ConfigError> {
        Feature::check(self)?;
        (self.spec.set)(config, self)
    }

    /// Sets a setting to the last of the values; the ones before it are checked too.
    ///
    /// # Errors
    /// [`ConfigError::Value`] for the first text that `parse` rejects.
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
    /// [`ConfigError::Value`] for the first text that `parse` rejects.
    pub fn all<T>(&self, parse: impl Fn(&str) -> Result<T, Wrong>) -> Result<Setting<Vec<T>>, ConfigError> {
        let value =
            self.check_size().and_then(|()| self.texts.iter().map(|text| parse(text)).collect::<Result<_, _>>());
        let value = value.map_err(|wrong| ConfigError::Value { place: self.place.clone(), wrong })?;
        Ok(Setting { value, source: self.place.source() })
    }

    /// Makes sure that there are no more and no longer texts than anybody needs.
    fn check_size(&self) -> Result<(), Wrong> {
        if self.texts.len() > MOST_ENTRIES {
            return Err(Wrong::TooManyEntries { count: self.texts.len(), most: MOST_ENTRIES });
        }
        match self.texts.iter().map(String::len).find(|&length| length > LONGEST) {
            None => Ok(()),
            Some(length) => Err(Wrong::TooLong { length, most: LONGEST }),
        }
    }
}
