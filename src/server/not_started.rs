//! Why a server does not start.

use std::sync::Arc;

use thiserror::Error;

use crate::exec::LimitsError;

/// Why the server can't start with its configuration.
#[derive(Debug, Error)]
pub(crate) enum NotStarted {
    /// Commands can't be confined as the operator asked.
    #[error("{0}")]
    Sandbox(String),
    /// Commands can't be limited as the operator asked.
    #[error(transparent)]
    Limits(Arc<LimitsError>),
    /// The lock file can't be used.
    #[error("{0}")]
    Lock(String),
    /// The audit log that the operator asked for can't be opened.
    #[error("the audit log `{file}` (`--audit`) can't be opened: {why}")]
    Audit {
        /// As the operator named it.
        file: String,
        /// The reason.
        why: String,
    },
}
