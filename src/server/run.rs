//! The loop: takes events one by one, and is the only one that writes to the client.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use super::calls::{Calls, Pending};
use super::event::{Deadline, Event};
use super::inbox::{self, Inbox};
use super::replies::{Batches, ReplyTo};
use super::shell_calls::{ShellCalls, ShellFinished};
use super::subscriptions::Subscriptions;
use super::workers::{Ended, Finished, Progress, Workers};
use super::{Ender, EventSender, Log, Observer, Parts, Session};
use crate::config::LogLevel;
use crate::exec::{End, Orphans, Timer};
use crate::jsonrpc::{ErrorObject, INVALID_REQUEST, Incoming, Line, MAX_LINE, Malformed, Message, encode};
use crate::policy::Policy;
use crate::tools::Toolbox;

/// How long the ended trees have until the server ends without them: their half second, and the time to drain.
const ENDING: Duration = Duration::from_millis(850);

/// How long calls that still run at the end of the input have to finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Until they are ended; for a client, which waits two seconds for the server to exit, half a second.
    Bounded(Duration),
    /// As long as their own deadlines allow.
    Unbounded,
}

impl Patience {
    /// What a client's end of the input leaves to its calls.
    pub const FOR_CLIENTS: Self = Self::Bounded(Duration::from_millis(500));
}

/// A server for one client, whose output lives as long as `'o`.
pub struct Server<'o> {
    pub(super) policy: Policy,
    pub(super) toolbox: Toolbox,
    pub(super) limits: crate::exec::Limits,
    pub(super) session: Session,
    pub(super) calls: Calls,
    pub(super) shell: ShellCalls,
    pub(super) workers: Workers,
    pub(super) log: Log,
    pub(super) subscriptions: Subscriptions,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) last_key: u64,
    batches: Batches,
    orphans: Option<Orphans>,
    timer: Timer,
    pub(super) events: EventSender,
    pub(super) inbox: Inbox,
    patience: Patience,
    life: Life,
    /// Kept for its end: the commands' temporary directory goes with it.
    pub(super) confinement: super::Confinement,
    pub(super) roots: super::roots::ClientRootsState,
    /// Behind one pointer, so that there is one server in the binary and not one for each kind of output.
    output: Box<dyn Write + 'o>,
}

/// How far the server is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// It serves.
    Serving,
    /// The input has ended; the calls that run may still finish.
    Draining,
    /// What runs is being ended, and nothing is answered any more.
    Ending,
    /// Nothing is waited for.
    Over,
}

impl<'o> Server<'o> {
    /// Makes a server of its parts, which answers on `output`.
    pub fn new(parts: Parts, patience: Patience, log: crate::server::LogSink, output: impl Write + 'o) -> Self {
        let (events, inbox) = Inbox::new();
        let warnings = parts.warnings();
        let mut log = Log::new(parts.log_level, log);
        warnings.iter().for_each(|warning| log.write(LogLevel::Warn, warning));
        parts.problems().iter().for_each(|problem| log.write(LogLevel::Warn, problem));
        if let Some(sandbox) = parts.confinement.describe() {
            log.write(LogLevel::Info, &format!("sandbox: {sandbox}"));
        }
        let start = parts.policy.directories().base().path;
        let shell = ShellCalls::start(parts.shell, start, parts.report, Arc::clone(&parts.observer), events.clone())
            .unwrap_or_else(|error| {
                log.write(LogLevel::Error, &format!("the persistent shell has no thread to run on: {error}"));
                ShellCalls::default()
            });
        Self {
            policy: parts.policy,
            toolbox: parts.toolbox,
            limits: parts.limits,
            session: Session::default(),
            calls: Calls::new(parts.max_concurrent),
            shell,
            subscriptions: Subscriptions::default(),
            workers: Workers::new(parts.executor, parts.report, Arc::clone(&parts.observer), events.clone()),
            log,
            observer: parts.observer,
            last_key: 0,
            batches: Batches::default(),
            orphans: None,
            timer: Timer::default(),
            events,
            inbox,
            patience,
            life: Life::Serving,
            confinement: parts.confinement,
            roots: super::roots::ClientRootsState::new(parts.roots),
            output: Box::new(output),
        }
    }

    /// What ends the server from another thread.
    pub fn ender(&self) -> Ender {
        Ender(self.events.clone())
    }

    /// Has the server end what left the tree of its command (Linux).
    ///
    /// It is for programs that have called [`own_descendants`](crate::exec::own_descendants) and serve on their main
    /// thread. Whatever falls to that thread is ended, so the program must have no children of its own beside the
    /// server's; a library does without.
    #[must_use]
    pub fn ending_orphans(mut self) -> Self {
        self.orphans = Some(Orphans::default());
        self
    }

    /// Serves the client until its stream ends, and then ends what still runs.
    ///
    /// The stream is read on a thread of its own, which ends with the stream, or with the server at its next line.
    ///
    /// # Errors
    /// Where no thread can be had to read with, or the output fails in another way than that the client closed it.
    pub fn serve(self, input: impl BufRead + Send + 'static) -> io::Result<()> {
        let events = self.events.clone();
        std::thread::Builder::new().name("reader".into()).spawn(move || inbox::read(input, &events))?;
        self.serve_inbox()
    }

    /// Serves the client as [`serve`](Self::serve) does, and reads its stream without another thread. At the bottom of
    /// `input` is what [`gated`](super::gated) made with the gate.
    ///
    /// # Errors
    /// Where no pipe can be had, or the output fails in another way than that the client closed it.
    #[cfg(unix)]
    pub(crate) fn serve_polled(mut self, input: impl BufRead + 'static, gate: super::Gate) -> io::Result<()> {
        self.inbox.poll(input, gate)?;
        self.serve_inbox()
    }

    fn serve_inbox(mut self) -> io::Result<()> {
        if self.confinement.is_on() {
            // Making the rules takes a while, which would be the first call's otherwise. Without a thread it is that.
            let executor = self.workers.executor();
            drop(std::thread::Builder::new().name("prepare".into()).spawn(move || executor.prepare()));
        }
        let served = self.run();
        self.calls.shut_down();
        self.shell.end();
        if let Some(orphans) = &mut self.orphans {
            orphans.end_all();
        }
        match served {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            served => served,
        }
    }

    fn run(&mut self) -> io::Result<()> {
        while self.life != Life::Over {
            // The server holds a sender itself, so the channel is never closed.
            let Some(event) = self.inbox.next() else { return Ok(()) };
            let written = match event {
                Event::Line(line) => self.line(line),
                Event::InputEnded(result) => self.input_ended(&result),
                Event::OutputClosed => Err(io::Error::new(io::ErrorKind::BrokenPipe, "it has closed its end")),
                Event::Signal => self.end_subscriptions().and_then(|()| self.end_everything()),
                Event::Finished(finished) => self.finished(finished),
                Event::Progress(progress) => self.progress(&progress),
                Event::ShellFinished(finished) => self.shell_finished(finished),
                Event::Deadline(Deadline::Drained) => self.end_everything(),
                Event::Deadline(Deadline::Roots(number)) => self.roots_overdue(number),
                Event::Deadline(Deadline::Ended) => {
                    self.life = Life::Over;
                    Ok(())
                }
            };
            if let Err(error) = written {
                // Nobody hears the answers any more, so nobody wants the calls.
                self.log.write(LogLevel::Info, &format!("the client does not take answers any more: {error}"));
                self.life = Life::Ending;
                self.end_everything()?;
            }
            let is_empty = self.calls.is_empty() && self.shell.is_empty();
            let is_idle = self.calls.is_idle() && self.shell.is_idle();
            if self.life == Life::Draining && is_empty || self.life == Life::Ending && is_idle {
                self.life = Life::Over;
            }
        }
        Ok(())
    }

    fn line(&mut self, line: Line) -> io::Result<()> {
        if self.life == Life::Ending {
            return Ok(());
        }
        let text = match line {
            Line::Text(text) => text,
            Line::TooLong => {
                let why = format!("invalid request: the line is longer than {MAX_LINE} bytes");
                return self.write(&encode::error(None, &ErrorObject::new(INVALID_REQUEST, why)));
            }
        };
        match Incoming::parse(&text) {
            Ok(Incoming::Single(message)) => self.message(message, ReplyTo::Client),
            Ok(Incoming::Batch(elements)) => self.batch(elements),
            Err(malformed) => self.malformed(&malformed, ReplyTo::Client),
        }
    }

    fn batch(&mut self, elements: Vec<Result<Message, Malformed>>) -> io::Result<()> {
        if !self.session.revision().is_some_and(crate::mcp::Revision::has_batches) {
            let why = "invalid request: batches exist only after a handshake with protocol version 2025-03-26";
            return self.write(&encode::error(None, &ErrorObject::new(INVALID_REQUEST, why)));
        }
        let reply_to = self.batches.open(elements.len());
        for element in elements {
            match element {
                Ok(Message::Request(request)) if request.method == "initialize" => {
                    let why = "invalid request: `initialize` can't be part of a batch";
                    let error = ErrorObject::new(INVALID_REQUEST, why);
                    self.reply(reply_to, Some(encode::error(Some(&request.id), &error)))?;
                }
                Ok(message) => self.message(message, reply_to)?,
                Err(malformed) => self.malformed(&malformed, reply_to)?,
            }
        }
        Ok(())
    }

    fn message(&mut self, message: Message, reply_to: ReplyTo) -> io::Result<()> {
        match message {
            Message::Request(request) => self.request(request, reply_to),
            Message::Notification(notification) => {
                self.notification(&notification)?;
                self.reply(reply_to, None)
            }
            Message::Response(response) => {
                self.response(&response)?;
                self.reply(reply_to, None)
            }
        }
    }

    fn malformed(&mut self, malformed: &Malformed, reply_to: ReplyTo) -> io::Result<()> {
        self.log.write(LogLevel::Debug, &format!("a line that is no message: {}", malformed.error.message));
        self.reply(reply_to, Some(encode::error(malformed.id.as_ref(), &malformed.error)))
    }

    fn finished(&mut self, finished: Finished) -> io::Result<()> {
        self.workers.release(finished.key);
        let pending = self.calls.finish(finished.key);
        // Before the answer, so that what a command left behind is gone when its client hears of its end.
        let running = self.running();
        if let Some(orphans) = &mut self.orphans {
            orphans.after(finished.key, &running);
        }
        let started = self.start_calls();
        started.and(pending.map_or(Ok(()), |pending| self.answer(&pending, &finished.end, &finished.result)))
    }

    /// Tells the log and the client of a call's end, and sends its answer.
    fn answer(&mut self, pending: &Pending, end: &Ended, result: &[u8]) -> io::Result<()> {
        if self.log.writes(LogLevel::Info) {
            let end = describe_end(end);
            self.log.write(LogLevel::Info, &format!("call id={} {} {end}", pending.id, pending.description));
        }
        if let Some(message) = pending.feedback.ended(end) {
            self.write(&message)?;
        }
        self.reply(pending.reply_to, Some(encode::result(&pending.id, result)))
    }

    fn progress(&mut self, progress: &Progress) -> io::Result<()> {
        // A call that was cancelled or answered in the meantime is not among those that run and are wanted.
        let pending = self.calls.get_mut(progress.key).or_else(|| self.shell.get_mut(progress.key));
        let notification = pending.and_then(|pending| pending.feedback.progress(progress));
        notification.map_or(Ok(()), |notification| self.write(&notification))
    }

    /// Answers what listens: nothing more will come.
    fn end_subscriptions(&mut self) -> io::Result<()> {
        self.subscriptions.end_all().iter().try_for_each(|answer| self.write(answer))
    }

    fn shell_finished(&mut self, finished: ShellFinished) -> io::Result<()> {
        let before = self.shell.directory();
        let pending = self.shell.finish(&finished);
        self.hold_to_roots(before);
        // Before the next call, so that nothing this one has left behind can write into its answer. A call that the loop
        // itself has watched from its begin to its end was running at no look for orphans, so it is nobody's suspect.
        if let Some(host) = &finished.host {
            let running = self.running();
            if let Some(orphans) = &mut self.orphans {
                orphans.after_command_of(host, finished.key, &running);
            }
        }
        if let Some(why) = &finished.restarted {
            self.log.write(LogLevel::Warn, &format!("the persistent shell was started anew: {why}"));
        }
        let started = self.start_shell_call();
        started.and(pending.map_or(Ok(()), |pending| self.answer(&pending, &finished.end, &finished.result)))
    }

    /// The keys of the calls that run, on whatever they run.
    fn running(&self) -> Vec<u64> {
        self.calls.running().into_iter().chain(self.shell.running()).collect()
    }

    fn input_ended(&mut self, result: &io::Result<()>) -> io::Result<()> {
        if let Err(error) = result {
            self.log.write(LogLevel::Error, &format!("the client's messages can't be read any more: {error}"));
        }
        if self.life == Life::Serving {
            self.life = Life::Draining;
            if let Patience::Bounded(patience) = self.patience {
                self.deadline(patience, Deadline::Drained);
            }
        }
        self.end_subscriptions()?;
        self.stop_waiting_for_roots()
    }

    fn end_everything(&mut self) -> io::Result<()> {
        // First, so that their time runs while the client takes its own to read.
        self.calls.shut_down();
        self.shell.shut_down();
        // What has finished of a batch is answered, as it is where it came alone.
        let finished = self.batches.close_all();
        let sent = finished.iter().try_for_each(|responses| self.write(&encode::batch(responses)));
        self.life = Life::Ending;
        self.deadline(ENDING, Deadline::Ended);
        sent
    }

    pub(super) fn deadline(&mut self, delay: Duration, deadline: Deadline) {
        let events = self.events.clone();
        // Where the loop is gone the deadline is nobody's any more.
        self.timer.after(delay, move || {
            events.send(Event::Deadline(deadline));
        });
    }

    /// Takes the answer to one request, or the word that it gets none.
    pub(super) fn reply(&mut self, reply_to: ReplyTo, response: Option<Vec<u8>>) -> io::Result<()> {
        match reply_to {
            ReplyTo::Client => response.map_or(Ok(()), |response| self.write(&response)),
            ReplyTo::Batch(key) => match self.batches.close_one(key, response) {
                Some(responses) => self.write(&encode::batch(&responses)),
                None => Ok(()),
            },
        }
    }

    /// Writes one line, with one call where the stream takes it whole.
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.life == Life::Ending {
            return Ok(());
        }
        self.output.write_all(line)?;
        self.output.flush()
    }
}

fn describe_end(end: &Ended) -> String {
    match end {
        Ended::Ran { end, elapsed } => {
            let how = match end {
                End::Exited(code) => format!("exit={code}"),
                End::Signaled(number) => format!("signal={number}"),
                End::TimedOut(_) => "timed_out=true".to_owned(),
                End::Stopped => "stopped=true".to_owned(),
            };
            format!("{how} time={:.1}ms", elapsed.as_secs_f64() * 1000.0)
        }
        Ended::Failed(why) => format!("failed={why:?}"),
    }
}
