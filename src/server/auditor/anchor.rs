//! Runs the operator's program that keeps the head of the audit log elsewhere. The kept heads show later whether the
//! log was truncated or rewritten.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Auditor;
use crate::audit::log::{AuditLog, HeadFollower, SharedReader};
use crate::exec::{End, Limits, OperatorProgram, Stop, own_children, stop};
use crate::files::PlaceError;
use crate::server::configured::AnchorSettings;
use crate::server::deadlines::Since;
use crate::server::event::Event;
use crate::server::inbox::EventSender;

/// How often the program runs during a session.
const EVERY: Duration = Duration::from_secs(10 * 60);
/// How long a run may take, and how long reading the new part of the log before it may take. The server waits for both
/// before it ends.
const TIMEOUT: Duration = Duration::from_secs(5);
const GRACE: Duration = Duration::from_millis(200);
/// How many bytes of each of its streams are kept.
const MOST_OUTPUT: u64 = 1024;
/// The environment variable that gives it the path of the log.
const VARIABLE: &str = "AUDIT_LOG";

/// The thread that runs the program.
#[derive(Debug)]
pub(in crate::server) struct Anchor {
    /// Dropped at the session's end.
    over: Sender<()>,
    thread: JoinHandle<Result<(), String>>,
    _stop: Stop,
}

impl Anchor {
    /// Runs the program from time to time with the head of the log, and tells the loop where that fails; `None` without a program
    /// or a log.
    ///
    /// # Errors
    /// Why it can't.
    pub(in crate::server) fn start(
        settings: Option<AnchorSettings>,
        audit: &Auditor,
        events: EventSender,
    ) -> Result<Option<Self>, String> {
        let reader = audit.0.as_ref().and_then(|shared| shared.log().file.as_ref().ok().map(AuditLog::reader));
        let Some((AnchorSettings { program, log }, reader)) = settings.zip(reader) else { return Ok(None) };
        let program = program?;
        let (over, is_over) = mpsc::channel();
        let (stop, signal) = stop().map_err(|error| format!("cannot create a pipe: {error}"))?;
        let work = move || {
            own_children();
            let mut followed = HeadFollower::default();
            let mut run = || run(&program, (&log, &reader), &mut followed, &signal);
            while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(EVERY) {
                if let Err(why) = run() {
                    events.send_if_free(Event::NotAnchored(why));
                }
            }
            run()
        };
        let thread = std::thread::Builder::new().name("anchor".into()).spawn(work);
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Some(Self { over, thread, _stop: stop }))
    }

    /// Runs the program a last time, at the end of the session, and waits for it.
    ///
    /// # Errors
    /// Why the head was not kept.
    pub(in crate::server) fn end(self) -> Result<(), String> {
        let Self { over, thread, _stop } = self;
        drop(over);
        thread.join().unwrap_or_else(|_| Err("its thread has panicked".to_owned()))
    }
}

/// Gives the program the head of the log as it is now.
fn run(
    program: &OperatorProgram,
    (log, reader): (&Path, &SharedReader),
    followed: &mut HeadFollower,
    signal: &crate::exec::StopSignal,
) -> Result<(), String> {
    // A command may be able to write where the log lies: what has its name now need not be the log, and the log need not end.
    let mut read = || -> Result<String, PlaceError> {
        let file = TimedFile { file: reader.open()?, since: Since::now() };
        let head = followed.follow(BufReader::with_capacity(PIECE, file))?;
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

/// How many bytes of the log one read takes.
const PIECE: usize = 256 * 1024;

/// A file that can be read until a deadline.
struct TimedFile<F> {
    file: F,
    since: Since,
}

impl<F: Read> Read for TimedFile<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since.elapsed() >= TIMEOUT {
            let why = format!(
                "it was not read to its end within {} s; keep it shorter with `--audit-max-size`",
                TIMEOUT.as_secs()
            );
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        self.file.read(buffer)
    }
}

impl<F: Seek> Seek for TimedFile<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
