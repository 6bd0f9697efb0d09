//! The lines within `bash -c LINE`: each is read like a line of its own, and put in the place of its command as a group.

use super::bounds;
use super::namesakes::{self, Family};
use super::reader;
use super::tree::{Command, Group, Line, Simple};
use super::unreadable::{Reason, Unreadable};
use super::{Dialect, Word};

/// A shell that a command calls with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    /// The word that names it, such as `bash` or `/bin/sh`.
    pub word: String,
    /// The line.
    pub text: String,
}

impl Simple {
    /// The shell and its line, if the command is exactly `P -c LINE` or `P -lc LINE`, P being bash, sh, dash or zsh, and
    /// nothing in it has to be looked up.
    pub fn shell(&self) -> Option<Shell> {
        let words: Vec<String> = self.words.iter().take(4).map(Word::text).collect::<Option<_>>()?;
        let [word, option, text] = <[String; 3]>::try_from(words).ok()?;
        let is_shell = dialect(&word).is_some() && (option == "-c" || option == "-lc");
        is_shell.then_some(Shell { word, text })
    }
}

pub(super) fn dialect(word: &str) -> Option<Dialect> {
    let name = ["/bin/", "/usr/bin/"].iter().find_map(|directory| word.strip_prefix(directory)).unwrap_or(word);
    match name {
        "bash" | "zsh" => Some(Dialect::Bash),
        "sh" | "dash" => Some(Dialect::Posix),
        _ => None,
    }
}

impl Line {
    /// Reads the lines of shells in it, and makes groups of their commands. Those for which `is_allowed` returns true stay as
    /// they are: somebody allows that shell itself.
    ///
    /// # Errors
    /// [`Unreadable`] at the begin of that command, also for a shell within a shell and for a line that is too large by it.
    pub fn open_shells(mut self, is_allowed: &dyn Fn(&str) -> bool) -> Result<Self, Unreadable> {
        namesakes::check_alone(&self)?;
        open(&mut self, is_allowed)?;
        bounds::check(&self).map_err(|reason| Unreadable { at: 0, reason })?;
        self.number();
        Ok(self)
    }
}

fn open(line: &mut Line, is_allowed: &dyn Fn(&str) -> bool) -> Result<(), Unreadable> {
    for stage in line.pipelines_mut().flat_map(|pipeline| &mut pipeline.stages) {
        match &mut stage.command {
            Command::Group(group) => open(&mut group.line, is_allowed)?,
            Command::Simple(simple) => {
                let Some(shell) = simple.shell().filter(|shell| !is_allowed(&shell.word)) else { continue };
                let refused = |reason| Unreadable { at: simple.at, reason };
                if !simple.assignments.is_empty() {
                    return Err(refused(Reason::ShellAssignment));
                }
                let dialect = dialect(&shell.word).unwrap_or(Dialect::Posix);
                let line = reader::read(&shell.text, dialect).map_err(|inner| refused(inner.reason))?;
                let family = if shell.word.ends_with("bash") { Family::Bash } else { Family::Others };
                namesakes::check(&line, family).map_err(|inner| refused(inner.reason))?;
                if line.commands().iter().any(|command| command.shell().is_some_and(|shell| !is_allowed(&shell.word))) {
                    return Err(refused(Reason::ShellInShell));
                }
                let redirections = std::mem::take(&mut simple.redirections);
                stage.command = Command::Group(Group {
                    shell: Some(shell.word),
                    line,
                    line_number: simple.line_number,
                    redirections,
                });
            }
        }
    }
    Ok(())
}
