//! The programs of profiles, rules and the allow-list that are not there, so that every call of them would fail.

use super::parts::Parts;
use crate::policy::is_path;
use crate::policy::rules::{CommandRule, profile_describing};

/// A program that was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// In one sentence.
    pub sentence: String,
    /// Whether the operator must have meant something else. Of a profile some programs may be missing.
    pub is_problem: bool,
}

impl Parts {
    /// Returns the programs that were not found, in the order of the list. The default commands of the persistent shell
    /// don't count.
    pub fn not_found(&self) -> Vec<NotFound> {
        if self.allows_by_default {
            return Vec::new();
        }
        let allow = self.policy.allow_list();
        let is_missing = |name: &str| !self.is_built_in(name) && self.program_of(name).is_none();
        let mut found = Vec::new();
        // A rule of the operator's that adds to the profile's counts as one of the profile.
        let has_others = |profile: &str| {
            let of_profile =
                |name: &&String| profile_describing(name).is_some_and(|known| format!("profile {known}") == profile);
            allow.names().iter().filter(of_profile).any(|name| !is_missing(name))
        };
        let mut profiles: Vec<(String, Vec<&str>)> = Vec::new();
        for name in allow.names() {
            let Some(profile) = allow.rules().profile_of(name).map(|profile| format!("profile {profile}")) else {
                found.extend(is_missing(name).then(|| {
                    let sentence = missing(name, allow.rules().get(name).map(AsRef::as_ref));
                    NotFound { sentence, is_problem: true }
                }));
                continue;
            };
            let place = profiles.iter().position(|(known, _)| *known == profile).unwrap_or_else(|| {
                profiles.push((profile, Vec::new()));
                profiles.len() - 1
            });
            if let Some((_, missing)) = profiles.get_mut(place) {
                missing.extend(is_missing(name).then_some(name.as_str()));
            }
        }
        for (profile, missing) in profiles.iter().filter(|(_, missing)| !missing.is_empty()) {
            let names = missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            found.push(match has_others(profile) {
                false => NotFound {
                    sentence: format!("nothing of {profile} was found in the directories of PATH: {names}"),
                    is_problem: true,
                },
                true => NotFound {
                    sentence: format!("of {profile}, these were not found in the directories of PATH: {names}"),
                    is_problem: false,
                },
            });
        }
        found
    }
}

fn missing(name: &str, rule: Option<&CommandRule>) -> String {
    match rule.and_then(|rule| rule.program.as_deref()) {
        Some(program) if is_path(program) => {
            format!("`{name}` on the allow-list was not found: its program `{program}` is not there")
        }
        Some(program) => {
            format!(
                "`{name}` on the allow-list was not found: its program `{program}` is not in the directories of PATH"
            )
        }
        None if is_path(name) => format!("`{name}` on the allow-list was not found: no executable file is there"),
        None => format!("`{name}` on the allow-list was not found in the directories of PATH"),
    }
}
