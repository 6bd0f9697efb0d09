//! The loop: takes events one by one, and applies the effects of handlers. Nothing else writes to the client.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use super::anchor::Anchor;
use super::approval::Answer;
use super::asker::Asker;
use super::audit_records::called;
use super::auditor::{Auditor, ReceivedLine};
use super::dispatch;
use super::effects::{Effect, Effects};
use super::event::{Deadline, Event, Progress};
use super::in_results;
use super::inbox::{self, Ender, EventSender, Inbox};
use super::job::RunsWith;
use super::kept::KeptCalls;
use super::late_parts::LateParts;
use super::leftovers::Leftovers;
use super::log::{Fields, Log, LogSink};
use super::not_started::NotStarted;
use super::outgoing::Outgoing;
use super::parts::Parts;
use super::questions::{Ended, Questions};
use super::reading::{self, Background};
use super::reads::Reads;
use super::replies::{AnsweredLost, Destination, Replies, Reply};
use super::requests::{GivenUp, HeldCall, Requests};
use super::roots::Roots;
use super::session::Session;
use super::shell_runner::ShellRunner;
use super::state::{ListedTools, State};
use super::task_requests;
use super::tasks::{Outcome, Tasks};
use super::turns::{self, Runners};
use super::workers::Workers;
use crate::config::LogLevel;
use crate::exec::StopReason;
use crate::jsonrpc::{
    ErrorObject, INTERNAL_ERROR, INVALID_REQUEST, Incoming, Line, LongLine, MAX_LINE, Malformed, Message, encode,
};

/// How long the server waits for process trees that it is ending: their half second, and the time to drain.
const ENDING: Duration = Duration::from_millis(850);

/// How long the ends are waited for that are to be recorded once everything was killed.
const LATE_ENDS: Duration = Duration::from_millis(50);

/// How often to look whether the thread of the persistent shell has ended.
const MOMENT: Duration = Duration::from_millis(1);

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
    parts: LateParts,
    state: State,
    runners: Runners,
    replies: Replies,
    log: Log,
    events: EventSender,
    inbox: Inbox,
    drain_time: DrainTime,
    lifecycle: Lifecycle,
    /// Whether the commands have already used the time that they have to end.
    is_late: bool,
    /// Whether a worker was prepared for the first call.
    is_prepared: bool,
    /// Boxed, so that the binary has only one copy of the server's code and not one for each kind of output.
    output: Box<dyn Write + 'o>,
}

/// The stages of the server's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lifecycle {
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
    pub fn new(parts: Parts, drain_time: DrainTime, log: LogSink, output: impl Write + 'o) -> Self {
        Self::of_late(parts.into(), drain_time, log, output)
    }

    /// The same with parts that may still have to be made.
    pub(crate) fn of_late(mut parts: LateParts, drain_time: DrainTime, log: LogSink, output: impl Write + 'o) -> Self {
        let (events, inbox) = Inbox::new();
        let mut log = Log::new(parts.opening.log_level, log).hiding(Arc::clone(&parts.opening.secrets));
        let shell = match parts.at_start() {
            None => ShellRunner::default(),
            Some(made) => {
                let (start, observer) = (made.policy.directories().base(), Arc::clone(&made.observer));
                let shell =
                    ShellRunner::start(made.shell.clone(), start, made.report.clone(), observer, events.clone());
                shell.unwrap_or_else(|error| {
                    log.write(LogLevel::Error, &format!("the persistent shell has no thread to run on: {error}"));
                    ShellRunner::default()
                })
            }
        };
        let made = parts.shared();
        let with = move || RunsWith {
            executor: Arc::clone(&made.executor),
            report: made.report.clone(),
            observer: Arc::clone(&made.observer),
        };
        let workers = Workers::new(with, events.clone());
        let asker = Asker::new(events.clone());
        let audit = Auditor::new(parts.opening.audit.take());
        let anchor = parts.opening.anchor.take().zip(audit.reader()).and_then(|(settings, reader)| {
            let started = Anchor::start(settings, reader, events.clone());
            started.map_err(|why| log.write(LogLevel::Error, &not_anchored(&why))).ok()
        });
        let mut server = Self {
            state: State {
                session: Session::default(),
                requests: Requests::new(parts.opening.max_concurrent, parts.opening.max_background_calls),
                outgoing: Outgoing::default(),
                roots: Roots::new(parts.opening.roots),
                tools: ListedTools::default(),
                questions: Questions::new(Arc::clone(&parts.opening.observer)),
                background: Background {
                    kept: KeptCalls::new(events.clone(), Arc::clone(&parts.opening.secrets)),
                    reads: Reads::new(events.clone()),
                    tasks: Tasks::default(),
                },
                audit,
            },
            runners: Runners { workers, shell, leftovers: Leftovers::default(), asker, anchor },
            parts,
            replies: Replies::default(),
            log,
            events,
            inbox,
            drain_time,
            lifecycle: Lifecycle::Serving,
            is_late: false,
            is_prepared: false,
            output: Box::new(output),
        };
        if server.parts.at_start().is_some() {
            server.tell_of_parts();
        } else if let Err(error) = server.parts.make(server.events.clone()) {
            server
                .log
                .write(LogLevel::Warn, &format!("cannot start a thread that would make the start faster: {error}"));
            server.tell_of_parts();
        }
        server
    }

    /// Logs the warnings and problems of the parts, and what the sandbox enforces.
    fn tell_of_parts(&mut self) {
        let Self { parts, log, .. } = self;
        let told = parts.warnings().into_iter().chain(parts.problems());
        told.for_each(|warning| log.write(LogLevel::Warn, &warning));
        if let Some(sandbox) = parts.confinement.describe() {
            log.write(LogLevel::Info, &format!("sandbox: {sandbox}"));
        }
    }

    /// Waits for parts that a short session did not wait for, and tells of them.
    ///
    /// # Errors
    /// What would have kept the server from starting.
    fn tell_of_late_parts(&mut self) -> io::Result<()> {
        if self.parts.if_made().is_some() {
            return Ok(());
        }
        self.parts.begin_event(true);
        self.parts.check_start().map_err(|error| io::Error::other(error.to_string()))?;
        self.tell_of_parts();
        Ok(())
    }

    fn tell_of_audit(&mut self) {
        for (level, line) in self.state.audit.told() {
            self.log.write(level, &line);
        }
    }

    /// Whether the server may start.
    ///
    /// # Errors
    /// [`NotStarted::Audit`], if the audit log can't be opened.
    pub(crate) fn check_start(&self) -> Result<(), NotStarted> {
        self.state.audit.broken().map_or(Ok(()), Err)
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
        self.runners.leftovers = Leftovers::watch(self.events.clone());
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
    /// from what [`gated`](super::gated) returned with the gate.
    ///
    /// # Errors
    /// If there is no pipe, or if writing fails for any reason except that the client closed the stream.
    #[cfg(unix)]
    pub(crate) fn serve_polled(mut self, input: impl BufRead + 'static, gate: super::Gate) -> io::Result<()> {
        self.inbox.poll(input, gate)?;
        self.serve_inbox()
    }

    fn serve_inbox(mut self) -> io::Result<()> {
        if let Some(parts) = self.parts.at_start() {
            parts.read_locked();
        }
        let served = self.run().and_then(|()| self.tell_of_late_parts());
        self.shut_down();
        // Its thread may have to tell of a last call, and there is room for a few events.
        while !self.runners.shell.close() {
            self.hear_ends(MOMENT, |_| true);
        }
        if !self.runners.leftovers.end_all(self.is_late) {
            self.log.write(LogLevel::Error, "some processes that commands left behind could not be ended");
        }
        self.runners.leftovers.held().for_each(|ended| self.state.audit.ended(ended));
        self.hear_ends(LATE_ENDS, Auditor::waits_for_ends);
        self.state.audit.lose_ends();
        self.state.audit.end();
        self.tell_of_audit();
        // After the last record.
        if let Some(Err(why)) = self.runners.anchor.map(Anchor::end) {
            self.log.write(LogLevel::Error, &not_anchored(&why));
        }
        if let Some(left) = self.parts.if_made().and_then(|parts| parts.confinement.remove_temporary()) {
            self.log.write(LogLevel::Warn, &left);
        }
        match served {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            served => served,
        }
    }

    /// Records the ends of calls that come too late to be served, for so long, and as long as they are waited for.
    fn hear_ends(&mut self, within: Duration, are_waited_for: impl Fn(&Auditor) -> bool) {
        let Self { state, inbox, .. } = self;
        inbox.forget(Deadline::Ended);
        inbox.after(within, Deadline::Ended);
        while are_waited_for(&state.audit) {
            match inbox.next() {
                Some(Event::Started { key, started }) => state.audit.started(key, &started),
                Some(Event::Ended(ended)) => state.audit.ended(&ended),
                Some(Event::Deadline(Deadline::Ended)) | None => break,
                Some(_) => {}
            }
        }
    }

    fn run(&mut self) -> io::Result<()> {
        while self.lifecycle != Lifecycle::Over {
            // The server holds a sender itself, so the channel is never closed.
            let Some(event) = self.inbox.next() else { return Ok(()) };
            let are_made = matches!(event, Event::PartsMade);
            self.parts.begin_event(are_made);
            if are_made {
                // Problems that would have kept the server from starting stop it now.
                self.parts.check_start().map_err(|error| io::Error::other(error.to_string()))?;
                self.parts.read_locked();
            }
            let is_line = matches!(event, Event::Line(_));
            let handled = self.handle(event).and_then(|()| self.tell_news()).and_then(|()| self.answer_lost());
            // After the answers, so that these don't wait for the audit log.
            self.state.audit.answers_sent();
            if is_line {
                self.prepare_worker();
            }
            self.tell_of_audit();
            if let Err(error) = handled {
                // Nobody can get answers any more, so the calls are ended.
                self.log.write(LogLevel::Info, &format!("the client no longer accepts answers: {error}"));
                self.lifecycle = Lifecycle::Ending;
                self.end_everything()?;
            }
            let requests = &self.state.requests;
            let is_over = match self.lifecycle {
                Lifecycle::Serving => false,
                Lifecycle::Draining => requests.is_empty(),
                Lifecycle::Ending => requests.is_idle() && self.runners.asker.is_idle(),
                Lifecycle::Over => true,
            };
            if is_over {
                self.lifecycle = Lifecycle::Over;
            }
        }
        Ok(())
    }

    /// Makes a worker prepare the rules of the sandbox. This takes a while, and the first call would have to wait for it.
    fn prepare_worker(&mut self) {
        if !std::mem::replace(&mut self.is_prepared, true)
            && self.parts.at_start().is_some_and(|parts| parts.confinement.is_on())
        {
            self.runners.workers.prepare();
        }
    }

    fn handle(&mut self, event: Event) -> io::Result<()> {
        let Self { parts, state, runners, .. } = self;
        let effects = match event {
            Event::Line(line) => return self.line(line),
            Event::InputEnded(result) => self.input_ended(&result),
            Event::OutputClosed => return Err(io::Error::new(io::ErrorKind::BrokenPipe, "it has closed its end")),
            Event::Signal => {
                let effects = dispatch::end_subscriptions(&mut state.requests);
                self.apply(effects)?;
                return self.end_everything();
            }
            Event::PartsMade => {
                self.tell_of_parts();
                return Ok(());
            }
            Event::Started { key, started } => {
                state.audit.started(key, &started);
                Effects::default()
            }
            Event::NotAnchored(why) => {
                self.log.write(LogLevel::Error, &not_anchored(&why));
                Effects::default()
            }
            Event::Ended(ended) => {
                let calls = (&mut state.requests, &mut state.background.kept, &mut state.audit);
                turns::ended(parts, calls, runners, ended)
            }
            Event::Looked(looked) => {
                let calls = (&mut state.requests, &mut state.background.kept, &mut state.audit);
                turns::looked(parts, calls, runners, looked)
            }
            // The flag is looked at after each event.
            Event::News => Effects::default(),
            Event::Seen { key, seen } => reading::seen(parts, (&mut state.requests, &mut state.background), key, seen),
            Event::SoFar { key, result } => {
                let effects = reading::handed_over(&mut state.requests, key, result);
                effects.and(turns::turn_away((&mut state.requests, &mut state.background.kept, &mut state.audit)))
            }
            // If the client is gone, nobody could ask about the call later.
            Event::Deadline(Deadline::HandOver(_)) if self.lifecycle != Lifecycle::Serving => Effects::default(),
            Event::Deadline(Deadline::HandOver(key)) => {
                reading::hand_over(parts, (&mut state.requests, &mut state.background), key)
            }
            Event::Deadline(Deadline::Task(number)) => {
                let tables = (&mut state.requests, &mut state.audit);
                let expired = task_requests::expired(&mut state.background.tasks, tables, number);
                let tables = (&mut state.requests, &mut state.outgoing);
                expired.and(state.questions.withdraw_unawaited(tables))
            }
            Event::Deadline(Deadline::Read(key)) => {
                reading::overdue(parts, (&mut state.requests, &mut state.background), key)
            }
            Event::Progress(progress) => self.progress(&progress),
            Event::Deadline(Deadline::Drained) => return self.end_everything(),
            Event::Deadline(Deadline::Outgoing(number)) => state.roots.overdue(number, &mut state.requests),
            Event::Answered { number, answer, said } => self.answered(number, &answer, &said),
            Event::Deadline(Deadline::Question(number)) => {
                let State { requests, outgoing, questions, .. } = state;
                questions.give_up(number, &Answer::TimedOut, (requests, outgoing))
            }
            Event::Deadline(Deadline::State(number)) => {
                in_results::expired(&*parts.opening.observer, &mut state.outgoing, number)
            }
            Event::Deadline(Deadline::Asking(number)) => state.questions.tick(number, &mut state.requests),
            Event::Deadline(Deadline::Ended) => {
                (self.lifecycle, self.is_late) = (Lifecycle::Over, true);
                Effects::default()
            }
        };
        self.step(effects)
    }

    /// Serves the reads for which new output has come.
    fn tell_news(&mut self) -> io::Result<()> {
        let State { requests, background, .. } = &mut self.state;
        if self.lifecycle == Lifecycle::Ending || !background.kept.has_news() {
            return Ok(());
        }
        let effects = reading::news(&self.parts, (requests, background));
        self.step(effects)
    }

    /// Starts the calls whose turn it is, before anything is written, and then applies the effects of a handler.
    fn step(&mut self, effects: Effects) -> io::Result<()> {
        let State { requests, background, audit, .. } = &mut self.state;
        let started = turns::start(&self.parts, (requests, background, audit), &mut self.runners);
        self.apply(effects.and(started))
    }

    fn apply(&mut self, effects: Effects) -> io::Result<()> {
        for effect in effects {
            match effect {
                Effect::Answer(reply, result) => self.answer(reply, Outcome::Result(result))?,
                Effect::Refuse(reply, error) => {
                    self.state.audit.refused(reply.id(), reply.called(), Some(error.code), &error.message);
                    if self.log.writes(LogLevel::Debug) {
                        let line = Fields::of_request(reply.id()).ours("error", error.code);
                        self.log.write(LogLevel::Debug, line.reason("message", &error.message).as_str());
                    }
                    self.answer(reply, Outcome::Error(error))?;
                }
                Effect::Withdraw(reply) => self.replies.withdraw(reply).map_or(Ok(()), |line| self.write(&line))?,
                Effect::Send(message) => self.write(&message)?,
                Effect::Serve(held) => {
                    let Self { parts, state, runners, .. } = self;
                    let effects = dispatch::serve(parts, state, &runners.shell, *held);
                    self.step(effects)?;
                }
                Effect::Ask(asks) => {
                    let number = asks.number;
                    self.runners.leftovers.begins(of_question(number));
                    if let Err(why) = self.runners.asker.ask(&self.parts.ask, *asks) {
                        let effects = self.answered(number, &Answer::Failed(why), "");
                        self.step(effects)?;
                    }
                }
                Effect::EndAsking(number) => self.runners.asker.end(number, StopReason::Cancelled),
                Effect::End(ended) => self.inbox.put_first(Event::Ended(ended)),
                Effect::Task(task, change) => {
                    let State { background, requests, .. } = &mut self.state;
                    let effects = task_requests::changed(&mut background.tasks, requests, task, change);
                    self.apply(effects)?;
                }
                Effect::Wait(delay, deadline) => self.inbox.after(delay, deadline),
                Effect::Forget(deadline) => self.inbox.forget(deadline),
                Effect::Log(level, line) => self.log.write(level, &line),
                Effect::Record(event) => self.state.audit.record(|| *event),
            }
        }
        Ok(())
    }

    /// Answers a request. If it became a task, the task keeps the answer.
    fn answer(&mut self, reply: Reply, outcome: Outcome) -> io::Result<()> {
        let Some(task) = reply.task() else {
            let line = match outcome {
                Outcome::Result(result) => self.replies.result(reply, result),
                Outcome::Error(error) => self.replies.error(reply, &error),
            };
            return line.map_or(Ok(()), |line| self.write(&line));
        };
        let charge = reply.new_charge();
        let nothing = self.replies.withdraw(reply);
        debug_assert!(nothing.is_none(), "the client was answered before");
        let State { background, requests, .. } = &mut self.state;
        let effects = task_requests::ended(&mut background.tasks, requests, task, outcome, charge);
        self.apply(effects)
    }

    fn line(&mut self, line: Line) -> io::Result<()> {
        if self.lifecycle == Lifecycle::Ending {
            return Ok(());
        }
        let text = match line {
            Line::Text(text) => text,
            Line::TooLong(line) => {
                let (id, is_answered) = match &line {
                    LongLine::Unanswered => (None, false),
                    LongLine::Request(id) => (Some(id), true),
                    LongLine::Other => (None, true),
                };
                let why = format!("invalid request: the line is longer than {MAX_LINE} bytes");
                self.state.audit.malformed(id, INVALID_REQUEST, &why, None);
                if !is_answered {
                    return Ok(());
                }
                return self.write(&encode::error(id, &ErrorObject::new(INVALID_REQUEST, why)));
            }
        };
        let line = &ReceivedLine::new(&text);
        match Incoming::parse(&text) {
            Ok(Incoming::Single(message)) => self.message(Ok(message), Destination::Client, line),
            Ok(Incoming::Batch(elements)) => self.batch(elements, line),
            Err(malformed) => self.message(Err(malformed), Destination::Client, line),
        }
    }

    fn batch(&mut self, elements: Vec<Result<Message, Malformed>>, line: &ReceivedLine<'_>) -> io::Result<()> {
        if !self.state.session.revision().is_some_and(crate::mcp::Revision::has_batches) {
            let why = "invalid request: batches exist only after a handshake with protocol version 2025-03-26";
            return self.refuse_batch(INVALID_REQUEST, why, line);
        }
        let is_answered = |element: &&Result<Message, Malformed>| matches!(element, Ok(Message::Request(_)) | Err(_));
        let to = match elements.iter().filter(is_answered).count() {
            0 => Ok(Destination::Client),
            answers => self.replies.open_batch(answers),
        };
        let to = match to {
            Ok(to) => to,
            Err(error) => return self.refuse_batch(INTERNAL_ERROR, &error.to_string(), line),
        };
        elements.into_iter().try_for_each(|element| self.message(element, to, line))
    }

    fn refuse_batch(&mut self, code: i32, why: &str, line: &ReceivedLine<'_>) -> io::Result<()> {
        self.state.audit.malformed(None, code, why, Some(line));
        self.write(&encode::error(None, &ErrorObject::new(code, why)))
    }

    fn message(
        &mut self,
        message: Result<Message, Malformed>,
        to: Destination,
        line: &ReceivedLine<'_>,
    ) -> io::Result<()> {
        let Self { parts, state, runners, replies, .. } = self;
        let effects = match message {
            Ok(Message::Request(request)) => {
                let reply = replies.open(request.id.clone(), called(&request), to);
                if request.method == "initialize" && reply.is_in_batch() {
                    let why = "invalid request: `initialize` can't be part of a batch";
                    Effect::Refuse(reply, ErrorObject::new(INVALID_REQUEST, why)).into()
                } else {
                    dispatch::request(parts, state, &runners.shell, request, reply, line)
                }
            }
            Ok(Message::Notification(notification)) => dispatch::notification(state, &notification, line),
            Ok(Message::Response(response)) => dispatch::response(parts, state, &response, line),
            Err(malformed) => {
                let Malformed { id, error } = &malformed;
                state.audit.malformed(id.as_ref(), error.code, &error.message, Some(line));
                self.log.write(LogLevel::Debug, &format!("a line that isn't a message: {}", malformed.error.message));
                let line = replies.error_to(malformed.id.as_ref(), to, &malformed.error);
                return line.map_or(Ok(()), |line| self.write(&line));
            }
        };
        self.step(effects)
    }

    /// Handles the end of the operator's program, or its failure to start.
    fn answered(&mut self, number: u64, answer: &Answer, said: &str) -> Effects {
        let Self { state, runners, .. } = self;
        runners.asker.ended(number);
        runners.leftovers.ends(of_question(number));
        state.questions.program_ended(number);
        state.questions.answered(number, answer, said, &mut state.requests)
    }

    fn progress(&mut self, progress: &Progress) -> Effects {
        // `None` if the call was cancelled or answered in the meantime.
        let feedback = self.state.requests.feedback(progress.key);
        let mut effects = Effects::default();
        effects.send(feedback.and_then(|feedback| feedback.progress(progress)));
        effects
    }

    fn input_ended(&mut self, result: &io::Result<()>) -> Effects {
        if let Err(error) = result {
            self.log.write(LogLevel::Error, &format!("the client's messages can no longer be read: {error}"));
        }
        if self.lifecycle == Lifecycle::Serving {
            self.lifecycle = Lifecycle::Draining;
            if let DrainTime::Bounded(time) = self.drain_time {
                self.inbox.after(time, Deadline::Drained);
            }
        }
        let State { requests, roots, outgoing, questions, .. } = &mut self.state;
        requests.end_background();
        let which = match self.drain_time {
            DrainTime::Bounded(_) => Ended::Client,
            DrainTime::Unbounded => Ended::Input,
        };
        let ended = questions.end_session(which, (requests, outgoing));
        // Not the observer of the parts, which may not be made yet.
        let ended = ended.and(in_results::client_gone(&*self.parts.opening.observer, outgoing));
        ended.and(dispatch::end_subscriptions(requests)).and(roots.give_up(requests))
    }

    fn end_everything(&mut self) -> io::Result<()> {
        let withdrawn = in_results::client_gone(&*self.parts.opening.observer, &mut self.state.outgoing);
        // Before everything that may have to wait (for the audit log, for a client that is slow to read), so that the time of
        // the commands runs.
        self.shut_down();
        let withdrawn = self.apply(withdrawn);
        // Calls of a batch that have finished are answered, as they would be outside of a batch.
        let finished = self.replies.close_batches();
        let sent = finished.iter().try_for_each(|line| self.write(line));
        self.lifecycle = Lifecycle::Ending;
        self.inbox.after(ENDING, Deadline::Ended);
        withdrawn.and(sent)
    }

    /// Gives up every call.
    fn shut_down(&mut self) {
        let State { requests, questions, audit, .. } = &mut self.state;
        let GivenUp { queued, held, asked, unanswered } = requests.shut_down();
        unanswered.iter().for_each(|line| self.log.write(LogLevel::Info, line.as_str()));
        queued.into_iter().for_each(|call| audit.not_started(call, None));
        for HeldCall { reply, .. } in held {
            audit.refused(reply.id(), reply.called(), None, "the session ended before it was decided on");
        }
        asked.iter().filter_map(|call| questions.withdrawn(call)).for_each(|event| audit.record(|| event));
        questions.shut_down();
        self.runners.asker.end_all();
        if self.runners.shell.give_up() {
            self.state.requests.abandon_shell();
        }
    }

    /// Answers the requests whose replies were dropped. That is a bug, unless the server is ending.
    fn answer_lost(&mut self) -> io::Result<()> {
        for AnsweredLost { id, line, task } in self.replies.answer_lost() {
            if let Some((task, error)) = task {
                let State { background, requests, .. } = &mut self.state;
                let (outcome, charge) = (Outcome::Error(error), self.replies.charge());
                let effects = task_requests::ended(&mut background.tasks, requests, task, outcome, charge);
                self.apply(effects)?;
            }
            if self.lifecycle != Lifecycle::Ending {
                let line = Fields::of_request(&id).reason("failed", "a bug: its handler gave no answer");
                self.log.write(LogLevel::Error, line.as_str());
            }
            line.map_or(Ok(()), |line| self.write(&line))?;
        }
        Ok(())
    }

    /// Writes one line, with a single write if the stream takes it whole.
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.lifecycle == Lifecycle::Ending {
            return Ok(());
        }
        // The records must not wait for a client that does not read.
        if self.state.audit.has_unwritten() && !self.inbox.takes(line.len()) {
            self.state.audit.write_waiting();
        }
        self.output.write_all(line)?;
        self.output.flush()
    }
}

/// By which number those of the operator's program are looked for that asks this question: no call has it.
fn of_question(number: u64) -> u64 {
    u64::MAX - number
}

fn not_anchored(why: &str) -> String {
    format!("the program of `--audit-anchor` has not kept the head of the audit log: {why}")
}
