//! Narrows the operator's directories to a client's roots. Only the threads of calls do, since it walks paths.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::auditor::Auditor;
use super::event::Event;
use super::inbox::EventSender;
use super::log::{self, Fields};
use super::not_run::NotRun;
use super::parts::Parts;
use super::sent_words::SentWords;
use crate::config::{LogLevel, RootsMode};
use crate::files::{Held, are_same};
use crate::policy::{Directories, DirectoryError};

/// The directories for the decision on a call.
#[derive(Debug)]
pub(super) enum CalledIn {
    /// These; `None` for the operator's own.
    Known(Option<Arc<Directories>>),
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
    /// The directories that the last roots stand for; `None` before the first. The same ones come again and again, so their
    /// handles are reused.
    last: Mutex<Option<Vec<Arc<Held>>>>,
}

impl Narrowing {
    pub(super) fn new(parts: Arc<Parts>, audit: Auditor, events: EventSender) -> Self {
        Self { parts, audit, events, last: Mutex::default() }
    }

    /// Returns the operator's directories, narrowed to these roots of the client.
    pub(super) fn narrow_to(&self, uris: &[String]) -> Arc<Directories> {
        let before = self.last().clone();
        let known = before.as_deref().unwrap_or_default();
        let (directories, client) = self.parts.policy.directories().with_client_roots_after(uris, known);
        if before.is_none() || !client.dropped.is_empty() || !are_same(&client.directories, known) {
            self.audit.roots(&client.directories, &client.dropped);
        }
        *self.last() = Some(directories.held_for_client().cloned().collect());
        let level = self.parts.log_level;
        let mut told: Vec<_> = client.dropped.into_iter().map(|why| (LogLevel::Warn, why)).collect();
        if level >= LogLevel::Info {
            told.push((LogLevel::Info, log::client_roots(&client.directories)));
        }
        if !told.is_empty() && level >= LogLevel::Warn {
            // If the loop is gone, so is the log.
            self.events.send(Event::Told(told));
        }
        Arc::new(directories)
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
        let (uris, sent) = match called_in {
            CalledIn::Known(directories) => return Ok(directories),
            CalledIn::Roots { uris, sent } => (uris, sent),
        };
        let directories = self.narrow_to(&uris);
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
pub(super) fn unusable(narrowed: &Directories) -> Option<NotRun> {
    if !narrowed.client_roots().is_empty() {
        return None;
    }
    Some(match narrowed.resolve(None) {
        Err(withheld @ DirectoryError::RootsUnbounded { .. }) => NotRun::RootsWithheld(withheld),
        Ok(_) | Err(_) => NotRun::NoRoots { why: "none of the client's roots can be used" },
    })
}
