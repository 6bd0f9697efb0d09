//! The one process: started here and nowhere else, by a session of this platform's.
//!
//! `unix` watches it by poll(2), `windows` with a thread for each stream; both bring [`Session`] under the same names.
//! [`Opening`] is a session that has not answered yet.

mod opening;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

pub(super) use opening::{Opened, Opening};
#[cfg(unix)]
pub(super) use unix::{Session, Watch};
#[cfg(windows)]
pub(super) use windows::{Session, Watch};

use super::dialect::{Status, current as dialect};
use super::error::ShellError;
use super::marker::Marker;
use crate::exec::{Captured, End, Environment, Limits};
use crate::policy::WorkingDirectory;

/// What the shell is given for one call.
pub(super) struct Order {
    /// One line, which ends with the marker's own commands.
    pub line: Vec<u8>,
    pub marker: Marker,
    pub limits: Limits,
    /// Whether the shell does it by itself, so that nothing else writes: then the marker stands on the standard output alone.
    #[cfg_attr(windows, expect(dead_code, reason = "there the marker always stands on both"))]
    pub by_shell_alone: bool,
}

/// How far the watch of one line has come.
#[derive(Debug)]
pub(super) enum Watched {
    /// To its end.
    Ended(Ran),
    /// Its patience has ended; it may go on, on any thread.
    Waits(Box<Watch>),
}

/// What the wish to stop does to a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AtWish {
    /// It ends the command.
    Ends,
    /// It ends the patience alone.
    Waits,
}

/// What became of one line.
#[derive(Debug)]
pub(super) struct Ran {
    pub ending: Ending,
    pub stdout: Captured,
    pub stderr: Captured,
    /// How the server ended the command, where it did.
    pub ended_by_us: Option<End>,
    /// Whether the server itself ends.
    pub is_shutdown: bool,
}

/// How a line ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// The marker came on both streams.
    Answered(Status),
    /// The shell ended instead.
    Died(ExitStatus),
    /// The shell did not answer in time, or not as it should.
    Unresponsive,
}

/// How the shell ended, as a part of a sentence.
pub(super) fn how(status: ExitStatus) -> String {
    match end_of(status) {
        End::Exited(code) => format!("with exit status {code}"),
        End::Signaled(signal) => format!("by signal {signal}"),
        End::TimedOut(_) | End::Stopped => "by the server".to_owned(),
    }
}

/// How the shell ended by itself, which is then how the command ended.
pub(super) fn end_of(status: ExitStatus) -> End {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    // Every exit status of Windows is a number.
    #[cfg(not(unix))]
    let signal = None;
    match (status.code(), signal) {
        (Some(code), _) => End::Exited(code),
        (None, signal) => End::Signaled(signal.unwrap_or_default()),
    }
}

/// Makes the process, in the directory, with three pipes and with what commands find in their environment; `start` starts
/// it as the platform does.
fn spawn<C>(
    program: &Path,
    environment: &Environment,
    directory: &Path,
    start: impl FnOnce(Command) -> io::Result<C>,
) -> Result<C, ShellError> {
    let held = WorkingDirectory::open(directory)
        .map_err(|source| ShellError::Directory { path: directory.to_owned(), source })?;
    let passed = environment.variables().filter(|(name, _)| !name.to_str().is_some_and(dialect::is_dropped_variable));
    let mut command = Command::new(program);
    command
        .args(dialect::start_arguments(program))
        .current_dir(held.spawn_path())
        .env_clear()
        .envs(passed)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // The directory is held until the process has it.
    start(command).map_err(|source| ShellError::Spawn { program: program.to_owned(), source })
}
