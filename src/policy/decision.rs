//! The decision: one pure function, the one maker of [`AllowedCommand`], and its explanation.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::quoted::quoted;
use super::windows_name;
use super::{AllowList, CommandLine, CommandLineError, DirectoryError, Program, Rule, WorkingDirectory};

/// A command that was allowed, and has not run yet. Only [`decide`] makes one, and running it uses it up.
#[derive(Debug)]
pub struct AllowedCommand {
    program: PathBuf,
    words: Vec<String>,
    directory: WorkingDirectory,
}

impl AllowedCommand {
    /// The absolute path of the file to execute.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// `argv`: the first word as the client gave it, then the arguments.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Where it runs.
    pub fn directory(&self) -> &WorkingDirectory {
        &self.directory
    }
}

/// What was decided, and why.
#[derive(Debug)]
pub struct Decision {
    /// What the decision rests on, as far as it came.
    pub explanation: Explanation,
    /// The command, to be run once, or the reason why not.
    pub outcome: Result<AllowedCommand, Refusal>,
}

/// What would be decided for a command that is not to be run, and why.
#[derive(Debug)]
pub struct Verdict {
    /// What the decision rests on, as far as it came.
    pub explanation: Explanation,
    /// The reason why not; `None` where it would run.
    pub refusal: Option<Refusal>,
}

/// What a decision rests on. A part that was not reached is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explanation {
    /// The words of the command; empty where they could not be made out.
    pub words: Vec<String>,
    /// The rule that lets the first word pass.
    pub rule: Option<Rule>,
    /// The file that would be executed.
    pub program: Option<PathBuf>,
    /// The canonical directory that it would run in.
    pub directory: Option<PathBuf>,
    /// What a shell would have expanded, and is passed on literally.
    pub literal_pattern: Option<&'static str>,
}

/// Why a command does not run. Each text is one sentence for the model or the person that asked.
#[derive(Debug, Error)]
pub enum Refusal {
    /// It is no command line.
    #[error(transparent)]
    CommandLine(#[from] CommandLineError),
    /// No rule lets its first word pass.
    #[error("command {} is not allowed; {}", quoted(.word), advice(.word, .allowed))]
    NotAllowed {
        /// The first word.
        word: String,
        /// The names of the allow-list.
        allowed: Vec<String>,
    },
    /// The directory is none, or not allowed.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The persistent shell must not be given it, or not in this way.
    #[error("{reason}")]
    InShell {
        /// Why, as a sentence.
        reason: String,
    },
    /// The rule lets it pass, but there is no such program.
    #[error("command {} was not found in the directories of the server's PATH. {NOT_FOUND_NOTE}", quoted(.word))]
    ProgramNotFound {
        /// The first word.
        word: String,
    },
}

/// What an answer to a call ends with whose program can't be found.
pub const NOT_FOUND_NOTE: &str = "Note: This tool does not support interactive commands. \
     Ensure the command is non-interactive and the executable exists.";

fn advice(word: &str, allowed: &[String]) -> String {
    if allowed.is_empty() {
        return "no command is allowed yet: the operator names them with `--allow` or `ALLOWED_COMMANDS`".to_owned();
    }
    let allowed_names = allowed.join(", ");
    let name = word.rsplit(|c| c == '/' || (cfg!(windows) && c == '\\')).next().unwrap_or(word);
    let is_it = |entry: &String| entry == name || (cfg!(windows) && windows_name::means(name, entry));
    if name != word && allowed.iter().any(is_it) {
        return format!("call it by its name alone, `{name}`; allowed commands: {allowed_names}");
    }
    format!("allowed commands: {allowed_names}")
}

/// Decides whether a command runs. Pure: what it rests on is in its arguments and in the explanation that it gives.
///
/// In this order: the command line must be one, a rule must let its first word pass, the directory must be allowed, and
/// the program must exist. `program` is what was found for the first word, if anything was looked for.
pub fn decide(
    allow: &AllowList,
    command: Result<CommandLine, CommandLineError>,
    directory: Result<WorkingDirectory, DirectoryError>,
    program: Option<Program>,
) -> Decision {
    let mut explanation = Explanation::default();
    let outcome = decide_in_order(allow, command, directory, program, &mut explanation);
    Decision { explanation, outcome }
}

fn decide_in_order(
    allow: &AllowList,
    command: Result<CommandLine, CommandLineError>,
    directory: Result<WorkingDirectory, DirectoryError>,
    program: Option<Program>,
    explanation: &mut Explanation,
) -> Result<AllowedCommand, Refusal> {
    let command = command?;
    explanation.words = command.words().to_vec();
    explanation.literal_pattern = command.literal_pattern();
    let word = command.word().to_owned();
    let project = program.as_ref().and_then(Program::project);
    let rule = allow.rule_for(&word).or_else(|| project.map(|project| Rule::Project(project.to_owned())));
    if rule.is_none() {
        return Err(Refusal::NotAllowed { word, allowed: allow.names().to_vec() });
    }
    explanation.rule = rule;
    let directory = directory?;
    explanation.directory = Some(directory.path().to_owned());
    let program = program.ok_or(Refusal::ProgramNotFound { word })?;
    explanation.program = Some(program.path().to_owned());
    Ok(AllowedCommand { program: program.path().to_owned(), words: command.into_words(), directory })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(allowed: &[&str], line: &str) -> String {
        let allow = AllowList::new(allowed.iter().map(|&name| name.to_owned()));
        let directory = WorkingDirectory::open(Path::new("/")).map_err(|_| DirectoryError::NoRoots);
        decide(&allow, CommandLine::parse(line), directory, None).outcome.unwrap_err().to_string()
    }

    #[test]
    fn a_refusal_says_what_was_wrong_and_what_is_allowed() {
        assert_eq!(refusal(&["ls"], "pwd"), "command `pwd` is not allowed; allowed commands: ls");
        assert_eq!(
            refusal(&["ls", "cat"], "/bin/ls -l"),
            "command `/bin/ls` is not allowed; call it by its name alone, `ls`; allowed commands: ls, cat"
        );
        assert_eq!(
            refusal(&[], "ls"),
            "command `ls` is not allowed; no command is allowed yet: the operator names them with `--allow` or `ALLOWED_COMMANDS`"
        );
        assert_eq!(
            refusal(&["lx"], "lx"),
            "command `lx` was not found in the directories of the server's PATH. Note: This tool does not support \
             interactive commands. Ensure the command is non-interactive and the executable exists."
        );
    }

    #[test]
    fn what_is_not_on_the_list_is_refused_whatever_the_directory_is() {
        let allow = AllowList::new(["ls".to_owned()]);
        let decision = decide(&allow, CommandLine::parse("rm x"), Err(DirectoryError::NoRoots), None);
        assert!(matches!(decision.outcome, Err(Refusal::NotAllowed { .. })));
        let decision = decide(&allow, CommandLine::parse("ls x"), Err(DirectoryError::NoRoots), None);
        assert!(matches!(decision.outcome, Err(Refusal::Directory(DirectoryError::NoRoots))));
        assert_eq!(decision.explanation.rule, Some(Rule::Entry("ls".to_owned())));
    }
}
