//! The released revisions of the protocol, and their features.

use std::fmt;

/// A supported revision, in the order of release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
    /// 2026-07-28, the stateless one.
    V2026_07_28,
}

impl Revision {
    /// All of them, the oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revisions that need no handshake.
    pub fn modern() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|revision| revision.is_modern())
    }

    /// The revisions that begin with `initialize`.
    pub fn legacy() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|revision| !revision.is_modern())
    }

    /// Chooses the revision for the answer to `initialize`: the requested one if it is a legacy one, else the latest of
    /// those. It is never an error, as the lifecycle page of each legacy revision says.
    pub fn negotiate(requested: &str) -> Self {
        Self::legacy().find(|revision| revision.name() == requested).unwrap_or(Self::V2025_11_25)
    }

    /// Whether metadata comes with every request instead of a handshake.
    pub fn is_modern(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Whether an array of messages is a batch. Only one revision has them.
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Whether tools have `annotations`.
    pub fn has_annotations(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether arguments are completed.
    pub fn has_completions(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether progress has a `message`.
    pub fn has_progress_messages(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether the server can ask the client's user by elicitation.
    pub fn has_elicitation(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether a field of a form has a `default`, whatever its type is.
    pub fn has_defaults_in_forms(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Whether tools, prompts and implementations have a `title`.
    pub fn has_titles(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether a client can make a request a task. In later revisions there is an extension for this, and the server
    /// decides.
    pub fn has_tasks(self) -> bool {
        self == Self::V2025_11_25
    }

    /// Whether tools have an `outputSchema` and results `structuredContent`.
    pub fn has_structured_content(self) -> bool {
        self >= Self::V2025_06_18
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legacy_version_is_answered_with_itself_and_any_other_with_the_latest_legacy_one() {
        for revision in Revision::legacy() {
            assert_eq!(Revision::negotiate(revision.name()), revision);
        }
        for other in ["2026-07-28", "2024-10-07", "1.0", "", "9999-99-99"] {
            assert_eq!(Revision::negotiate(other), Revision::V2025_11_25, "{other}");
        }
        assert_eq!(Revision::modern().collect::<Vec<_>>(), [Revision::V2026_07_28]);
    }
}
