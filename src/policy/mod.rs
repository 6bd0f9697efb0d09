//! What may run: the allow-list, the command line, the directories, the decision and its explanation.
//!
//! Starts no process, and reads neither environment nor clock: what the operator said comes in as values. It asks the
//! file system only where directories, programs and the paths among arguments really lie. [`Policy`] alone makes an
//! [`AllowedCommand`], of the program that it found for the word by the rule that lets the word pass.
//!
//! - [`CommandLine`] is what a client asked for, as words, without syntax.
//! - [`Directories`] turns a `cwd` into a [`WorkingDirectory`] that was checked and is held.
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
mod file_uri;
mod opened;
mod program;
mod proposal;
mod quoted;
pub mod rules;
mod shell_command;
mod syntax;
mod windows_line;
mod windows_name;
mod working_directory;
pub mod wrappers;

pub use allow_list::{AllowList, Rule};
pub use base::Base;
pub use client_roots::{ClientRoots, MOST_ROOTS};
pub use command_line::{CommandLine, CommandLineError, MOST_WORDS, SplitError, split_words};
pub(crate) use decision::bounded;
pub use decision::{AllowedCommand, Decision, DescribedAt, Explanation, NOT_FOUND_NOTE, Refusal, Verdict};
pub use directory::Directories;
pub use directory_error::DirectoryError;
pub use directory_settings::{DirectorySettings, Roots};
pub use evaluate::Requested;
pub use file_uri::{FileUriError, parse_file_uri};
pub(crate) use program::is_path;
pub use program::{Program, Programs, SearchPath};
pub use proposal::{Approved, Proposal, ShellChange};
pub use quoted::quoted;
pub(crate) use shell_command::Finder;
pub use shell_command::ShellCommand;
pub use syntax::{ShellSyntax, find_literal_pattern, find_syntax};
pub use working_directory::WorkingDirectory;

/// Everything that decides: made once from what the operator configured, then only asked.
#[derive(Debug)]
pub struct Policy {
    allow: AllowList,
    directories: Directories,
    programs: Programs,
    /// What is demanded of programs; `None` for nothing.
    guard: Option<Arc<Guard>>,
}

impl Policy {
    /// Puts the parts together.
    pub fn new(allow: AllowList, directories: Directories, programs: Programs) -> Self {
        Self { allow, directories, programs, guard: None }
    }

    /// Refuses programs that the guard has something against.
    #[must_use]
    pub fn with_guard(self, guard: Option<Arc<Guard>>) -> Self {
        Self { guard, ..self }
    }

    /// What is demanded of programs; `None` for nothing.
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

    /// Decides for the persistent shell, which has looked at the words itself before; `finder` says who finds what the
    /// entry means.
    pub(crate) fn allow_in_shell(
        &self,
        entry: &str,
        arguments: Vec<String>,
        finder: Finder,
    ) -> Result<ShellCommand, Refusal> {
        let command = shell_command::allow_in_shell(&self.allow, &self.programs, entry, arguments, finder)?;
        match self.guard.as_ref().zip(command.program()).map(|(guard, program)| guard.glance(program)) {
            Some(Err(source)) => Err(Refusal::Untrusted { word: entry.to_owned(), source }),
            Some(Ok(())) | None => Ok(command),
        }
    }
}
