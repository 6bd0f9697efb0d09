//! How large a line may be.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::expand::ExpandError;
use super::tree::{Command, Line, Pipeline, Stage};
use super::unreadable::Reason;

/// The most simple commands.
pub const MOST_COMMANDS: usize = 256;
/// The most commands that run at the same time.
pub const MOST_STAGES: usize = 32;
/// The most levels of `(`, and of braces that make words of each other.
pub const MOST_LEVELS: usize = 64;
/// The most words of a line, with its redirections and assignments; also of what patterns in it are expanded to.
pub const MOST_WORDS: usize = 131_072;
/// The most redirections of a line.
pub const MOST_REDIRECTIONS: usize = 256;
/// The most bytes of the text of one word, the most that Linux takes for an argument.
pub const MOST_WORD_BYTES: usize = 131_071;
/// The most bytes of all words that braces make.
pub const MOST_BRACE_BYTES: usize = 1 << 20;

/// The most bytes of the words of a line in which variables and patterns are replaced: twice what the kernel takes for one command.
const MOST_BYTES: usize = 1 << 22;
/// The most names that the patterns of a line are compared with.
const MOST_COMPARED: usize = 1 << 20;

/// How much more the words of a line may become when variables and patterns are replaced, counted before it is kept.
#[derive(Debug)]
pub struct Room {
    words: AtomicUsize,
    bytes: AtomicUsize,
    names: AtomicUsize,
}

impl Default for Room {
    fn default() -> Self {
        Self { words: MOST_WORDS.into(), bytes: MOST_BYTES.into(), names: MOST_COMPARED.into() }
    }
}

impl Room {
    /// Takes what is needed to hold words.
    ///
    /// # Errors
    /// [`ExpandError::TooLarge`]
    pub fn hold(&self, words: usize, bytes: usize) -> Result<(), ExpandError> {
        take(&self.words, words)?;
        take(&self.bytes, bytes)
    }

    /// Takes what is needed to compare a pattern with names.
    ///
    /// # Errors
    /// [`ExpandError::TooLarge`]
    pub fn compare(&self, names: usize) -> Result<(), ExpandError> {
        take(&self.names, names)
    }
}

/// An amount that does not fit leaves no room for anything else.
fn take(room: &AtomicUsize, amount: usize) -> Result<(), ExpandError> {
    let left = room.load(Ordering::Relaxed).checked_sub(amount);
    room.store(left.unwrap_or(0), Ordering::Relaxed);
    left.map(drop).ok_or(ExpandError::TooLarge)
}

/// Refuses a line that is too large as a whole. The reader counts what would take memory or stack before it is made.
pub fn check(line: &Line) -> Result<(), Reason> {
    let commands = line.commands();
    if commands.len() > MOST_COMMANDS {
        return Err(Reason::TooManyCommands);
    }
    if commands.iter().map(|command| command.words.len()).sum::<usize>() > MOST_WORDS {
        return Err(Reason::TooManyWords);
    }
    if redirections(line) > MOST_REDIRECTIONS {
        return Err(Reason::TooManyRedirections);
    }
    if levels(line) > MOST_LEVELS {
        return Err(Reason::TooManyLevels);
    }
    if width(line) > MOST_STAGES { Err(Reason::TooManyStages) } else { Ok(()) }
}

/// How many commands run at the same time.
fn width(line: &Line) -> usize {
    let of_stage = |command: &Command| match command {
        Command::Simple(_) => 1,
        Command::Group(group) => width(&group.line),
    };
    let of_pipeline = |pipeline: &Pipeline| pipeline.stages.iter().map(|stage| of_stage(&stage.command)).sum();
    line.pipelines().map(of_pipeline).max().unwrap_or(0)
}

fn redirections(line: &Line) -> usize {
    let of_stage = |stage: &Stage| {
        let within = if let Command::Group(group) = &stage.command { redirections(&group.line) } else { 0 };
        within + stage.redirections().len()
    };
    line.pipelines().flat_map(|pipeline| &pipeline.stages).map(of_stage).sum()
}

fn levels(line: &Line) -> usize {
    let of_command = |command: &Command| match command {
        Command::Simple(_) => 0,
        Command::Group(group) => 1 + levels(&group.line),
    };
    let stages = line.pipelines().flat_map(|pipeline| &pipeline.stages);
    stages.map(|stage| of_command(&stage.command)).max().unwrap_or(0)
}
