//! A shell that was started, and has not said yet that it is one: whoever waits for that may give up, and another go on.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{AtWish, Ending, Order, Ran, Session, Watch, Watched};
use crate::exec::{Environment, Limits, StopSignal};
use crate::shell::dialect::{Status, current as dialect};
use crate::shell::error::ShellError;
use crate::shell::marker::Marker;

/// How long a new shell has until its first marker.
const OPENING: Duration = Duration::from_secs(10);

/// A shell that starts. Dropping it ends the shell.
#[derive(Debug)]
pub(in crate::shell) struct Opening {
    session: Session,
    watch: Box<Watch>,
    program: PathBuf,
    started: Instant,
}

/// How far a shell is that was waited for.
#[derive(Debug)]
pub(in crate::shell) enum Opened {
    /// It has answered as a shell does.
    Session(Session),
    /// It still starts.
    Waits(Opening),
}

impl Opening {
    /// Starts the shell in the directory.
    ///
    /// What the thread has confined itself to, its shell inherits.
    pub(in crate::shell) fn start(
        program: &Path,
        environment: &Environment,
        directory: &Path,
    ) -> Result<Self, ShellError> {
        let session = Session::start(program, environment, directory)?;
        let started = Instant::now();
        let marker = Marker::fresh();
        let limits = Limits { timeout: OPENING, grace: Duration::ZERO, max_output: 1024 };
        let line = dialect::opening_line(&marker);
        let mut watch = Session::begin(Order { line, marker, limits, by_shell_alone: false }, started);
        watch.heed(AtWish::Waits);
        Ok(Self { session, watch: Box::new(watch), program: program.to_owned(), started })
    }

    /// The program that is to be a shell.
    pub(in crate::shell) fn program(&self) -> &Path {
        &self.program
    }

    /// Waits for the first marker: until it comes, or the wish to stop does, or that moment.
    ///
    /// # Errors
    /// [`ShellError`] where it does not answer as a shell, or not within its time; then it has ended.
    pub(in crate::shell) fn wait(
        mut self,
        stop: Option<&StopSignal>,
        until: Option<Instant>,
    ) -> Result<Opened, ShellError> {
        let patience = until.map(|until| until.saturating_duration_since(self.started));
        match self.session.watch(*self.watch, stop, patience) {
            Ok(Watched::Waits(watch)) => Ok(Opened::Waits(Self { watch, ..self })),
            Ok(Watched::Ended(Ran { ending: Ending::Answered(Status { code: 0, .. }), ended_by_us: None, .. })) => {
                Ok(Opened::Session(self.session))
            }
            Ok(Watched::Ended(_)) => Err(ShellError::NoShell { program: self.program }),
            Err(source) => Err(ShellError::Lost { source }),
        }
    }
}
