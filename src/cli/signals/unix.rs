//! The signals that end this process, or that it passes on, on a Unix.

use std::io;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{
    FORBIDDEN, SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG,
    SIGUSR1, SIGUSR2, SIGWINCH, SIGXCPU, SIGXFSZ,
};

use crate::cli::stdio::Closing;
use crate::server::Ender;

/// The signals that end the program: SIGTERM, SIGINT, and SIGHUP if the terminal is gone. From now on they are kept until
/// something acts on them.
///
/// SIGHUP alone is not enough. The kernel also sends it to a group that becomes orphaned while one of its members is stopped,
/// see setpgid(2), and a command can cause that: it joins the group of this process, stops, and another command ends. Without a
/// terminal, the end of the input shows that the client is gone.
pub(in crate::cli) struct Signals {
    caught: signal_hook::iterator::Signals,
    has_terminal: bool,
    /// Whether SIGHUP ends it although the terminal is there.
    hangs_up: bool,
}

impl Signals {
    /// Catches them, and makes sure that commands don't ignore the signals that this process was started with as ignored. To be
    /// called before anything is started.
    pub(in crate::cli) fn catch() -> io::Result<Self> {
        restore_ignored()?;
        let caught = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])?;
        Ok(Self { caught, has_terminal: has_terminal(), hangs_up: false })
    }

    /// The same, and the others by which people and programs end a process, so that none leaves commands behind; SIGHUP too, unless this
    /// process was started with it ignored, as by nohup(1). SIGPIPE is none of them: it stays ignored, since a command may end before
    /// it has read all that it is given.
    pub(in crate::cli) fn catch_all() -> io::Result<Self> {
        let hangs_up = ignored().is_some_and(|mask| mask & (1 << (SIGHUP - 1)) == 0);
        let signals = Self { hangs_up, ..Self::catch()? };
        for signal in [SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGXFSZ] {
            signals.caught.add_signal(signal)?;
        }
        Ok(signals)
    }

    /// Ends the server at the first of them, immediately.
    pub(in crate::cli) fn end(self, server: Ender, closing: Closing) -> io::Result<()> {
        self.at_first(move || {
            drop(closing);
            server.end();
        })
    }

    /// Tells of the first of them, with its number; further ones change nothing.
    pub(in crate::cli) fn tell(self, tell: impl FnOnce(i32) + Send + 'static) -> io::Result<()> {
        let Self { mut caught, has_terminal: had_terminal, hangs_up } = self;
        let ends = move |signal| signal != SIGHUP || hangs_up || (had_terminal && !has_terminal());
        let wait = move || {
            if let Some(first) = caught.forever().find(|signal| ends(*signal)) {
                tell(first);
            }
            // The end has its own deadline.
            caught.forever().for_each(drop);
        };
        std::thread::Builder::new().name("signals".into()).spawn(wait).map(drop)
    }

    /// Passes them on to a process that this one has started, as long as it runs, except those of a terminal's keys, which it
    /// gets itself.
    pub(in crate::cli) fn pass_on(self, process: u32) -> io::Result<Relay> {
        let Self { mut caught, has_terminal, hangs_up: _ } = self;
        let relay = Relay::default();
        *relay.process.lock().unwrap_or_else(PoisonError::into_inner) = pid(process);
        let passing = relay.clone();
        let wait = move || {
            for signal in caught.forever() {
                let signal = match signal {
                    SIGTERM => Signal::TERM,
                    SIGINT if !has_terminal => Signal::INT,
                    SIGHUP if !has_terminal => Signal::HUP,
                    _ => continue,
                };
                // While this lock is held, the process is not reaped, so its number belongs to no other process.
                match *passing.process.lock().unwrap_or_else(PoisonError::into_inner) {
                    // It may have ended already; then the next signal is for this process.
                    Some(process) => drop(kill_process(process, signal)),
                    None => passing.is_asked.store(true, Ordering::SeqCst),
                }
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(wait)?;
        Ok(relay)
    }

    pub(in crate::cli) fn at_first(self, act: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.tell(|_| act())
    }
}

/// The process that signals are passed on to.
#[derive(Clone, Default)]
pub(in crate::cli) struct Relay {
    /// The process; `None` once it has ended.
    process: Arc<Mutex<Option<Pid>>>,
    /// Whether a signal has come since it ended.
    is_asked: Arc<AtomicBool>,
}

impl Relay {
    /// Waits until the process has ended; from then on, nothing is passed on.
    pub(in crate::cli) fn wait(&self, child: &mut Child) -> io::Result<ExitStatus> {
        if let Some(process) = pid(child.id()) {
            // It is not reaped yet, so that its number stays its own while it may still be signalled.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(process), options), Err(Errno::INTR)) {}
        }
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = None;
        child.wait()
    }

    /// Whether a signal has asked this process to end, after the other process had ended.
    pub(in crate::cli) fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::SeqCst)
    }
}

fn pid(process: u32) -> Option<Pid> {
    i32::try_from(process).ok().and_then(Pid::from_raw)
}

/// Whether the process has a controlling terminal, which it loses when that hangs up.
fn has_terminal() -> bool {
    open("/dev/tty", OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).is_ok()
}

/// Gives each ignored signal a handler that does nothing; for this process that is nearly the same. SIGPIPE is left out, since
/// std restores it in what it starts, and so are signals whose default is to be ignored.
fn restore_ignored() -> io::Result<()> {
    let Some(mask) = ignored() else {
        // Then only SIGCHLD, without which nothing works: a handler interrupts system calls, and with a handler SIGQUIT, for
        // instance, would no longer end the process.
        return signal_hook::flag::register(SIGCHLD, Arc::default()).map(drop);
    };
    for signal in (1..=64).filter(|signal| mask & (1 << (signal - 1)) != 0) {
        match signal {
            SIGPIPE | SIGCONT | SIGURG | SIGWINCH => continue,
            // A process that ignores them can use its terminal from the background; with a handler it would retry for ever.
            SIGTSTP | SIGTTIN | SIGTTOU if has_terminal() => continue,
            // SIGSEGV and the like, which can't be ignored to any effect, and the two that the C library reserves.
            _ if FORBIDDEN.contains(&signal) || matches!(signal, 32 | 33) => continue,
            _ => signal_hook::flag::register(signal, Arc::default())?,
        };
    }
    Ok(())
}

/// The mask of the signals that this process ignores, see proc_pid_status(5); `None` if the system does not tell.
fn ignored() -> Option<u64> {
    // Room for the whole file, whose size the system does not report.
    let mut status = String::with_capacity(8192);
    let mut file = std::fs::File::open("/proc/self/status").ok()?;
    io::Read::read_to_string(&mut file, &mut status).ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
