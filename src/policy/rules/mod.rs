//! Rules for arguments: the words that a command may be called with, as policies describe them.
//!
//! What is not described is refused. `spec/guide/policy.md` teaches the language. [`Rules::load`] makes rules from texts, and
//! [`judge`](CommandRule::judge) applies one to a call. Calls, the persistent shell, `check` and the examples of a policy all
//! use it.
//!
//! - `grammar`: what rules are
//! - `texts`: policies as people write them, and the shipped profiles
//! - `load`, `error`: the rules of all sources, or a mistake and its line
//! - `matcher`: whether words match a form; pure
//! - `judge`: the decision: which forms match, where their paths lead, and which form counts
//! - `reach`: where the paths of a call lead, by handles
//! - `redirected`: the files that redirections of a line name
//! - `judged`: a verdict as the decision takes it, and the approval that it may ask for
//! - `of_file`: which rule is for the file of a program
//! - `measured`, `region`, `protected`: the directories and files that paths are compared with
//! - `proposal`, `proposed`: what a person is asked to approve
//! - `shell_command`: a command for the persistent shell
//! - `variables`: what a line may set for a command
//! - `lacking`: what the operator would have to add for a refused command
//! - `hidden`: secrets in calls that no rule has judged
//! - `refusal`: why a call is refused, in words for a model
//! - `synopsis`: what a command takes, in one line

mod error;
mod grammar;
mod hidden;
mod judge;
mod judged;
mod lacking;
mod load;
pub(super) mod matcher;
mod measured;
mod of_file;
mod proposal;
mod proposed;
mod protected;
mod reach;
mod redirected;
mod refusal;
mod region;
pub(crate) mod shell_command;
mod synopsis;
pub(crate) mod texts;
mod variables;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

pub use super::quoted::written;
pub use error::{PolicyError, PolicyWarning, Problem};
pub use grammar::{
    Access, Arguments, CharSet, CommandRule, Effect, EnvRule, Example, ExampleLine, Expected, Form, Level, LimitsRule,
    NUMBER_OPTION, Operand, OptionRule, Options, Order, Origin, PathType, PolicySource, Restriction, RuleHead,
    SandboxRule, SandboxWord, Syntax, Takes, TextType, ValuePlace, ValueType,
};
pub(crate) use judge::{HIDDEN, describes, without_values};
pub use judge::{Judgement, PathJudge};
pub(crate) use judged::{Asks, Judged};
pub(super) use judged::{explain, granted, secrets_of};
pub use load::{LARGEST_POLICY, ListEntry, PolicyText};
pub(crate) use matcher::accepts;
pub use matcher::{Claim, Failure, Match, Mismatch, Reading, Role};
pub use proposal::{Approved, Proposal, ShellChange};
pub use proposed::Proposed;
pub(crate) use protected::Protected;
pub(crate) use reach::REPOSITORY;
pub use reach::{HeldClaim, OnDisk, PathError, Reached};
pub(crate) use redirected::{Redirected, Ruled, path_types, redirected};
pub use redirected::{RedirectionType, Redirections};
pub use refusal::{described, restricted};
pub use shell_command::ShellCommand;
pub use synopsis::{forms_of, synopsis};
use texts::{Profile, Shipped};
pub use texts::{decide_example, profile_names, profile_text, words_of};
pub(super) use variables::add_variables;
pub(crate) use variables::{LineVariable, LineVariables};

/// Whether this build has the room.
pub(crate) const IS_BUILT: bool = true;

/// The name of the first shipped profile that describes a command.
pub(crate) fn profile_describing(command: &str) -> Option<&'static str> {
    Profile::describing(command).map(Profile::name)
}

/// The commands that policies describe.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    commands: Vec<DescribedBy>,
    by_name: HashMap<String, usize>,
    /// Whether a person is asked about every command that nothing describes.
    asks_others: bool,
    /// The types of the files of redirections, with where they are described.
    redirections: Option<(Redirections, Origin)>,
    warnings: Vec<PolicyWarning>,
}

/// The source of a command's rule.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DescribedBy {
    /// A policy file, the allow-list or the list of commands that a person approves.
    Source(Arc<CommandRule>),
    /// A shipped profile, with the command's place among its commands. The rule is read when it is asked for.
    Profile(&'static Profile, usize),
}

impl DescribedBy {
    /// Returns all but the arguments. Reads no profile.
    fn head(&self) -> Option<RuleHead<'_>> {
        match self {
            Self::Source(rule) => Some(rule.head()),
            Self::Profile(profile, place) => profile.commands().get(*place).map(Shipped::head),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Source(rule) => &rule.name,
            Self::Profile(profile, place) => profile.commands().get(*place).map_or("", |command| command.name),
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
    /// The rule for the command of exactly this name. If it is a shipped profile's, the first call reads it, which takes up to three
    /// milliseconds.
    pub fn get(&self, name: &str) -> Option<&Arc<CommandRule>> {
        self.described(name)?.rule()
    }

    fn described(&self, name: &str) -> Option<&DescribedBy> {
        self.commands.get(*self.by_name.get(name)?)
    }

    /// Whether there is a rule for a command of exactly this name. Reads no profile.
    pub fn describes(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Whether an operator's rule says nothing but `deny` of the command of exactly this name. Reads no profile: no shipped one does.
    pub(crate) fn only_denies(&self, name: &str) -> bool {
        match self.described(name) {
            Some(DescribedBy::Source(rule)) => rule.level.only_denies(),
            Some(DescribedBy::Profile(..)) | None => false,
        }
    }

    /// Returns all but the arguments of the rule for the command of exactly this name. Reads no profile.
    pub fn head(&self, name: &str) -> Option<RuleHead<'_>> {
        self.described(name)?.head()
    }

    /// Returns all but the arguments of each rule, in the order of the files. Reads no profile.
    pub fn heads(&self) -> impl Iterator<Item = RuleHead<'_>> {
        self.commands.iter().filter_map(DescribedBy::head)
    }

    /// The shipped profile that describes the command of exactly this name. Reads no profile.
    pub fn profile_of(&self, name: &str) -> Option<&'static str> {
        match self.described(name)? {
            DescribedBy::Source(rule) => match &*rule.origin.source {
                PolicySource::Profile(name) => Profile::find(name).map(Profile::name),
                PolicySource::File(_) | PolicySource::Allow | PolicySource::Ask => None,
            },
            DescribedBy::Profile(profile, _) => Some(profile.name()),
        }
    }

    /// Returns the arguments of the command of exactly this name in one line. Reads no profile.
    pub fn synopsis(&self, name: &str) -> Option<String> {
        match self.described(name)? {
            DescribedBy::Source(rule) => Some(synopsis(rule)),
            DescribedBy::Profile(profile, place) => Some(profile.commands().get(*place)?.synopsis.to_owned()),
        }
    }

    /// The names of the commands, in the order of the files. Reads no profile.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().map(DescribedBy::name)
    }

    /// All rules, in the order of the files. Reads all profiles.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<CommandRule>> {
        self.commands.iter().filter_map(DescribedBy::rule)
    }

    /// Makes relative paths of programs, as policies name them by `program` or as the command itself, lie beneath a directory.
    pub(crate) fn set_project(&mut self, project: &Path) {
        for command in &mut self.commands {
            let DescribedBy::Source(rule) = command else { continue };
            let is_of_file = matches!(*rule.origin.source, PolicySource::File(_));
            let named = rule.program.as_deref().or(Some(&rule.name).filter(|_| is_of_file).map(String::as_str));
            let relative = named.filter(|program| super::is_path(program) && Path::new(program).is_relative());
            if let Some(path) = relative.and_then(|program| project.join(program).into_os_string().into_string().ok()) {
                Arc::make_mut(rule).program = Some(path);
            }
        }
    }

    /// The rules that the operator wrote, in the order of the files. Reads no profile.
    pub(crate) fn written(&self) -> impl Iterator<Item = &Arc<CommandRule>> {
        self.commands.iter().filter_map(|command| match command {
            DescribedBy::Source(rule) => Some(rule),
            DescribedBy::Profile(..) => None,
        })
    }

    /// The forms of the command of exactly this name, a line each, and the examples of what it may be called with.
    pub(crate) fn shown(&self, name: &str) -> Option<(Vec<String>, Vec<String>)> {
        let rule = self.get(name)?;
        let examples = rule.examples.iter().filter(|example| example.expected == Expected::Allow);
        Some((forms_of(rule), examples.map(|example| example.line.to_string()).collect()))
    }

    /// The `PATH` of each rule that has its own; `None` where it has none.
    pub(crate) fn paths(&self) -> impl Iterator<Item = Option<OsString>> {
        let of_level = |level: &Level| match level.env.set.get("PATH") {
            Some(path) => Some(Some(path.into())),
            None => level.env.unset.iter().any(|name| name == "PATH").then_some(None),
        };
        // No shipped profile says anything of it.
        self.written().flat_map(|rule| rule.level.levels()).filter_map(of_level)
    }

    /// Whether the operator denies anything at all.
    pub(crate) fn denies_anything(&self) -> bool {
        self.written().any(|rule| rule.denies()) || self.redirections().is_some_and(Redirections::denies)
    }

    /// The types of the files of redirections; `None` if no policy says anything.
    pub fn redirections(&self) -> Option<&Redirections> {
        self.redirections.as_ref().map(|(redirections, _)| redirections)
    }

    /// Whether nothing is described.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && !self.asks_others
    }

    /// The rule for a command that nothing describes, if a person is asked about every such command.
    pub(crate) fn for_others(&self, name: &str) -> Option<Arc<CommandRule>> {
        self.asks_others.then(|| load::asked(name))
    }

    /// Whether a person has to approve some calls, or some redirections of lines.
    pub fn ask(&self) -> bool {
        self.asks_others || self.heads().any(|rule| rule.asks) || self.redirections().is_some_and(Redirections::asks)
    }

    /// The commands and subcommands of which a person has to approve some calls, as they are written. Only rules that ask are read, since
    /// reading a profile takes time.
    pub(crate) fn asking(&self) -> Vec<String> {
        let rules = self.heads().filter(|rule| rule.asks).filter_map(|rule| self.get(rule.name));
        rules.flat_map(|rule| rule.asking()).collect()
    }

    /// Whether a rule that the operator wrote calls any value secret.
    pub(crate) fn have_secrets(&self) -> bool {
        self.written().any(|rule| rule.has_secrets())
    }

    /// Warnings to the operator.
    pub fn warnings(&self) -> &[PolicyWarning] {
        &self.warnings
    }
}
