//! How a log is written.

use std::path::Path;
use std::time::SystemTime;

/// Tells the time of a record.
pub(crate) type Clock = Box<dyn Fn() -> SystemTime + Send>;

/// How a log is written.
pub(crate) struct AuditSettings<'a> {
    /// The file.
    pub path: &'a Path,
    /// Directories in which links are not followed, since others than the operator may have made them.
    pub changeable: &'a [&'a Path],
    /// If the file would become larger than this, it is renamed and a new one is begun; `None` for no limit.
    pub max_size: Option<u64>,
    /// Whether to wait until each record is on the disk (fdatasync(2)).
    pub sync: bool,
    /// The session's name.
    pub session: String,
    /// Random bytes for the digests of secrets.
    pub salt: [u8; 16],
    /// Values that must not be in the log.
    pub secrets: Vec<String>,
    pub clock: Clock,
}
