//! The one process on a Unix: watched by poll(2) while it runs a command, ended with its tree.
//!
//! Who holds the session is the only one that writes to the shell, reads from it, signals it and reaps it.

mod watch;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::process::{Pid, Signal, kill_process_group};

use watch::Step;
pub(in crate::shell) use watch::Watch;

use super::{Ending, Order, Watched, spawn};
use crate::exec::{Environment, Host, StopSignal, exit_descriptor, poll_ready};
use crate::shell::dialect::Status;
use crate::shell::error::ShellError;

/// How long what a command left running has to end politely, once the command itself has ended.
#[cfg(target_os = "linux")]
const LEFTOVER_GRACE: Duration = Duration::from_millis(80);
/// How much of a stream is read at once.
const PIECE: usize = 32 * 1024;

/// The shell, alive as far as is known.
#[derive(Debug)]
pub(in crate::shell) struct Session {
    child: Child,
    pid: Pid,
    input: ChildStdin,
    streams: [OwnedFd; 2],
    exit: OwnedFd,
    /// Where the streams are read to.
    piece: Box<[u8]>,
    /// Lists the shell's own children, where the kernel can.
    #[cfg(target_os = "linux")]
    children: Option<std::fs::File>,
    host: Host,
}

impl Session {
    /// Starts the shell in the directory.
    pub(super) fn start(program: &Path, environment: &Environment, directory: &Path) -> Result<Self, ShellError> {
        let mut child = spawn(program, environment, directory, |mut command| {
            command.arg0(program.file_name().unwrap_or(program.as_os_str())).process_group(0).spawn()
        })?;
        let (Some(input), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(ShellError::NoShell { program: program.to_owned() });
        };
        Self::hold(child, input, [stdout.into(), stderr.into()]).map_err(|source| ShellError::Lost { source })
    }

    fn hold(mut child: Child, input: ChildStdin, streams: [OwnedFd; 2]) -> io::Result<Self> {
        let held = || -> io::Result<(Pid, OwnedFd, Vec<u64>)> {
            // Our ends alone: what the shell reads and writes stays as shells expect it.
            rustix::io::ioctl_fionbio(&input, true)?;
            streams.iter().try_for_each(|stream| rustix::io::ioctl_fionbio(stream, true))?;
            let number = i32::try_from(child.id()).map_err(io::Error::other)?;
            let pid = Pid::from_raw(number).ok_or_else(|| io::Error::other("a child without a number"))?;
            let inodes =
                streams.iter().map(|stream| Ok(rustix::fs::fstat(stream)?.st_ino)).collect::<io::Result<_>>()?;
            Ok((pid, exit_descriptor(pid)?, inodes))
        };
        match held() {
            Ok((pid, exit, pipes)) => {
                #[cfg(target_os = "linux")]
                let children = std::fs::File::open(format!("/proc/{pid}/task/{pid}/children", pid = child.id())).ok();
                let host = Host { group: child.id(), pipes };
                Ok(Self {
                    child,
                    pid,
                    input,
                    streams,
                    exit,
                    piece: vec![0; PIECE].into(),
                    #[cfg(target_os = "linux")]
                    children,
                    host,
                })
            }
            Err(error) => {
                child.kill().and_then(|()| child.wait()).map_err(|_| io::Error::other(error.to_string()))?;
                Err(error)
            }
        }
    }

    /// What tells the processes that its commands leave behind.
    pub(in crate::shell) fn host(&self) -> &Host {
        &self.host
    }

    /// Drops what came since the last command, which belongs to no call; says whether the shell lives.
    pub(in crate::shell) fn settle(&mut self) -> io::Result<bool> {
        loop {
            let [stdout, stderr] = self.streams.each_ref().map(|stream| (Some(stream.as_fd()), PollFlags::IN));
            let [stdout, stderr, ended] =
                poll_ready(&[stdout, stderr, (Some(self.exit.as_fd()), PollFlags::IN)], Duration::ZERO)?;
            if ended {
                return Ok(false);
            }
            if !stdout && !stderr {
                return Ok(true);
            }
            for (stream, _) in self.streams.iter().zip([stdout, stderr]).filter(|(_, ready)| *ready) {
                if rustix::io::read(stream, &mut *self.piece)? == 0 {
                    // It has closed a stream of its own, and can't be heard any more.
                    return Ok(false);
                }
            }
        }
    }

    /// Makes the watch of one line, whose time runs from `started` on, and which is sent as the watch begins.
    pub(in crate::shell) fn begin(order: Order, started: Instant) -> Watch {
        Watch::new(order, started)
    }

    /// Sends the line, and reads both streams up to the marker; for no longer than the `patience` from its start, where
    /// there is one.
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
            self.end_leftovers();
        }
        Ok(Watched::Ended(ran))
    }

    /// Where the shell stands: the kernel's word where there is one, else the shell's own.
    pub(in crate::shell) fn directory(&self, status: &Status) -> PathBuf {
        if cfg!(target_os = "linux") {
            if let Ok(directory) = std::fs::read_link(format!("/proc/{}/cwd", self.child.id())) {
                return directory;
            }
        }
        PathBuf::from(&status.directory)
    }

    /// Asks the command to end, with all that it started. The shell catches the signal, see the dialect.
    fn ask_to_end(&self) {
        // They fail where nothing is left to signal, or where the system forbids it, and then nothing else can be done.
        let _ = kill_process_group(self.pid, Signal::TERM);
        let _ = kill_process_group(self.pid, Signal::CONT);
        #[cfg(target_os = "linux")]
        crate::exec::signal_descendants(self.pid, Signal::TERM);
    }

    /// Kills the command and all that it started, but not the shell. Where the children of a process can't be found, it
    /// is left to the end of the shell.
    fn kill_command(&self) {
        #[cfg(target_os = "linux")]
        for _ in 0..8 {
            if crate::exec::signal_descendants(self.pid, Signal::KILL) == 0 {
                return;
            }
        }
    }

    /// Ends what the command left running below the shell; what left that tree is for [`crate::exec::Orphans`].
    #[cfg(target_os = "linux")]
    fn end_leftovers(&self) {
        use std::os::unix::fs::FileExt;
        let Some(children) = &self.children else { return };
        let mut list = [0; 16];
        if !matches!(children.read_at(&mut list, 0), Ok(1..))
            || crate::exec::signal_descendants(self.pid, Signal::TERM) == 0
        {
            return;
        }
        let until = Instant::now() + LEFTOVER_GRACE;
        while Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            if crate::exec::signal_descendants(self.pid, Signal::CONT) == 0 {
                return;
            }
        }
        self.kill_command();
    }

    /// Asks what is left in the shell's group to end. The shell itself catches the signal.
    #[cfg(not(target_os = "linux"))]
    fn end_leftovers(&self) {
        // It can't fail while the shell lives, and if it has died the next call finds out.
        let _ = kill_process_group(self.pid, Signal::TERM);
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        // Before it is reaped its group is surely its own. It fails where nobody is left in it.
        let _ = kill_process_group(self.pid, Signal::KILL);
        self.child.wait()
    }
}

impl Drop for Session {
    /// Ends the shell and everything below it.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        self.kill_command();
        // A shell that even SIGKILL does not end at once is held by the kernel, and reaped with this process.
        let _ = self.reap();
    }
}
