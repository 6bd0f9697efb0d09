//! Named sets of grants: the parts of the user's home directory that common tools need, and that no level grants.
//!
//! A preset lets commands read and execute, but never write, because unconfined builds later use what a command writes
//! to a cache. No preset contains files that hold only secrets (`.git-credentials`, cargo's `credentials.toml`).

/// A named set of grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// The user's configuration of git.
    Git,
    /// Toolchains of rustup, the configuration of cargo, and the crates that it has downloaded.
    Rust,
    /// Version managers for Node, the configuration of npm, and what it has downloaded.
    Node,
    /// The versions installed by pyenv, and what pip has installed for the user.
    Python,
    /// The programs from `go install`, downloaded modules, and the user's settings of go.
    Go,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 5] = [Self::Git, Self::Rust, Self::Node, Self::Python, Self::Go];

    /// The word for it in a setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::Git => "git",
            Self::Rust => "rust",
            Self::Node => "node",
            Self::Python => "python",
            Self::Go => "go",
        }
    }

    /// Returns the paths that commands may read, relative to the home directory.
    pub fn read(self) -> &'static [&'static str] {
        match self {
            Self::Git => &[".gitconfig", ".config/git"],
            Self::Rust => &[".cargo/config.toml", ".cargo/config", ".cargo/registry", ".cargo/git"],
            Self::Node => &[".npmrc", ".npm"],
            Self::Python => &[".config/pip", ".pip"],
            Self::Go => &["go/pkg/mod", ".config/go"],
        }
    }

    /// Returns the paths that commands may read and execute, relative to the home directory.
    pub fn executed(self) -> &'static [&'static str] {
        match self {
            Self::Git => &[],
            Self::Rust => &[".cargo/bin", ".rustup"],
            Self::Node => &[".nvm", ".volta", ".local/share/fnm"],
            Self::Python => &[".pyenv", ".local/bin", ".local/lib"],
            Self::Go => &["go/bin", "sdk"],
        }
    }
}
