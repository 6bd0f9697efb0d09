//! `allowexec hook AGENT`: decides for an agent's own shell. An event comes in, the agent's answer goes out, and nothing runs.
//!
//! Whatever goes wrong blocks, in the way that each agent understands: a hook that says nothing would let the line run.
//!
//! - `agent`: the agents, and which of their tools are shells
//! - `json`: JSON without repeated keys; `event`: the command of an event
//! - `verdict`: what can be decided; `answer`: that decision as each agent reads it
//! - `rewriting`: the command that replaces an allowed line
//!
//! - `gate`: which allowed lines the agent's own shell reads as they were decided
//! - `decide`: the decision on an event

mod agent;
mod answer;
#[cfg_attr(not(unix), path = "no_decide.rs")]
mod decide;
mod event;
#[cfg(unix)]
mod gate;
mod json;
mod rewriting;
#[cfg(test)]
mod tests;
mod verdict;

use std::io::{self, Read, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use self::answer::Answer;
use self::decide::decide;
use self::event::{Event, Incoming};
use self::verdict::Verdict;
use crate::cli::Outcome;
use crate::cli::error::CliError;
use crate::config::Flags;

pub(in crate::cli) use self::agent::Agent;
pub(in crate::cli) use self::verdict::{Shell, Unknown};

/// The largest event in bytes.
const LARGEST: u64 = 1024 * 1024;

/// How long an agent waits at most for an answer, with the event before it.
const LONGEST: Duration = Duration::from_secs(2);

/// The flags of the subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct Options {
    pub unknown: Unknown,
    /// The agent's shell, if the operator names it.
    pub shell: Option<Shell>,
    /// Whether an allowed line is replaced by one that `allowexec run` runs.
    pub rewrites: bool,
}

/// Answers one event. Nothing that goes wrong lets the line run: no panic, no endless event, no slow file system.
pub(super) fn run(agent: Agent, flags: &Flags, options: Options) -> Result<Outcome, CliError> {
    let is_answered = Arc::new(AtomicBool::new(false));
    let answer = match watch(agent, Arc::clone(&is_answered)) {
        Err(error) => Answer::block(agent, &format!("there is no thread for the deadline: {error}")),
        Ok(()) => {
            let decide = |event: &Event| decide(agent, event, flags, options);
            let respond = || respond(agent, io::stdin(), options.unknown, decide);
            panic::catch_unwind(AssertUnwindSafe(respond))
                .unwrap_or_else(|_| Answer::block(agent, "the decision failed"))
        }
    };
    if is_answered.swap(true, Ordering::AcqRel) {
        // The other thread answers and ends the process. Should it hang, the status blocks; two answers would be none.
        thread::sleep(LONGEST);
        return Ok(Outcome::Status(i32::from(answer::BLOCKS)));
    }
    Ok(Outcome::Status(print(&answer)))
}

/// Starts a thread that blocks and ends the process if nobody has answered within the longest time. It is this one that waits, since the
/// memory of a second thread costs the deciding one more than a millisecond.
fn watch(agent: Agent, is_answered: Arc<AtomicBool>) -> io::Result<()> {
    let watch = move || {
        thread::sleep(LONGEST);
        if !is_answered.swap(true, Ordering::AcqRel) {
            let why = "no whole event came, or no decision was made, within 2 seconds";
            std::process::exit(print(&Answer::block(agent, why)));
        }
    };
    thread::Builder::new().name("deadline".into()).spawn(watch).map(drop)
}

/// Prints an answer, and returns the status to end with. What can't be printed blocks.
fn print(answer: &Answer) -> i32 {
    let printed = answer.output.as_ref().map_or(Ok(()), |output| write(&format!("{output}\n")));
    let unprinted = printed.as_ref().err().map(|error| format!("allowexec blocks this: it can't answer: {error}"));
    if let Some(error) = answer.error.as_ref().or(unprinted.as_ref()) {
        // The status blocks, also where nobody reads the reason.
        let _ = writeln!(io::stderr(), "{error}");
    }
    i32::from(if printed.is_ok() { answer.status } else { answer::BLOCKS })
}

/// Writes to standard output, and fails if nobody can read it there.
///
/// Where it was closed, the standard library has opened `/dev/null` in its place; where it can't be written, its `Stdout` reports
/// success.
#[cfg(unix)]
fn write(text: &str) -> io::Result<()> {
    use std::os::fd::AsFd;
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let mut output = std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let (found, null) = (output.metadata()?, std::fs::metadata("/dev/null"));
    if found.file_type().is_char_device() && null.is_ok_and(|null| null.rdev() == found.rdev()) {
        return Err(io::Error::other("its standard output is closed, or leads to `/dev/null`"));
    }
    output.write_all(text.as_bytes())
}

/// Writes to standard output. Here every event is blocked by the status, too.
#[cfg(not(unix))]
fn write(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush())
}

/// Reads one event, has `decide` decide on its command, and makes the agent's answer.
///
/// A tool that starts or feeds a shell in another way than by a command line is answered as a line that can't be read.
pub(super) fn respond(
    agent: Agent,
    input: impl Read,
    unknown: Unknown,
    decide: impl FnOnce(&Event) -> Result<Verdict, String>,
) -> Answer {
    let mut bytes = Vec::new();
    if let Err(error) = input.take(LARGEST + 1).read_to_end(&mut bytes) {
        return Answer::block(agent, &format!("the event can't be read: {error}"));
    }
    if bytes.len() as u64 > LARGEST {
        return Answer::block(agent, &format!("the event has more than {LARGEST} bytes"));
    }
    match Event::read(agent, &bytes) {
        Err(error) => Answer::block(agent, &error.to_string()),
        Ok(Incoming::NoCommand) => Answer::none(agent),
        Ok(Incoming::Shell { tool, kind }) => {
            let reason =
                format!("the tool `{}` starts or feeds a shell, and what it runs can't be read", tool.escape_debug());
            Answer::new(agent, kind, None, unknown.unreadable(reason))
        }
        Ok(Incoming::Command(event)) => match decide(&event) {
            Ok(verdict) => Answer::new(agent, event.kind, Some(&event), verdict),
            Err(why) => Answer::block(agent, &why),
        },
    }
}

/// The answers of every agent to an event whose line is denied; for the fuzzer.
pub(in crate::cli) fn refused_by_all(event: &[u8]) -> Vec<(Option<String>, u8)> {
    let deny = |_: &Event| Ok(Verdict::Deny { reason: "nothing is allowed".to_owned() });
    let answer = |agent| respond(agent, event, Unknown::Deny, deny);
    Agent::ALL.map(answer).into_iter().map(|answer| (answer.output, answer.status)).collect()
}
