//! The shell process on Unix: watched by poll(2) while it runs a command, ended with its tree.
//!
//! Only the owner of the session writes to the shell, reads from it, signals it and reaps it.

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod kernel;
mod streams;
mod watch;

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::process::Signal;

use kernel::Below;
use streams::Streams;
pub(in crate::shell) use watch::Watch;

use super::{Ending, ShellLine, Step, Watched, spawn};
use crate::exec::{End, Failure, Host, Limit, Limits, ProcessTree, StopSignal, start_registered};
use crate::files::Held;
use crate::policy::Base;
use crate::poll::poll_ready;
use crate::shell::call::ShellSettings;
use crate::shell::dialect::{Status, current as dialect};
use crate::shell::error::ShellError;
use crate::shell::marker::Marker;

/// How long a suspicious shell may take to answer.
const ANSWER: Duration = Duration::from_millis(500);
/// How many bytes of a stream one read takes.
const PIECE: usize = 32 * 1024;

/// The shell, alive as far as is known.
#[derive(Debug)]
pub(in crate::shell) struct Session {
    tree: ProcessTree,
    streams: Streams,
    /// The buffer for reading the streams.
    piece: Box<[u8]>,
    below: Below,
    host: Host,
    /// Whether it must not be used any more, because what its command has left behind can only be ended together with
    /// it.
    is_spent: bool,
}

impl Session {
    /// Starts the shell in the directory.
    pub(super) fn start(program: &Path, settings: &ShellSettings, directory: &Base) -> Result<Self, ShellError> {
        let failed = |source| ShellError::Spawn { program: program.to_owned(), source };
        let (streams, [input, output, error]) = Streams::new().map_err(failed)?;
        let inodes = streams.inodes().map_err(failed)?;
        let mut input = Some(input);
        let launch = settings.launcher.as_ref().map(|launcher| launcher.begin(&mut input, None));
        let launch = launch.transpose().map_err(failed)?;
        let theirs = [input.map_or_else(Stdio::null, Stdio::from), output.into(), error.into()];
        let child = spawn(program, settings, directory, theirs, |mut command| {
            command.arg0(program.file_name().unwrap_or(program.as_os_str())).process_group(0);
            start_registered(|| command.spawn())
        })?;
        let host = Host { group: child.id(), streams: inodes };
        let below = Below::of(child.id());
        let tree = ProcessTree::new(child, launch).map_err(|source| ShellError::Lost { source })?;
        Ok(Self { tree, streams, piece: vec![0; PIECE].into(), below, host, is_spent: false })
    }

    /// Why the shell never began, if setting its limits failed.
    pub(super) fn failure(&self) -> Option<io::Error> {
        match self.tree.failure(End::Exited(0))? {
            Failure::Exec(source) => Some(source),
            Failure::Limits(source) => Some(io::Error::other(format!("its limits could not be set: {source}"))),
            Failure::Network(source) => Some(io::Error::other(format!("its network could not be entered: {source}"))),
        }
    }

    /// Which limit the command that ended with this status has hit, if the kernel tells.
    pub(in crate::shell) fn hit(&mut self, end: ExitStatus) -> Option<Limit> {
        self.tree.hit(end)
    }

    /// Returns the identity of the processes that its commands leave behind.
    pub(in crate::shell) fn host(&self) -> &Host {
        &self.host
    }

    /// Drops what came since the last command, which belongs to no call; returns whether the shell is alive.
    pub(in crate::shell) fn settle(&mut self) -> io::Result<bool> {
        loop {
            let [stdout, stderr] = self.streams.outputs.each_ref().map(|stream| (Some(stream.as_fd()), PollFlags::IN));
            let [stdout, stderr, ended] =
                poll_ready(&[stdout, stderr, (Some(self.tree.exit()), PollFlags::IN)], Duration::ZERO)?;
            if ended {
                return Ok(false);
            }
            if !stdout && !stderr {
                return Ok(true);
            }
            let mut has_read = false;
            for (stream, _) in self.streams.outputs.iter().zip([stdout, stderr]).filter(|(_, ready)| *ready) {
                match rustix::io::read(stream, &mut *self.piece) {
                    // It has closed a stream of its own, and can't answer any more.
                    Ok(0) => return Ok(false),
                    Ok(_) => has_read = true,
                    Err(Errno::INTR | Errno::AGAIN) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            // poll(2) reports a byte of out-of-band data, but read(2) never returns it.
            if !has_read {
                return Ok(true);
            }
        }
    }

    /// Sends the line, and reads both streams up to the marker; if there is a `patience`, no longer than that from its
    /// start.
    pub(in crate::shell) fn watch(
        &mut self,
        mut watch: Watch,
        stop: Option<&StopSignal>,
        patience: Option<Duration>,
    ) -> io::Result<Watched> {
        let ending = match watch.run(self, stop, patience)? {
            Step::Waits => return Ok(Watched::Waits(Box::new(watch))),
            Step::Complete => None,
            Step::Over(ending) => Some(ending),
        };
        let by_shell_alone = watch.by_shell_alone();
        let ran = watch.finish(ending);
        if matches!(ran.ending, Ending::Answered(_)) && !by_shell_alone {
            let is_in_doubt = self.below.is_in_doubt();
            self.is_spent = !self.below.end_leftovers(&self.tree);
            self.streams.restore();
            self.is_spent |= is_in_doubt && !self.still_answers();
        }
        Ok(Watched::Ended(ran))
    }

    /// Whether the shell answers a line that nobody could know before its command had ended.
    fn still_answers(&mut self) -> bool {
        let marker = Marker::fresh();
        let limits = Limits { timeout: ANSWER, grace: Duration::ZERO, max_output: 1024, has_digests: false };
        let line =
            ShellLine { line: dialect::opening_line(&marker), marker, limits, spool: None, by_shell_alone: false };
        let mut watch = Watch::new(line, Instant::now());
        matches!(watch.run(self, None, None), Ok(Step::Complete))
            && matches!(watch.finish(None).ending, Ending::Answered(Status { code: 0, .. }))
    }

    /// Whether it must not be used any more, because what its command has left behind can only be ended together with
    /// it.
    pub(in crate::shell) fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// A handle of the shell's directory, if the kernel gives one.
    pub(in crate::shell) fn held_directory(&self) -> Option<Held> {
        let path = cfg!(target_os = "linux").then(|| format!("/proc/{}/cwd", self.host.group))?;
        Held::open_directory(Path::new(&path)).ok()
    }

    /// Sends SIGTERM to the command and everything that it started. The shell catches the signal, see the dialect.
    fn ask_to_end(&self) {
        self.tree.terminate_and_continue_group();
        kernel::terminate_below(&self.tree);
    }

    /// Sends SIGINT in the same way, but only once: at the second one, many programs stop cleaning up.
    fn interrupt(&self) {
        kernel::interrupt_below(&self.tree);
        // A stopped process can't handle it before it continues.
        self.tree.signal_group(Signal::CONT);
    }

    /// Kills the command and everything that it started, but not the shell. If the children of a process can't be
    /// found, this waits for the end of the shell.
    fn kill_command(&self) {
        // Processes that escape are looked for again once the shell has answered; if it does not answer, they end with
        // it.
        kernel::kill_below(&self.tree);
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        self.tree.kill_and_reap()
    }
}

/// The exit code that a shell reports, as an exit status of the system.
pub(in crate::shell) fn exit_status(code: i32) -> ExitStatus {
    ExitStatus::from_raw((code & 0xff) << 8)
}

/// The signal that ended the process.
pub(super) fn signal(status: ExitStatus) -> i32 {
    status.signal().unwrap_or_default()
}

impl Drop for Session {
    /// Ends the shell and everything below it, and in a sandbox everything that it and its commands have started.
    fn drop(&mut self) {
        if !matches!(self.tree.try_reap(), Ok(Some(_))) {
            self.kill_command();
            // If SIGKILL does not end the shell in time, the kernel holds it, and it is reaped when this process ends.
            let _ = self.reap();
        }
        self.tree.end();
        kernel::end_domain();
    }
}
