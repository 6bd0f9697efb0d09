//! `allowexec run`: one line or command for a person, a script or an agent's hook. It is decided as a client's call is; its streams
//! and its status are those of this process.
//!
//! - `grant`: what a person has approved in an agent, good once
//! - `terminal`: the terminal: who may read it, and a question on it

pub(super) mod grant;
mod terminal;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use self::terminal::Foreground;
use crate::cli::error::CliError;
use crate::cli::signals::Signals;
use crate::cli::{Outcome, stdio};
use crate::config::{Config, Flags, Source, Surroundings};
use crate::exec::{End, StopReason, own_descendants, stop};
use crate::policy::Lines;
use crate::server::line_calls::{Alone, RunEnded};
use crate::server::{Answer, Asked, Channel, Parts};

/// The status of a line that was refused, and that of a command that there is no program for, as shells have them.
const REFUSED: i32 = 126;
const NOT_FOUND: i32 = 127;
/// The status after the deadline, as timeout(1) has it.
const TIMED_OUT: i32 = 124;

/// The flags of the subcommand.
#[derive(Debug, PartialEq, Eq, Default)]
pub(in crate::cli) struct Options {
    /// The line, in place of words.
    pub line: Option<String>,
    /// The name of a grant.
    pub grant: Option<String>,
    /// Whether no variable is a setting.
    pub flags_only: bool,
}

/// Runs the line, or the program of these words with its arguments.
pub(super) fn run(flags: &Flags, words: Vec<String>, options: &Options) -> Result<Outcome, CliError> {
    own_descendants();
    let surroundings = Surroundings::of_this_process()?;
    let surroundings = if options.flags_only { surroundings.without_settings() } else { surroundings };
    let mut config = Config::resolve(flags, surroundings)?;
    if config.lines.value == Lines::Off {
        config.lines.value = Lines::On;
    }
    let asked = asked(words, options.line.as_deref());
    let parts = Parts::new(&config);
    parts.check_start()?;
    let granted = match (&options.grant, &asked) {
        (Some(name), Asked::Line(line)) => match grant::redeem(&config.surroundings, name, line) {
            Ok(()) => true,
            Err(why) => return Ok(refused(&why)),
        },
        (Some(_), Asked::Words(..)) => return Ok(refused("a grant is for a line, which is one word")),
        (None, _) => false,
    };
    let (stopper, signal) = stop().map_err(CliError::serve)?;
    let caught = Arc::new(AtomicI32::new(0));
    let first = Arc::clone(&caught);
    let signals = Signals::catch_all().map_err(CliError::serve)?;
    let stopper = Arc::new(stopper);
    let stops = Arc::clone(&stopper);
    let end = move |signal| {
        first.store(signal, Ordering::SeqCst);
        let is_interrupt = signal == signal_hook::consts::SIGINT;
        stops.send(if is_interrupt { StopReason::Interrupted } else { StopReason::Cancelled });
    };
    signals.tell(end).map_err(CliError::serve)?;
    let foreground = Foreground::of_standard_input();
    let giving = foreground.clone();
    let mut ask = |text: Option<&str>| match (granted, text) {
        (true, _) => Answer::Once,
        (false, Some(text)) => terminal::ask(text),
        (false, None) => Answer::Failed("it is too long to be shown in full, so nobody can approve it".to_owned()),
    };
    let alone = Alone {
        directory: config.surroundings.directory.to_string_lossy().into_owned(),
        stop: signal,
        timeout: (config.timeout.source != Source::Default).then_some(config.timeout.value),
        stdin: Some(own(io::stdin())?),
        output: [own(io::stdout())?, own(io::stderr())?],
        channel: if granted { Channel::Hook } else { Channel::Terminal },
        ask: &mut ask,
        reads: giving.map(|foreground| Box::new(move |pid| foreground.give(pid)) as Box<dyn Fn(u32) + Send + Sync>),
    };
    let ended = parts.run_alone(&asked, alone);
    drop(stopper);
    if let Some(foreground) = foreground {
        foreground.take_back();
    }
    Ok(match ended {
        RunEnded::Refused(why) => refused(&why),
        RunEnded::NotFound(why) => {
            stdio::note(&why);
            Outcome::Status(NOT_FOUND)
        }
        RunEnded::Ran(End::Exited(code)) => Outcome::Status(code),
        RunEnded::Ran(End::Signaled(signal)) => Outcome::Status(128 + signal),
        RunEnded::Ran(End::TimedOut(after)) => {
            stdio::note(&format!("ended after its timeout of {after:?}"));
            Outcome::Status(TIMED_OUT)
        }
        RunEnded::Ran(End::Stopped) => Outcome::Status(128 + caught.load(Ordering::SeqCst)),
    })
}

/// A stream of this process.
fn own(stream: impl AsFd) -> Result<OwnedFd, CliError> {
    stream.as_fd().try_clone_to_owned().map_err(CliError::serve)
}

/// One word is a line, as `execute_command` takes it; several are a program and its arguments, as `execute_process` takes them.
fn asked(words: Vec<String>, line: Option<&str>) -> Asked {
    let mut words = words.into_iter();
    match (line, words.next()) {
        (Some(line), _) => Asked::Line(line.to_owned()),
        (None, Some(first)) if words.len() > 0 => Asked::Words(first, words.collect()),
        (None, first) => Asked::Line(first.unwrap_or_default()),
    }
}

fn refused(why: &str) -> Outcome {
    stdio::note(why);
    Outcome::Status(REFUSED)
}
