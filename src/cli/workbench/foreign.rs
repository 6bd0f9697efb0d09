//! Another program as the server of a transcript: it is started in a directory, the transcript is played with it, and it is
//! ended with its process group.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, ChildStderr};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::played::Played;
use super::started;
use crate::cli::stdio;
use crate::cli::workbench::interrupt::Interrupt;
use crate::exec::Orphans;
use crate::files::Beneath;
use crate::text::escape_bytes;
use crate::transcript::{Entry, Failure, Peer, Placeholders, Player, Transcript};

/// How long the server may take to end after its input is closed, and again after SIGTERM.
const GRACE: Duration = Duration::from_secs(1);
/// The most lines of standard error that a difference shows, and the longest of them in bytes.
const LINES: usize = 20;
const LONGEST_LINE: u64 = 400;

/// Starts a server in `directory`, with only these variables, and plays the transcript with it.
///
/// # Errors
/// If the server can't be started, or its streams fail.
pub(super) fn play(
    player: &Player,
    words: &[String],
    transcript: &Transcript,
    directory: &Beneath,
    placeholders: &Placeholders,
    variables: &BTreeMap<OsString, OsString>,
    interrupt: &Interrupt,
) -> io::Result<Played> {
    let words: Vec<String> = words.iter().map(|word| placeholders.fill(word)).collect();
    let Some((program, arguments)) = words.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command of the server is empty"));
    };
    let mut command = started::command(located(program)?, arguments);
    command.env_clear().envs(variables).current_dir(directory.path());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child =
        command.spawn().map_err(|error| io::Error::new(error.kind(), format!("can't start `{program}`: {error}")))?;
    let no_pipe = || io::Error::other("the server has no pipes");
    let (input, output) = (child.stdin.take().ok_or_else(no_pipe)?, child.stdout.take().ok_or_else(no_pipe)?);
    let errors = Errors::read(child.stderr.take().ok_or_else(no_pipe)?)?;
    let server = Rc::new(RefCell::new(Server { child, status: None }));
    let group = server.borrow().child.id();
    interrupt.watch(move || end_group(group, HowToEnd::Asked));
    let ending = Rc::clone(&server);
    let peer = Peer::over_streams(input, output, move |within| ending.borrow_mut().wait(within))?;
    let played = player.play(transcript, peer);
    let mut server = server.borrow_mut();
    let by_itself = server.status;
    server.end();
    end_descendants();
    let has_answered = played.entries.iter().any(|entry| matches!(entry, Entry::Receive(_)));
    let ended_early = played.entries.iter().any(|entry| matches!(entry, Entry::Failure(Failure::EndOfOutput)));
    // If the transcript expects no answer, only the status tells whether the server started.
    let is_silent = !transcript.entries.iter().any(|entry| matches!(entry, Entry::Receive(_)));
    let has_started = has_answered || is_silent && matches!(server.status.or(by_itself), None | Some(0));
    let problem = (!has_started || ended_early).then(|| {
        let how = match server.status.or(by_itself) {
            Some(status) => format!("the server ended with status {status}"),
            None => "the server did not end".to_owned(),
        };
        // The name of a fresh directory differs each time.
        let said = placeholders.hide_directory(&errors.last_lines());
        if said.is_empty() {
            format!("{how}, and said nothing on standard error")
        } else {
            format!("{how}, and said on standard error:\n{said}")
        }
    });
    Ok(Played { transcript: played, problem, has_started, unread: None })
}

/// Ends the processes that have left the process group of the server. On Linux they have become children of this process, which
/// has no others after playing one transcript; elsewhere they can't be found.
fn end_descendants() {
    if !Orphans::new(|_| ()).end_all(GRACE) {
        stdio::note("processes that the server has started could not be ended");
    }
}

/// The program; a relative path starts from the directory of this process, not from that of the server.
fn located(program: &str) -> io::Result<OsString> {
    let is_path = program.contains(std::path::is_separator);
    if is_path { std::path::absolute(program).map(Into::into) } else { Ok(program.into()) }
}

struct Server {
    child: Child,
    status: Option<i32>,
}

impl Server {
    /// Waits for its end, for at most this long.
    fn wait(&mut self, within: Duration) -> Option<i32> {
        let deadline = Instant::now() + within;
        let mut pause = Duration::from_millis(1);
        while self.status.is_none() {
            // A process that can't be waited for counts as running.
            self.status = self.child.try_wait().ok().flatten().map(started::number);
            if self.status.is_some() || Instant::now() >= deadline {
                break;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
        self.status
    }

    /// Ends it with its group: SIGTERM, then SIGKILL.
    fn end(&mut self) {
        let group = self.child.id();
        if self.wait(GRACE).is_none() {
            end_group(group, HowToEnd::Asked);
            self.wait(GRACE);
        }
        end_group(group, HowToEnd::Forced);
        if self.status.is_none() {
            self.child.kill().ok();
            self.wait(GRACE);
        }
    }
}

#[derive(Clone, Copy)]
enum HowToEnd {
    Asked,
    Forced,
}

#[cfg(unix)]
fn end_group(group: u32, how: HowToEnd) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = match how {
        HowToEnd::Asked => Signal::TERM,
        HowToEnd::Forced => Signal::KILL,
    };
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        // If everything has ended, the group is empty.
        kill_process_group(group, signal).ok();
    }
}

/// Windows has no process groups; the server itself is ended by its handle.
#[cfg(not(unix))]
fn end_group(_group: u32, how: HowToEnd) {
    match how {
        HowToEnd::Asked | HowToEnd::Forced => {}
    }
}

/// The last lines of standard error, as they come.
struct Errors {
    lines: Arc<Mutex<VecDeque<String>>>,
    reading: JoinHandle<()>,
}

impl Errors {
    fn read(from: ChildStderr) -> io::Result<Self> {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&lines);
        let reading = std::thread::Builder::new().name("stderr".into()).spawn(move || {
            let mut from = BufReader::new(from);
            let mut line = Vec::new();
            while (&mut from).take(LONGEST_LINE).read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_back(escape_bytes(line.trim_ascii_end()).into_owned());
                if kept.len() > LINES {
                    kept.pop_front();
                }
                line.clear();
            }
        })?;
        Ok(Self { lines, reading })
    }

    fn last_lines(&self) -> String {
        // Another process may keep the stream open; what has been written arrives within a moment.
        let deadline = Instant::now() + Duration::from_millis(200);
        while !self.reading.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(|line| format!("  {line}\n")).collect()
    }
}
