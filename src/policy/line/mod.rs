//! Decides on a line of several commands, part by part, by the rules of every call.
//!
//! The line is read first ([`Policy::read_line`](super::Policy::read_line)), then decided as a whole before anything runs ([`Policy::plan`](super::Policy::plan)), and at its
//! turn each pipeline is decided again ([`PlannedLine::pipeline`]), since an earlier command may have changed what files say.
//! Only that second decision makes an [`AllowedCommand`]. Nothing here opens a file of a redirection or starts a process.
//!
//! - `reading`: from text to a line, or to one plain command.
//! - `whole`: the decision before anything runs.
//! - `turn`: the decision on a pipeline at its turn.
//! - `command`: what both say about one command; `redirection`: about one redirection; `refused_file`: how firmly one is refused.
//! - `places`: `cd`, and the directories in which patterns find names.
//! - `inheritance`: the redirections of groups, which count for the commands within.
//! - `proposal`: what a person is asked about a line; `refusal`: why a line does not run.

mod command;
mod file;
mod inheritance;
mod places;
mod proposal;
mod reading;
mod redirection;
mod refusal;
mod refused_file;
#[cfg(test)]
mod tests;
mod turn;
mod whole;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

pub use self::file::{CreatedFiles, DecidedFile};
use self::inheritance::Inheritance;
pub use self::proposal::{LineProposal, ShownPart};
pub use self::reading::ReadLine;
pub use self::refusal::LineRefusal;
pub use self::turn::Turn;
use super::rules::CommandRule;
use super::{AllowedCommand, Explanation, Refusal, Rule, Verdict, WorkingDirectory};
pub use crate::lines::Line;
use crate::lines::{Builtin, Room, Stream};

/// Where a part of a line stands when its turn comes.
#[derive(Debug, Clone)]
pub struct Position {
    /// The directory that commands run in.
    pub directory: WorkingDirectory,
    /// Whether the group around it was given something to read.
    pub inherits_input: bool,
}

/// A line that a call asks for.
#[derive(Debug)]
pub struct RequestedLine<'a> {
    /// The line.
    pub line: Line,
    /// The text that it was read from.
    pub text: &'a str,
    /// Where it begins, as the client gave it.
    pub cwd: Option<&'a str>,
    /// Whether the call has an `input`.
    pub has_input: bool,
    /// Whether it may run only what changes nothing.
    pub only_reads: bool,
    /// The proposal that a person has approved.
    pub approved: Option<&'a LineProposal>,
    /// The proposals that a person has approved for the rest of the session.
    pub before: &'a [&'a LineProposal],
}

/// The decision on a line before anything runs.
#[derive(Debug)]
pub struct LineDecision {
    /// Its parts, in the order of the text.
    pub parts: Vec<PartDecision>,
    /// Whether nothing that it runs changes anything.
    pub is_read_only: bool,
    /// The number of the command that reads the input of the call.
    pub reader: Option<usize>,
    /// The line, to be run once, or why it does not run.
    pub outcome: Result<PlannedLine, LineRefusal>,
}

/// The decision on one part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartDecision {
    /// The place of the command or the group that it is, or belongs to.
    pub place: usize,
    /// The number of the command that it is, or belongs to; 0 for a group.
    pub number: usize,
    /// Its kind.
    pub kind: PartKind,
    /// The basis of the decision. The words are those of the command without secrets, or those of the redirection.
    pub explanation: Explanation,
    /// The variables that the line sets for the command.
    pub variables: Vec<(String, String)>,
    /// The text that a here-document or `<<<` gives the command to read.
    pub input: Option<String>,
    /// The verdict.
    pub outcome: PartOutcome,
}

/// The kind of a part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    /// A command that a program runs.
    Command,
    /// A command that the line runs itself.
    Builtin,
    /// A redirection.
    Redirection,
}

/// The verdict on a part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartOutcome {
    /// It may run.
    Allowed,
    /// It depends on files that an earlier command may change, and is decided when its turn comes.
    AtItsTurn,
    /// A person has to approve it.
    Ask,
    /// It does not run, and why.
    Refused(String),
}

/// A line that was decided as a whole, and is decided again pipeline by pipeline.
#[derive(Debug)]
pub struct PlannedLine {
    line: Arc<Line>,
    directory: WorkingDirectory,
    reader: Option<usize>,
    timeout: Option<Duration>,
    /// Whether it may run only what changes nothing.
    only_reads: bool,
    /// The commands and groups as a person has approved them, in their order; empty if nobody had to.
    approved: Vec<ShownPart>,
    /// The parts as they were decided before anything runs, in their order.
    decided: Vec<PartDecision>,
    inheritance: Inheritance,
    /// How much more the words of its pipelines may become at their turns.
    room: Room,
}

/// A stage of a pipeline that was decided at its turn.
#[derive(Debug)]
pub struct DecidedStage {
    /// The number of the command; 0 for a group.
    pub number: usize,
    /// Its work.
    pub work: StageWork,
    /// The time that its rule lets the whole line take.
    pub timeout: Option<Duration>,
    /// Where its streams lead, in the order in which they apply.
    pub redirections: Vec<DecidedRedirection>,
}

/// The work of a stage.
#[derive(Debug)]
pub enum StageWork {
    /// It runs a program.
    Program(Box<AllowedCommand>),
    /// It is allowed, but there is no such program.
    NotFound {
        /// The first word.
        word: String,
        /// The status of a shell's, and what it says.
        status: (i32, &'static str),
    },
    /// It is run by the line itself.
    Builtin(Builtin),
    /// It changes the directory, or says why it can't, as a shell says it.
    Cd(Result<WorkingDirectory, String>),
    /// It is a group, whose line is decided pipeline by pipeline.
    Group,
    /// It only has redirections.
    Nothing,
}

/// A redirection that was decided.
#[derive(Debug)]
pub enum DecidedRedirection {
    /// From `/dev/null`.
    NullInput,
    /// To `/dev/null`.
    NullOutput(Stream),
    /// From a file.
    ReadFile(DecidedFile),
    /// To a file.
    WriteFile(Stream, DecidedFile),
    /// Of a file that is missing or is a directory, as a shell says it.
    Unusable {
        /// The sentence.
        sentence: String,
    },
    /// `2>&1`
    StderrToStdout,
    /// `1>&2`
    StdoutToStderr,
    /// From a text of the line.
    Input(Vec<u8>),
}

impl LineDecision {
    /// The decision as that on one command, with the words of all parts.
    pub(crate) fn into_verdict(self) -> Verdict {
        let words = self.parts.into_iter().flat_map(|part| part.explanation.words).collect();
        let refusal = self.outcome.err().map(|refusal| Refusal::Line(Box::new(refusal)));
        Verdict { explanation: Explanation { words, ..Explanation::default() }, refusal }
    }

    /// The words of each command that is refused because nothing allows it.
    pub(crate) fn lacking(&self) -> Vec<Vec<String>> {
        let is_missing = |part: &&PartDecision| {
            part.kind == PartKind::Command
                && matches!(part.outcome, PartOutcome::Refused(_))
                && part.explanation.lacks_rule()
        };
        self.parts.iter().filter(is_missing).map(|part| part.explanation.words.clone()).collect()
    }

    /// The words of each command that is refused although a rule takes them, and why it is.
    pub(crate) fn standing(&self) -> Vec<(Vec<String>, String)> {
        let refused = self.parts.iter().filter_map(|part| match &part.outcome {
            PartOutcome::Refused(why) if part.kind == PartKind::Command && !part.explanation.lacks_rule() => {
                let is_variable = !part.explanation.variables.is_empty() && part.explanation.lacks_something();
                let why = match part.explanation.lacks_input() {
                    true => "`stdin: true` in its rule lets it read what the line gives it".to_owned(),
                    false => why.clone(),
                };
                (!is_variable).then(|| (part.explanation.words.clone(), why))
            }
            _ => None,
        });
        refused.collect()
    }

    /// The names of the variables that the line sets for its commands, and that the operator would have to allow.
    pub(crate) fn variables(&self) -> BTreeSet<&str> {
        let commands = self.parts.iter().filter(|part| part.kind == PartKind::Command);
        commands.flat_map(|part| &part.explanation.variables).map(String::as_str).collect()
    }
}

impl PlannedLine {
    /// The line.
    pub fn line(&self) -> &Arc<Line> {
        &self.line
    }

    /// Where its first command runs.
    pub fn begin(&self) -> Position {
        Position { directory: self.directory.clone(), inherits_input: false }
    }

    /// Its timeout: the shortest of what the rules of its commands say; `None` if none says anything.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Whether a command of it changes the directory of those after it.
    pub(crate) fn changes_directory(&self) -> bool {
        let mut builtins = self.decided.iter().filter(|part| part.kind == PartKind::Builtin);
        builtins.any(|part| part.explanation.words.first().is_some_and(|word| word == "cd"))
    }

    /// The rule of each command that a program runs, in their order; `None` for one of which only the name is allowed.
    pub(crate) fn rules(&self) -> impl Iterator<Item = Option<&Arc<CommandRule>>> {
        self.decided.iter().filter(|part| part.kind == PartKind::Command).map(|part| match &part.explanation.rule {
            Some(Rule::Described(rule)) => Some(rule),
            Some(Rule::Entry(_) | Rule::Any | Rule::Project(_)) | None => None,
        })
    }

    /// The number of the command that reads what the whole line is given.
    pub(crate) fn first_reader(&self) -> Option<usize> {
        reading::reader(&self.line)
    }

    /// The number of the command that reads the input of the call: the first that is no builtin. `None` if the call has none, or if
    /// something else is redirected for that command.
    pub fn reader(&self) -> Option<usize> {
        self.reader
    }
}
