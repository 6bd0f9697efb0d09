//! The decisions on an event.

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum Verdict {
    /// It runs; `rewritten` is the command that replaces it.
    Allow { rewritten: Option<String> },
    /// A person decides; then `rewritten` runs.
    Ask { reason: String, rewritten: Option<String> },
    /// It does not run.
    Deny { reason: String },
    /// The agent's own rules decide.
    Pass,
}

/// The decision on a line that nothing describes: `--unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::cli) enum Unknown {
    #[default]
    Deny,
    Ask,
    Pass,
}

impl Unknown {
    pub const ALL: [Self; 3] = [Self::Deny, Self::Ask, Self::Pass];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Pass => "pass",
        }
    }

    /// For a line that can be read and that nothing describes.
    pub fn undescribed(self, reason: String) -> Verdict {
        match self {
            Self::Deny => Verdict::Deny { reason },
            Self::Ask => Verdict::Ask { reason, rewritten: None },
            Self::Pass => Verdict::Pass,
        }
    }

    /// For a line that can't be read. It is never passed on without an opinion: the agent might read it as something harmless.
    pub fn unreadable(self, reason: String) -> Verdict {
        match self {
            Self::Deny => Verdict::Deny { reason },
            Self::Ask | Self::Pass => Verdict::Ask { reason, rewritten: None },
        }
    }
}

/// The shell that an agent gives its lines to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Shell {
    Bash,
    Zsh,
    Sh,
    /// Any other.
    Other,
}

impl Shell {
    /// Those that can be named on the command line.
    pub const NAMED: [Self; 3] = [Self::Bash, Self::Zsh, Self::Sh];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Sh => "sh",
            Self::Other => "another shell",
        }
    }

    /// The shell of a path such as that in `SHELL`.
    pub fn of_path(path: &std::path::Path) -> Self {
        match path.file_name().and_then(std::ffi::OsStr::to_str) {
            Some("bash") => Self::Bash,
            Some("zsh") => Self::Zsh,
            Some("sh" | "dash") => Self::Sh,
            Some(_) | None => Self::Other,
        }
    }
}
