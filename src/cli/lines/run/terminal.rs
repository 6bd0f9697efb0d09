//! The terminal of a run: who may read it, and a question on it.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal as Blocked};
use rustix::process::{Pid, Signal, getpgrp, kill_process_group};
use rustix::termios::{isatty, tcgetpgrp, tcsetpgrp};

use crate::server::Answer;
use crate::text::escape_block;

/// The longest answer that is read.
const LONGEST_ANSWER: usize = 64;

/// The terminal that is this process's standard input, while its group is the one that may read it. Every command has a group of its
/// own, and one that reads a terminal from the background is stopped by SIGTTIN.
#[derive(Debug, Clone)]
pub(super) struct Foreground {
    terminal: Arc<OwnedFd>,
    ours: Pid,
}

impl Foreground {
    /// The terminal; `None` if standard input is none, or if this process may not read it either.
    pub(super) fn of_standard_input() -> Option<Self> {
        let terminal = io::stdin().as_fd().try_clone_to_owned().ok().filter(|input| isatty(input))?;
        let ours = getpgrp();
        (tcgetpgrp(&terminal).ok()? == ours).then(|| Self { terminal: Arc::new(terminal), ours })
    }

    /// Lets the group of the process read the terminal.
    pub(super) fn give(&self, pid: u32) {
        let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
        self.set(group);
        // It may have been stopped because it has read already, and such a stop may come after the first SIGCONT.
        let go_on = move || {
            for delay in [0, 1, 10, 100, 1000].map(Duration::from_millis) {
                std::thread::sleep(delay);
                let _ = kill_process_group(group, Signal::CONT);
            }
        };
        // Without a thread, once has to do.
        if std::thread::Builder::new().name("foreground".into()).spawn(go_on).is_err() {
            let _ = kill_process_group(group, Signal::CONT);
        }
    }

    /// Lets this process read it again.
    pub(super) fn take_back(&self) {
        self.set(self.ours);
    }

    fn set(&self, group: Pid) {
        // A process in the background that sets it is stopped by SIGTTOU, see tcsetpgrp(3), unless it blocks the signal.
        let mut blocked = SigSet::empty();
        blocked.add(Blocked::SIGTTOU);
        if blocked.thread_block().is_ok() {
            // The group may be gone; then the terminal stays as it is.
            let _ = tcsetpgrp(&*self.terminal, group);
            let _ = blocked.thread_unblock();
        }
    }
}

/// Asks on the terminal of this process whether what this text shows may run.
pub(super) fn ask(text: &str) -> Answer {
    match asked(text) {
        Ok(answer) => answer,
        Err(error) => {
            Answer::Failed(format!("a person has to approve it, and there is no terminal to ask on: {error}"))
        }
    }
}

fn asked(text: &str) -> io::Result<Answer> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    write!(&terminal, "{}\nRun it? [y/N] ", escape_block(text))?;
    let mut answer = Vec::new();
    // Bytes that come after the line are lost with the reader: they were typed before the command was there.
    io::Read::take(BufReader::new(&terminal), LONGEST_ANSWER as u64).read_until(b'\n', &mut answer)?;
    let answer = answer.trim_ascii().to_ascii_lowercase();
    Ok(if answer == b"y" || answer == b"yes" { Answer::Once } else { Answer::Declined })
}
