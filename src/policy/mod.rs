//! The policy, which decides what may run: the allow-list, the command line, the directories, the decision and its
//! explanation.
//!
//! It starts no process, and reads neither the environment nor a clock: the operator's settings come in as values. It
//! asks the file system only where directories, programs and paths in arguments really are. Only [`Policy`] makes an
//! [`AllowedCommand`], always with the program that it found itself.
//!
//! - [`CommandLine`] is what a client asked for, as words, without shell syntax.
//! - [`Directories`] turns a `cwd` into a [`WorkingDirectory`], which was checked and is held open.
//! - [`Programs`] finds a program once, in the operator's search path.
//! - [`ShellCommand`] is a command for the persistent shell.
//! - [`Proposal`] is what a person is asked to approve.
//! - [`Policy`] puts them together: [`Policy::examine`] gathers what the decision needs, and decides.

use std::sync::Arc;

use crate::integrity::Guard;

mod allow_list;
mod base;
mod client_roots;
mod command_line;
mod decision;
mod directory;
mod directory_error;
mod directory_settings;
mod evaluate;
mod explanation;
mod file_uri;
mod lesson;
#[cfg_attr(not(all(unix, feature = "lines")), path = "no_line.rs")]
pub mod line;
mod line_rules;
mod of_another_tool;
mod opened;
mod program;
mod quoted;
mod reading;
mod refusal;
mod refusal_kind;
#[cfg_attr(not(feature = "rules"), path = "no_rules.rs")]
pub mod rules;
mod source;
mod subcommands;
mod syntax;
mod terms;
mod windows_line;
mod windows_name;
mod working_directory;

pub(crate) use self::of_another_tool::of_another_tool;
pub(crate) use crate::integrity::reach_of;
pub use allow_list::{AllowList, Rule};
pub use base::Base;
pub use client_roots::{ClientRoots, MOST_ROOTS};
pub use command_line::{CommandLine, CommandLineError, MOST_WORDS, NotALine, SplitError, split_words};
pub(crate) use decision::bounded;
pub use decision::{AllowedCommand, Decision};
pub use directory::Directories;
pub(crate) use directory::MOST_STEPS;
pub use directory_error::DirectoryError;
pub use directory_settings::{DirectorySettings, Roots};
pub use evaluate::Requested;
pub use explanation::{DescribedAt, Explanation, Verdict};
pub use file_uri::{FileUriError, parse_file_uri};
pub use line_rules::{LineRules, Lines};
pub(crate) use program::is_path;
pub use program::{Program, Programs, SearchPath};
pub use quoted::{quoted, written};
pub(crate) use reading::{changes_reading, seems_to_change_reading};
pub use refusal::{NOT_FOUND_NOTE, Refusal, VariableBar};
pub(crate) use refusal_kind::RefusalKind;
pub(crate) use rules::Protected;
pub use rules::{Approved, Proposal, Proposed, ShellChange, ShellCommand};
pub use syntax::{ShellSyntax, find_literal_pattern, find_syntax};
pub use working_directory::WorkingDirectory;

/// Everything that decisions rest on, made once from the operator's configuration.
#[derive(Debug)]
pub struct Policy {
    allow: AllowList,
    directories: Directories,
    programs: Programs,
    /// Checks programs; `None` if nothing is demanded of them.
    guard: Option<Arc<Guard>>,
    line_env: Vec<String>,
    /// The operator's settings for lines.
    line_rules: LineRules,
}

/// The variables that calls may change in the persistent shell, besides those that are never left to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settable<'a> {
    /// These alone.
    Named(&'a [String]),
    /// All from which widely used programs take no code. Only where no rule limits what commands get, since otherwise a
    /// variable could make a command start another.
    Harmless,
}

impl Policy {
    /// Puts the parts together.
    pub fn new(allow: AllowList, directories: Directories, programs: Programs) -> Self {
        Self { allow, directories, programs, guard: None, line_env: Vec::new(), line_rules: LineRules::default() }
    }

    /// Adds the names of the variables that calls may change in the persistent shell.
    #[must_use]
    pub fn with_line_env(self, line_env: Vec<String>) -> Self {
        Self { line_env, ..self }
    }

    /// Adds what the operator says about lines.
    #[must_use]
    pub fn with_lines(self, line_rules: LineRules) -> Self {
        Self { line_rules, ..self }
    }

    /// The variables that calls may change in the persistent shell.
    pub(crate) fn settable(&self) -> Settable<'_> {
        let is_limited = self.allow.rules().heads().any(|rule| !rule.is_plain_any);
        if is_limited || !self.line_env.is_empty() { Settable::Named(&self.line_env) } else { Settable::Harmless }
    }

    /// Adds a guard, which refuses programs that it does not trust.
    #[must_use]
    pub fn with_guard(self, guard: Option<Arc<Guard>>) -> Self {
        Self { guard, ..self }
    }

    /// Checks programs; `None` if nothing is demanded of them.
    pub fn guard(&self) -> Option<&Arc<Guard>> {
        self.guard.as_ref()
    }

    /// The allow-list.
    pub fn allow_list(&self) -> &AllowList {
        &self.allow
    }

    /// Where commands may run.
    pub fn directories(&self) -> &Directories {
        &self.directories
    }

    /// Where programs are found.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Whether the operator denies anything at all.
    #[cfg(unix)]
    pub(crate) fn denies_anything(&self) -> bool {
        self.allow.rules().denies_anything()
    }
}
