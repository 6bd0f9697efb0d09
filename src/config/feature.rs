//! The rooms that a build may leave out, as Cargo.toml names them, and the settings that each brings.

use super::error::ConfigError;
use super::given::Given;
use crate::exec::spool;
use crate::integrity::demands;
use crate::policy::rules;
use crate::tools::shell;

/// A room that a build may leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    Background,
    Evidence,
    Limits,
    Lines,
    Rules,
    Shell,
    Workbench,
}

impl Feature {
    pub(crate) const fn is_built(self) -> bool {
        match self {
            Self::Background => spool::IS_BUILT,
            Self::Evidence => demands::IS_BUILT,
            Self::Limits => cfg!(feature = "limits"),
            Self::Lines => cfg!(feature = "lines"),
            Self::Rules => rules::IS_BUILT,
            Self::Shell => shell::IS_BUILT,
            Self::Workbench => cfg!(feature = "workbench"),
        }
    }

    /// Its name in Cargo.toml.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::Evidence => "evidence",
            Self::Limits => "limits",
            Self::Lines => "lines",
            Self::Rules => "rules",
            Self::Shell => "shell",
            Self::Workbench => "workbench",
        }
    }

    /// The room that brings the setting with this flag; `None` if every build has it.
    pub(crate) fn of_setting(flag: &str) -> Option<Self> {
        match flag {
            "background" | "hand-over" | "max-background" | "max-background-calls" | "keep-output" => {
                Some(Self::Background)
            }
            "audit" | "audit-sync" | "audit-max-size" | "audit-anchor" | "lock" | "trust" => Some(Self::Evidence),
            "max-memory" | "max-cpu" | "max-processes" | "max-file-size" | "max-open-files" => Some(Self::Limits),
            "policy" | "profile" | "ask" | "ask-with" | "ask-timeout" => Some(Self::Rules),
            "shell" => Some(Self::Shell),
            "record" | "record-force" | "record-required" => Some(Self::Workbench),
            _ => None,
        }
    }

    /// The room that brings this value of a setting that every build has.
    fn of_value(flag: &str, text: &str) -> Option<Self> {
        match (flag, text) {
            ("network", "loopback") => Some(Self::Limits),
            ("lines", "on" | "files") => Some(Self::Lines),
            ("tools", "shell" | "all") => Some(Self::Shell),
            _ => None,
        }
    }

    /// Makes sure that the build has the room that a setting, or its value, belongs to.
    ///
    /// # Errors
    /// [`ConfigError::NotBuilt`].
    pub(super) fn check(given: &Given) -> Result<(), ConfigError> {
        let flag = given.spec.flag;
        let missing = |feature: Option<Self>| feature.filter(|feature| !feature.is_built()).map(Self::name);
        if let Some(feature) = missing(Self::of_setting(flag)) {
            return Err(ConfigError::NotBuilt { what: format!("--{flag}"), feature });
        }
        let words = given.texts.iter().map(|text| text.trim().to_ascii_lowercase());
        match words.filter_map(|word| Some((missing(Self::of_value(flag, &word))?, word))).next() {
            Some((feature, word)) => Err(ConfigError::NotBuilt { what: format!("--{flag} {word}"), feature }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SETTINGS;

    #[test]
    fn each_setting_of_a_room_exists() {
        let of = |feature| SETTINGS.iter().filter(move |spec| Feature::of_setting(spec.flag) == Some(feature)).count();
        let all = [
            Feature::Background,
            Feature::Evidence,
            Feature::Limits,
            Feature::Rules,
            Feature::Shell,
            Feature::Workbench,
        ];
        assert_eq!(all.map(of), [5, 6, 5, 5, 1, 3]);
    }
}
