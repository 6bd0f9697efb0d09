//! The levels, what the kernel can enforce, and the enforcement that results.

use std::fmt;

use super::{KernelProbe, SandboxError};
use crate::network::Network;

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

    /// The network of commands where nothing names one.
    pub fn default_network(self) -> Network {
        match self {
            Self::Off | Self::Workspace => Network::Full,
            Self::Strict => Network::None,
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
    /// If commands have some ports of the machine's network.
    Ports,
}

/// The ABI of Landlock that added rules for TCP ports.
pub(super) const TCP_RULES: u8 = 4;

const FEATURES: [Feature; 13] = {
    use Level::{Strict, Workspace};
    use Needs::{Landlock, Seccomp};
    use When::{OwnNetwork, Ports, Since, WithoutNetwork};
    [
        Feature { needs: Landlock(1), when: Since(Workspace), what: "access to files and directories" },
        Feature { needs: Landlock(2), when: Since(Workspace), what: "moving files between directories" },
        Feature { needs: Landlock(3), when: Since(Workspace), what: "truncating files" },
        Feature { needs: Landlock(TCP_RULES), when: WithoutNetwork, what: "TCP" },
        Feature { needs: Seccomp, when: WithoutNetwork, what: "sockets of every kind" },
        Feature { needs: Seccomp, when: OwnNetwork, what: "every network but a loopback interface of the call's own" },
        Feature { needs: Landlock(TCP_RULES), when: Ports, what: "TCP ports other than those that are named" },
        Feature { needs: Seccomp, when: Ports, what: "sockets other than TCP" },
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// [`SandboxError::NotEnforceable`] if the kernel lacks what the level or the network needs and `best_effort` is off.
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
            choice: if enforcement.is_of_level() { "level" } else { "level or network" },
        })
    }

    /// Whether the network is the one that the level has anyway.
    fn is_of_level(&self) -> bool {
        self.network == self.level.default_network()
    }

    /// The flags that ask for it.
    fn asked(&self) -> String {
        if self.is_of_level() {
            format!("--sandbox {}", self.level)
        } else {
            format!("--sandbox {} --network {}", self.level, self.network)
        }
    }

    /// The oldest ABI that is enough: where the network needs no rules for TCP, `strict` needs no more than `workspace`.
    fn abi_needed(&self) -> u8 {
        match self.network {
            Network::None => self.level.needs(),
            Network::Ports(_) => TCP_RULES,
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
            (Needs::Seccomp, When::WithoutNetwork | When::OwnNetwork | When::Ports) => true,
            (Needs::Seccomp, When::Since(_)) => false,
        })
    }

    /// Whether Landlock decides on each TCP port.
    pub(super) fn has_tcp_rules(&self) -> bool {
        self.level > Level::Off && matches!(self.network, Network::None | Network::Ports(_))
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
        let ports = match &self.network {
            Network::Ports(ports) => format!(", with no network but {}", ports.in_words()),
            Network::None | Network::Loopback | Network::Full => String::new(),
        };
        let held = self.features().filter(|feature| feature.needs.are_met_by(self.kernel)).map(|feature| feature.what);
        let mut text = format!(
            "{}, enforced by the kernel (Landlock ABI {}{}){}: {}",
            self.level,
            self.kernel.abi(),
            if self.kernel.has_seccomp() { ", seccomp" } else { "" },
            ports,
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
        FEATURES.iter().filter(|feature| match feature.when {
            When::Since(since) => since <= self.level,
            When::WithoutNetwork => self.level > Level::Off && self.network == Network::None,
            When::OwnNetwork => self.level > Level::Off && self.network == Network::Loopback,
            When::Ports => self.level > Level::Off && matches!(self.network, Network::Ports(_)),
        })
    }

    fn lacking(&self) -> impl Iterator<Item = &'static Feature> {
        let kernel = self.kernel;
        self.features().filter(move |feature| !feature.needs.are_met_by(kernel))
    }
}

#[cfg(test)]
mod tests;
