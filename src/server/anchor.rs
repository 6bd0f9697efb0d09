//! Has a program of the operator's keep the head of the audit log elsewhere: that is what shows later whether its end was cut
//! off, or all of it written anew.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use super::event::Event;
use super::inbox::EventSender;
use crate::audit::Head;
use crate::exec::{End, Limits, OperatorProgram, Stop, own_children, stop};

/// How often the program runs while a session lasts.
const EVERY: Duration = Duration::from_secs(10 * 60);
/// How long it may take.
const TIMEOUT: Duration = Duration::from_secs(5);
const GRACE: Duration = Duration::from_millis(200);
/// What is kept of each of its streams.
const MOST_OUTPUT: u64 = 1024;
/// The variable in which it finds the path of the log.
const VARIABLE: &str = "AUDIT_LOG";

/// What the program is, and which log it is for.
#[derive(Debug, Clone)]
pub(super) struct AnchorSettings {
    pub program: Result<Arc<OperatorProgram>, String>,
    pub log: PathBuf,
}

/// The thread that runs it.
#[derive(Debug)]
pub(super) struct Anchor {
    /// Dropped at the session's end.
    over: Sender<()>,
    thread: JoinHandle<Result<(), String>>,
    _stop: Stop,
}

impl Anchor {
    /// Runs the program from time to time, and tells the loop where that fails.
    ///
    /// # Errors
    /// Why it can't.
    pub(super) fn start(settings: AnchorSettings, events: EventSender) -> Result<Self, String> {
        let program = settings.program?;
        let (over, is_over) = mpsc::channel();
        let (stop, signal) = stop().map_err(|error| format!("cannot create a pipe: {error}"))?;
        let work = move || {
            own_children();
            let run = || run(&program, &settings.log, &signal);
            while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(EVERY) {
                if let Err(why) = run() {
                    events.send_if_free(Event::NotAnchored(why));
                }
            }
            run()
        };
        let thread = std::thread::Builder::new().name("anchor".into()).spawn(work);
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self { over, thread, _stop: stop })
    }

    /// Runs it once more, at the session's end, and waits for that.
    ///
    /// # Errors
    /// Why the head was not kept.
    pub(super) fn end(self) -> Result<(), String> {
        let Self { over, thread, _stop } = self;
        drop(over);
        thread.join().unwrap_or_else(|_| Err("its thread has panicked".to_owned()))
    }
}

/// Gives the program the head of the log as it is now.
fn run(program: &OperatorProgram, log: &Path, signal: &crate::exec::StopSignal) -> Result<(), String> {
    let read = || -> io::Result<String> {
        let head = Head::of(BufReader::new(File::open(log)?))?;
        Ok(format!("{head} {}\n", log.display()))
    };
    let input = read().map_err(|error| format!("the log can't be read: {error}"))?;
    let limits = Limits { timeout: TIMEOUT, grace: GRACE, max_output: MOST_OUTPUT, has_digests: false };
    let variable = (VARIABLE, &*log.to_string_lossy());
    match program.run(input.into_bytes(), variable, limits, signal) {
        Ok(output) => match output.end {
            End::Exited(0) => Ok(()),
            End::Exited(status) => Err(format!("it exited with {status}")),
            End::Signaled(number) => Err(format!("signal {number} ended it")),
            End::TimedOut(_) => Err(format!("it took longer than {} s", TIMEOUT.as_secs())),
            End::Stopped => Err("it was stopped".to_owned()),
        },
        Err(error) => Err(error.to_string()),
    }
}
