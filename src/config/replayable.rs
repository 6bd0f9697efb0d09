//! The settings of a server as arguments and variables that start another one like it, without secrets.

use super::config::Config;
use super::env_entry::EnvEntry;
use super::error::ConfigError;
use super::file::{self, FileFrom};
use super::flags::Flags;
use super::given::Given;
use super::setting::SettingPlace;
use super::spec::Takes;
use super::table::CONFIG;

/// Settings that make no difference to a client: where settings come from, and where the session and the logs are written.
const LEFT_OUT: [&str; 10] = [
    CONFIG,
    "record",
    "record-force",
    "record-required",
    "log-file",
    "log-format",
    "audit",
    "audit-sync",
    "audit-max-size",
    "audit-anchor",
];
/// The setting whose values belong to commands and may be secrets.
const ENV: &str = "env";

/// The arguments and variables that start a server with the same settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replayable {
    /// The flags as they were given, and the settings of the file of `--config` as flags, since that file may be missing
    /// where the session is replayed.
    pub args: Vec<String>,
    /// The variables that are settings.
    pub env: Vec<(String, String)>,
    /// The settings that can't be written as flags: lists of the file with a comma in an entry.
    pub left_out: Vec<&'static str>,
}

impl Replayable {
    /// Collects what `config` was resolved from. Of `--env NAME=VALUE` only the name is kept: the value may be a secret, and a
    /// replay passes on its own variable of that name.
    ///
    /// # Errors
    /// As [`Config::resolve`], which has read the same sources.
    pub fn new(config: &Config, flags: &Flags) -> Result<Self, ConfigError> {
        let mut all = Self::default();
        let variables = config.surroundings.given()?;
        let stronger =
            |given: &Given| variables.iter().chain(flags.given()).any(|stronger| stronger.spec.flag == given.spec.flag);
        for given in file::given(&config.file, &config.surroundings.directory, FileFrom::Anywhere)? {
            if !stronger(&given) {
                all.add(&given);
            }
        }
        for given in variables.iter().chain(flags.given()) {
            all.add(given);
        }
        Ok(all)
    }

    fn add(&mut self, given: &Given) {
        let spec = given.spec;
        if LEFT_OUT.contains(&spec.flag) {
            return;
        }
        let texts: Vec<String> = match spec.flag {
            ENV => given.texts.iter().map(|text| without_value(text)).collect(),
            _ => given.texts.clone(),
        };
        let value = match spec.takes {
            Takes::List if texts.iter().any(|text| text.contains(',')) => return self.left_out.push(spec.flag),
            Takes::List => texts.join(","),
            Takes::Switch | Takes::Text | Takes::Number => texts.last().cloned().unwrap_or_default(),
        };
        match (&given.place, spec.takes) {
            // An empty variable would count as unset, so an empty list becomes a flag.
            (SettingPlace::Variable(name), _) if !value.is_empty() => self.env.push(((*name).to_owned(), value)),
            // A flag can only turn a switch on; without the flag it is off.
            (_, Takes::Switch) => {
                self.args.extend(super::amount::switch(&value).unwrap_or_default().then(|| format!("--{}", spec.flag)))
            }
            (_, _) if value.starts_with('-') => self.args.push(format!("--{}={value}", spec.flag)),
            (_, _) => self.args.extend([format!("--{}", spec.flag), value]),
        }
    }
}

fn without_value(entry: &str) -> String {
    EnvEntry::parse(entry).map_or_else(|_| entry.to_owned(), |entry| entry.name().to_owned())
}
