//! What may run: the allow-list, the command line, the directories, the decision and its explanation.
//!
//! Starts no process, and reads neither environment nor clock: what the operator said comes in as values. The file
//! system is asked two things, where a directory really lies and where a program is; [`decide`] is pure, and the only
//! maker of an [`AllowedCommand`].
//!
//! - [`CommandLine`] is what a client asked for, as words, without syntax.
//! - [`Directories`] turns a `cwd` into a [`WorkingDirectory`] that was checked and is held.
//! - [`Programs`] finds a program once, in the operator's search path.
//! - [`allow_in_shell`] is the decision for the persistent shell, and [`tool_names`] what its tools are called.
//! - [`Policy`] puts them together: [`Policy::examine`] gathers what [`decide`] needs, and decides.

mod allow_list;
mod client_roots;
mod command_line;
mod decision;
mod directory;
mod directory_error;
mod file_uri;
mod program;
mod quoted;
mod shell_command;
mod syntax;
mod system_places;
mod tool_name;
mod windows_line;
mod windows_name;
mod working_directory;
pub mod wrappers;

pub use allow_list::{AllowList, Rule};
pub use client_roots::ClientRoots;
pub use command_line::{CommandLine, CommandLineError};
pub use decision::{AllowedCommand, Decision, Explanation, NOT_FOUND_NOTE, Refusal, Verdict, decide};
pub use directory::{Base, Directories, DirectorySettings, Roots};
pub use directory_error::DirectoryError;
pub use file_uri::{FileUriError, parse_file_uri};
pub use program::{Program, Programs, SearchPath};
pub use quoted::quoted;
pub use shell_command::{Finder, ShellCommand, allow_in_shell};
pub use syntax::{ShellSyntax, find_literal_pattern, find_syntax};
pub use system_places::SystemPlaces;
pub use tool_name::{ToolNameError, WhichTools, tool_name, tool_names};
pub use working_directory::WorkingDirectory;

/// Everything that decides: made once from what the operator configured, then only asked.
#[derive(Debug)]
pub struct Policy {
    allow: AllowList,
    directories: Directories,
    programs: Programs,
}

impl Policy {
    /// Puts the parts together.
    pub fn new(allow: AllowList, directories: Directories, programs: Programs) -> Self {
        Self { allow, directories, programs }
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

    /// Finds out what [`decide`] needs to know about one call, and decides.
    ///
    /// The file system is asked for the directory, and for the program only where the allow-list lets the word pass:
    /// a client learns nothing about programs that it may not run.
    pub fn examine(&self, command: Result<CommandLine, CommandLineError>, cwd: Option<&str>) -> Decision {
        self.examine_in(&self.directories, command, cwd)
    }

    /// The same with other directories than the operator's: those that a client's roots narrow them to.
    pub fn examine_in(
        &self,
        directories: &Directories,
        command: Result<CommandLine, CommandLineError>,
        cwd: Option<&str>,
    ) -> Decision {
        let directory = directories.resolve(cwd);
        let program = match (&command, &directory) {
            (Ok(command), Ok(directory)) => self.find(directories, command.word(), directory),
            _ => None,
        };
        decide(&self.allow, command, directory, program)
    }

    fn find(&self, directories: &Directories, word: &str, directory: &WorkingDirectory) -> Option<Program> {
        match self.allow.rule_for(word) {
            Some(Rule::Entry(entry)) => self.programs.find_listed(&entry).filter(|program| program.answers_to(word)),
            Some(Rule::Any) => self.programs.find_any(word, directory),
            Some(Rule::Project(_)) | None => {
                let project = directories.project_for_commands()?;
                self.programs.find_in_project(word, directory, project)
            }
        }
    }
}
