//! The log, what is not written yet, and the thread that writes it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::audit::log::{AuditError, AuditLog};
use crate::audit::{AuditedClient, Event};
use crate::config::LogLevel;
use crate::mcp::Implementation;

/// How many messages wait to be recorded while the client is not known yet.
const MOST_WITHOUT_CLIENT: usize = 16;

#[derive(Debug)]
pub(super) struct Shared {
    /// Its file, as the operator named it.
    pub file: PathBuf,
    /// Nobody who holds it waits for the disk.
    pub kept: Mutex<Kept>,
    /// Rung when there is something for the thread.
    pub bell: Condvar,
    /// Whoever writes holds it, and takes `kept` for moments only.
    pub log: Mutex<Log>,
}

/// The records that are not written yet, and what is known of calls.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The client that sent the last request.
    pub client: Option<(Arc<Implementation>, AuditedClient)>,
    pub waiting: Vec<Event>,
    /// The calls that were not refused, and whose end is not on record.
    pub without_end: BTreeSet<u64>,
    /// Messages for the server's own log.
    pub told: Vec<(LogLevel, String)>,
    /// Whether there is a thread that writes, and whether there is something for it.
    pub has_thread: bool,
    pub is_rung: bool,
    /// Whether the session is over, so that the thread ends.
    pub is_over: bool,
}

/// The log itself.
#[derive(Debug)]
pub(super) struct Log {
    pub file: Result<AuditLog, AuditError>,
    /// Whether the last record could not be written.
    pub is_failing: bool,
    /// Whether the session's last record is written, so that nothing runs any more.
    pub is_over: bool,
}

impl Shared {
    /// Waits until there is something to write; `false` once the session is over.
    pub fn is_rung(&self) -> bool {
        let mut kept = self.kept();
        while !kept.is_rung && !kept.is_over {
            kept = self.bell.wait(kept).unwrap_or_else(PoisonError::into_inner);
        }
        kept.is_rung = false;
        !kept.is_over
    }

    pub fn ring(&self) {
        let mut kept = self.kept();
        if !std::mem::replace(&mut kept.is_rung, true) {
            self.bell.notify_all();
        }
    }

    /// Writes what was noted. The session's first record is written as soon as the client is known, or with the first record
    /// that can't wait for that.
    pub fn write_if_begun(&self) {
        let mut log = self.log();
        let is_to_begin = log.file.as_ref().is_ok_and(AuditLog::is_to_begin);
        let (client, waiting) = {
            let kept = self.kept();
            (kept.audited_client(), kept.waiting.len())
        };
        match client {
            None if is_to_begin && waiting < MOST_WITHOUT_CLIENT => return,
            Some(client) if is_to_begin && waiting == 0 => {
                let begun = log.file.as_mut().ok().map(|file| file.begin(Some(client)));
                return self.tell(&mut log, begun.and_then(Result::err).map(|error| error.to_string()));
            }
            _ => {}
        }
        // The operator is told.
        drop(self.write(&mut log, []));
    }

    pub fn write_waiting(&self) {
        // The operator is told.
        drop(self.write(&mut self.log(), []));
    }

    /// Writes what was noted, and then these.
    ///
    /// # Errors
    /// Why not all of it could be written.
    pub fn write(&self, log: &mut Log, events: impl IntoIterator<Item = Event>) -> Result<(), String> {
        let (mut all, client) = {
            let mut kept = self.kept();
            (std::mem::take(&mut kept.waiting), kept.audited_client())
        };
        all.extend(events);
        if log.is_over {
            return Err("the session is over".to_owned());
        }
        let why = match &mut log.file {
            Ok(_) if all.is_empty() => return Ok(()),
            Ok(file) => file.record(&all, client.as_ref()).err().map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        self.tell(log, why.clone());
        why.map_or(Ok(()), Err)
    }

    /// Tells the operator when records can no longer be written, and when they can be again.
    pub fn tell(&self, log: &mut Log, failed: Option<String>) {
        let told = match failed {
            Some(why) if !log.is_failing => {
                (LogLevel::Error, format!("the audit log can't be written, so calls are refused: {why}"))
            }
            None if log.is_failing => (LogLevel::Warn, "the audit log is written again".to_owned()),
            _ => return,
        };
        log.is_failing = !log.is_failing;
        self.kept().told.push(told);
    }

    pub fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Takes note of who has sent a request; whether the client was not known before.
    pub fn hears(&mut self, client: &Arc<Implementation>) -> bool {
        let is_first = self.client.is_none();
        if !self.client.as_ref().is_some_and(|(heard, _)| Arc::ptr_eq(heard, client)) {
            let Implementation { name, version, .. } = &**client;
            let audited = AuditedClient { name: name.clone(), version: version.clone() };
            self.client = Some((Arc::clone(client), audited));
        }
        is_first
    }

    pub fn audited_client(&self) -> Option<AuditedClient> {
        self.client.as_ref().map(|(_, client)| client.clone())
    }
}
