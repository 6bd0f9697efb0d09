//! The names of the subcommands.

/// The name of a subcommand, or `Program` for the program as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Program,
    Serve,
    Call,
    Check,
    Run,
    Hook,
    Policy,
    Tools,
    Lock,
    Doctor,
    Setup,
    Init,
    Schema,
    Record,
    Replay,
    Review,
    Mock,
    Lint,
    Audit,
    Report,
    Completions,
    Man,
}

impl Name {
    /// All subcommands, in the order of the help.
    pub(super) const SUBCOMMANDS: [Self; 21] = [
        Self::Serve,
        Self::Call,
        Self::Check,
        Self::Run,
        Self::Hook,
        Self::Tools,
        Self::Lock,
        Self::Audit,
        Self::Policy,
        Self::Init,
        Self::Setup,
        Self::Doctor,
        Self::Record,
        Self::Replay,
        Self::Review,
        Self::Mock,
        Self::Lint,
        Self::Report,
        Self::Schema,
        Self::Completions,
        Self::Man,
    ];

    /// The word on the command line; empty for the program.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Program => "",
            Self::Serve => "serve",
            Self::Call => "call",
            Self::Check => "check",
            Self::Run => "run",
            Self::Hook => "hook",
            Self::Policy => "policy",
            Self::Tools => "tools",
            Self::Lock => "lock",
            Self::Doctor => "doctor",
            Self::Setup => "setup",
            Self::Init => "init",
            Self::Schema => "schema",
            Self::Record => "record",
            Self::Replay => "replay",
            Self::Review => "review",
            Self::Mock => "mock",
            Self::Lint => "lint",
            Self::Audit => "audit",
            Self::Report => "report",
            Self::Completions => "completions",
            Self::Man => "man",
        }
    }

    /// Whether it takes the settings' flags. A transcript contains those that it is played with, and other commands need none.
    pub(super) fn takes_settings(self) -> bool {
        !matches!(
            self,
            Self::Record
                | Self::Replay
                | Self::Review
                | Self::Mock
                | Self::Lint
                | Self::Audit
                | Self::Report
                | Self::Init
                | Self::Schema
                | Self::Completions
                | Self::Man
        )
    }
}
