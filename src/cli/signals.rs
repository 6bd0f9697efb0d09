//! The signals of the process: those that end it, and those that its parent has it ignore.
//!
//! What a parent ignores stays ignored through exec(3), see execve(2), and would be so in every command: nobody could watch
//! a command without SIGCHLD, nor end one politely that ignores SIGTERM. A handler does not outlive exec(3), so whatever
//! has one here is as always there.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::stdio::Closing;
use crate::server::Ender;

/// The signals that end the program: SIGTERM, SIGINT and SIGHUP, which are kept from now on until somebody acts on them.
/// None on Windows, which ends the process by itself, and whose job object ends the commands.
pub(super) struct Signals {
    #[cfg(unix)]
    caught: signal_hook::iterator::Signals,
}

impl Signals {
    /// Catches them, and has commands ignore nothing that this process was told to ignore; before anything is started.
    #[cfg(unix)]
    pub(super) fn catch() -> io::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        restore_ignored()?;
        Ok(Self { caught: signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])? })
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

    #[cfg(unix)]
    fn at_first(self, act: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let Self { mut caught } = self;
        let wait = move || {
            caught.forever().next();
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

/// Puts a handler that does nothing in the place of what is ignored; for this process that is nearly the same. Not for the
/// signals of a terminal's jobs, which would be another thing then, nor for SIGPIPE, which std restores in what it starts.
#[cfg(unix)]
fn restore_ignored() -> io::Result<()> {
    use signal_hook::consts::{
        SIGABRT, SIGALRM, SIGCHLD, SIGPROF, SIGQUIT, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
    };
    let mask = ignored();
    for signal in [SIGCHLD, SIGABRT, SIGALRM, SIGPROF, SIGQUIT, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ] {
        // Where it can't be told only the one without which nothing works: a handler costs a system call that it interrupts,
        // and SIGQUIT for instance would end nothing any more.
        if mask.map_or(signal == SIGCHLD, |mask| mask & (1 << (signal - 1)) != 0) {
            signal_hook::flag::register(signal, Arc::default())?;
        }
    }
    Ok(())
}

/// The mask of the signals that this process ignores, see proc_pid_status(5); `None` where the system does not tell.
#[cfg(unix)]
fn ignored() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// A signal that came while one server after the other runs in this process.
#[derive(Clone, Default)]
pub(super) struct Interrupt(Arc<Mutex<Interrupted>>);

#[derive(Default)]
struct Interrupted {
    came: bool,
    server: Option<Ender>,
}

impl Interrupt {
    /// Has the server that runs at the first of the signals end.
    pub(super) fn new(signals: Signals) -> io::Result<Self> {
        let interrupt = Self::default();
        let at_signal = interrupt.clone();
        signals.at_first(move || {
            let mut state = at_signal.lock();
            state.came = true;
            if let Some(server) = &state.server {
                server.end();
            }
        })?;
        Ok(interrupt)
    }

    /// Names the server that runs now.
    pub(super) fn watch(&self, server: Ender) {
        let mut state = self.lock();
        if state.came {
            server.end();
        }
        state.server = Some(server);
    }

    /// Whether a signal came.
    pub(super) fn came(&self) -> bool {
        self.lock().came
    }

    fn lock(&self) -> MutexGuard<'_, Interrupted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
