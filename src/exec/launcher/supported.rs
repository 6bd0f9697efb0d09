//! The limits that are set, and whether the kernel of this platform enforces them.

use crate::exec::{LimitsError, ResourceLimits};

impl ResourceLimits {
    /// The flags of those that are set, without the dashes.
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
    pub(super) fn enforced_here(self) -> Result<(), LimitsError> {
        self.enforced_on(std::env::consts::OS)
    }

    fn enforced_on(self, platform: &'static str) -> Result<(), LimitsError> {
        let found = NOT_ENFORCED.iter().find(|(on, flag, _)| *on == platform && self.flags().any(|set| set == *flag));
        found.map_or(Ok(()), |&(platform, flag, why)| Err(LimitsError::NotEnforced { platform, flag, why }))
    }
}

/// The behaviour of kernels that don't enforce a limit, by the name of the platform and the flag. `spec/limits.md` has
/// the evidence.
const NOT_ENFORCED: [(&str, &str, &str); 3] = [
    ("macos", "max-memory", "older systems ignore RLIMIT_AS, and newer ones refuse to set it below hundreds of GiB"),
    ("macos", "max-cpu", "the kernel sends SIGXCPU once, which a command can ignore, and never SIGKILL"),
    ("openbsd", "max-memory", "it has no RLIMIT_AS"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

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
