//! The thread that reads and searches the output of calls, so that the loop never has to. The first read starts it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Weak};

use crate::exec::{Captured, Spool, StreamName};
use crate::mcp::{CallToolResult, Revision};
use crate::server::event::{Event, ReadSeen};
use crate::server::inbox::EventSender;
use crate::tools::calls::{CallState, ReadOutcome, read_output};
use crate::tools::{ReadOutput, ReportSettings, RunsIn, running_result};

/// A request to look at an output.
#[derive(Debug)]
pub(in crate::server) struct Look {
    /// The number of the request.
    pub key: u64,
    /// Gone if nobody is waiting for it any more.
    pub read: Weak<ReadOutput>,
    pub spool: Arc<Spool>,
    pub state: CallState,
    pub looked_at: u64,
    pub is_due: bool,
    pub most: u64,
    pub report: ReportSettings,
    pub revision: Revision,
}

/// A job for the thread.
#[derive(Debug)]
pub(in crate::server) enum ReadJob {
    /// Look at an output for a read.
    Look(Look),
    /// Read the output so far of a call that is handed over.
    SoFar { key: u64, spool: Arc<Spool>, most: u64, report: ReportSettings, revision: Revision, runs_in: RunsIn },
}

/// The thread, once it is started.
#[derive(Debug)]
pub(in crate::server) struct Reads {
    jobs: Option<Sender<ReadJob>>,
    events: EventSender,
}

impl Reads {
    pub(in crate::server) fn new(events: EventSender) -> Self {
        Self { jobs: None, events }
    }

    /// Gives the thread a job, whose outcome becomes an event.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(in crate::server) fn give(&mut self, job: ReadJob) -> std::io::Result<()> {
        let jobs = match self.jobs.take() {
            Some(jobs) => jobs,
            None => self.start()?,
        };
        let sent = jobs.send(job);
        self.jobs = Some(jobs);
        sent.map_err(|_| std::io::Error::other("it has ended"))
    }

    fn start(&self) -> std::io::Result<Sender<ReadJob>> {
        let (jobs, received) = mpsc::channel::<ReadJob>();
        let events = self.events.clone();
        let work = move || {
            for job in received {
                let look = match job {
                    ReadJob::Look(look) => look,
                    ReadJob::SoFar { key, spool, most, report, revision, runs_in } => {
                        let result = running_result(key, so_far(&spool, most), &report, runs_in).encode(revision);
                        if !events.send(Event::SoFar { key, result }) {
                            return;
                        }
                        continue;
                    }
                };
                let Some(read) = look.read.upgrade() else { continue };
                let key = look.key;
                // A panic ends only the read, with an error, and not the thread.
                let seen = catch_unwind(AssertUnwindSafe(|| see(&look, &read))).unwrap_or_else(|_| {
                    let why = "the server failed while it read the output; its log says more";
                    ReadSeen::Result(CallToolResult::error(why).encode(look.revision))
                });
                drop((read, look));
                if !events.send(Event::Seen { key, seen }) {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("reads".into()).spawn(work)?;
        Ok(jobs)
    }
}

fn so_far(spool: &Spool, most: u64) -> [Captured; 2] {
    // What can't be read is left out; the call goes on anyway.
    StreamName::ALL.map(|stream| spool.part(stream).captured(most).unwrap_or_default())
}

fn see(look: &Look, read: &ReadOutput) -> ReadSeen {
    let part = (&look.spool.part(read.stream), look.spool.length(read.stream.other()));
    match read_output(read, part, &look.state, (look.looked_at, look.is_due), look.most, &look.report) {
        ReadOutcome::Done(result) => ReadSeen::Result(result.encode(look.revision)),
        ReadOutcome::Waits { looked_at } => ReadSeen::Waits { looked_at },
    }
}
