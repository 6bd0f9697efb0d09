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
        let what = if let Some(entry) = several {
            format!("--allow '{entry}'")
        } else if !self.policy.value.is_empty() {
            "--policy".to_owned()
        } else if !self.profile.value.is_empty() {
            "--profile".to_owned()
        } else if !self.ask.value.is_empty() {
            "--ask".to_owned()
        } else {
            return Ok(());
        };
        Err(ConfigError::NotBuilt { what, feature: Feature::Rules.name() })
    }

    /// The files that no call writes, which only rules ask about.
    pub(crate) fn protected(&self, _: &AllowList, _: &Programs) -> Vec<Protected> {
        Vec::new()
    }
}
