//! The signals of the process: those that end it, and those that its parent made it ignore.
//!
//! Signals that a parent ignores stay ignored through exec(3), see execve(2), and would stay so in every command: a
//! command without SIGCHLD can't be watched, and one that ignores SIGTERM can't end in order. A handler does not
//! survive exec(3), so a signal that has one here has its default in commands.

use std::io;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::stdio::Closing;
use crate::server::Ender;

/// The signals that end the program: SIGTERM, SIGINT, and SIGHUP where the terminal is gone. They are kept from now on until
/// somebody acts on them. None on Windows, which ends the process by itself, and whose job object ends the commands.
///
/// SIGHUP says nothing by itself. The kernel also sends it to each group that loses its last tie to the rest of its session
/// while one of its members is stopped, see setpgid(2); any command can join the group of this process, stop, and have
/// another one end. Without a terminal it is the end of the input that tells that the client is gone.
pub(super) struct Signals {
    #[cfg(unix)]
    caught: signal_hook::iterator::Signals,
    #[cfg(unix)]
    has_terminal: bool,
}

impl Signals {
    /// Catches them, and has commands ignore nothing that this process was told to ignore; before anything is started.
    #[cfg(unix)]
    pub(super) fn catch() -> io::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        restore_ignored()?;
        let caught = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])?;
        Ok(Self { caught, has_terminal: has_terminal() })
    }

    #[cfg(not(unix))]
    pub(super) fn catch() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Has the server end at the first of them, as at the end of its input but at once.
    #[cfg(unix)]
    pub(super) fn end(self, server: Ender, closing: Closing) -> io::Result<()> {
        self.at_first(move || {
            drop(closing);
            server.end();
        })
    }

    #[cfg(not(unix))]
    pub(super) fn end(self, _server: Ender, _closing: Closing) -> io::Result<()> {
        self.at_first(|| {})
    }

    /// Passes them on to a process that this one has started, as long as it runs. What a terminal's keys send it gets
    /// by itself.
    #[cfg(unix)]
    pub(super) fn pass_on(self, process: u32) -> io::Result<Relay> {
        use rustix::process::{Signal, kill_process};
        let Self { mut caught, has_terminal } = self;
        let relay = Relay::default();
        *relay.process.lock().unwrap_or_else(PoisonError::into_inner) = pid(process);
        let passing = relay.clone();
        let wait = move || {
            for signal in caught.forever() {
                let signal = match signal {
                    signal_hook::consts::SIGTERM => Signal::TERM,
                    signal_hook::consts::SIGINT if !has_terminal => Signal::INT,
                    signal_hook::consts::SIGHUP if !has_terminal => Signal::HUP,
                    _ => continue,
                };
                // Held, so that the process is not reaped meanwhile and its number given to another one.
                match *passing.process.lock().unwrap_or_else(PoisonError::into_inner) {
                    // It may be dead already, and then the next signal is for this process.
                    Some(process) => drop(kill_process(process, signal)),
                    None => passing.is_asked.store(true, Ordering::SeqCst),
                }
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(wait)?;
        Ok(relay)
    }

    #[cfg(not(unix))]
    pub(super) fn pass_on(self, _process: u32) -> io::Result<Relay> {
        self.at_first(|| {}).map(|()| Relay::default())
    }

    #[cfg(unix)]
    fn at_first(self, act: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let Self { mut caught, has_terminal: had_terminal } = self;
        let ends = move |signal| signal != signal_hook::consts::SIGHUP || (had_terminal && !has_terminal());
        let wait = move || {
            caught.forever().find(|signal| ends(*signal));
            act();
            // Further signals change nothing: the end has its own deadline.
            caught.forever().for_each(drop);
        };
        std::thread::Builder::new().name("signals".into()).spawn(wait)?;
        Ok(())
    }

    #[cfg(not(unix))]
    fn at_first(self, _act: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let Self {} = self;
        Ok(())
    }
}

/// What signals are passed on to.
#[derive(Clone, Default)]
pub(super) struct Relay {
    /// The process, until it has ended.
    #[cfg(unix)]
    process: Arc<Mutex<Option<rustix::process::Pid>>>,
    /// Whether a signal has come since.
    is_asked: Arc<AtomicBool>,
}

impl Relay {
    /// Waits until the process has ended, and passes nothing on from then on.
    pub(super) fn wait(&self, child: &mut Child) -> io::Result<ExitStatus> {
        #[cfg(unix)]
        {
            use rustix::process::{WaitId, WaitIdOptions, waitid};
            if let Some(process) = pid(child.id()) {
                // Not reaped yet: its number is its own until nobody signals it any more.
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                while matches!(waitid(WaitId::Pid(process), options), Err(rustix::io::Errno::INTR)) {}
            }
            *self.process.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        child.wait()
    }

    /// Whether this process was asked to end, once there is no other to pass that on to.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::SeqCst)
    }
}

#[cfg(unix)]
fn pid(process: u32) -> Option<rustix::process::Pid> {
    i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw)
}

/// Whether the process has a controlling terminal, which it loses when that hangs up.
#[cfg(unix)]
fn has_terminal() -> bool {
    use rustix::fs::{Mode, OFlags, open};
    open("/dev/tty", OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).is_ok()
}

/// Puts a handler that does nothing in the place of what is ignored; for this process that is nearly the same. Not for SIGPIPE,
/// which std restores in what it starts, nor for what does nothing by default, either.
#[cfg(unix)]
fn restore_ignored() -> io::Result<()> {
    use signal_hook::consts::{FORBIDDEN, SIGCHLD, SIGCONT, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH};
    let Some(mask) = ignored() else {
        // Only the one without which nothing works: a handler costs a system call that it interrupts, and SIGQUIT for
        // instance would end nothing any more.
        return signal_hook::flag::register(SIGCHLD, Arc::default()).map(drop);
    };
    for signal in (1..=64).filter(|signal| mask & (1 << (signal - 1)) != 0) {
        match signal {
            SIGPIPE | SIGCONT | SIGURG | SIGWINCH => continue,
            // Whoever ignores them can use its terminal from the background, and a handler would have it try for ever.
            SIGTSTP | SIGTTIN | SIGTTOU if has_terminal() => continue,
            // SIGSEGV and its like, which nobody ignores to any effect, and the two that the C library keeps for itself.
            _ if FORBIDDEN.contains(&signal) || matches!(signal, 32 | 33) => continue,
            _ => signal_hook::flag::register(signal, Arc::default())?,
        };
    }
    Ok(())
}

/// The mask of the signals that this process ignores, see proc_pid_status(5); `None` where the system does not tell.
#[cfg(unix)]
fn ignored() -> Option<u64> {
    // Room for all of it at once: the file gives no size.
    let mut status = String::with_capacity(8192);
    let mut file = std::fs::File::open("/proc/self/status").ok()?;
    io::Read::read_to_string(&mut file, &mut status).ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// A signal that came while one server after the other runs in this process.
#[derive(Clone, Default)]
pub(super) struct Interrupt(Arc<Mutex<Interrupted>>);

#[derive(Default)]
struct Interrupted {
    came: bool,
    end: Option<Box<dyn Fn() + Send>>,
}

impl Interrupt {
    /// Has the server that runs at the first of the signals end.
    pub(super) fn new(signals: Signals) -> io::Result<Self> {
        let interrupt = Self::default();
        let at_signal = interrupt.clone();
        signals.at_first(move || {
            let mut state = at_signal.lock();
            state.came = true;
            state.end.iter().for_each(|end| end());
        })?;
        Ok(interrupt)
    }

    /// Says what ends what runs now.
    pub(super) fn watch(&self, end: impl Fn() + Send + 'static) {
        let mut state = self.lock();
        if state.came {
            end();
        }
        state.end = Some(Box::new(end));
    }

    /// Whether a signal came.
    pub(super) fn came(&self) -> bool {
        self.lock().came
    }

    fn lock(&self) -> MutexGuard<'_, Interrupted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
