//! `allowexec record`: passes every byte unchanged between a client and any server, and records the session.
//!
//! Three threads copy the client's lines, the server's lines, and the server's standard error. Each of them records what it has
//! read before it passes it on. When one side closes a stream, it is closed for the other side too.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::recording::{self, Target};
use super::started;
use crate::cli::Outcome;
use crate::cli::error::CliError;
use crate::cli::signals::{Relay, Signals};
use crate::config::Surroundings;
use crate::transcript::{RecordedOutput, Recorder};

/// The flags of the subcommand, and the server's command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cli) struct Options {
    /// The file; without it, a new name in `directory`.
    pub output: Option<String>,
    /// The directory for a file with a new name.
    pub directory: Option<String>,
    /// Replace an existing file.
    pub force: bool,
    /// Write the time before each line.
    pub timing: bool,
    /// End the session if it can't be recorded any more.
    pub required: bool,
    /// The command of the server.
    pub command: Vec<String>,
}

/// The bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// The longest comment; a longer line of standard error becomes several.
const LONGEST_COMMENT: usize = 8 * 1024;
/// After the server has ended, how long its output is waited for while nothing comes: a process that the server has started can
/// keep it open for ever.
const IDLE: Duration = Duration::from_millis(300);

pub(super) fn run(options: &Options) -> Result<Outcome, CliError> {
    let here = Surroundings::of_this_process()?.directory;
    let target = Target::of_record(options, &here);
    let opened = target.open()?;
    // Before the server is started, which would inherit ignored signals.
    let signals = Signals::catch().map_err(CliError::serve)?;
    let (program, arguments) = options
        .command
        .split_first()
        .ok_or(CliError::Missing { subcommand: "record", what: "the command of a server after `--`" })?;
    let mut child = started::command(program, arguments)
        .spawn()
        .map_err(|source| CliError::Start { command: program.clone(), source })?;
    let began = Instant::now();
    let mut recorder = recording::of_server(opened, options, &here)?;
    if options.timing {
        recorder = recorder.with_clock(Box::new(move || began.elapsed()));
    }
    let relay = signals.pass_on(child.id()).map_err(CliError::serve)?;
    let status = pass(&mut child, &recorder, &relay).map_err(CliError::serve)?;
    recorder.ended(status);
    if options.required && !recorder.is_complete() {
        let source = io::Error::other("a line could not be written, so the session was ended").into();
        return Err(target.error(source));
    }
    Ok(Outcome::Status(status))
}

/// Passes everything on until the server has ended and the client has read its output, or a signal ends that wait.
fn pass(child: &mut Child, recorder: &Recorder, relay: &Relay) -> io::Result<i32> {
    let no_pipe = || io::Error::other("the server has no pipes");
    let input = child.stdin.take().ok_or_else(no_pipe)?;
    let mut output = child.stdout.take().ok_or_else(no_pipe)?;
    let errors = child.stderr.take().ok_or_else(no_pipe)?;
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());

    let from_client = recorder.input(BufReader::with_capacity(CHUNK, own::input()?));
    thread("client").spawn(move || pass_input(from_client, input))?;

    let progress = Progress::default();
    let (output_ended, output_end) = channel::<()>();
    let (to_client, seen) = (recorder.output(own::output()?), progress.clone());
    thread("server").spawn(move || pass_output(&mut output, to_client, &seen, &output_ended))?;

    let (errors_ended, errors_end) = channel::<()>();
    let (errors_recorder, errors_seen) = (recorder.clone(), progress.clone());
    thread("stderr")
        .spawn(move || pass_errors(BufReader::new(errors), &errors_recorder, &errors_seen, &errors_ended))?;

    let status = relay.wait(child)?;
    progress.rest(&output_end, relay);
    progress.rest(&errors_end, relay);
    Ok(started::number(status))
}

/// Passes input on until the client or the server closes its end.
fn pass_input(mut client: impl BufRead, mut server: ChildStdin) {
    while let Ok(bytes) = client.fill_buf() {
        let count = bytes.len();
        if count == 0 || server.write_all(bytes).is_err() {
            break;
        }
        client.consume(count);
    }
    drop(server);
    // A client that continues to write is told that nobody reads.
    own::close_input();
}

fn pass_output(
    server: &mut impl Read,
    mut client: RecordedOutput<impl Write>,
    progress: &Progress,
    _ended: &Sender<()>,
) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(count) = server.read(&mut chunk) {
        let bytes = chunk.get(..count).unwrap_or_default();
        let passed = progress.during(|| client.write_all(bytes).and_then(|()| client.flush()));
        if bytes.is_empty() || passed.is_err() {
            break;
        }
    }
    // If this fails, the recorder has already reported it.
    progress.during(|| client.finish()).ok();
    drop(client);
    own::close_output();
}

fn pass_errors(mut server: impl BufRead, recorder: &Recorder, progress: &Progress, _ended: &Sender<()>) {
    let mut line = Vec::new();
    let mut passes = true;
    while let Ok(bytes) = server.fill_buf() {
        let count = bytes.len();
        if count == 0 {
            break;
        }
        progress.during(|| {
            for &byte in bytes {
                if byte != b'\n' {
                    line.push(byte);
                }
                if byte == b'\n' || line.len() == LONGEST_COMMENT {
                    recorder.standard_error(&std::mem::take(&mut line));
                }
            }
            // If nobody reads it, it is still recorded.
            passes = passes && io::stderr().write_all(bytes).is_ok();
        });
        server.consume(count);
    }
    if !line.is_empty() {
        recorder.standard_error(&line);
    }
}

/// Whether something is still being passed on.
#[derive(Clone, Default)]
struct Progress {
    busy: Arc<AtomicUsize>,
    moved: Arc<AtomicBool>,
}

impl Progress {
    fn during<T>(&self, act: impl FnOnce() -> T) -> T {
        self.busy.fetch_add(1, Ordering::SeqCst);
        let value = act();
        self.moved.store(true, Ordering::SeqCst);
        self.busy.fetch_sub(1, Ordering::SeqCst);
        value
    }

    /// Waits until a stream has ended, that is until its thread drops the sender, or until nothing has come for a while. While
    /// a client does not read, it waits until a signal comes.
    fn rest(&self, end: &Receiver<()>, relay: &Relay) {
        while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(IDLE) {
            if relay.is_asked() || self.busy.load(Ordering::SeqCst) == 0 && !self.moved.swap(false, Ordering::SeqCst) {
                return;
            }
        }
    }
}

/// The streams of this process, without buffers of their own.
#[cfg(unix)]
mod own {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsFd;

    use rustix::fs::{Mode, OFlags};

    pub(super) fn input() -> io::Result<File> {
        Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
    }

    pub(super) fn output() -> io::Result<File> {
        Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
    }

    /// The other end sees it closed once the copy from [`input`] is dropped too.
    pub(super) fn close_input() {
        // If `/dev/null` can't be opened, the stream stays open until the process ends.
        if let Ok(nothing) = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            rustix::stdio::dup2_stdin(nothing).ok();
        }
    }

    pub(super) fn close_output() {
        if let Ok(nothing) = rustix::fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
            rustix::stdio::dup2_stdout(nothing).ok();
        }
    }
}

/// The streams of this process.
#[cfg(not(unix))]
mod own {
    use std::io;

    pub(super) fn input() -> io::Result<io::Stdin> {
        Ok(io::stdin())
    }

    pub(super) fn output() -> io::Result<io::Stdout> {
        Ok(io::stdout())
    }

    /// They are closed when the process ends.
    pub(super) fn close_input() {}

    /// They are closed when the process ends.
    pub(super) fn close_output() {}
}
