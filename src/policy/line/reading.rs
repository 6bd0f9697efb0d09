//! From a text to a line, or to one plain command.

use crate::lines::{Builtin, Command, Line, Unreadable, Word};
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
        let read = Line::read(text).and_then(|line| line.open_shells(&|word| self.allow.find(word).is_some()));
        let line = read.map_err(|Unreadable { reason, .. }| CommandLineError::Unreadable {
            source: NotALine { line: text.to_owned(), reason },
        })?;
        let Some(mut words) = plain(&line) else { return Ok(ReadLine::Line(line)) };
        let arguments = words.split_off(1);
        CommandLine::from_process(words.concat(), arguments).map(ReadLine::Command)
    }
}

/// The words of a line that is one plain command.
fn plain(line: &Line) -> Option<Vec<String>> {
    let [list] = line.lists.as_slice() else { return None };
    let [stage] = list.first.stages.as_slice() else { return None };
    let Command::Simple(simple) = &stage.command else { return None };
    let has_more = !list.rest.is_empty() || list.first.negated || stage.pipes_stderr;
    if has_more || !simple.assignments.is_empty() || !simple.redirections.is_empty() {
        return None;
    }
    let words: Vec<String> = simple.words.iter().map(Word::text).collect::<Option<_>>()?;
    Some(words).filter(|words| !words.is_empty() && Builtin::of(words).is_none())
}

/// The number of the first command that a program runs, as far as the words tell.
pub(super) fn first_program(line: &Line) -> Option<usize> {
    let is_program = |words: &[Word]| match words.first().map(Word::text) {
        None => false,
        Some(None) => true,
        Some(Some(name)) => Builtin::of(&[name]).is_none(),
    };
    line.commands().into_iter().find(|simple| is_program(&simple.words)).map(|simple| simple.number)
}
