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

    /// The flags of those that are set, without the dashes.
    #[cfg(unix)]
    pub(super) fn flags(self) -> impl Iterator<Item = &'static str> {
        let Self { memory, file_size, cpu, processes, open_files } = self;
        let rows = [
            ("max-memory", memory.is_some()),
            ("max-file-size", file_size.is_some()),
            ("max-cpu", cpu.is_some()),
            ("max-processes", processes.is_some()),
            ("max-open-files", open_files.is_some()),
        ];
        rows.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag)
    }

    /// Returns an error if one is set that the kernel of this platform does not enforce.
    #[cfg(unix)]
    pub(super) fn enforced_here(self) -> Result<(), LimitsError> {
        self.enforced_on(std::env::consts::OS)
    }

    #[cfg(unix)]
    fn enforced_on(self, platform: &'static str) -> Result<(), LimitsError> {
        let found = NOT_ENFORCED.iter().find(|(on, flag, _)| *on == platform && self.flags().any(|set| set == *flag));
        found.map_or(Ok(()), |&(platform, flag, why)| Err(LimitsError::NotEnforced { platform, flag, why }))
    }
}

/// The behaviour of kernels that don't enforce a limit, by the name of the platform and the flag. `spec/limits.md` has
/// the evidence.
#[cfg(unix)]
const NOT_ENFORCED: [(&str, &str, &str); 3] = [
    ("macos", "max-memory", "older systems ignore RLIMIT_AS, and newer ones refuse to set it below hundreds of GiB"),
    ("macos", "max-cpu", "the kernel sends SIGXCPU once, which a command can ignore, and never SIGKILL"),
    ("openbsd", "max-memory", "it has no RLIMIT_AS"),
];

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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_the_kernel_of_the_platform_does_not_enforce_is_refused() {
        let all = ResourceLimits {
            memory: Some(1),
            file_size: Some(1),
            cpu: Some(Duration::from_secs(1)),
            processes: Some(1),
            open_files: Some(1),
        };
        let refused =
            |limits: ResourceLimits, platform| limits.enforced_on(platform).err().map(|error| error.to_string());
        assert_eq!(
            refused(all, "macos").unwrap(),
            "`--max-memory` can't be enforced on macos: older systems ignore RLIMIT_AS, and newer ones refuse to set it \
             below hundreds of GiB; leave it out here"
        );
        let without_memory = ResourceLimits { memory: None, ..all };
        assert_eq!(
            refused(without_memory, "macos").unwrap(),
            "`--max-cpu` can't be enforced on macos: the kernel sends SIGXCPU once, which a command can ignore, and never \
             SIGKILL; leave it out here"
        );
        assert_eq!(refused(ResourceLimits { cpu: None, ..without_memory }, "macos"), None);
        assert!(refused(all, "openbsd").unwrap().contains("`--max-memory`"));
        assert_eq!(
            [refused(all, "linux"), refused(all, "freebsd"), refused(without_memory, "openbsd")],
            [None, None, None]
        );
        // Each row names a flag that there is.
        assert!(NOT_ENFORCED.iter().all(|(_, flag, _)| all.flags().any(|set| set == *flag)));
    }
}
