//! The settings' flags. The loop over the arguments is in `cli`: subcommands have words and flags of their own.

use std::ffi::OsString;

use super::error::{ConfigError, printable};
use super::given::Given;
use super::setting::SettingPlace;
use super::spec::{Spec, Takes};
use super::table::{SETTINGS, by_flag};
use crate::text::nearest;

/// The settings' flags that were read so far. A flag for a list may be repeated and adds to the list; a flag with one value
/// may be given once.
#[derive(Clone, Default)]
pub struct Flags {
    given: Vec<Given>,
    /// The flag that was read last.
    last: Option<&'static str>,
}

impl Flags {
    /// Takes the flag `--name` that `parser` has just returned, and its value, if it is a setting; returns whether it is.
    /// `lexopt` borrows the name from the parser, so it has to be copied first:
    ///
    /// ```
    /// use allowexec::config::{Flags, unknown_flag};
    ///
    /// let mut parser = lexopt::Parser::from_args(["--allow", "ls,cat", "--timeout=5s", "--structured"]);
    /// let mut flags = Flags::default();
    /// while let Some(argument) = parser.next()? {
    ///     let lexopt::Arg::Long(name) = argument else { break };
    ///     let name = name.to_owned();
    ///     if !flags.accept(&mut parser, &name)? {
    ///         return Err(unknown_flag(&name, &["json"]).into());
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A missing value, another flag instead of it, a second value, a value for a switch, or one that is not UTF-8. The value
    /// itself is checked by [`Config::resolve`](super::Config::resolve).
    pub fn accept(&mut self, parser: &mut lexopt::Parser, name: &str) -> Result<bool, ConfigError> {
        let Some(spec) = by_flag(name) else {
            return Ok(false);
        };
        let place = SettingPlace::Flag(spec.flag);
        let text = match spec.takes {
            Takes::Switch => switch(spec, parser)?,
            Takes::Text | Takes::Number | Takes::List => utf8(value(spec, parser)?, &place)?,
        };
        let given = Given::written(spec, place, text);
        self.last = Some(spec.flag);
        match self.given.iter_mut().find(|earlier| earlier.spec.flag == spec.flag) {
            Some(earlier) => match spec.takes {
                Takes::List => earlier.texts.extend(given.texts),
                Takes::Switch => {}
                // It is unknown which of the two was meant, and one may be much less strict.
                Takes::Text | Takes::Number => return Err(repeated(spec.flag, &earlier.texts, &given.texts)),
            },
            None => self.given.push(given),
        }
        Ok(true)
    }

    /// The flag for a list that was given last, and what was given for it.
    pub(crate) fn last_list(&self) -> Option<(&'static str, String)> {
        let given = self.last.and_then(|flag| self.given.iter().find(|given| given.spec.flag == flag))?;
        matches!(given.spec.takes, Takes::List).then(|| (given.spec.flag, given.texts.join(",")))
    }

    /// Returns the settings that were read so far.
    pub(super) fn given(&self) -> &[Given] {
        &self.given
    }
}

/// The error for a flag that takes one value and was given two.
pub(crate) fn repeated(flag: &'static str, first: &[String], second: &[String]) -> ConfigError {
    let [first, second] = [first, second].map(|texts| printable(&texts.concat()));
    ConfigError::Repeated { flag, first, second }
}

/// The error for an unknown flag; `also` are the flags that the caller knows besides the settings, without their dashes.
pub fn unknown_flag(name: &str, also: &[&str]) -> ConfigError {
    let known = SETTINGS.iter().map(|spec| spec.flag).chain(also.iter().copied());
    ConfigError::UnknownFlag { given: printable(name), nearest: nearest(name, known).map(str::to_owned) }
}

/// A switch takes no value: it is on if it is given.
fn switch(spec: &Spec, parser: &mut lexopt::Parser) -> Result<String, ConfigError> {
    match parser.optional_value() {
        None => Ok("on".to_owned()),
        Some(value) => {
            Err(ConfigError::SwitchWithValue { flag: spec.flag, found: printable(&value.to_string_lossy()) })
        }
    }
}

/// The value after `=`, else the next argument. `lexopt` would accept a flag as the value: `--allow --structured` would
/// allow a command of that name and turn nothing on.
fn value(spec: &Spec, parser: &mut lexopt::Parser) -> Result<OsString, ConfigError> {
    if let Some(value) = parser.optional_value() {
        return Ok(value);
    }
    if let Some(next) = parser.try_raw_args().and_then(|arguments| arguments.peek().map(OsString::from)) {
        let found = next.to_string_lossy();
        if found.starts_with('-') && found != "-" {
            return Err(ConfigError::FlagForValue { flag: spec.flag, found: printable(&found) });
        }
    }
    parser.value().map_err(|_| ConfigError::MissingValue { flag: spec.flag, value: spec.value })
}

/// Text that is UTF-8, or the error for it.
pub(super) fn utf8(value: OsString, place: &SettingPlace) -> Result<String, ConfigError> {
    value.into_string().map_err(|_| ConfigError::NotUtf8 { place: place.clone() })
}
