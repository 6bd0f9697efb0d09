//! The shell process on Unix: watched by poll(2) while it runs a command, ended with its tree.
//!
//! Only the owner of the session writes to the shell, reads from it, signals it and reaps it.

mod streams;
mod watch;

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::process::Signal;

use streams::Streams;
pub(in crate::shell) use watch::Watch;

use super::{Ending, ShellLine, Step, Watched, spawn};
#[cfg(target_os = "linux")]
use crate::exec::LEFTOVER_GRACE;
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
    /// The kernel's list of the shell's children, if it has one.
    #[cfg(target_os = "linux")]
    children: Option<std::fs::File>,
    /// The kernel's state of the shell, if it has one.
    #[cfg(target_os = "linux")]
    stat: Option<std::fs::File>,
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
        #[cfg(target_os = "linux")]
        let children = std::fs::File::open(format!("/proc/{pid}/task/{pid}/children", pid = child.id())).ok();
        #[cfg(target_os = "linux")]
        let stat = std::fs::File::open(format!("/proc/{}/stat", child.id())).ok();
        let tree = ProcessTree::new(child, launch).map_err(|source| ShellError::Lost { source })?;
        Ok(Self {
            tree,
            streams,
            piece: vec![0; PIECE].into(),
            #[cfg(target_os = "linux")]
            children,
            #[cfg(target_os = "linux")]
            stat,
            host,
            is_spent: false,
        })
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
            let is_in_doubt = self.is_in_doubt();
            self.is_spent = !self.end_leftovers();
            self.streams.restore();
            self.is_spent |= is_in_doubt && !self.still_answers();
        }
        Ok(Watched::Ended(ran))
    }

    /// Whether another process may have faked the end of the command, or keeps the shell from going on. If the system
    /// allows it, a command can read the marker in the shell's memory (`/proc/PID/mem`); then the command still runs,
    /// or it has stopped the shell.
    #[cfg(target_os = "linux")]
    fn is_in_doubt(&self) -> bool {
        use std::os::unix::fs::FileExt;
        if self.children.is_some() && self.has_children() {
            return true;
        }
        let mut stat = [0; 256];
        let length = self.stat.as_ref().and_then(|file| file.read_at(&mut stat, 0).ok());
        // The state follows the name, which ends with the last parenthesis. See proc(5).
        let stat = stat.get(..length.unwrap_or_default()).unwrap_or_default();
        let name_end = stat.iter().rposition(|byte| *byte == b')');
        name_end.and_then(|end| stat.get(end + 2)).is_some_and(|state| matches!(state, b'T' | b't'))
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "on Linux the kernel is asked about it")]
    fn is_in_doubt(&self) -> bool {
        false
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
        #[cfg(target_os = "linux")]
        crate::exec::signal_descendants(self.tree.leader(), Signal::TERM);
    }

    /// Sends SIGINT in the same way, but only once: at the second one, many programs stop cleaning up.
    fn interrupt(&self) {
        #[cfg(target_os = "linux")]
        crate::exec::signal_descendants(self.tree.leader(), Signal::INT);
        #[cfg(not(target_os = "linux"))]
        self.tree.signal_group(Signal::INT);
        // A stopped process can't handle it before it continues.
        self.tree.signal_group(Signal::CONT);
    }

    /// Kills the command and everything that it started, but not the shell. If the children of a process can't be
    /// found, this waits for the end of the shell.
    fn kill_command(&self) {
        // Processes that escape are looked for again once the shell has answered; if it does not answer, they end with
        // it.
        #[cfg(target_os = "linux")]
        crate::exec::end_beside(Some(self.tree.leader()));
    }

    /// Ends what the command left running below the shell, and what left that tree if it certainly belongs to the
    /// command; the rest is left to [`crate::exec::Orphans`]. Returns whether this was possible without ending the
    /// shell.
    #[cfg(target_os = "linux")]
    fn end_leftovers(&self) -> bool {
        if !self.has_children() {
            return crate::exec::end_beside(None);
        }
        if crate::exec::signal_descendants(self.tree.leader(), Signal::TERM) == 0 {
            return crate::exec::end_beside(Some(self.tree.leader()));
        }
        let until = Instant::now() + LEFTOVER_GRACE;
        while Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            if crate::exec::signal_descendants(self.tree.leader(), Signal::CONT) == 0 {
                break;
            }
        }
        crate::exec::end_beside(Some(self.tree.leader()))
    }

    /// Whether the shell has a child, as far as the kernel tells.
    #[cfg(target_os = "linux")]
    fn has_children(&self) -> bool {
        use std::os::unix::fs::FileExt;
        self.children.as_ref().is_none_or(|children| matches!(children.read_at(&mut [0; 16], 0), Ok(1..)))
    }

    /// Sends SIGTERM to what is left in the shell's group. The shell itself catches the signal.
    #[cfg(not(target_os = "linux"))]
    fn end_leftovers(&self) -> bool {
        self.tree.terminate_group();
        true
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        self.tree.kill_and_reap()
    }
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
        #[cfg(target_os = "linux")]
        crate::exec::end_domain();
    }
}
