//! Runs the operator's program that asks a person: outside any sandbox, with one thread for each question.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::config::{ASK_TEXT, Config};
use crate::exec::{End, ExecError, Limits, OperatorProgram, Output, Stop, StopReason, own_children, stop};
use crate::policy::{AllowList, Programs, SearchPath};
use crate::server::configured::operators_program;
use crate::server::event::Event;
use crate::server::inbox::EventSender;
use crate::server::question::Answer;

/// The exit status that approves a call until the session ends; 0 approves it once.
const SESSION: i32 = 10;
/// How many bytes of each of its streams are kept.
const MOST_OUTPUT: u64 = 4 * 1024;

/// The most commands that need approval and are named.
const MOST_ASKED: usize = 6;

/// How a person is asked, according to the operator.
#[derive(Debug, Clone)]
pub struct AskSettings {
    /// The program, if there is one; an error if it could not be found, and then nobody is asked.
    pub(in crate::server) program: Option<Result<Arc<OperatorProgram>, String>>,
    /// How long a question stays open.
    pub(in crate::server) timeout: Duration,
    /// The delay between SIGTERM and SIGKILL to the program's process tree.
    pub(in crate::server) grace: Duration,
}

impl AskSettings {
    /// The program belongs to the operator, so it gets the server's own environment, with which it finds a display or a terminal.
    pub(in crate::server) fn of(config: &Config, programs: &Programs, search_path: &SearchPath) -> Self {
        let words = config.ask_with.value.as_ref();
        let program = words.map(|words| operators_program(config, words, "--ask-with", programs, search_path));
        Self { program, timeout: config.ask_timeout.value, grace: config.grace.value }
    }

    /// Why nobody can be asked although the operator names a program for it.
    pub(in crate::server) fn problem(&self) -> Option<String> {
        self.program.as_ref().and_then(|program| program.as_ref().err().cloned())
    }

    /// Warnings to the operator; `asks` says whether any call may have to be approved.
    pub(in crate::server) fn warnings(&self, allow: &AllowList, asks: bool) -> Vec<String> {
        let mut warnings = Vec::new();
        if asks && self.program.is_none() {
            warnings.push(format!(
                "{} need a person's approval, and only clients that show forms (elicitation) can ask for it; name a program \
                 that asks with `--ask-with`",
                asked_about(allow)
            ));
        }
        if self.program.is_some() && !asks {
            warnings.push(
                "`--ask-with` asks nobody: no rule says `decision: ask` or `ask`, and `--ask` names no command"
                    .to_owned(),
            );
        }
        if allow.allows_any() && asks {
            warnings.push(
                "the allow-list holds `*`, which allows a command that has to be approved by its path without approval"
                    .to_owned(),
            );
        }
        warnings
    }
}

/// Everything that a person is asked about, as the beginning of a sentence.
fn asked_about(allow: &AllowList) -> String {
    let rules = allow.rules();
    let asked = rules.asking();
    let mut named: Vec<String> = asked.iter().take(MOST_ASKED).map(|title| format!("`{title}`")).collect();
    named.extend(rules.for_others("").map(|_| "commands that nothing describes".to_owned()));
    let more = asked.len().checked_sub(MOST_ASKED).filter(|more| *more > 0).map(|more| format!(" and {more} more"));
    let calls = (!named.is_empty()).then(|| format!("calls of {}{}", named.join(", "), more.unwrap_or_default()));
    let files = rules.redirections().filter(|redirections| redirections.asks());
    let files = files.map(|_| "redirections to or from some files".to_owned());
    calls.into_iter().chain(files).collect::<Vec<_>>().join(", and ")
}

/// The questions that the program is asking.
pub(in crate::server) struct Asker {
    events: EventSender,
    /// By the number of the question.
    running: HashMap<u64, Stop>,
}

impl Asker {
    pub(in crate::server) fn new(events: EventSender) -> Self {
        Self { events, running: HashMap::new() }
    }

    /// Runs the program with `request` on its standard input and the text that a person reads; its answer to the question
    /// of this number becomes an event for the loop.
    ///
    /// # Errors
    /// If there is no pipe or thread.
    pub(in crate::server) fn ask(
        &mut self,
        settings: &AskSettings,
        number: u64,
        program: Arc<OperatorProgram>,
        request: Vec<u8>,
        text: String,
    ) -> Result<(), String> {
        let (stop, signal) = stop().map_err(|error| format!("cannot create a pipe: {error}"))?;
        let limits =
            Limits { timeout: settings.timeout, grace: settings.grace, max_output: MOST_OUTPUT, has_digests: false };
        let events = self.events.clone();
        let work = move || {
            own_children();
            let run = AssertUnwindSafe(|| program.run(request, (ASK_TEXT, &text), limits, &signal));
            let lost = |_| (Answer::Failed("the server failed while its program asked".to_owned()), String::new());
            let (answer, said) = catch_unwind(run).map_or_else(lost, answer_of);
            // If the loop is gone, nobody is waiting for the answer.
            events.send(Event::Answered { number, answer, said });
        };
        let started = std::thread::Builder::new().name("approval".into()).spawn(work);
        started.map_err(|error| format!("cannot start a thread: {error}"))?;
        self.running.insert(number, stop);
        Ok(())
    }

    /// Ends the program, because nobody is waiting for the answer any more. The loop still gets an event when it has
    /// ended.
    pub(in crate::server) fn end(&mut self, number: u64, why: StopReason) {
        if let Some(stop) = self.running.get(&number) {
            stop.send(why);
        }
    }

    /// Ends all running programs.
    pub(in crate::server) fn end_all(&mut self) {
        self.running.values().for_each(|stop| stop.send(StopReason::Shutdown));
    }

    /// Notes that the program that asked this question has ended.
    pub(in crate::server) fn ended(&mut self, number: u64) {
        self.running.remove(&number);
    }

    /// Whether no program is running.
    pub(in crate::server) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }
}

/// The answer, and the beginning of what the program wrote to standard error.
fn answer_of(ran: Result<Output, ExecError>) -> (Answer, String) {
    let said =
        ran.as_ref().map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stderr.head).into());
    let answer = match ran {
        Ok(Output { end: End::Exited(0), .. }) => Answer::Once,
        Ok(Output { end: End::Exited(SESSION), .. }) => Answer::Session,
        Ok(Output { end: End::Exited(_), .. }) => Answer::Declined,
        Ok(Output { end: End::TimedOut(_), .. }) => Answer::TimedOut,
        Ok(Output { end: End::Stopped, .. }) => Answer::Withdrawn,
        Ok(Output { end: End::Signaled(signal), .. }) => {
            Answer::Failed(format!("the program of `--ask-with` was ended by signal {signal}"))
        }
        Err(error) => Answer::Failed(format!("the program of `--ask-with` failed: {error}")),
    };
    (answer, said)
}
