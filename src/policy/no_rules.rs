//! Stands where the rules for arguments would be, in a build without them: the allow-list alone decides, by the first word of a call.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use super::decision::{Facts, Granted};
pub use super::source::{Origin, PolicySource};
pub use super::terms::{Access, EnvRule, LimitsRule, SandboxRule, SandboxWord};
use super::{
    CommandLine, CommandLineError, Directories, DirectoryError, Explanation, Policy, Program, Refusal, RefusalKind,
    WorkingDirectory,
};
use crate::files::FileState;
pub use crate::files::Reached;

/// Whether this build has the room.
pub(crate) const IS_BUILT: bool = false;

/// The rules, of which there are none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules;

impl Rules {
    /// Makes nothing of nothing. The settings that would name rules are refused before.
    ///
    /// # Errors
    /// [`PolicyError`], if there is a source of rules after all.
    pub fn load(files: &[PolicyText], profiles: &[String], entries: &[ListEntry]) -> Result<Self, PolicyError> {
        if files.is_empty() && profiles.is_empty() && entries.is_empty() { Ok(Self) } else { Err(PolicyError) }
    }

    pub fn get(&self, _: &str) -> Option<&Arc<CommandRule>> {
        None
    }

    pub fn describes(&self, _: &str) -> bool {
        false
    }

    pub(crate) fn only_denies(&self, _: &str) -> bool {
        false
    }

    pub fn head(&self, _: &str) -> Option<RuleHead<'_>> {
        None
    }

    pub fn heads(&self) -> impl Iterator<Item = RuleHead<'_>> {
        std::iter::empty()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    pub fn profile_of(&self, _: &str) -> Option<&'static str> {
        None
    }

    pub fn synopsis(&self, _: &str) -> Option<String> {
        None
    }

    pub(crate) fn shown(&self, _: &str) -> Option<(Vec<String>, Vec<String>)> {
        None
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = Option<OsString>> {
        std::iter::empty()
    }

    pub fn is_empty(&self) -> bool {
        true
    }

    pub(crate) fn for_others(&self, _: &str) -> Option<Arc<CommandRule>> {
        None
    }

    pub fn ask(&self) -> bool {
        false
    }

    pub(crate) fn asking(&self) -> Vec<String> {
        Vec::new()
    }

    pub(crate) fn have_secrets(&self) -> bool {
        false
    }

    pub fn warnings(&self) -> &[PolicyWarning] {
        &[]
    }

    pub(crate) fn denies_anything(&self) -> bool {
        false
    }
}

/// The rule for a command, of which there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRule {
    pub name: String,
    pub origin: Origin,
    pub program: Option<String>,
    pub stdin: bool,
    pub timeout: Option<Duration>,
    pub success_exit_codes: Vec<i32>,
    pub sandbox: SandboxRule,
    none: Infallible,
}

impl CommandRule {
    pub(crate) fn sought(&self) -> &str {
        match self.none {}
    }

    pub(crate) fn describes_arguments(&self) -> bool {
        match self.none {}
    }
}

/// The head of a rule, of which there is none.
#[derive(Debug, Clone, Copy)]
pub struct RuleHead<'r> {
    pub name: &'r str,
    pub sought: &'r str,
    pub sandbox: &'r SandboxRule,
    pub limits: &'r LimitsRule,
    pub read_only: bool,
    pub asks: bool,
    pub has_paths: bool,
    pub describes_arguments: bool,
    pub is_plain_any: bool,
    none: Infallible,
}

/// A policy that was read.
#[derive(Debug)]
pub struct PolicyText {
    pub file: PathBuf,
    pub text: String,
}

/// An entry of a list that rules are made of.
#[derive(Debug)]
pub struct ListEntry {
    pub text: String,
    pub effect: Effect,
}

/// The decision on the calls of an entry.
#[derive(Debug)]
pub enum Effect {
    Allow,
    Ask,
}

/// A policy in a build that reads none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("this build has no policies and profiles; it was built without `rules`")]
pub struct PolicyError;

/// A warning about a policy, of which there is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PolicyWarning(Infallible);
/// The name of the shipped profile that describes a command: none.
pub(crate) fn profile_describing(_: &str) -> Option<&'static str> {
    None
}

/// The names of the profiles: none.
pub fn profile_names() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}

/// The type of a variable's value, of which there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueType {}

pub(crate) fn accepts(value: &ValueType, _: &str) -> bool {
    match *value {}
}

/// A checked path of a call, of which there is none.
#[derive(Debug, Clone)]
pub struct HeldClaim {
    pub access: Access,
    pub reached: Option<Reached>,
    none: Infallible,
}

/// A rule's verdict on a call, of which there is none.
#[derive(Debug)]
pub(crate) enum Judged {}

impl Judged {
    pub(super) fn of(
        rule: &CommandRule,
        _: &[String],
        _: (&Directories, &WorkingDirectory),
        _: Option<&Program>,
    ) -> Self {
        match rule.none {}
    }
}

/// Explains nothing more.
pub(super) fn explain(_: &Facts, _: &mut Explanation) {}

pub(super) fn granted(_: Arc<CommandRule>, judged: Judged, _: (&str, bool)) -> Result<Granted, Refusal> {
    match judged {}
}

/// The variables that a line sets, of which there are none.
#[derive(Debug, Default)]
pub(crate) struct LineVariables;

impl LineVariables {
    pub(crate) fn is_empty(&self) -> bool {
        true
    }
}

pub(super) fn add_variables(_: &mut Granted, _: &str, _: LineVariables) -> Result<(), Refusal> {
    Ok(())
}

/// A question to a person about a call, of which there is none.
#[derive(Debug)]
pub(crate) enum Asks {}

impl Asks {
    pub(super) fn approve(
        self,
        _: Granted,
        _: (&Path, &WorkingDirectory),
        _: (&str, &[String]),
        _: Approved<'_>,
    ) -> Result<(Granted, FileState), Refusal> {
        match self {}
    }
}

impl Policy {
    pub(super) fn rule_of_file(
        &self,
        _: &Program,
        _: &str,
        _: &Directories,
        _: &WorkingDirectory,
    ) -> Option<Arc<CommandRule>> {
        None
    }

    pub(super) fn denied_by_its_file(
        &self,
        _: &CommandLine,
        _: &Directories,
        _: &Result<WorkingDirectory, DirectoryError>,
    ) -> RefusalKind {
        RefusalKind::Undescribed
    }

    /// Hides nothing: no rule calls anything a secret.
    pub(crate) fn hide(&self, words: Vec<String>) -> Hidden {
        Hidden { words }
    }

    pub(crate) fn without_secrets(&self, words: Vec<String>) -> Vec<String> {
        words
    }

    pub(super) fn hidden_in_error(&self, error: CommandLineError) -> CommandLineError {
        error
    }
}

/// The words of a call.
pub(crate) struct Hidden {
    pub words: Vec<String>,
}

impl Hidden {
    pub(super) fn in_refusal(&self, refusal: Refusal) -> Refusal {
        refusal
    }
}

impl Explanation {
    /// Nothing that the operator could add as a rule.
    pub(crate) fn lacks_something(&self) -> bool {
        false
    }
}

/// A file that no call writes, of which there is none: only rules ask for them.
#[derive(Debug)]
pub(crate) enum Protected {}

/// A call that a person approves, of which there is none.
#[derive(Debug)]
pub enum Proposal {}

impl Proposal {
    pub fn words(&self) -> &[String] {
        match *self {}
    }
}

impl fmt::Display for Proposal {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

/// The same as a command or a line.
#[derive(Debug)]
pub enum Proposed {}

/// A command for the persistent shell, of which there is none.
pub type ShellCommand = Infallible;

/// A change that an approved call made in the persistent shell, of which there is none.
#[derive(Debug)]
pub enum ShellChange {}

/// The approvals of a person, of which there are none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Approved<'a> {
    pub now: Option<&'a Proposal>,
    pub before: &'a [&'a Proposal],
}
