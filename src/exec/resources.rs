//! Resource limits that the kernel enforces, and which of them was hit.

use std::fmt;
use std::io;
use std::time::Duration;

use thiserror::Error;

/// The limits that the kernel enforces for commands, from their first instruction. `None`, the default of each, is no
/// limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceLimits {
    /// Bytes of memory: of the whole call if a cgroup can be used, else of the address space of each process.
    pub memory: Option<u64>,
    /// Bytes of the longest file that a process can write.
    pub file_size: Option<u64>,
    /// Processor time of each process, in whole seconds, rounded up.
    pub cpu: Option<Duration>,
    /// Processes and threads: of the whole call if a cgroup can be used, else of the user that runs the server.
    pub processes: Option<u64>,
    /// Files that a process has open at once.
    pub open_files: Option<u64>,
}

impl ResourceLimits {
    /// Whether nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// A limit that a command has hit, if the kernel tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The kernel ended a process of the call for its memory.
    Memory,
    /// A process used up its processor time.
    Cpu,
    /// A process was ended because it wrote too long a file.
    FileSize,
    /// The kernel refused the call another process.
    Processes,
}

impl Limit {
    /// All of them, in the order in which a result looks for the first that was hit.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Cpu, Self::FileSize, Self::Processes];

    /// Its name in results: the name of its flag, without `--max-`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::FileSize => "file-size",
            Self::Processes => "processes",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why limits can't be enforced, so that nothing runs.
#[derive(Debug, Error)]
pub enum LimitsError {
    /// The platform does not support them.
    #[error(
        "limits of memory, files, processor time and processes (`--max-memory` and the other limits) exist on Unix only, and \
         this is {platform}; leave them out here"
    )]
    Platform {
        /// Its name.
        platform: &'static str,
    },
    /// The build has none.
    #[error("this build has no limits by the kernel; it was built without `limits`")]
    NotBuilt,
    /// The kernel of the platform does not enforce this one.
    #[error("`--{flag}` can't be enforced on {platform}: {why}; leave it out here")]
    NotEnforced {
        /// The platform's name.
        platform: &'static str,
        /// The flag of the limit, without the dashes.
        flag: &'static str,
        /// The kernel's behaviour instead.
        why: &'static str,
    },
    /// Commands of root could raise their limits.
    #[error(
        "limits (`--max-open-files` and the others) don't bind root on {platform}, who may raise them; run the server as an \
         ordinary user, or leave them out"
    )]
    Root {
        /// The platform's name.
        platform: &'static str,
    },
    /// The program that embeds the server does not act as the launcher.
    #[error(
        "limits are set by a launcher, and the program that embeds the server does not act as one; have it call \
         `allowexec::exec::launched` first in its `main`"
    )]
    NoLauncher,
    /// The kernel would not enforce it for root.
    #[error(
        "`--max-processes` needs a cgroup with the controller `pids` for a server of root, whom RLIMIT_NPROC does not \
         bind, and none can be made here: {source}; run the server as an ordinary user, or leave the limit out"
    )]
    ProcessesOfRoot {
        /// The system's error.
        source: io::Error,
    },
    /// The thread that makes cgroups can't be started.
    #[error("the limits can't be enforced: {source}")]
    System {
        /// The system's error.
        source: io::Error,
    },
}
