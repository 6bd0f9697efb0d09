//! The processes that the operator names on the command line: the server of `record` and of `replay --server`, and the
//! replays that run in parallel. No command of a client is ever started here.

use std::ffi::OsStr;
use std::process::{Command, ExitStatus, Stdio};

/// Prepares a program with its arguments, and with a pipe for each of its three streams.
pub(super) fn command(program: impl AsRef<OsStr>, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The exit status; 128 plus the number of the signal if one ended the process.
pub(super) fn number(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal);
    #[cfg(not(unix))]
    let signal = None;
    // A process that has ended has either.
    status.code().or(signal).unwrap_or(-1)
}
