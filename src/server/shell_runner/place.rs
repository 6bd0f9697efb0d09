//! Where the persistent shell is, as the decisions on its calls see it. Looking at it walks paths, so only the threads of calls do.

use std::path::Path;
use std::sync::Arc;

use crate::files::Held;
use crate::policy::{Directories, Refusal, ShellChange, ShellCommand, WorkingDirectory};
use crate::shell::{ShellDirectories, ShellDirectory};

/// How many bytes of the changes that calls made to the shell are remembered: more than a person is shown.
const MOST_CHANGES: usize = 16 * 1024;

/// Where the shell is, and what calls have changed in it.
#[derive(Debug, Clone, Default)]
pub(in crate::server) struct ShellPlace {
    /// The current directory, as the shell's last answer said; `None` before the first.
    pub(super) current: Option<ShellDirectory>,
    /// The previous directory, to which `cd -` goes.
    pub(super) previous: Option<Arc<Path>>,
    pub(super) home: Option<Arc<Path>>,
    /// The changes that calls made to the shell, the oldest first.
    pub(super) changes: Arc<Vec<ShellChange>>,
}

impl ShellPlace {
    /// The directories that a `cd` can refer to.
    pub(in crate::server) fn directories(&self) -> ShellDirectories<'_> {
        ShellDirectories {
            current: self.current.as_ref().map(|current| &*current.path),
            previous: self.previous.as_deref(),
            home: self.home.as_deref(),
        }
    }

    /// Checks that the rule of a command allows it, with the paths among its words, in the shell's current directory.
    ///
    /// # Errors
    /// [`Refusal`].
    pub(in crate::server) fn check(&self, command: &ShellCommand, directories: &Directories) -> Result<(), Refusal> {
        if command.rule().is_none() {
            return Ok(());
        }
        let current = match &self.current {
            Some(ShellDirectory { held: Some(held), .. }) => WorkingDirectory::of(Arc::clone(held)),
            Some(ShellDirectory { path, held: None }) => WorkingDirectory::open(path),
            None => directories.base().open(),
        };
        let unknown = |error| Refusal::InShell { reason: format!("the shell's directory can't be looked at: {error}") };
        command.check_in(directories, &current.map_err(unknown)?, &self.changes)
    }

    /// Notes that a command may change what the shell holds.
    pub(super) fn note(&mut self, change: ShellChange) {
        // Repeating the last change adds nothing new.
        if self.changes.last() == Some(&change) {
            return;
        }
        let length = |words: &[String]| words.iter().map(|word| word.len() + 1).sum::<usize>();
        let held: usize = self.changes.iter().map(|change| length(&change.words)).sum();
        // Beyond this nobody is shown the changes, so nothing that depends on them is approved.
        if held <= MOST_CHANGES {
            Arc::make_mut(&mut self.changes).push(change);
        }
    }

    /// That of another shell, which has no state yet.
    pub(super) fn lost(&self) -> Self {
        Self { home: self.home.clone(), ..Self::default() }
    }

    /// Whether the shell is where the operator does not allow it. If a directory was moved or relinked between the check of a
    /// `cd` and its run, the shell may have ended up there, and is restarted before anything else runs.
    pub(super) fn is_outside(&self, directories: &Directories) -> bool {
        let Some(current) = &self.current else { return false };
        // If the kernel does not report the directory, there is only its path.
        let opened = current.held.clone().or_else(|| Held::open_directory(&current.path).ok().map(Arc::new));
        opened.is_none_or(|held| !directories.is_base(&held) && directories.is_outside(&held))
    }
}
