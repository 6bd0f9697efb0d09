//! Stands where the file would, in a build without it: nothing is written, and `--audit` is an error.

use std::io::{self, BufRead, Seek};
use std::path::Path;

use thiserror::Error;

use super::record::{AuditedClient, Event, SessionFacts};
use super::settings::AuditSettings;
use crate::files::{SharedFileError, SharedReader};

/// Why there is no log.
#[derive(Debug, Error)]
pub(crate) enum AuditError {
    /// The build has none.
    #[error("this build has no `--audit`; it was built without `evidence`")]
    NotBuilt,
    /// The system refuses something.
    #[error(transparent)]
    File {
        /// The file's error.
        source: SharedFileError,
    },
}

/// A log, of which there is none.
#[derive(Debug)]
pub(crate) enum AuditLog {}

impl AuditLog {
    pub(crate) fn open(
        _: AuditSettings<'_>,
        _: impl FnOnce() -> SessionFacts + Send + 'static,
    ) -> Result<Self, AuditError> {
        Err(AuditError::NotBuilt)
    }

    pub(crate) fn check(_: &Path, _: &[&Path]) -> Result<(), AuditError> {
        Err(AuditError::NotBuilt)
    }

    pub(crate) fn begin(&mut self, _: Option<AuditedClient>) -> Result<(), AuditError> {
        match *self {}
    }

    pub(crate) fn reader(&self) -> SharedReader {
        match *self {}
    }

    pub(crate) fn is_to_begin(&self) -> bool {
        match *self {}
    }

    pub(crate) fn record(&mut self, _: &[Event], _: Option<&AuditedClient>) -> Result<(), AuditError> {
        match *self {}
    }

    pub(crate) fn end(&mut self) -> Result<(), AuditError> {
        match *self {}
    }
}

/// Follows the head of a log, of which there is none.
#[derive(Debug, Default)]
pub(crate) struct HeadFollower {}

impl HeadFollower {
    pub(crate) fn follow(&mut self, _: impl BufRead + Seek) -> io::Result<String> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
