//! Stands where rules for arguments would be read, in a build without them.

use super::config::Config;
use super::entry;
use super::error::ConfigError;
use super::feature::Feature;
use super::file::FileFrom;
use crate::policy::{AllowList, Programs, Protected};

impl Config {
    /// Makes sure that no setting needs rules.
    pub(super) fn read_rules(&mut self, _: FileFrom<'_>) -> Result<(), ConfigError> {
        let several = self.allow.value.iter().find(|entry| entry::has_several_words(entry));
        if let Some(entry) = several {
            let first = entry.split_whitespace().next().unwrap_or_default().to_owned();
            let allow_source = self.allow.source.clone();
            return Err(ConfigError::SeveralWords { entry: entry.clone(), first, allow_source });
        }
        let named = [
            ("--policy", self.policy.value.is_empty()),
            ("--profile", self.profile.value.is_empty()),
            ("--ask", self.ask.value.is_empty()),
        ];
        match named.into_iter().find(|(_, is_empty)| !is_empty) {
            Some((what, _)) => Err(ConfigError::NotBuilt { what: what.to_owned(), feature: Feature::Rules.name() }),
            None => Ok(()),
        }
    }

    /// The files that no call writes, which only rules ask about.
    pub(crate) fn protected(&self, _: &AllowList, _: &Programs) -> Vec<Protected> {
        Vec::new()
    }
}
