//! A shell that was started but has not answered yet. A caller that waits for it may give up, and another may go on
//! waiting.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{AtStop, Ending, Ran, Session, ShellLine, Watch, Watched};
use crate::exec::{Limits, StopSignal};
use crate::policy::Base;
use crate::shell::call::ShellSettings;
use crate::shell::dialect::{Status, current as dialect};
use crate::shell::error::ShellError;
use crate::shell::marker::Marker;

/// How long a new shell may take to print its first marker.
const OPENING: Duration = Duration::from_secs(10);

/// A shell that is starting. Dropping it ends the shell.
#[derive(Debug)]
pub(in crate::shell) struct Opening {
    session: Session,
    watch: Box<Watch>,
    program: PathBuf,
    started: Instant,
}

/// The state of a starting shell.
#[derive(Debug)]
pub(in crate::shell) enum OpenedShell {
    /// It has answered correctly.
    Session(Session),
    /// It is still starting.
    Waits(Opening),
}

impl Opening {
    /// Starts the shell in the directory.
    ///
    /// The shell inherits the confinement of the thread.
    pub(in crate::shell) fn start(
        program: &Path,
        settings: &ShellSettings,
        directory: &Base,
    ) -> Result<Self, ShellError> {
        let session = Session::start(program, settings, directory)?;
        let started = Instant::now();
        let marker = Marker::fresh();
        let limits = Limits { timeout: OPENING, grace: Duration::ZERO, max_output: 1024, has_digests: false };
        let line = dialect::opening_line(&marker);
        let mut watch = Watch::new(ShellLine { line, marker, limits, spool: None, by_shell_alone: false }, started);
        watch.at_stop = AtStop::Waits;
        Ok(Self { session, watch: Box::new(watch), program: program.to_owned(), started })
    }

    /// The program that should be a shell.
    pub(in crate::shell) fn program(&self) -> &Path {
        &self.program
    }

    /// Waits for the first marker, until it comes, or a stop signal, or the given time.
    ///
    /// # Errors
    /// [`ShellError`] if it does not answer like a shell, or not in time; then it has ended.
    pub(in crate::shell) fn wait(
        mut self,
        stop: Option<&StopSignal>,
        until: Option<Instant>,
    ) -> Result<OpenedShell, ShellError> {
        let patience = until.map(|until| until.saturating_duration_since(self.started));
        match self.session.watch(*self.watch, stop, patience) {
            Ok(Watched::Waits(watch)) => Ok(OpenedShell::Waits(Self { watch, ..self })),
            Ok(Watched::Ended(Ran { ending: Ending::Answered(Status { code: 0, .. }), ended_by_us: None, .. })) => {
                Ok(OpenedShell::Session(self.session))
            }
            Ok(Watched::Ended(_)) => Err(match self.session.failure() {
                Some(source) => ShellError::Spawn { program: self.program, source },
                None => ShellError::NoShell { program: self.program },
            }),
            Err(source) => Err(ShellError::Lost { source }),
        }
    }
}
