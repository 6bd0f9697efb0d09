//! Watches one command on Windows: a job object for its tree, a thread for each pipe, one channel for all events.
//!
//! The command is created suspended and resumed once it is in its job, so that nothing that it starts can be outside
//! the job. The job is ended by closing its last handle: at the command's end, at the deadline, at a stop signal, and
//! by the system if the server itself ends in any way. There is no SIGTERM: Windows has no signals, and a `CTRL_BREAK`
//! reaches only the processes of the sender's own console, while each command has an invisible console of its own.

use std::io::{self, Read, Write};
use std::os::windows::io::AsRawHandle;
use std::os::windows::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use process_wrap::std::{JobObject, StdChildWrapper, StdCommandWrap, StdCommandWrapper};
use win32job::{ExtendedLimitInfo, Job, JobError};

use crate::exec::{
    Beats, Capture, Captured, End, Failure, Feed, Limits, Output, Spool, Started, StopReason, StopSignal, StreamName,
    Told,
};

/// See "Process Creation Flags" in Microsoft's documentation.
const CREATE_SUSPENDED: u32 = 0x0000_0004;
const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
const CREATE_NO_WINDOW: u32 = 0x0800_0000;

/// How long pipes are still read after everything was ended.
const DRAIN: Duration = Duration::from_millis(80);
/// How long to wait for an ended command before it is left to the thread that waits for it, because the kernel holds
/// it.
const UNKILLABLE: Duration = Duration::from_secs(1);

/// A message that wakes the watch of a command.
#[derive(Debug)]
pub(in crate::exec) enum Wake {
    /// The command is to be stopped. There is no grace period that the reason could shorten.
    Stop(StopReason),
    /// One of its two output streams has ended, or can't be read any more.
    Read(io::Result<()>),
    /// The command has exited.
    Exited(io::Result<ExitStatus>),
}

/// A running command, and the job that it and everything that it starts belong to. They end when the job is dropped.
pub(crate) struct Spawned {
    pub child: Box<dyn StdChildWrapper>,
    pub job: Arc<Job>,
}

impl Spawned {
    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

/// The other ends of the standard streams of a command.
pub(crate) enum Streams {
    /// Its output is read and kept; its input is that of the call.
    Captured,
}

/// Which standard streams of a command are pipes: those of its output are.
#[derive(Debug)]
pub(crate) struct Ends {
    /// Whether it has something to read.
    has_input: bool,
    /// Never used: no launcher is here that would take it.
    pub stdin: Option<std::convert::Infallible>,
}

impl Ends {
    /// Gives them to the command.
    pub(in crate::exec) fn connect(self, command: &mut Command) {
        let stdin = if self.has_input { Stdio::piped() } else { Stdio::null() };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    }
}

/// Runs one command to its end on this thread. `start` starts it with these ends of its streams.
///
/// # Errors
/// Those of `start`, and the system's.
pub(in crate::exec) fn run<E: From<io::Error>>(
    _captured: Streams,
    (input, feed): (Option<Vec<u8>>, Option<Arc<Feed>>),
    stop: &StopSignal,
    limits: Limits,
    told: Told,
    start: impl FnOnce(Ends) -> Result<Started, E>,
) -> Result<io::Result<(Output, Option<Failure>)>, E> {
    let has_input = input.is_some() || feed.is_some();
    let Started { child, launch } = start(Ends { has_input, stdin: None })?;
    debug_assert!(launch.is_none(), "no command begins with limits here");
    Ok(supervise(child, (input.unwrap_or_default(), feed), stop, limits, told))
}

/// Does nothing: the first word of a command line can't differ from the program here, and the rest is done by [`spawn`].
pub(in crate::exec) fn prepare(_command: &mut Command, _words: &[String]) {}

/// Puts this process, with everything that it starts from now on, into a job that ends with it. Without it, if the
/// server is killed, a command that is not in its own job yet would stay suspended for ever.
///
/// It changes the whole process, so programs should call it before they start threads, and libraries should not call
/// it.
pub fn own_descendants() {
    // This fails if the process is in a job already and Windows is older than 8; then there are only the commands' own
    // jobs.
    if let Ok(job) = job().and_then(|job| job.assign_current_process().map(|()| job)) {
        // The system closes it with the process.
        let _ = job.into_handle();
    }
}

/// A job that ends when its last handle is closed.
fn job() -> Result<Job, JobError> {
    let mut limits = ExtendedLimitInfo::new();
    limits.limit_kill_on_job_close();
    Job::create_with_limit_info(&limits)
}

/// Starts the command without a window, in a job of its own.
pub(crate) fn spawn(command: Command) -> io::Result<Spawned> {
    let job = Arc::new(job().map_err(io::Error::other)?);
    let mut command = StdCommandWrap::from(command);
    // In this order: `JobObject` sets flags that `InJob` overrides, and resumes the process that `InJob` has put in its
    // job. Its own job lies within ours; only ours ends with its handle.
    command.wrap(JobObject).wrap(InJob(Arc::clone(&job)));
    let child = command.spawn()?;
    Ok(Spawned { child, job })
}

/// Puts a suspended command into the job.
#[derive(Debug)]
struct InJob(Arc<Job>);

impl StdCommandWrapper for InJob {
    fn pre_spawn(&mut self, command: &mut Command, _core: &StdCommandWrap) -> io::Result<()> {
        command.creation_flags(CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW);
        Ok(())
    }

    fn post_spawn(&mut self, child: &mut Child, _core: &StdCommandWrap) -> io::Result<()> {
        // A handle fits into an `isize`, which is how win32job takes it.
        let assigned = self.0.assign_process(child.as_raw_handle() as isize);
        assigned.map_err(|error| {
            // It would stay suspended for ever. If it can't be ended either, nothing else can be done.
            let _ = child.kill();
            io::Error::other(error)
        })
    }
}

/// Watches the command to its end: reads its output, feeds its input, keeps its deadline, ends its job, reaps it.
fn supervise(
    spawned: Spawned,
    (input, feed): (Vec<u8>, Option<Arc<Feed>>),
    stop: &StopSignal,
    limits: Limits,
    told: Told,
) -> io::Result<(Output, Option<Failure>)> {
    let Spawned { mut child, job } = spawned;
    // Dropped wherever this function returns, and that ends the command with everything that it started.
    let mut job = Some(job);
    let last = Arc::new(AtomicUsize::new(0));
    let Told { started, heartbeat, spool } = told;
    // However this ends, nobody reads the input any more.
    let _feed = feed.clone().map(ClosedAtEnd);
    let streams = StreamName::ALL.map(|name| Stream::new(name, &last, limits.capture(), spool.clone()));
    let [stdout, stderr] = &streams;
    if let Some(pipe) = child.inner_mut().stdout.take() {
        stdout.read("stdout", pipe, stop.waker.clone())?;
    }
    if let Some(pipe) = child.inner_mut().stderr.take() {
        stderr.read("stderr", pipe, stop.waker.clone())?;
    }
    if let Some(pipe) = child.inner_mut().stdin.take() {
        write(pipe, input, feed)?;
    }
    wait(child, stop.waker.clone())?;

    let mut open = streams.len();
    let (mut status, mut ended_by_us) = (None, None);
    let mut until = started + limits.timeout;
    let mut beats = heartbeat.map(|heartbeat| Beats::new(heartbeat, started));
    while open > 0 || status.is_none() {
        let mut wait = until.saturating_duration_since(Instant::now());
        if let Some(beats) = beats.as_mut().filter(|_| job.is_some()) {
            let heard = streams.get(last.load(Ordering::Relaxed));
            let beat = beats.beat(|longest| heard.map_or_else(Vec::new, |heard| heard.lock().last_line(longest)));
            wait = wait.min(beat);
        }
        let wake = stop.wakes.recv_timeout(wait);
        let end = match wake {
            Ok(Wake::Read(result)) => {
                result?;
                open -= 1;
                continue;
            }
            Ok(Wake::Exited(exited)) => {
                status = Some(exited?);
                // Everything in its job ends, so only processes outside the job can hold the pipes.
                until = Instant::now() + DRAIN;
                job = None;
                continue;
            }
            Ok(Wake::Stop(
                StopReason::Cancelled | StopReason::Shutdown | StopReason::Killed | StopReason::Interrupted,
            )) => End::Stopped,
            // Only the next beat is due.
            Err(RecvTimeoutError::Timeout) if Instant::now() < until => continue,
            // The time after the job's end is over, or after the command's.
            Err(RecvTimeoutError::Timeout) if job.is_none() => break,
            Err(RecvTimeoutError::Timeout) => End::TimedOut(limits.timeout),
            // This can't happen, because `stop` holds a sender. If it did, the job would end all the same.
            Err(RecvTimeoutError::Disconnected) => End::Stopped,
        };
        if job.take().is_some() {
            ended_by_us = Some(end);
            until = Instant::now() + UNKILLABLE;
        }
    }
    let end = match (ended_by_us, status) {
        (Some(end), _) => end,
        // Every exit status of Windows is a number.
        (None, Some(status)) => End::Exited(status.code().unwrap_or_default()),
        (None, None) => return Err(io::Error::other("its exit status was lost")),
    };
    let [stdout, stderr] = streams.map(|stream| stream.finish());
    Ok((Output { end, stdout, stderr, limit: None, elapsed: started.elapsed() }, None))
}

/// One of the command's output streams, read by a thread of its own: Windows has no poll(2) for pipes.
#[derive(Clone)]
struct Stream {
    name: StreamName,
    spool: Option<Arc<Spool>>,
    /// The index of the stream that was read last.
    last: Arc<AtomicUsize>,
    capture: Arc<Mutex<Capture>>,
}

impl Stream {
    fn new(name: StreamName, last: &Arc<AtomicUsize>, capture: Capture, spool: Option<Arc<Spool>>) -> Self {
        Self { name, spool, last: Arc::clone(last), capture: Arc::new(Mutex::new(capture)) }
    }

    /// Reads the pipe to its end, even if the watch is over, and reports the end.
    fn read(&self, name: &str, mut pipe: impl Read + Send + 'static, waker: Sender<Wake>) -> io::Result<()> {
        let stream = self.clone();
        let read = move || {
            let mut piece = [0; 32 * 1024];
            let result = loop {
                match pipe.read(&mut piece) {
                    Ok(0) => break Ok(()),
                    Ok(count) => {
                        stream.last.store(stream.name as usize, Ordering::Relaxed);
                        let piece = piece.get(..count).unwrap_or_default();
                        stream.lock().push(piece);
                        if let Some(spool) = &stream.spool {
                            spool.push(stream.name, piece);
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => break Err(error),
                }
            };
            // The watch may be over.
            let _ = waker.send(Wake::Read(result));
        };
        std::thread::Builder::new().name(name.into()).spawn(read)?;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Capture> {
        // A piece is added completely or not at all, so a panic in between leaves the capture valid.
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was kept. A thread that still reads, from a process outside the job, keeps nothing more.
    fn finish(&self) -> Captured {
        std::mem::replace(&mut *self.lock(), Capture::new(1)).finish()
    }
}

/// Closes the feed when it is dropped, which ends the thread that writes to the pipe.
struct ClosedAtEnd(Arc<Feed>);

impl Drop for ClosedAtEnd {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Feeds the command on a thread of its own, which ends with the pipe.
fn write(mut pipe: ChildStdin, input: Vec<u8>, feed: Option<Arc<Feed>>) -> io::Result<()> {
    let write = move || {
        let mut piece = input;
        // A command may close its input early.
        while pipe.write_all(&piece).and_then(|()| pipe.flush()).is_ok() {
            let Some(feed) = &feed else { return };
            feed.read(piece.len());
            let (more, is_closed) = feed.wait();
            if more.is_empty() && is_closed {
                return;
            }
            piece = more;
        }
        if let Some(feed) = &feed {
            feed.close();
        }
    };
    std::thread::Builder::new().name("stdin".into()).spawn(write)?;
    Ok(())
}

/// Waits for the command on a thread of its own, since std has no wait with a deadline, and reports its exit.
fn wait(mut child: Box<dyn StdChildWrapper>, waker: Sender<Wake>) -> io::Result<()> {
    let wait = move || {
        // Not the wrapper's own wait, which also waits for a message of its job.
        let exited = child.inner_mut().wait();
        // If the watch is over, this was the reaping.
        let _ = waker.send(Wake::Exited(exited));
    };
    std::thread::Builder::new().name("exit".into()).spawn(wait)?;
    Ok(())
}
