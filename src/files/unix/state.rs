//! The state of a file by stat(2) and access(2).

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;

use crate::files::FileState;

impl FileState {
    /// Whether a process of the server's user, such as a command, may be writing to the file at `path`. The owner can make a file
    /// writable, map it, and make it unwritable again; the mapping stays writable.
    pub(in crate::files) fn may_be_written(&self, path: &Path) -> bool {
        self.metadata.uid() == rustix::process::geteuid().as_raw()
            || !matches!(
                accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS),
                Err(Errno::ACCESS | Errno::PERM | Errno::ROFS)
            )
    }

    /// Its mode and the user id of its owner.
    pub(crate) fn rights(&self) -> Option<(u32, u32)> {
        Some((self.metadata.mode() & 0o7777, self.metadata.uid()))
    }

    /// The last change of its contents or its inode, as the time since 1970; `None` if that was before 1970.
    pub(crate) fn changed_at(&self) -> Option<Duration> {
        let nanoseconds = u32::try_from(self.metadata.ctime_nsec()).ok()?;
        Some(Duration::new(u64::try_from(self.metadata.ctime()).ok()?, nanoseconds))
    }

    /// The numbers that no two files have at the same time.
    pub(in crate::files) fn device_and_inode(&self) -> (u64, u64) {
        (self.metadata.dev(), self.metadata.ino())
    }

    /// The facts by which a file that was replaced or changed differs.
    pub(in crate::files) fn facts(&self) -> impl PartialEq {
        let file = &self.metadata;
        let times = (file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec());
        (file.dev(), file.ino(), file.size(), times)
    }
}
