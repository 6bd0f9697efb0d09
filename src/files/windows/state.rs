//! The state of a file by the standard library.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use crate::files::FileState;

impl FileState {
    /// Not determined.
    pub(in crate::files) fn may_be_written(&self, _path: &Path) -> bool {
        false
    }

    /// Not determined.
    pub(crate) fn rights(&self) -> Option<(u32, u32)> {
        None
    }

    /// The last change of its contents, as the time since 1970; `None` if that was before 1970.
    pub(crate) fn changed_at(&self) -> Option<Duration> {
        self.metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()
    }

    /// None are known.
    pub(in crate::files) fn device_and_inode(&self) -> (u64, u64) {
        (0, 0)
    }

    /// The facts by which a file that was replaced or changed differs.
    pub(in crate::files) fn facts(&self) -> impl PartialEq {
        (self.metadata.len(), self.metadata.modified().ok(), self.metadata.created().ok())
    }
}
