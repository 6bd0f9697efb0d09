//! Watching one command on Windows: a job object for its tree, a thread for each pipe, one channel for all that happens.
//!
//! The command is created suspended and resumed once it is in its job, so that nothing it starts can be outside of it. The
//! job is ended with its last handle: at the command's end, at the deadline, at the wish to stop, and by the system where the
//! server itself ends in whatever way. There is no polite end: Windows has no signals, and a `CTRL_BREAK` reaches only the
//! processes of the sender's own console, while commands get one of their own that nobody sees.

use std::io::{self, Read, Write};
use std::os::windows::io::AsRawHandle;
use std::os::windows::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use process_wrap::std::{JobObject, StdChildWrapper, StdCommandWrap, StdCommandWrapper};
use win32job::{ExtendedLimitInfo, Job, JobError};

use crate::exec::{Beats, Capture, Captured, End, Heartbeat, Limits, Output, StopReason, StopSignal};

/// See "Process Creation Flags" in Microsoft's documentation.
const CREATE_SUSPENDED: u32 = 0x0000_0004;
const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
const CREATE_NO_WINDOW: u32 = 0x0800_0000;

/// How long pipes are still read after everything was ended.
const DRAIN: Duration = Duration::from_millis(80);
/// How long an ended command has until it is left to the thread that waits for it, because the kernel holds it.
const UNKILLABLE: Duration = Duration::from_secs(1);

/// What wakes the watch of a command.
#[derive(Debug)]
pub(in crate::exec) enum Wake {
    /// Somebody wishes the command to end. There is no grace that the reason could bound.
    Stop(StopReason),
    /// One of its two output streams has ended, or can't be read any more.
    Read(io::Result<()>),
    /// The command has exited.
    Exited(io::Result<ExitStatus>),
}

/// A command that runs, and the job that it and all that it starts belong to. They end when the job is dropped.
pub(crate) struct Spawned {
    pub child: Box<dyn StdChildWrapper>,
    pub job: Arc<Job>,
}

/// Does nothing: the first word of a command line can't differ from the program here, and the rest is done by [`spawn`].
pub(in crate::exec) fn prepare(_command: &mut Command, _words: &[String]) {}

/// Makes this process the one that ends what its commands leave behind: puts it into a job, together with all that it
/// starts from now on, that ends with it. Where it is killed, a command that is not in its own job yet would stay suspended
/// for ever.
///
/// It changes the whole process, so it is for programs to call, before they start threads, and not for libraries.
pub fn own_descendants() {
    // Refused where the process is in a job already and Windows is older than 8; then only the commands' own jobs are there.
    if let Ok(job) = job().and_then(|job| job.assign_current_process().map(|()| job)) {
        // The system closes it with the process.
        let _ = job.into_handle();
    }
}

/// A job that ends with its last handle.
fn job() -> Result<Job, JobError> {
    let mut limits = ExtendedLimitInfo::new();
    limits.limit_kill_on_job_close();
    Job::create_with_limit_info(&limits)
}

/// Starts the command without a window, in a job of its own.
pub(crate) fn spawn(command: Command) -> io::Result<Spawned> {
    let job = Arc::new(job().map_err(io::Error::other)?);
    let mut command = StdCommandWrap::from(command);
    // In this order: `JobObject` sets flags that `InJob` sets again with others, and resumes what `InJob` has in its job. Its
    // own job lies within ours, which alone ends with its handle.
    command.wrap(JobObject).wrap(InJob(Arc::clone(&job)));
    let child = command.spawn()?;
    Ok(Spawned { child, job })
}

/// Puts a command that does not run yet into the job.
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
            // It would stay suspended for ever. Where it can't be ended either, there is nothing else to be done.
            let _ = child.kill();
            io::Error::other(error)
        })
    }
}

/// Watches the command to its end: reads its output, feeds its input, keeps its deadline, ends its job, reaps it.
pub(in crate::exec) fn supervise(
    spawned: Spawned,
    input: Vec<u8>,
    stop: &StopSignal,
    limits: Limits,
    started: Instant,
    heartbeat: Option<Heartbeat>,
) -> io::Result<Output> {
    let Spawned { mut child, job } = spawned;
    // Dropped wherever this function is left, and the command with all that it started ends with it.
    let mut job = Some(job);
    let last = Arc::new(AtomicUsize::new(0));
    let streams = [0, 1].map(|place| Stream::new(place, &last, limits.max_output));
    let [stdout, stderr] = &streams;
    if let Some(pipe) = child.inner_mut().stdout.take() {
        stdout.read("stdout", pipe, stop.waker.clone())?;
    }
    if let Some(pipe) = child.inner_mut().stderr.take() {
        stderr.read("stderr", pipe, stop.waker.clone())?;
    }
    if let Some(pipe) = child.inner_mut().stdin.take() {
        write(pipe, input)?;
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
                // What it left running in its job ends with it, so that only what has left the job can hold the pipes.
                until = Instant::now() + DRAIN;
                job = None;
                continue;
            }
            Ok(Wake::Stop(StopReason::Cancelled | StopReason::Shutdown)) => End::Stopped,
            // Only the next beat is due.
            Err(RecvTimeoutError::Timeout) if Instant::now() < until => continue,
            // The time of the job's end is over, or of the command itself.
            Err(RecvTimeoutError::Timeout) if job.is_none() => break,
            Err(RecvTimeoutError::Timeout) => End::TimedOut(limits.timeout),
            // It can't be: `stop` holds a sender. All the same the job would end.
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
    Ok(Output { end, stdout, stderr, elapsed: started.elapsed() })
}

/// One of the command's output streams, read by a thread of its own: Windows has no poll(2) for pipes.
#[derive(Clone)]
struct Stream {
    place: usize,
    /// The place of the stream that something was read from last.
    last: Arc<AtomicUsize>,
    capture: Arc<Mutex<Capture>>,
}

impl Stream {
    fn new(place: usize, last: &Arc<AtomicUsize>, max_output: u64) -> Self {
        Self { place, last: Arc::clone(last), capture: Arc::new(Mutex::new(Capture::new(max_output))) }
    }

    /// Reads the pipe to its end, wherever the watch is by then, and tells of the end.
    fn read(&self, name: &str, mut pipe: impl Read + Send + 'static, waker: Sender<Wake>) -> io::Result<()> {
        let stream = self.clone();
        let read = move || {
            let mut piece = [0; 32 * 1024];
            let result = loop {
                match pipe.read(&mut piece) {
                    Ok(0) => break Ok(()),
                    Ok(count) => {
                        stream.last.store(stream.place, Ordering::Relaxed);
                        stream.lock().push(piece.get(..count).unwrap_or_default());
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
        // A piece is taken whole or not at all, so a panic in between leaves a sound capture.
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was kept. A thread that still reads, for a process that has left the job, keeps nothing more.
    fn finish(&self) -> Captured {
        std::mem::replace(&mut *self.lock(), Capture::new(1)).finish()
    }
}

/// Feeds the command on a thread of its own, which ends with the pipe.
fn write(mut pipe: ChildStdin, input: Vec<u8>) -> io::Result<()> {
    // A command that closes its input early wants no more of it, which is its right.
    let write = move || drop(pipe.write_all(&input));
    std::thread::Builder::new().name("stdin".into()).spawn(write)?;
    Ok(())
}

/// Waits for the command itself on a thread of its own, which std offers no deadline for, and tells of its exit.
fn wait(mut child: Box<dyn StdChildWrapper>, waker: Sender<Wake>) -> io::Result<()> {
    let wait = move || {
        // Not the wrapper's own wait, which waits for a message of its job too.
        let exited = child.inner_mut().wait();
        // The watch may be over, and then this was the reaping.
        let _ = waker.send(Wake::Exited(exited));
    };
    std::thread::Builder::new().name("exit".into()).spawn(wait)?;
    Ok(())
}
