//! From a text to a line, or to one plain command.

use crate::lines::{Builtin, Command, Line, Redirection, Unreadable, Word, plain_words};
use crate::policy::{CommandLine, CommandLineError, Lines, NotALine, Policy};

/// A text that was read.
#[derive(Debug)]
pub enum ReadLine {
    /// One command of plain words, which goes the way of every call.
    Command(CommandLine),
    /// Anything else.
    Line(Line),
}

impl Policy {
    /// The setting `--lines`.
    pub fn lines(&self) -> Lines {
        self.line_rules.lines
    }

    /// Reads a text as a line. The line of a shell in it (`bash -c LINE`) becomes a group, unless somebody allows that shell.
    ///
    /// # Errors
    /// [`CommandLineError`].
    pub fn read_line(&self, text: &str) -> Result<ReadLine, CommandLineError> {
        let words = match plain_words(text) {
            Some(words) => words,
            None => {
                let read = Line::read(text).and_then(|line| line.open_shells(&|word| self.allow.find(word).is_some()));
                let line = read.map_err(|Unreadable { reason, .. }| CommandLineError::Unreadable {
                    source: NotALine { line: text.to_owned(), reason: reason.to_string() },
                })?;
                let Some(words) = line.plain_words() else { return Ok(ReadLine::Line(line)) };
                words
            }
        };
        let mut words = words.into_iter();
        CommandLine::from_process(words.next().unwrap_or_default(), words.collect()).map(ReadLine::Command)
    }
}

/// The number of the command that reads what the whole line is given: the first that a program runs, as far as the words tell,
/// unless a pipe or a redirection gives it something else.
pub(super) fn reader(line: &Line) -> Option<usize> {
    first_program(line, true).flatten()
}

/// The first command that a program runs; `Some(None)` if it reads something else than the line is given.
fn first_program(line: &Line, is_given: bool) -> Option<Option<usize>> {
    let is_program = |words: &[Word]| match words.first().map(Word::text) {
        None => false,
        Some(None) => true,
        Some(Some(name)) => Builtin::of(&[name]).is_none(),
    };
    let mut stages = line.pipelines().flat_map(|pipeline| pipeline.stages.iter().enumerate());
    stages.find_map(|(nth, stage)| {
        let is_given = is_given && nth == 0 && !stage.redirections().iter().any(Redirection::gives_input);
        match &stage.command {
            Command::Simple(simple) => is_program(&simple.words).then(|| is_given.then_some(simple.number)),
            Command::Group(group) => first_program(&group.line, is_given),
        }
    })
}
