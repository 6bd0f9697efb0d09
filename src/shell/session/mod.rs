//! The shell process, which is started only here.
//!
//! `unix/` watches it by poll(2), `windows.rs` with a thread for each stream; both define [`Session`] with the same
//! methods. With resource limits the launcher is started, and becomes the shell. [`Opening`] is a session that has not
//! answered yet.

mod opening;
#[cfg_attr(unix, path = "unix/mod.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod platform;

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;

pub(super) use opening::{OpenedShell, Opening};
pub(super) use platform::{Session, Watch, exit_status};

use super::call::ShellSettings;
use super::dialect::{Status, current as dialect};
use super::error::ShellError;
use super::marker::{Marker, Until};
use crate::exec::{Captured, End, Launch, Limits, Spool, StreamName, own_binary};
use crate::policy::Base;

/// The line that is sent to the shell for one call.
pub(super) struct ShellLine {
    /// One line, which ends with the commands that print the marker.
    pub line: Vec<u8>,
    pub marker: Marker,
    pub limits: Limits,
    /// Keeps its whole output; `None` if that is not kept.
    pub spool: Option<Arc<Spool>>,
    /// Whether the shell runs it itself, so nothing else writes, and the marker comes only on the standard output.
    pub by_shell_alone: bool,
}

impl ShellLine {
    /// Returns the readers of its standard output and its standard error up to the marker.
    fn outputs(&self) -> [Until; 2] {
        StreamName::ALL.map(|name| {
            let until = Until::new(self.marker.clone(), dialect::LINE_END, self.limits.capture());
            until.kept_in(self.spool.clone(), name)
        })
    }
}

/// How far a running watch has come.
enum Step {
    /// Both streams are complete.
    Complete,
    /// The line ended in another way.
    Over(Ending),
    /// The time to watch has passed.
    Waits,
}

/// How far the watch of one line has come.
#[derive(Debug)]
pub(super) enum Watched {
    /// To its end.
    Ended(Ran),
    /// The time to watch has passed; any thread may go on.
    Waits(Box<Watch>),
}

/// The effect of a stop signal on a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AtStop {
    /// It ends the command.
    Ends,
    /// It only ends the watching; the command goes on.
    Waits,
}

/// The result of one line.
#[derive(Debug)]
pub(super) struct Ran {
    pub ending: Ending,
    pub stdout: Captured,
    pub stderr: Captured,
    /// How the server ended the command, if it did.
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
    /// The shell did not answer in time, or not correctly.
    Unresponsive,
}

/// How the shell ended, as part of a sentence.
pub(super) fn how(status: ExitStatus) -> String {
    match end_of(status) {
        End::Exited(code) => format!("with exit status {code}"),
        End::Signaled(signal) => format!("by signal {signal}"),
        End::TimedOut(_) | End::Stopped => "by the server".to_owned(),
    }
}

/// How the shell ended by itself; the command ended the same way.
pub(super) fn end_of(status: ExitStatus) -> End {
    match status.code() {
        Some(code) => End::Exited(code),
        None => End::Signaled(platform::signal(status)),
    }
}

/// Makes the process, in the directory, with its three streams and the environment of commands; `start` starts it as
/// the platform does. With a launcher, the launcher is started and becomes the shell; then `input` is the launcher's.
fn spawn<C>(
    program: &Path,
    settings: &ShellSettings,
    directory: &Base,
    [input, output, error]: [Stdio; 3],
    start: impl FnOnce(Command) -> io::Result<C>,
) -> Result<C, ShellError> {
    let held = directory.open().map_err(|source| ShellError::Directory { path: directory.path.clone(), source })?;
    let variables = settings.environment.variables();
    let passed = variables.filter(|(name, _)| !name.to_str().is_some_and(dialect::is_dropped_variable));
    let arguments = dialect::start_arguments(program);
    let failed = |source| ShellError::Spawn { program: program.to_owned(), source };
    let is_limited = settings.launcher.is_some();
    let mut command = Command::new(if is_limited { own_binary().map_err(failed)? } else { program });
    if is_limited {
        let name = program.file_name().unwrap_or(program.as_os_str());
        let argv = std::iter::once(name).chain(arguments.iter().map(AsRef::as_ref));
        command.args(Launch::arguments(program, argv));
    } else {
        command.args(arguments);
    }
    command.current_dir(held.spawn_path()).env_clear().envs(passed).stdin(input).stdout(output).stderr(error);
    // The directory is held until the process has it.
    start(command).map_err(failed)
}
