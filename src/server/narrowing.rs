//! Narrows the operator's directories to a client's roots. Only the threads of calls do, since it walks paths.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::auditor::Auditor;
use super::event::Event;
use super::inbox::EventSender;
use super::log::{self, Fields};
use super::narrowed::Narrowed;
use super::not_run::NotRun;
use super::parts::Parts;
use super::sent_words::SentWords;
use crate::config::{LogLevel, RootsMode};
use crate::files::{Held, are_same};
use crate::policy::{Directories, DirectoryError};

/// The directories for the decision on a call.
#[derive(Debug)]
pub(super) enum CalledIn {
    /// Those of the operator.
    Operators,
    /// The operator's, narrowed to the roots of a legacy client.
    Known {
        directories: Arc<Directories>,
        /// The words of the call, for the log.
        sent: Option<SentWords>,
    },
    /// The operator's, narrowed to roots of the client.
    Roots {
        /// The roots, as the call names them.
        uris: Vec<String>,
        /// The words of the call, for the log.
        sent: Option<SentWords>,
    },
}

/// Narrows directories, and tells the audit log and the log of it.
pub(super) struct Narrowing {
    parts: Arc<Parts>,
    audit: Auditor,
    events: EventSender,
    /// The directories that the last roots on record stand for; `None` before the first. The same ones come again and again, so their
    /// handles are reused.
    last: Mutex<Option<Vec<Arc<Held>>>>,
}

impl Narrowing {
    pub(super) fn new(parts: Arc<Parts>, audit: Auditor, events: EventSender) -> Self {
        Self { parts, audit, events, last: Mutex::default() }
    }

    /// Returns the operator's directories, narrowed to these roots of the client. Nobody is told of it yet.
    pub(super) fn narrow_to(&self, uris: &[String]) -> Narrowed {
        let known = self.last().clone().unwrap_or_default();
        let (directories, client) = self.parts.policy.directories().with_client_roots_after(uris, &known);
        Narrowed { directories: Arc::new(directories), client }
    }

    /// Records roots that decisions rest on from now on, if they are new; returns the lines for the log.
    pub(super) fn record(&self, Narrowed { directories, client }: Narrowed) -> Vec<(LogLevel, String)> {
        let mut last = self.last();
        let is_known = last.as_ref().is_some_and(|known| are_same(&client.directories, known));
        if !is_known || !client.dropped.is_empty() {
            self.audit.roots(&client.directories, &client.dropped);
        }
        *last = Some(directories.held_for_client().cloned().collect());
        drop(last);
        let told = client.dropped.into_iter().map(|why| (LogLevel::Warn, why));
        let narrowed = (LogLevel::Info, log::client_roots(&client.directories));
        told.chain([narrowed]).filter(|(level, _)| *level <= self.parts.log_level).collect()
    }

    /// Returns the directories for the decision on a call; `None` for the operator's own. If there are none, its log line has
    /// the fields that are put into `described`.
    ///
    /// # Errors
    /// [`NotRun::NoRoots`] and [`NotRun::RootsWithheld`].
    pub(super) fn directories(
        &self,
        called_in: CalledIn,
        described: &mut Fields,
    ) -> Result<Option<Arc<Directories>>, NotRun> {
        let (directories, sent) = match called_in {
            CalledIn::Operators => return Ok(None),
            CalledIn::Known { directories, sent } => (directories, sent),
            CalledIn::Roots { uris, sent } => {
                let narrowed = self.narrow_to(&uris);
                let directories = Arc::clone(&narrowed.directories);
                let told = self.record(narrowed);
                if !told.is_empty() {
                    // If the loop is gone, so is the log.
                    self.events.send(Event::Told(told));
                }
                (directories, sent)
            }
        };
        match if self.parts.roots == RootsMode::Require { unusable(&directories) } else { None } {
            Some(why) => {
                *described = sent.map_or_else(Fields::default, |sent| sent.describe(&self.parts));
                Err(why)
            }
            None => Ok(Some(directories)),
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<Vec<Arc<Held>>>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why calls are refused that need a root of the client, if none of those that it names counts.
fn unusable(narrowed: &Directories) -> Option<NotRun> {
    if !narrowed.client_roots().is_empty() {
        return None;
    }
    Some(match narrowed.resolve(None) {
        Err(withheld @ DirectoryError::RootsUnbounded { .. }) => NotRun::RootsWithheld(withheld),
        Ok(_) | Err(_) => NotRun::NoRoots { why: "none of the client's roots can be used" },
    })
}
