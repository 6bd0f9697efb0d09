//! The policies that are shipped with the binary, from the files in `src/policy/profiles`.
//!
//! The rule for a command is read when it is first asked for, once in each process, and without the other commands of its profile. The
//! table says before that what a start needs. A test runs the examples, so they are not run again at each start.
//!
//! - `table`: the profiles, and what is known of their commands

mod table;

use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

use super::super::grammar::{CommandRule, LimitsRule, PolicySource, RuleHead, SandboxRule};
use table::PROFILES;

/// A shipped policy.
pub(in crate::policy::rules) struct Profile {
    name: &'static str,
    text: &'static str,
    /// The commands that it describes, in the order of its text.
    commands: &'static [Shipped],
    /// The rules, each once it was read.
    rules: OnceLock<Box<[OnceLock<Arc<CommandRule>>]>>,
}

/// A command of a shipped policy, before its rule is read.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::policy::rules) struct Shipped {
    pub name: &'static str,
    sandbox: &'static SandboxRule,
    read_only: bool,
    asks: bool,
    has_paths: bool,
    /// Its arguments, in one line.
    pub synopsis: &'static str,
}

const fn profile(name: &'static str, text: &'static str, commands: &'static [Shipped]) -> Profile {
    Profile { name, text, commands, rules: OnceLock::new() }
}

/// No shipped rule has any.
static NO_LIMITS: LazyLock<LimitsRule> = LazyLock::new(LimitsRule::default);

impl Shipped {
    /// Returns all of the rule but its arguments.
    pub fn head(&'static self) -> RuleHead<'static> {
        let Self { name, sandbox, read_only, asks, has_paths, synopsis: _ } = self;
        RuleHead {
            name,
            sought: name,
            sandbox,
            limits: &NO_LIMITS,
            read_only: *read_only,
            asks: *asks,
            has_paths: *has_paths,
            describes_arguments: true,
            is_plain_any: false,
        }
    }
}

impl Profile {
    /// The profile of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// The first one that describes a command.
    pub fn describing(command: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.place_of(command).is_some())
    }

    /// Returns its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its commands, before their rules are read.
    pub fn commands(&self) -> &'static [Shipped] {
        self.commands
    }

    /// Whether its commands extend those of another one.
    pub fn extends(&self, other: &Self) -> bool {
        self.text.lines().any(|line| line.trim_start().strip_prefix("extends: ") == Some(other.name))
    }

    /// The rule for the command of this name.
    pub fn rule_for(&self, command: &str) -> Option<&Arc<CommandRule>> {
        self.rule(self.place_of(command)?)
    }

    /// The rule for one of its commands, by its place among [`commands`](Self::commands). Reading the longest takes three milliseconds.
    pub fn rule(&self, place: usize) -> Option<&Arc<CommandRule>> {
        let rules = self.rules.get_or_init(|| self.commands.iter().map(|_| OnceLock::new()).collect());
        let command = self.commands.get(place)?;
        Some(rules.get(place)?.get_or_init(|| {
            let source = Arc::new(PolicySource::Profile(self.name.to_owned()));
            let read = super::one_command(&self.without_others(command.name), &source);
            #[expect(clippy::expect_used, reason = "the text is a part of the binary, and a test reads it")]
            read.expect("a shipped profile has no mistake")
        }))
    }

    fn place_of(&self, command: &str) -> Option<usize> {
        self.commands.iter().position(|shipped| shipped.name == command)
    }

    /// Its text with empty lines in place of the other commands, so that each line keeps its number.
    fn without_others(&self, command: &str) -> String {
        let mut text = String::with_capacity(self.text.len());
        let (mut is_in_commands, mut is_kept) = (false, true);
        for line in self.text.lines() {
            if line.starts_with(|first: char| first.is_ascii_alphabetic()) {
                (is_in_commands, is_kept) = (line == "commands:", true);
            } else if let Some(key) = line.strip_prefix("  ").filter(|rest| is_in_commands && !rest.starts_with(' ')) {
                is_kept = key.split_once(':').is_some_and(|(name, _)| name.trim_matches('"') == command);
            }
            if is_kept {
                text.push_str(line);
            }
            text.push('\n');
        }
        text
    }
}

/// Compares only the names, since they are unique.
impl PartialEq for Profile {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Profile {}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Profile").field(&self.name).finish()
    }
}

/// The names of the profiles.
pub fn profile_names() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|profile| profile.name)
}

/// The text of a profile.
pub fn profile_text(name: &str) -> Option<&'static str> {
    Profile::find(name).map(|profile| profile.text)
}

// The lines of examples are split by the rules of a POSIX shell.
#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::super::examples;
    use super::*;
    use crate::policy::rules::synopsis;
    use crate::policy::rules::texts::{Described, describe};
    use crate::policy::subcommands;

    /// All rules of a profile, read together.
    fn read(profile: &Profile) -> Described {
        let source = Arc::new(PolicySource::Profile(profile.name.to_owned()));
        describe(profile.text, &source, &mut Vec::new()).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn commands_that_are_described_by_subcommands_are_known_to_begin_with_one() {
        // The first word of tar is a bundle of options.
        let has_subcommands = |rule: &Arc<CommandRule>| rule.level.levels().len() > 1 && rule.name != "tar";
        for rule in PROFILES.iter().flat_map(|profile| read(profile).commands).filter(has_subcommands) {
            assert_eq!(subcommands::named(&rule.name, &["x".to_owned()]), format!("{} x", rule.name));
        }
    }

    #[test]
    fn every_profile_is_read_without_a_warning_and_its_examples_come_out_right() {
        for profile in &PROFILES {
            let described = read(profile);
            let warnings: Vec<String> = described.warnings.iter().map(ToString::to_string).collect();
            // They run the project's files, and say so.
            let is_known = |warning: &&String| {
                profile.name.ends_with("-develop") && warning.contains("runs whatever is in the file that a call names")
            };
            let unknown: Vec<&String> = warnings.iter().filter(|warning| !is_known(warning)).collect();
            assert_eq!(unknown, Vec::<&String>::new(), "{}", profile.name);
            for rule in described.commands {
                examples::check(&rule).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }

    #[test]
    fn a_command_read_alone_is_what_it_is_among_all() {
        for profile in &PROFILES {
            let rules = read(profile).commands;
            assert_eq!(rules.len(), profile.commands.len(), "{}", profile.name);
            for (place, rule) in rules.iter().enumerate() {
                assert_eq!(profile.rule(place), Some(rule), "{} {}", profile.name, rule.name);
            }
        }
    }

    #[test]
    fn the_table_says_of_each_command_what_its_rule_says() {
        for profile in &PROFILES {
            let rules = read(profile).commands;
            let known: Vec<_> =
                profile.commands.iter().map(|known| (known.head(), known.synopsis.to_owned())).collect();
            let read: Vec<_> = rules.iter().map(|rule| (rule.head(), synopsis(rule))).collect();
            assert_eq!(known, read, "{}", profile.name);
            // A start takes these for granted.
            for level in rules.iter().flat_map(|rule| rule.level.levels()) {
                assert!(!level.env.set.contains_key("PATH") && !level.env.unset.iter().any(|name| name == "PATH"));
            }
            assert!(!rules.iter().any(|rule| rule.has_secrets()), "{}", profile.name);
        }
    }
}
