//! The levels, what the kernel can enforce, and what comes of both.

use std::fmt;

use super::SandboxError;

/// How far commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Not at all: the default.
    Off,
    /// To the system, read-only, and to the directories of the work.
    Workspace,
    /// As `Workspace`, and nothing but the allowed programs can be executed; no TCP.
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

    /// The oldest Landlock ABI that enforces all that the level promises; 0 for `off`.
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

/// What the running kernel can enforce.
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
    /// Asks the kernel, by confining a thread that ends at once: so a container that lets rules be made but not applied
    /// is found out too.
    pub fn current() -> Self {
        super::kernel()
    }

    /// The same kernel with no more than this ABI, to see what an older one would do.
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
            Self::Landlock { abi, .. } => write!(f, "this kernel has Landlock ABI {abi}"),
        }
    }
}

/// Something that a sandbox bounds.
struct Feature {
    needs: Needs,
    /// The lowest level that bounds it.
    since: Level,
    /// In words for operators.
    what: &'static str,
}

/// What a kernel must have to bound something.
#[derive(Clone, Copy)]
enum Needs {
    /// This ABI of Landlock.
    Landlock(u8),
    /// Seccomp filters.
    Seccomp,
}

const FEATURES: [Feature; 8] = {
    use Level::{Strict, Workspace};
    use Needs::{Landlock, Seccomp};
    [
        Feature { needs: Landlock(1), since: Workspace, what: "access to files and directories" },
        Feature { needs: Landlock(2), since: Workspace, what: "moving files between directories" },
        Feature { needs: Landlock(3), since: Workspace, what: "truncating files" },
        Feature { needs: Landlock(4), since: Strict, what: "TCP" },
        Feature { needs: Seccomp, since: Strict, what: "sockets that can become TCP" },
        Feature { needs: Landlock(5), since: Workspace, what: "ioctl on devices" },
        Feature { needs: Landlock(6), since: Workspace, what: "signals and abstract sockets" },
        Feature { needs: Seccomp, since: Workspace, what: "signals to the server's threads and limits on it" },
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

/// What of a level is enforced on a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enforcement {
    /// The level that was asked for.
    pub level: Level,
    /// What it is enforced with.
    pub kernel: Kernel,
}

impl Enforcement {
    /// Finds out what is enforced.
    ///
    /// # Errors
    /// [`SandboxError::NotEnforceable`] where the kernel lacks what the level needs and `best_effort` is off.
    pub fn new(level: Level, kernel: Kernel, best_effort: bool) -> Result<Self, SandboxError> {
        let enforcement = Self { level, kernel };
        if best_effort || kernel.abi() >= level.needs() {
            return Ok(enforcement);
        }
        let is_needed = |needs: Needs| matches!(needs, Needs::Landlock(abi) if abi <= level.needs());
        let needed: Vec<&str> =
            enforcement.lacking().filter(|feature| is_needed(feature.needs)).map(|feature| feature.what).collect();
        Err(SandboxError::NotEnforceable {
            level,
            needed: level.needs(),
            found: kernel.to_string(),
            missing: needed.join(", "),
        })
    }

    /// What the level would bound on a newer kernel and does not on this one, in words.
    pub fn missing(&self) -> Vec<&'static str> {
        self.lacking().map(|feature| feature.what).collect()
    }

    /// Whether any of it is enforced.
    pub fn is_any(&self) -> bool {
        self.level > Level::Off && self.kernel.abi() > 0
    }

    /// What is bounded, and what is not, as a sentence's end.
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
            text.push_str(", execution of the allowed programs alone");
        }
        let missing = self.missing();
        if !missing.is_empty() {
            text.push_str(&format!("; not enforced: {}", missing.join(", ")));
        }
        text
    }

    fn features(&self) -> impl Iterator<Item = &'static Feature> {
        let level = self.level;
        FEATURES.iter().filter(move |feature| feature.since <= level)
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

    fn outcome(level: Level, kernel: Kernel, best_effort: bool) -> String {
        match Enforcement::new(level, kernel, best_effort) {
            Ok(enforcement) => enforcement.describe(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_level_that_the_kernel_lacks_is_an_error_that_names_what_is_missing() {
        let advice = "run a newer kernel, choose another level, or accept what there is with `--sandbox-best-effort`";
        assert_eq!(
            outcome(Level::Workspace, Kernel::Without("this kernel was built without Landlock"), false),
            format!(
                "`--sandbox workspace` can't be enforced here: it needs Landlock ABI 3, and this kernel was built without \
                 Landlock; missing: access to files and directories, moving files between directories, truncating files; \
                 {advice}"
            )
        );
        assert_eq!(
            outcome(Level::Strict, landlock(7).at_most(3), false),
            format!(
                "`--sandbox strict` can't be enforced here: it needs Landlock ABI 4, and this kernel has Landlock ABI 3; \
                 missing: TCP; {advice}"
            )
        );
        for (level, abi) in [(Level::Workspace, 3), (Level::Strict, 4)] {
            assert!(Enforcement::new(level, landlock(abi), false).is_ok());
            assert!(Enforcement::new(level, landlock(abi - 1), false).is_err());
        }
        assert!(Enforcement::new(Level::Off, landlock(0), false).is_ok());
    }

    #[test]
    fn the_best_effort_says_what_is_not_enforced() {
        let none = landlock(7).at_most(0);
        assert_eq!(outcome(Level::Strict, none, true), "strict, but nothing of it is enforced: Landlock is not used");
        assert_eq!(
            outcome(Level::Workspace, Kernel::Landlock { abi: 3, seccomp: false }, true),
            "workspace, enforced by the kernel (Landlock ABI 3): access to files and directories, moving files between \
             directories, truncating files; not enforced: ioctl on devices, signals and abstract sockets, signals to the \
             server's threads and limits on it"
        );
        assert_eq!(
            outcome(Level::Strict, landlock(7), false),
            "strict, enforced by the kernel (Landlock ABI 7, seccomp): access to files and directories, moving files \
             between directories, truncating files, TCP, sockets that can become TCP, ioctl on devices, signals and abstract \
             sockets, signals to the server's threads and limits on it, execution of the allowed programs alone"
        );
    }
}
