//! The server: one loop, which owns the state of the session. It takes events one by one, and is the only writer.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use super::auditor::{Anchor, Auditor};
use super::background::{KeptCalls, Reads, Tasks};
use super::call_threads::CallThreads;
use super::event::{Deadline, Event, Progress};
use super::inbox::{self, Ender, EventSender, Inbox};
use super::leftovers::Leftovers;
use super::listed_tools::ListedTools;
use super::log::{Log, LogSink};
use super::narrowing::Narrowing;
use super::not_started::NotStarted;
use super::outgoing::Outgoing;
use super::parts::Parts;
use super::prompting::Prompting;
use super::questions::Asker;
use super::questions::Questions;
use super::replies::Replies;
use super::requests::Requests;
use super::roots::Roots;
use super::session::Session;
use super::shell_runner::ShellRunner;
use crate::config::LogLevel;

/// How long calls that still run at the end of the input have to finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrainTime {
    /// This long, and then they are ended.
    Bounded(Duration),
    /// As long as their own deadlines allow.
    Unbounded,
}

impl DrainTime {
    /// The time for a client's calls: half a second, since clients wait two seconds for the server to exit.
    pub const FOR_CLIENTS: Self = Self::Bounded(Duration::from_millis(500));
}

/// A server for one client, whose output lives as long as `'o`.
pub struct Server<'o> {
    pub(super) parts: Arc<Parts>,
    pub(super) session: Session,
    /// The requests that have no answer yet.
    pub(super) requests: Requests,
    /// The server's open questions to its client.
    pub(super) outgoing: Outgoing,
    pub(super) roots: Roots,
    pub(super) tools: ListedTools,
    pub(super) questions: Questions,
    /// The calls that a client can ask about.
    pub(super) kept: KeptCalls,
    pub(super) reads: Reads,
    pub(super) tasks: Tasks,
    pub(super) audit: Auditor,
    pub(super) calls: CallThreads,
    pub(super) shell: ShellRunner,
    pub(super) narrowing: Arc<Narrowing>,
    pub(super) prompting: Prompting,
    pub(super) leftovers: Leftovers,
    pub(super) asker: Asker,
    /// Keeps the head of the audit log elsewhere, if the operator has a program for that.
    pub(super) anchor: Option<Anchor>,
    pub(super) replies: Replies,
    pub(super) log: Log,
    pub(super) events: EventSender,
    pub(super) inbox: Inbox,
    /// Messages of the event that is being handled. They are written at its end, after the calls whose turn it is were started.
    pub(super) unsent: Vec<Vec<u8>>,
    pub(super) drain_time: DrainTime,
    pub(super) lifecycle: Lifecycle,
    /// Whether the commands have already used the time that they have to end.
    pub(super) is_late: bool,
    /// Whether the operator was told that lines can be read.
    pub(super) has_told_of_lines: bool,
    /// Boxed, so that the binary has only one copy of the server's code and not one for each kind of output.
    output: Box<dyn Write + 'o>,
}

/// The stages of the server's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifecycle {
    /// It serves requests.
    Serving,
    /// The input has ended; running calls may still finish.
    Draining,
    /// Everything that runs is being ended, and nothing is answered any more.
    Ending,
    /// The loop ends.
    Over,
}

impl<'o> Server<'o> {
    /// Makes a server from its parts; it answers on `output`.
    pub fn new(mut parts: Parts, drain_time: DrainTime, log: LogSink, output: impl Write + 'o) -> Self {
        let (events, inbox) = Inbox::new();
        let mut log = Log::new(parts.log_level, log).hiding(Arc::clone(&parts.secrets));
        let audit = Auditor::new(parts.audit.take());
        let anchor = parts.anchor.take();
        let parts = Arc::new(parts);
        let (start, observer) = (parts.policy.directories().base(), Arc::clone(&parts.observer));
        let shell = ShellRunner::start(parts.shell.clone(), start, parts.report.clone(), observer, events.clone());
        let shell = shell.unwrap_or_else(|error| {
            log.write(LogLevel::Error, &format!("the persistent shell has no thread to run on: {error}"));
            ShellRunner::default()
        });
        let narrowing = Arc::new(Narrowing::new(Arc::clone(&parts), audit.clone(), events.clone()));
        let calls = CallThreads::new(
            (Arc::clone(&parts), events.clone()),
            audit.clone(),
            Arc::clone(&narrowing),
            shell.clone(),
        );
        let asker = Asker::new(events.clone());
        let anchor = Anchor::start(anchor, &audit, events.clone()).unwrap_or_else(|why| {
            log.write(LogLevel::Error, &not_anchored(&why));
            None
        });
        let mut server = Self {
            session: Session::default(),
            requests: Requests::new(parts.max_concurrent, parts.max_background_calls),
            outgoing: Outgoing::default(),
            roots: Roots::new(parts.roots),
            tools: ListedTools::default(),
            questions: Questions::new(Arc::clone(&parts.observer)),
            kept: KeptCalls::new(events.clone(), Arc::clone(&parts.secrets)),
            reads: Reads::new(events.clone()),
            tasks: Tasks::default(),
            audit,
            calls,
            shell,
            narrowing,
            prompting: Prompting::default(),
            leftovers: Leftovers::default(),
            asker,
            anchor,
            parts,
            replies: Replies::default(),
            log,
            events,
            inbox,
            unsent: Vec::new(),
            drain_time,
            lifecycle: Lifecycle::Serving,
            is_late: false,
            has_told_of_lines: false,
            output: Box::new(output),
        };
        server.tell_of_parts();
        server
    }

    /// Logs the warnings and problems of the parts, and what the sandbox enforces.
    fn tell_of_parts(&mut self) {
        let Self { parts, log, .. } = self;
        if !log.writes(LogLevel::Warn) {
            return; // Some are found by reading the directories of the search path.
        }
        let not_found = parts.not_found().into_iter().map(|not_found| not_found.sentence);
        let told = parts.warnings().into_iter().chain(parts.problems()).chain(not_found);
        told.for_each(|warning| log.write(LogLevel::Warn, &warning));
        if let Some(sandbox) = parts.confinement.describe() {
            log.write(LogLevel::Info, &format!("sandbox: {sandbox}"));
        }
    }

    pub(super) fn tell_of_audit(&mut self) {
        for (level, line) in self.audit.told() {
            self.log.write(level, &line);
        }
    }

    /// Whether the server may start.
    ///
    /// # Errors
    /// [`NotStarted::Audit`], if the audit log can't be opened.
    pub(crate) fn check_start(&self) -> Result<(), NotStarted> {
        self.audit.broken().map_or(Ok(()), Err)
    }

    /// Returns a handle that ends the server from another thread.
    pub fn ender(&self) -> Ender {
        Ender(self.events.clone())
    }

    /// Makes the server end processes that left the tree of their command (Linux).
    ///
    /// It is for programs that have called [`own_descendants`](crate::exec::own_descendants) and serve on their main
    /// thread. The server ends every process that becomes a child of that thread, so the program must have no children
    /// of its own. A library should not use this.
    #[must_use]
    pub fn ending_orphans(mut self) -> Self {
        self.leftovers = Leftovers::watch(self.events.clone());
        self
    }

    /// Serves the client until its stream ends, and then ends what is still running.
    ///
    /// The stream is read on a thread of its own, which ends with the stream, or with the server at its next line.
    ///
    /// # Errors
    /// If no thread can be started for reading, or if writing fails for any reason except that the client closed the
    /// stream.
    pub fn serve(self, input: impl BufRead + Send + 'static) -> io::Result<()> {
        let events = self.events.clone();
        std::thread::Builder::new().name("reader".into()).spawn(move || inbox::read(input, &events))?;
        self.serve_inbox()
    }

    /// Serves the client as [`serve`](Self::serve) does, but reads its stream without another thread. `input` must read
    /// from what [`gated`](super::polled::gated) returned with the gate.
    ///
    /// # Errors
    /// If there is no pipe, or if writing fails for any reason except that the client closed the stream.
    pub(crate) fn serve_polled(mut self, input: impl BufRead + 'static, gate: super::polled::Gate) -> io::Result<()> {
        self.inbox.poll(input, gate)?;
        self.serve_inbox()
    }

    fn serve_inbox(mut self) -> io::Result<()> {
        self.parts.read_locked();
        let events = self.events.clone();
        // If the channel is full, the loop looks for messages anyway.
        if let Err(error) = self.audit.write_on_a_thread(move || events.send_if_free(Event::News)) {
            self.log.write(
                LogLevel::Warn,
                &format!("the audit log has no thread, so the server waits for each record: {error}"),
            );
        }
        let served = self.run();
        self.end(served)
    }

    fn run(&mut self) -> io::Result<()> {
        while self.lifecycle != Lifecycle::Over {
            // The server holds a sender itself, so the channel is never closed.
            let Some(event) = self.inbox.next() else { return Ok(()) };
            self.handle(event);
            self.start_calls();
            self.look_for_news();
            self.answer_lost();
            let written = self.write_unsent();
            self.tell_of_audit();
            if let Err(error) = written {
                self.client_is_gone(&error);
            }
            self.lifecycle = self.next_lifecycle();
        }
        Ok(())
    }

    /// Handles one event. What it answers is written afterwards.
    fn handle(&mut self, event: Event) {
        match event {
            Event::Line(line) => self.line(line),
            Event::InputEnded(result) => self.input_ended(&result),
            Event::OutputClosed => self.output_closed(),
            Event::Signal => {
                self.end_subscriptions();
                self.end_everything();
            }
            Event::NotAnchored(why) => self.log.write(LogLevel::Error, &not_anchored(&why)),
            Event::Told(lines) => lines.iter().for_each(|(level, line)| self.log.write(*level, line)),
            Event::Narrowed { asked, narrowed } => self.roots_narrowed(asked, narrowed.map(|narrowed| *narrowed)),
            Event::Explained { key, result } => self.explained(key, result),
            Event::DecidedOnly => self.calls_decided(),
            Event::Allowed { key, command, rule } => self.call_allowed(key, &command, &rule),
            Event::Panicked { key } => self.call_panicked(key),
            Event::Ended(ended) => self.call_ended(ended),
            Event::Looked(looked) => self.looked(looked),
            // The flag is looked at after each event.
            Event::News => {}
            Event::Seen { key, seen } => self.seen(key, seen),
            Event::SoFar { key, result } => self.handed_over(key, result),
            Event::Progress(progress) => self.progress(&progress),
            Event::Answered { number, answer, said } => self.program_answered(number, &answer, &said),
            Event::Deadline(deadline) => self.passed(deadline),
        }
    }

    fn passed(&mut self, deadline: Deadline) {
        match deadline {
            Deadline::Drained => self.end_everything(),
            Deadline::Ended => (self.lifecycle, self.is_late) = (Lifecycle::Over, true),
            Deadline::Outgoing(number) => self.roots_overdue(number),
            Deadline::Prompt(key) => self.prompt_overdue(key),
            Deadline::Question(number) => self.question_overdue(number),
            Deadline::State(number) => self.state_expired(number),
            Deadline::Asking(number) => self.tick(number),
            Deadline::HandOver(key) => self.hand_over(key),
            Deadline::Decision => self.decisions_overdue(),
            Deadline::Read(key) => self.read_overdue(key),
            Deadline::Task(number) => self.task_expired(number),
        }
    }

    fn progress(&mut self, progress: &Progress) {
        // `None` if the call was cancelled or answered in the meantime.
        let message = self.requests.feedback(progress.key).and_then(|feedback| feedback.progress(progress));
        self.send(message);
    }

    /// Writes the messages of the event, each with a single write if the stream takes it whole.
    pub(super) fn write_unsent(&mut self) -> io::Result<()> {
        for line in std::mem::take(&mut self.unsent) {
            if self.lifecycle == Lifecycle::Ending {
                continue;
            }
            self.output.write_all(&line)?;
            self.output.flush()?;
        }
        Ok(())
    }
}

pub(super) fn not_anchored(why: &str) -> String {
    format!("the program of `--audit-anchor` has not kept the head of the audit log: {why}")
}
