//! The levels, what the kernel can enforce, and the enforcement that results.

use std::fmt;

use super::{KernelProbe, Network, SandboxError};

/// How far commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Not at all: the default.
    Off,
    /// To the system, read-only, and to the working directories.
    Workspace,
    /// Like `Workspace`, but only the allowed programs can be executed; no sockets, and no access to other processes.
    Strict,
}

impl Level {
    /// All levels, the weakest first.
    pub const ALL: [Self; 3] = [Self::Off, Self::Workspace, Self::Strict];

    /// The word for it in a setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Workspace => "workspace",
            Self::Strict => "strict",
        }
    }

    /// The oldest Landlock ABI that enforces everything that the level promises about files and programs; 0 for `off`.
    pub fn needs(self) -> u8 {
        match self {
            Self::Off => 0,
            Self::Workspace => 3,
            Self::Strict => 4,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The running kernel's support for the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// It has no Landlock.
    Without(&'static str),
    /// It has Landlock.
    Landlock {
        /// The ABI of it.
        abi: u8,
        /// Whether it has seccomp filters too, and this crate has them for its processor.
        seccomp: bool,
    },
}

impl Kernel {
    /// Asks the kernel, by confining a thread that then ends. So it also notices a container that allows making rules but
    /// not applying them.
    pub fn current() -> Self {
        Self::probe().kernel()
    }

    /// Begins to ask the kernel on another thread, so that the caller can do something else meanwhile.
    pub(crate) fn probe() -> KernelProbe {
        KernelProbe::start()
    }

    /// The same kernel limited to this ABI, to see what an older one would do.
    #[must_use]
    pub fn at_most(self, abi: u8) -> Self {
        match self {
            Self::Without(why) => Self::Without(why),
            Self::Landlock { abi: found, .. } if found.min(abi) == 0 => Self::Without("Landlock is not used"),
            Self::Landlock { abi: found, seccomp } => Self::Landlock { abi: found.min(abi), seccomp },
        }
    }

    /// The ABI; 0 without Landlock.
    pub fn abi(self) -> u8 {
        match self {
            Self::Without(_) => 0,
            Self::Landlock { abi, .. } => abi,
        }
    }

    /// Whether it has seccomp filters.
    pub fn has_seccomp(self) -> bool {
        matches!(self, Self::Landlock { seccomp: true, .. })
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Without(why) => f.write_str(why),
            Self::Landlock { abi, seccomp } => {
                let without = if *seccomp { "" } else { " and no seccomp filters" };
                write!(f, "this kernel has Landlock ABI {abi}{without}")
            }
        }
    }
}

/// Something that a sandbox restricts.
struct Feature {
    needs: Needs,
    when: When,
    /// In words for operators.
    what: &'static str,
}

/// The feature that a kernel needs to restrict something.
#[derive(Clone, Copy)]
enum Needs {
    /// This ABI of Landlock.
    Landlock(u8),
    /// Seccomp filters.
    Seccomp,
}

/// When something is restricted.
#[derive(Clone, Copy)]
enum When {
    /// At this level and the stronger ones.
    Since(Level),
    /// If commands have no network.
    WithoutNetwork,
    /// If each call has a network of its own.
    OwnNetwork,
}

const FEATURES: [Feature; 11] = {
    use Level::{Strict, Workspace};
    use Needs::{Landlock, Seccomp};
    use When::{OwnNetwork, Since, WithoutNetwork};
    [
        Feature { needs: Landlock(1), when: Since(Workspace), what: "access to files and directories" },
        Feature { needs: Landlock(2), when: Since(Workspace), what: "moving files between directories" },
        Feature { needs: Landlock(3), when: Since(Workspace), what: "truncating files" },
        Feature { needs: Landlock(4), when: WithoutNetwork, what: "TCP" },
        Feature { needs: Seccomp, when: WithoutNetwork, what: "sockets of every kind" },
        Feature { needs: Seccomp, when: OwnNetwork, what: "every network but a loopback interface of the call's own" },
        Feature { needs: Landlock(5), when: Since(Workspace), what: "ioctl on devices" },
        Feature { needs: Landlock(6), when: Since(Workspace), what: "signals and abstract sockets" },
        Feature {
            needs: Seccomp,
            when: Since(Workspace),
            what: "the server's threads, its process group and its limits",
        },
        Feature { needs: Seccomp, when: Since(Workspace), what: "message queues, keyrings, namespaces and mounts" },
        Feature { needs: Seccomp, when: Since(Strict), what: "System V IPC, file watches and priorities" },
    ]
};

impl Needs {
    fn are_met_by(self, kernel: Kernel) -> bool {
        match self {
            Self::Landlock(abi) => kernel.abi() >= abi,
            Self::Seccomp => kernel.has_seccomp(),
        }
    }
}

/// The part of a level that is enforced on a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enforcement {
    /// The level that was asked for.
    pub level: Level,
    /// Whether commands have a network; ignored at the level `off`.
    pub network: Network,
    /// The kernel that enforces it.
    pub kernel: Kernel,
}

impl Enforcement {
    /// Finds out what is enforced.
    ///
    /// # Errors
    /// [`SandboxError::NotEnforceable`] if the kernel lacks what the level, or a sandbox without a network, needs and
    /// `best_effort` is off.
    pub fn new(level: Level, network: Network, kernel: Kernel, best_effort: bool) -> Result<Self, SandboxError> {
        let enforcement = Self { level, network, kernel };
        if best_effort || enforcement.required().next().is_none() {
            return Ok(enforcement);
        }
        let filters = if enforcement.needs_filters() { " and seccomp filters" } else { "" };
        Err(SandboxError::NotEnforceable {
            asked: enforcement.asked(),
            needed: format!("Landlock ABI {}{filters}", enforcement.abi_needed()),
            found: kernel.to_string(),
            missing: enforcement.required().map(|feature| feature.what).collect::<Vec<_>>().join(", "),
        })
    }

    /// The flags that ask for it.
    fn asked(&self) -> String {
        if self.network == Network::of(self.level) {
            format!("--sandbox {}", self.level)
        } else {
            format!("--sandbox {} --network {}", self.level, self.network)
        }
    }

    /// The oldest ABI that is enough: without the TCP rules, `strict` needs no more than `workspace`.
    fn abi_needed(&self) -> u8 {
        match self.network {
            Network::None => self.level.needs(),
            Network::Loopback | Network::Full => self.level.needs().min(Level::Workspace.needs()),
        }
    }

    /// Whether the network that was asked for can't be enforced without seccomp filters.
    fn needs_filters(&self) -> bool {
        self.level > Level::Off && self.network != Network::Full
    }

    /// The required features that are missing.
    fn required(&self) -> impl Iterator<Item = &'static Feature> {
        let abi = self.abi_needed();
        self.lacking().filter(move |feature| match (feature.needs, feature.when) {
            (Needs::Landlock(needed), _) => needed <= abi,
            // Without seccomp, Landlock restricts only TCP sockets.
            (Needs::Seccomp, When::WithoutNetwork | When::OwnNetwork) => true,
            (Needs::Seccomp, When::Since(_)) => false,
        })
    }

    /// Whether commands are to have no network.
    pub(super) fn is_without_network(&self) -> bool {
        self.level > Level::Off && self.network == Network::None
    }

    /// Lists the restrictions of the level that need a newer kernel than this one, in words.
    pub fn missing(&self) -> Vec<&'static str> {
        self.lacking().map(|feature| feature.what).collect()
    }

    /// Whether any of it is enforced.
    pub fn is_any(&self) -> bool {
        self.level > Level::Off && self.kernel.abi() > 0
    }

    /// Describes the restrictions of the level, and those that are missing, as the end of a sentence.
    pub fn describe(&self) -> String {
        if self.level == Level::Off {
            return "off: commands can do what the user can".to_owned();
        }
        if !self.is_any() {
            return format!("{}, but nothing of it is enforced: {}", self.level, self.kernel);
        }
        let held = self.features().filter(|feature| feature.needs.are_met_by(self.kernel)).map(|feature| feature.what);
        let mut text = format!(
            "{}, enforced by the kernel (Landlock ABI {}{}): {}",
            self.level,
            self.kernel.abi(),
            if self.kernel.has_seccomp() { ", seccomp" } else { "" },
            held.collect::<Vec<_>>().join(", ")
        );
        if self.level == Level::Strict {
            text.push_str(", execution of only the allowed programs");
        }
        if self.level == Level::Strict && self.network == Network::Full {
            text.push_str("; the network is open");
        }
        let missing = self.missing();
        if !missing.is_empty() {
            text.push_str(&format!("; not enforced: {}", missing.join(", ")));
        }
        text
    }

    fn features(&self) -> impl Iterator<Item = &'static Feature> {
        let (level, is_without_network) = (self.level, self.is_without_network());
        let has_own_network = level > Level::Off && self.network == Network::Loopback;
        FEATURES.iter().filter(move |feature| match feature.when {
            When::Since(since) => since <= level,
            When::WithoutNetwork => is_without_network,
            When::OwnNetwork => has_own_network,
        })
    }

    fn lacking(&self) -> impl Iterator<Item = &'static Feature> {
        let kernel = self.kernel;
        self.features().filter(move |feature| !feature.needs.are_met_by(kernel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn landlock(abi: u8) -> Kernel {
        Kernel::Landlock { abi, seccomp: true }
    }

    fn outcome(level: Level, network: Network, kernel: Kernel, best_effort: bool) -> String {
        match Enforcement::new(level, network, kernel, best_effort) {
            Ok(enforcement) => enforcement.describe(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_level_that_the_kernel_lacks_is_an_error_that_names_what_is_missing() {
        let advice = "run a newer kernel, choose another level, or accept what there is with `--sandbox-best-effort`";
        let without = Kernel::Without("this kernel was built without Landlock");
        assert_eq!(
            outcome(Level::Workspace, Network::Full, without, false),
            format!(
                "`--sandbox workspace` can't be enforced here: it needs Landlock ABI 3, and this kernel was built without \
                 Landlock; missing: access to files and directories, moving files between directories, truncating files; \
                 {advice}"
            )
        );
        assert_eq!(
            outcome(Level::Strict, Network::None, landlock(7).at_most(3), false),
            format!(
                "`--sandbox strict` can't be enforced here: it needs Landlock ABI 4 and seccomp filters, and this kernel has \
                 Landlock ABI 3; missing: TCP; {advice}"
            )
        );
        let unfiltered = Kernel::Landlock { abi: 7, seccomp: false };
        assert_eq!(
            outcome(Level::Workspace, Network::None, unfiltered, false),
            format!(
                "`--sandbox workspace --network none` can't be enforced here: it needs Landlock ABI 3 and seccomp filters, \
                 and this kernel has Landlock ABI 7 and no seccomp filters; missing: sockets of every kind; {advice}"
            )
        );
        for (level, network, abi) in [
            (Level::Workspace, Network::Full, 3),
            (Level::Workspace, Network::None, 3),
            (Level::Strict, Network::None, 4),
            (Level::Strict, Network::Full, 3),
            (Level::Strict, Network::Loopback, 3),
        ] {
            assert!(Enforcement::new(level, network, landlock(abi), false).is_ok());
            assert!(Enforcement::new(level, network, landlock(abi - 1), false).is_err());
            assert_eq!(Enforcement::new(level, network, unfiltered, false).is_ok(), network == Network::Full);
        }
        assert!(Enforcement::new(Level::Off, Network::Full, landlock(0), false).is_ok());
    }

    #[test]
    fn the_best_effort_says_what_is_not_enforced() {
        let none = landlock(7).at_most(0);
        assert_eq!(
            outcome(Level::Strict, Network::None, none, true),
            "strict, but nothing of it is enforced: Landlock is not used"
        );
        assert_eq!(
            outcome(Level::Workspace, Network::Full, Kernel::Landlock { abi: 3, seccomp: false }, true),
            "workspace, enforced by the kernel (Landlock ABI 3): access to files and directories, moving files between \
             directories, truncating files; not enforced: ioctl on devices, signals and abstract sockets, the server's \
             threads, its process group and its limits, message queues, keyrings, namespaces and mounts"
        );
        let of_strict = "access to files and directories, moving files between directories, truncating files";
        let of_both = "ioctl on devices, signals and abstract sockets, the server's threads, its process group and its \
                       limits, message queues, keyrings, namespaces and mounts";
        let more = "System V IPC, file watches and priorities, execution of only the allowed programs";
        let enforced = "enforced by the kernel (Landlock ABI 7, seccomp)";
        assert_eq!(
            outcome(Level::Strict, Network::None, landlock(7), false),
            format!("strict, {enforced}: {of_strict}, TCP, sockets of every kind, {of_both}, {more}")
        );
        assert_eq!(
            outcome(Level::Strict, Network::Full, landlock(7), false),
            format!("strict, {enforced}: {of_strict}, {of_both}, {more}; the network is open")
        );
        assert_eq!(
            outcome(Level::Workspace, Network::None, landlock(7), false),
            format!("workspace, {enforced}: {of_strict}, TCP, sockets of every kind, {of_both}")
        );
    }
}
