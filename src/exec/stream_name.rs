//! The two streams that a command prints to.

/// One of the two streams of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamName {
    /// Its standard output.
    Stdout,
    /// Its standard error.
    Stderr,
}

impl StreamName {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Stdout, Self::Stderr];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }

    /// The one that it is not.
    pub fn other(self) -> Self {
        match self {
            Self::Stdout => Self::Stderr,
            Self::Stderr => Self::Stdout,
        }
    }
}
