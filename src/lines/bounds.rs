//! How large a line may be.

use super::tree::{Command, Line, Pipeline};
use super::unreadable::Reason;

/// The most simple commands.
pub const MOST_COMMANDS: usize = 256;
/// The most commands that run at the same time.
pub const MOST_STAGES: usize = 32;
/// The most levels of `(`, and of braces that make words of each other.
pub const MOST_LEVELS: usize = 64;
/// The most words of a line, with its redirections and assignments; also of what patterns in it are expanded to.
pub const MOST_WORDS: usize = 131_072;
/// The most bytes of the text of one word, the most that Linux takes for an argument.
pub const MOST_WORD_BYTES: usize = 131_071;
/// The most bytes of all words that braces make.
pub const MOST_BRACE_BYTES: usize = 1 << 20;

/// Refuses a line that is too large as a whole. The reader counts what would take memory or stack before it is made.
pub fn check(line: &Line) -> Result<(), Reason> {
    let commands = line.commands();
    if commands.len() > MOST_COMMANDS {
        return Err(Reason::TooManyCommands);
    }
    if commands.iter().map(|command| command.words.len()).sum::<usize>() > MOST_WORDS {
        return Err(Reason::TooManyWords);
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

fn levels(line: &Line) -> usize {
    let of_command = |command: &Command| match command {
        Command::Simple(_) => 0,
        Command::Group(group) => 1 + levels(&group.line),
    };
    let stages = line.pipelines().flat_map(|pipeline| &pipeline.stages);
    stages.map(|stage| of_command(&stage.command)).max().unwrap_or(0)
}
