//! The tree of a line.

use super::Dialect;
use super::reader;
use super::unreadable::Unreadable;
use super::word::{Value, Word};

/// Lists of commands, one after the other. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The lists between `;` and line breaks.
    pub lists: Vec<AndOr>,
}

/// Pipelines that run as long as `&&` and `||` say so. Both bind equally, from left to right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AndOr {
    /// The first pipeline.
    pub first: Pipeline,
    /// The others, each with what is in front of it.
    pub rest: Vec<(Connector, Pipeline)>,
}

/// On which status of the pipelines before it a pipeline runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connector {
    /// `&&`: on 0.
    And,
    /// `||`: on any other.
    Or,
}

/// Commands that run at the same time, connected by pipes. Its status is that of the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// `!`: its status is 1 for 0, and 0 for any other.
    pub negated: bool,
    /// At least one.
    pub stages: Vec<Stage>,
}

/// One command of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Its place among the simple commands and the groups of the line, from 1, in the order of the text.
    pub place: usize,
    /// The command.
    pub command: Command,
    /// `|&` follows: its standard error goes where its standard output goes, after its own redirections.
    pub pipes_stderr: bool,
}

impl Stage {
    /// Its redirections, in the order in which they apply.
    pub fn redirections(&self) -> &[Redirection] {
        match &self.command {
            Command::Simple(simple) => &simple.redirections,
            Command::Group(group) => &group.redirections,
        }
    }
}

/// A simple command or a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Words and redirections.
    Simple(Simple),
    /// `( line )`.
    Group(Group),
}

impl Command {
    /// The number of the line of the text that bash names in messages about it, from 1.
    pub fn line_number(&self) -> usize {
        match self {
            Self::Simple(simple) => simple.line_number,
            Self::Group(group) => group.line_number,
        }
    }

    /// The simple command, if it is one.
    pub fn simple(&self) -> Option<&Simple> {
        match self {
            Self::Simple(simple) => Some(simple),
            Self::Group(_) => None,
        }
    }
}

/// A program with its arguments, a builtin, or redirections alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simple {
    /// Its place among the commands of the line, from 1, in the order of the text.
    pub number: usize,
    /// The byte offset of its begin in the text that was read.
    pub at: usize,
    /// The number of the line of the text that bash names in messages about it, from 1.
    pub line_number: usize,
    /// `NAME=value` in front of it. Empty if there are no words.
    pub assignments: Vec<Assignment>,
    /// Its words, the first of which names it. Empty if there are only redirections.
    pub words: Vec<Word>,
    /// In the order in which they apply.
    pub redirections: Vec<Redirection>,
}

/// A variable that one command gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
}

impl Pipeline {
    /// The status of the pipeline, from that of its last command, whose redirections could be done or not. A shell leaves a
    /// group whose redirection failed as it is, even after `!`. Redirections alone at the end of a pipe are 0 in bash, whatever
    /// fails, if one of them reads a file (`true | < missing`): it waits for another process than the one that does them.
    pub fn status(&self, of_last: i32, is_redirected: bool) -> i32 {
        let of_last = if self.reads_at_the_end_of_a_pipe() { 0 } else { of_last };
        let is_only_group = match self.stages.as_slice() {
            [Stage { command: Command::Group(group), .. }] => group.shell.is_none(),
            _ => false,
        };
        if !self.negated || (is_only_group && !is_redirected) { of_last } else { i32::from(of_last == 0) }
    }

    fn reads_at_the_end_of_a_pipe(&self) -> bool {
        let [_, .., Stage { command: Command::Simple(last), .. }] = self.stages.as_slice() else { return false };
        last.words.is_empty() && last.redirections.iter().any(|redirection| matches!(redirection, Redirection::Read(_)))
    }
}

/// A line in parentheses: what it does to the directory and by `exit` holds for it alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The shell that it was the line of, if it was not in parentheses.
    pub shell: Option<String>,
    /// The line.
    pub line: Line,
    /// The number of the line of the text that bash names in messages about its redirections, from 1.
    pub line_number: usize,
    /// In the order in which they apply.
    pub redirections: Vec<Redirection>,
}

/// Where a stream of a command leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redirection {
    /// `< file`.
    Read(Value),
    /// `> file` and its kin.
    Write {
        /// The stream that is written to the file.
        stream: Stream,
        /// The treatment of the file's contents.
        mode: Mode,
        /// The file.
        target: Value,
    },
    /// `2>&1`: standard error goes where standard output goes now.
    StderrToStdout,
    /// `1>&2` or `>&2`: standard output goes where standard error goes now.
    StdoutToStderr,
    /// `<<` or `<<-`: exactly this text is the standard input.
    Document(String),
    /// `<<<`: this value and a line break are the standard input.
    HereString(Value),
}

impl Redirection {
    /// Whether it is about standard input, also if it gives nothing to read.
    pub fn gives_input(&self) -> bool {
        match self {
            Self::Read(_) | Self::Document(_) | Self::HereString(_) => true,
            Self::Write { .. } | Self::StderrToStdout | Self::StdoutToStderr => false,
        }
    }
}

/// The streams that a redirection writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// `>`
    Stdout,
    /// `2>`
    Stderr,
    /// `&>`
    Both,
}

/// The treatment of a file's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// `>`, `>|` and `&>`: it is lost.
    Replace,
    /// `>>`: it is kept.
    Append,
}

impl Line {
    /// Reads a text.
    ///
    /// # Errors
    /// [`Unreadable`], the first thing that is not of the grammar, or that bash would read differently.
    pub fn read(text: &str) -> Result<Self, Unreadable> {
        reader::read(text, Dialect::Bash)
    }

    /// Reads a text as [`read`](Self::read) does, and refuses what bash, dash, zsh and fish don't all read alike. Its words
    /// hold no variables and no escapes.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn read_common(text: &str) -> Result<Self, Unreadable> {
        reader::read(text, Dialect::Common)
    }

    /// The pipelines of this line in their order, without those within groups.
    pub fn pipelines(&self) -> impl Iterator<Item = &Pipeline> {
        self.lists.iter().flat_map(|list| [&list.first].into_iter().chain(list.rest.iter().map(|(_, next)| next)))
    }

    pub(super) fn pipelines_mut(&mut self) -> impl Iterator<Item = &mut Pipeline> {
        self.lists
            .iter_mut()
            .flat_map(|list| [&mut list.first].into_iter().chain(list.rest.iter_mut().map(|(_, next)| next)))
    }

    /// Numbers the stages, and the simple commands among them, in the order of the text.
    pub(super) fn number(&mut self) {
        fn number(line: &mut Line, (last_place, last): (&mut usize, &mut usize)) {
            for stage in line.pipelines_mut().flat_map(|pipeline| &mut pipeline.stages) {
                *last_place += 1;
                stage.place = *last_place;
                match &mut stage.command {
                    Command::Simple(simple) => {
                        *last += 1;
                        simple.number = *last;
                    }
                    Command::Group(group) => number(&mut group.line, (last_place, last)),
                }
            }
        }
        number(self, (&mut 0, &mut 0));
    }

    /// The simple commands in the order of the text, those within groups too.
    pub fn commands(&self) -> Vec<&Simple> {
        let mut found = Vec::new();
        for stage in self.pipelines().flat_map(|pipeline| &pipeline.stages) {
            match &stage.command {
                Command::Simple(simple) => found.push(simple),
                Command::Group(group) => found.extend(group.line.commands()),
            }
        }
        found
    }
}
