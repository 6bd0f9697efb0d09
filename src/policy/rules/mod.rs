//! Rules for arguments: which words a command may be called with, by a policy file.
//!
//! Everything undescribed is refused. The language is taught in `spec/guide/policy.md`. [`Rules::load`] makes the rules of
//! texts; what they say of a call is found out by [`judge`](CommandRule::judge), for calls, for the persistent shell, for
//! `check` and for the examples of the policy itself.
//!
//! - `grammar`: what rules are
//! - `yaml`, `load`, `error`: from text to rules, or to the mistake and its line
//! - `matcher`: whether words match, purely
//! - `judge`: the decision: forms that match, their paths, and which of them counts
//! - `reach`: where the paths of a call lead, through handles
//! - `refusal`: why not, in words for a model
//! - `synopsis`: what a command takes, in a line
//! - `profiles`: the policies that are shipped
//! - `examples`: the lines of a policy that say what it must decide

mod error;
mod examples;
mod grammar;
mod judge;
mod load;
pub(super) mod matcher;
mod profiles;
// Their lines are split by the rules of a POSIX shell.
#[cfg(test)]
#[cfg(unix)]
mod properties;
mod reach;
mod refusal;
mod synopsis;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod yaml;

use std::collections::HashMap;
use std::sync::Arc;

pub use error::{PolicyError, PolicyWarning, Problem};
pub(crate) use examples::{ExampleRun, run_example};
pub use examples::{decide_example, words_of};
pub use grammar::{
    Access, Arguments, CharSet, CommandRule, Effect, EnvRule, Example, ExampleLine, Expected, Form, Level, LimitsRule,
    NUMBER_OPTION, Operand, OptionRule, Options, Order, Origin, PathType, PolicySource, SandboxRule, SandboxWord,
    Syntax, Takes, TextType, ValuePlace, ValueType,
};
pub(crate) use judge::{HIDDEN, without_values};
pub use judge::{Judgement, PathJudge};
pub use load::{ListEntry, PolicyText};
pub use matcher::{Claim, Failure, Match, Mismatch, Reading, Role};
use profiles::Profile;
pub use profiles::{names as profile_names, text as profile_text};
pub use reach::{HeldClaim, OnDisk, PathError, Reached};
pub use refusal::{described, written};
pub use synopsis::{forms_of, synopsis};
pub use yaml::LARGEST as LARGEST_POLICY;

/// The name of the first shipped profile that describes a command.
pub(crate) fn profile_describing(command: &str) -> Option<&'static str> {
    Profile::describing(command).map(Profile::name)
}

/// The commands that policies describe.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    commands: Vec<DescribedBy>,
    by_name: HashMap<String, usize>,
    warnings: Vec<PolicyWarning>,
}

/// What describes a command.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DescribedBy {
    /// A file or the allow-list.
    Source(Arc<CommandRule>),
    /// A shipped profile, which is read when a rule of it is asked for; the place among its commands.
    Profile(&'static Profile, usize),
}

impl DescribedBy {
    fn name(&self) -> &str {
        match self {
            Self::Source(rule) => &rule.name,
            Self::Profile(profile, place) => profile.commands().get(*place).copied().unwrap_or_default(),
        }
    }

    fn origin(&self) -> Origin {
        let of_profile = || Origin { source: Arc::new(PolicySource::Profile(self.name().to_owned())), line: 0 };
        self.rule().map_or_else(of_profile, |rule| rule.origin.clone())
    }

    fn rule(&self) -> Option<&Arc<CommandRule>> {
        match self {
            Self::Source(rule) => Some(rule),
            Self::Profile(profile, place) => profile.rule(*place),
        }
    }
}

impl Rules {
    /// The rule for a command of exactly this name. The first one of a shipped profile takes some milliseconds.
    pub fn get(&self, name: &str) -> Option<&Arc<CommandRule>> {
        self.commands.get(*self.by_name.get(name)?)?.rule()
    }

    /// Whether there is a rule for a command of exactly this name. Reads no profile.
    pub fn describes(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The names of the commands, in the order of the files. Reads no profile.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().map(DescribedBy::name)
    }

    /// All rules, in the order of the files.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<CommandRule>> {
        self.commands.iter().filter_map(DescribedBy::rule)
    }

    /// Those that the operator wrote, in the order of the files. Reads no profile.
    pub(crate) fn written(&self) -> impl Iterator<Item = &Arc<CommandRule>> {
        self.commands.iter().filter_map(|command| match command {
            DescribedBy::Source(rule) => Some(rule),
            DescribedBy::Profile(..) => None,
        })
    }

    /// Whether some of them stand in shipped profiles.
    pub fn have_profiles(&self) -> bool {
        self.commands.iter().any(|command| matches!(command, DescribedBy::Profile(..)))
    }

    /// Whether nothing is described.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// What the operator should know.
    pub fn warnings(&self) -> &[PolicyWarning] {
        &self.warnings
    }
}
