//! Named sets of grants: what everyday tools need of the user's home directory, which no level grants.
//!
//! A preset lets commands read and execute, and never write: what a command writes in a cache is used later by builds that
//! nothing confines. Files that hold nothing but secrets (`.git-credentials`, cargo's `credentials.toml`) are in none.

/// A named set of grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// The user's configuration of git.
    Git,
    /// Toolchains of rustup, the configuration of cargo, and the crates that it has downloaded.
    Rust,
    /// Version managers for Node, the configuration of npm, and what it has downloaded.
    Node,
    /// The versions of pyenv, and what pip has installed for the user.
    Python,
    /// What `go install` has made, modules that were downloaded, and the user's settings of go.
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

    /// What commands may read, by the path from the home directory.
    pub fn read(self) -> &'static [&'static str] {
        match self {
            Self::Git => &[".gitconfig", ".config/git"],
            Self::Rust => &[".cargo/config.toml", ".cargo/config", ".cargo/registry", ".cargo/git"],
            Self::Node => &[".npmrc", ".npm"],
            Self::Python => &[".config/pip", ".pip"],
            Self::Go => &["go/pkg/mod", ".config/go"],
        }
    }

    /// What commands may read and execute, likewise.
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
