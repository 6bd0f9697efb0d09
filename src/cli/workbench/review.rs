//! `allowexec review`: plays transcripts as `replay` does, shows what differs, and lets a person accept or reject it file by
//! file.
//!
//! What is accepted is written as it was shown: nothing is played a second time. This file decides only whether it is accepted;
//! [`Replayer`] plays, compares and decides what may be written.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{Sender, channel};

use super::replay::{self, STANDARD_INPUT, transcripts};
use super::replayer::{Original, Replayed, Replayer};
use super::verdicts::{ReplayVerdict, summary};
use crate::cli::error::CliError;
use crate::cli::signals::Signals;
use crate::cli::workbench::interrupt::Interrupt;
use crate::cli::{Outcome, print, stdio};
use crate::exec::own_descendants;
use crate::text::escape;

/// The flags of the subcommand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cli) struct Options {
    pub playing: replay::Options,
    pub decision: Decision,
}

/// How it is decided what is accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::cli) enum Decision {
    /// The person at the terminal; without a terminal, this is the same as `List`.
    #[default]
    Ask,
    /// Everything that can be accepted is accepted.
    Accept,
    /// Nothing is accepted.
    List,
}

pub(super) fn run(named: &[String], options: &Options) -> Result<Outcome, CliError> {
    if named.iter().any(|name| name == STANDARD_INPUT) {
        let why = "`-` can't be reviewed: what is accepted is written into a file; name it".to_owned();
        return Err(CliError::Transcript { why });
    }
    own_descendants();
    let interrupt = Signals::catch().and_then(Interrupt::new).map_err(CliError::serve)?;
    let files = transcripts(named)?;
    let has_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let mut review = Review {
        player: Replayer::new(&options.playing, interrupt.clone())?,
        interrupt,
        decision: if has_terminal || options.decision != Decision::Ask { options.decision } else { Decision::List },
        is_over: false,
        counts: Counts::default(),
    };
    for (index, file) in files.iter().enumerate() {
        if review.is_over {
            review.counts.unseen += 1;
            continue;
        }
        let place = format!("[{}/{}]", index + 1, files.len());
        stdio::progress(&format!("{place} {}", escape(file)));
        if let Err(why) = review.file(file, &place)? {
            print(&ReplayVerdict::Broken(why).to_text(file))?;
            review.counts.broken += 1;
        }
    }
    print(&review.counts.summary(files.len()))?;
    Ok(review.counts.outcome())
}

struct Review<'a> {
    player: Replayer<'a>,
    interrupt: Interrupt,
    decision: Decision,
    /// Whether the person has quit.
    is_over: bool,
    counts: Counts,
}

impl Review<'_> {
    /// Plays one file, and lets it be accepted or rejected. The inner error is only about this file.
    fn file(&mut self, file: &str, place: &str) -> Result<Result<(), String>, CliError> {
        // Its directory is opened before anything runs that could put another file or a link there.
        let original = match self.decision {
            Decision::Ask | Decision::Accept => Original::hold(file).map(Some),
            Decision::List => Ok(None),
        };
        let played = original.and_then(|original| Ok((original, self.player.play(file)?)));
        stdio::progress("");
        if self.interrupt.came() {
            return Err(CliError::Interrupted);
        }
        let (original, difference, updated) = match played {
            Err(why) => return Ok(Err(why)),
            Ok((_, Replayed::Elsewhere)) => {
                self.counts.elsewhere += 1;
                return Ok(Ok(()));
            }
            Ok((_, Replayed::Compared { is_same: true, .. })) => {
                self.counts.same += 1;
                return Ok(Ok(()));
            }
            Ok((original, Replayed::Compared { difference, updated, .. })) => (original, difference, updated),
        };
        print(&ReplayVerdict::Different(difference).to_text(file))?;
        match (original, updated) {
            (Some(original), Some(updated)) => {
                if self.is_accepted(place)? {
                    if let Err(why) = original.write(&updated) {
                        return Ok(Err(why));
                    }
                    print(&format!("{}: accepted\n\n", escape(file)))?;
                    self.counts.accepted += 1;
                } else {
                    self.counts.different += 1;
                }
            }
            (Some(_), None) => {
                print(
                    "This can't be accepted: the server did not start or did not answer in time, or the transcript has `era: both`.\n\n",
                )?;
                self.counts.different += 1;
            }
            (None, _) => self.counts.different += 1,
        }
        Ok(Ok(()))
    }

    fn is_accepted(&mut self, place: &str) -> Result<bool, CliError> {
        loop {
            match self.decision {
                Decision::Accept => return Ok(true),
                Decision::List => return Ok(false),
                Decision::Ask => {}
            }
            // Before the question is shown: after that, an answer may come at any time.
            forget_what_was_typed();
            print(&format!("{place} [a]ccept, [r]eject, accept [all] from here on, [q]uit? "))?;
            match self.answer()?.as_deref().map(str::trim) {
                Some("a") => return Ok(true),
                Some("r") => return Ok(false),
                Some("all") => self.decision = Decision::Accept,
                // The end of the input counts as `q`.
                Some("q") | None => {
                    self.is_over = true;
                    return Ok(false);
                }
                Some(_) => {}
            }
        }
    }

    /// The line that the person types; `None` at the end of the input or at a signal.
    fn answer(&self) -> Result<Option<String>, CliError> {
        let (typed, answer) = channel();
        let interrupted: Sender<io::Result<Option<String>>> = typed.clone();
        self.interrupt.watch(move || {
            interrupted.send(Ok(None)).ok();
        });
        // On a thread, since a signal does not interrupt the reading of a line.
        let reading = std::thread::Builder::new().name("answer".into()).spawn(move || {
            let mut line = String::new();
            let read = io::stdin().read_line(&mut line).map(|count| (count > 0).then_some(line));
            typed.send(read).ok();
        });
        reading.map_err(CliError::serve)?;
        // The interrupt keeps a sender while this waits, so it does not fail.
        let answer = answer.recv().unwrap_or(Ok(None)).map_err(CliError::serve)?;
        if answer.is_none() {
            print("\n")?;
        }
        if self.interrupt.came() { Err(CliError::Interrupted) } else { Ok(answer) }
    }
}

/// Drops what was typed before the question, so that it does not answer the question.
#[cfg(unix)]
fn forget_what_was_typed() {
    // If the terminal can't do this, the question is still asked.
    rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush).ok();
}

/// On Windows it is kept.
#[cfg(not(unix))]
fn forget_what_was_typed() {}

/// The number of files with each result.
#[derive(Default)]
struct Counts {
    same: usize,
    accepted: usize,
    different: usize,
    elsewhere: usize,
    broken: usize,
    unseen: usize,
}

impl Counts {
    /// The last line for people.
    fn summary(&self, all: usize) -> String {
        let counts = [
            (self.same, "the same"),
            (self.accepted, "accepted"),
            (self.different, "different"),
            (self.elsewhere, "for other platforms"),
            (self.broken, "broken"),
            (self.unseen, "not looked at"),
        ];
        summary(&counts, all)
    }

    fn outcome(&self) -> Outcome {
        match (self.broken, self.different + self.unseen) {
            (0, 0) => Outcome::Good,
            (0, _) => Outcome::Bad,
            (_, _) => Outcome::Status(2),
        }
    }
}
